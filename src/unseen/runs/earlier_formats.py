"""Conversion of runs of formats 1 and 2 of `run.json` to today's format.

These formats stored as text, under the labels of the page, what is stored in fields now. Whatever the text states
unambiguously becomes a field; the rest is unknown, and the text stays on the page (`RunData.remarks`). Format 1 stored
its notices as one text, and its first runs stored neither the study nor, except under a label, the ImageNet accuracy of
a backbone. This is the only module that parses text written by this package.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from unseen.errors import UserError
from unseen.features.about import BackboneAbout
from unseen.images.releases import RELEASES
from unseen.reading.json_records import typed
from unseen.runs.cautions import caution
from unseen.runs.notices import Argument, Notice, notice, told
from unseen.runs.results import RESULTS, read_result
from unseen.runs.setup import Extraction, FeatureKey, ImagesUsed, LevelsUsed, ProtocolUsed, SplitsUsed
from unseen.words import whole_number

TOP1 = "ImageNet top-1 of "
LOGISTIC = re.compile(r"(?P<name>[\w-]+): (?P<trials>\d+) trials of (?P<epochs>\d+) epochs(?P<rest>.*)")
MANY_SHOT = re.compile(r"(?P<name>[\w-]+): (?P<steps>\d+) constants from .*, at most (?P<most>\d+) iterations each.*")
ROUNDS = re.compile(r"rounds of (\d+) trials")
LEVELS = re.compile(r"(?P<name>.*), (?P<hash>[0-9a-f]{16})")
DRAWN = re.compile(r"drawn with seed (\d+): (\d+) test and at most (\d+) training images a concept")
REGROUPED = re.compile(r"regrouped, at most (\d+) training images a concept")
OWN_SPLITS = re.compile(r"(.*), ([0-9a-f]{16})")
IMAGES = re.compile(r"(?P<split>train|test) images of (?P<domain>.+)")
COUNT = re.compile(r"([\d,]+) images of no release that is known")
BACKBONE = re.compile(
    r"(?:(?P<weights>.+?), )?(?:tensors (?P<digest>[0-9a-f]{16}|none), )?"
    r"layer (?P<layer>[^,]+), pooling (?P<pool>[^,]+)"
    r"(?:.* (?P<precision>half|bfloat|single) precision)?.*"
)
SENTENCES = {
    "unfinished": "This run is not finished: {left} of {jobs} jobs have no result yet.",
    "short-protocol": "A short form of the protocol ({protocol}): {trials} trials of {epochs} epochs.",
    "few-images": (
        "A concept of {of} has {images} training images: with {shots} shots it takes part with as many as it can."
    ),
    "few-samples": "A class has {samples} training samples: with {shots} shots it takes part with as many as it can.",
    "blurred-faces": (
        "ImageNet-1K is the release with blurred faces: its scores are not those of the release that published models "
        "were scored on (they lost 0.9 points on average in the paper's appendix E)."
    ),
    "temperature-on-test-data": (
        "Temperatures are fitted on test data, as in the public code: calibration errors after scaling are better than "
        "a user would see."
    ),
    "no-episodes": "{title}: no {settings} episodes, as it has {reason}.",
}
"""The sentences of notices as format 1 stored them."""
SPLITS = {1: ("all",), 2: ("train", "test"), 3: ("train", "val", "test")}
"""Splits of features by their number, in the order in which their keys were written."""


def upgraded(record: dict[str, Any], format_: int, folder: Path) -> dict[str, Any]:
    """Convert a record of an earlier format to today's."""
    try:
        return _upgraded(record, format_, folder)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            f"{folder}/run.json: damaged ({error}); restore it from a copy, or make the run again"
        ) from None


def _upgraded(record: dict[str, Any], format_: int, folder: Path) -> dict[str, Any]:
    labels: dict[str, str] = typed(record.get("provenance", {}), dict[str, str], f"{folder}/run.json, provenance")
    backbones = typed(record.get("backbones"), list[dict[str, Any]], f"{folder}/run.json, backbones")
    new = {key: value for key, value in record.items() if key not in {"provenance", "notice"}}
    if format_ == 1:
        text = typed(record.get("notice", ""), str, f"{folder}/run.json, notice")
        new["told"] = [_plain(each) for each in _notices(text)]
        new.setdefault("study", _study(folder, record.get("keys")))
        new["features"] = list(_features(labels, [backbone["name"] for backbone in backbones]))
    new["features"] = [_plain(_feature_key(each)) for each in new.get("features", ())]
    new["backbones"] = [_backbone(backbone, labels, tasks=new.get("study") == "tasks") for backbone in backbones]
    new["protocols"] = [_plain(each) for each in _protocols(labels)]
    new["levels"] = _levels(labels)
    new["splits"] = _splits(labels)
    domains = typed(record.get("domains"), list[dict[str, Any]], f"{folder}/run.json, domains")
    new["images"] = [_plain(each) for each in _images(labels, domains)]
    new["remarks"] = {label: text for label, text in labels.items() if not label.startswith(TOP1)}
    return new


def _plain(record: Any) -> dict[str, Any]:
    """A record as plain JSON values."""
    return {name: _listed(value) for name, value in asdict(record).items()}


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _listed(each) for name, each in value.items()}
    return [_listed(each) for each in value] if isinstance(value, tuple | list) else value


def _notices(text: str) -> list[Notice]:
    return [_notice(sentence) for sentence in re.split(r"(?<=\.) ", text)] if text else []


def _notice(sentence: str) -> Notice:
    """The notice that gives a sentence."""
    for code, template in SENTENCES.items():
        names = re.findall(r"\{(\w+)\}", template)
        pattern = re.sub(r"\\\{\w+\\\}", "(.+)", re.escape(template))
        if found := re.fullmatch(pattern, sentence):
            filled = {name: _argument(value) for name, value in zip(names, found.groups(), strict=True)}
            return notice(code, "", **filled)
    return told(sentence)


def _argument(text: str) -> Argument:
    number = whole_number(text)
    return text if number is None else number


def _study(folder: Path, keys: object) -> str:
    """The study of the jobs of a run; concepts if none has a result."""
    known = [key for key in keys if isinstance(key, str)] if isinstance(keys, list) else []
    found = next((result for key in known if (result := read_result(folder / RESULTS, key))), None)
    return str(found.job["study"]) if found else "concepts"


def _features(labels: dict[str, str], backbones: Sequence[str]) -> Iterator[dict[str, str]]:
    for name in backbones:
        end = f" by {name}"
        for label, text in labels.items():
            if label.startswith("features of ") and label.endswith(end):
                domain = label.removeprefix("features of ").removesuffix(end)
                yield {"backbone": name, "domain": domain, "key": text}


def _feature_key(record: dict[str, str]) -> FeatureKey:
    keys = record["key"].split(", ")
    return FeatureKey(record["backbone"], record["domain"], dict(zip(SPLITS.get(len(keys), ()), keys, strict=False)))


def _backbone(record: dict[str, Any], labels: dict[str, str], *, tasks: bool) -> dict[str, Any]:
    name = record["name"]
    made = record.get("made") or {}
    text = made.get("features") or labels.get(f"features by {name}")
    if text is None and not tasks:  # in the task study that label was about fine-tuning
        text = labels.get(f"backbone {name}")
    new = {key: value for key, value in record.items() if key != "made"}
    new["features"] = _plain(_extraction(text)) if text else None
    new["cautions"] = [_plain(caution("told", text=each)) for each in record.get("cautions", ())]
    top1 = labels.get(f"{TOP1}{name}")
    return new if top1 is None or "imagenet_top1" in record else new | {"imagenet_top1": float(top1) / 100}


def _extraction(text: str) -> Extraction:
    """The settings of an extraction; the transform is unknown, since the text had only a part of it."""
    found = BACKBONE.fullmatch(text)
    if not found:
        return Extraction(BackboneAbout(weights=text))
    known = BackboneAbout(weights=found["weights"], layer=found["layer"], pool=found["pool"])
    if found["digest"]:
        known = replace(known, digest=found["digest"].removeprefix("none"))
    return Extraction(known, found["precision"])


def _protocols(labels: dict[str, str]) -> Iterator[ProtocolUsed]:
    text = labels.get("protocol", "")
    if found := LOGISTIC.fullmatch(text):
        settings: dict[str, Any] = {"trials": int(found["trials"]), "epochs": int(found["epochs"])}
        if rounds := ROUNDS.search(found["rest"]):
            settings["round_size"] = int(rounds[1])
        elif "one trial at a time" in found["rest"]:
            settings["round_size"] = 1
        yield ProtocolUsed("logistic", found["name"], settings)
    elif found := MANY_SHOT.fullmatch(text):
        settings = {"steps": int(found["steps"]), "max_iterations": int(found["most"])}
        yield ProtocolUsed("many-shot", found["name"], settings)


def _levels(labels: dict[str, str]) -> dict[str, Any] | None:
    found = LEVELS.fullmatch(labels.get("levels", ""))
    return _plain(LevelsUsed(found["name"], found["hash"])) if found else None


def _splits(labels: dict[str, str]) -> dict[str, Any] | None:
    text = labels.get("splits", "")
    if found := DRAWN.fullmatch(text):
        return _plain(SplitsUsed(int(found[1]), int(found[2]), int(found[3])))
    if found := REGROUPED.fullmatch(text):
        return _plain(SplitsUsed(max_train=int(found[1])))
    if found := OWN_SPLITS.fullmatch(text):
        return _plain(SplitsUsed(file=found[1], hash=found[2]))
    return None


def _images(labels: dict[str, str], domains: Sequence[dict[str, Any]]) -> Iterator[ImagesUsed]:
    for label, text in labels.items():
        if found := IMAGES.fullmatch(label):
            yield _place(found["domain"], found["split"], text, pool=False)
        elif label == "images of the levels":
            for domain in domains:
                if not domain.get("seen"):
                    for split in SPLITS[2]:
                        yield _place(str(domain.get("name")), split, text, pool=True)


def _place(domain: str, split: str, text: str, *, pool: bool) -> ImagesUsed:
    release = next((each for each in RELEASES if each.name == text), None)
    count = COUNT.fullmatch(text)
    return ImagesUsed(
        domain,
        split,
        images=int(count[1].replace(",", "")) if count else None,
        release=release.code if release else None,
        blurred=release.blurred if release else None,
        pool=pool,
    )
