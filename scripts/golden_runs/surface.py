"""The only file that knows the commands, file formats and Python names of `unseen`, besides the examples in `own`.

When the commands change, these functions change and nothing else: a recording holds no word of a command, so that
recordings of both versions can be compared.
"""

import csv
import json
import pkgutil
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

PAGE = "report.html"
TIMES = ("device", "trial_seconds")
"""Values of a result that are not measurements of a backbone."""


@dataclass(frozen=True)
class Step:
    """A command, without its number of workers.

    Attributes:
        out: folder of its results, relative to the working directory.
        plans: whether it can print its plan without running.
        parts: whether it can be divided into parts.
        fewest: its smallest number of workers, None if it has none to choose; with 0, images are decoded in the
            process of the command.
    """

    words: tuple[str, ...]
    out: str = "run"
    plans: bool = True
    parts: bool = True
    fewest: int | None = 1

    def whole(self, workers: int) -> tuple[str, ...]:
        count = self.fewest if workers == 1 or self.fewest is None else workers
        return (*self.words, *_options(out=self.out, workers=count))

    def plan(self, workers: int) -> tuple[str, ...]:
        return (*self.whole(workers), "--dry-run")

    def part(self, number: int, of: int, workers: int) -> tuple[str, ...]:
        return (*self.whole(workers), "--part", f"{number}/{of}")


@dataclass(frozen=True)
class Networks:
    """Backbones of a command: their ids and names, and options that all of them share."""

    ids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    size: int | None = None
    random: bool = True

    @property
    def words(self) -> tuple[str, ...]:
        ids = tuple(f"{name}={id_}" for name, id_ in zip(self.names, self.ids, strict=True)) if self.names else self.ids
        weights = "random" if self.random and self.ids else None
        return (*_options(backbone=ids), *_settings("backbone.", size=self.size, weights=weights))


@dataclass(frozen=True)
class ImageNet:
    """Where the images of concepts are, and which of them to train and to test on."""

    images: str
    imagenet_1k: str | None = None
    splits: str | None = None

    @property
    def words(self) -> tuple[str, ...]:
        seen = () if self.imagenet_1k is None else (f"imagenet-1k={self.imagenet_1k}",)
        return (*_options(data=(f"imagenet-21k={self.images}", *seen)), *_settings(splits=self.splits))


def concepts(
    networks: Networks,
    images: ImageNet | None = None,
    *,
    levels: str,
    features: str | None = None,
    balanced: bool = False,
    domains: str | None = None,
    shots: str = "all",
    seeds: int = 1,
    protocol: str = "cog-v2-short",
    probes: str | None = None,
    code: str | None = None,
    metric: str | None = None,
    out: str = "run",
) -> Step:
    """The concept study. `probes` are names separated by commas; `code` and `metric` are files of the user's own."""
    every = ("logistic", *(probes.split(",") if probes else ()), *([code] if code else ()))
    searched = [name for name in every if name in {"logistic", "pca", "mlp"}]
    chosen = _options(features=features, datasets=domains, shots=shots, seeds=seeds, probes=",".join(every))
    keys = _settings(levels=levels, class_balanced=balanced or None, metrics=metric)
    for name in searched:
        keys += _settings(f"{name}.", protocol=protocol)
    return Step(("run", "cog-v2", *networks.words, *(images.words if images else ()), *chosen, *keys), out)


def reference(networks: Networks, images: ImageNet, *, levels: str, epochs: int, batch: int, rate: float) -> Step:
    """Whole networks trained on the domains of a concept run, which must exist."""
    keys = _settings("fine-tuned.", protocol="reference", epochs=epochs, batch=batch, rate=rate)
    chosen = (*_options(probes="fine-tuned", seeds=1), *_settings(levels=levels), *keys)
    return Step(("run", "cog-v2", *networks.words, *images.words, *chosen), fewest=0)


def splits(images: str, levels: str, out: str, *, test: int, train: int) -> tuple[str, ...]:
    """Draw training and test images into a file."""
    chosen = _options(images=images, levels=levels, out=out)
    return ("levels", "splits", "build", *chosen, *_settings(test=test, min_train=train, max_train=train))


def probing(
    train: str, test: str, *, probe: str = "logistic", shots: str | None = None, seeds: int = 1, out: str = "run"
) -> Step:
    """A probe on two files of features."""
    short = _settings(f"{probe}.", protocol="cog-v2-short") if probe in {"logistic", "pca"} else ()
    chosen = _options(probes=probe, shots=shots, seeds=seeds)
    return Step(("probe", train, test, *chosen, *short), out, plans=False, parts=False)


def tasks(
    networks: Networks,
    datasets: str | None = None,
    *,
    features: str | None = None,
    limit: int | None = None,
    code: str | None = None,
    metric: str | None = None,
    out: str = "run",
) -> Step:
    """Linear probes and few-shot episodes; `limit` is the most images of a class and split."""
    every = f"linear,centroids,{code}" if code else None
    chosen = _options(datasets=datasets, features=features, limit=limit, probes=every)
    return Step(("run", "ericsson-2021", *networks.words, *chosen, *_settings(metrics=metric)), out)


def tuned(networks: Networks, datasets: str, *, trials: int, steps: int) -> Step:
    """Whole networks trained with a grid of settings."""
    chosen = (*_options(datasets=datasets), *_settings("fine-tuned.", trials=trials, steps=steps))
    return Step(("run", "finetune", *networks.words, *chosen))


def patches(networks: Networks, datasets: str) -> Step:
    """Both probes on patch features."""
    return Step(("run", "dense", *networks.words, *_options(datasets=datasets)))


def trained_heads(networks: Networks, datasets: str, *, steps: int, scale: float) -> Step:
    """Detectors and dense heads trained with the network."""
    chosen = _options(datasets=datasets)
    for name in ("detector-frozen", "detector-finetuned", "psp", "upernet"):
        chosen += _settings(f"{name}.", steps=steps, scale=scale)
    return Step(("run", "detection", *networks.words, *chosen))


def saliency(networks: Networks, datasets: str, *, grid: str, examples: int) -> Step:
    """Occlusion maps of single images."""
    chosen = (*_options(datasets=datasets), *_settings(examples=examples), *_settings("saliency.", grid=grid))
    return Step(("run", "saliency", *networks.words, *chosen))


def inversion(networks: Networks, datasets: str, *, steps: int, examples: int, lpips: str) -> Step:
    """Images reconstructed from features, and how near they come."""
    chosen = (*_options(datasets=datasets, data=f"lpips={lpips}"), *_settings(examples=examples))
    return Step(("run", "inversion", *networks.words, *chosen, *_settings("inversion.", steps=steps)))


def classifiers(models: str, test_sets: tuple[str, ...], *, classes: str = "own", mapping: str | None = None) -> Step:
    """The classifiers of a table of models on test sets."""
    chosen = (*_options(backbone=models, datasets=test_sets), *_settings(classes=classes, mapping=mapping))
    return Step(("run", "shifts", *chosen), fewest=0)


def pool(network: str, data: tuple[str, ...], *, size: int, steps: int, batch: int, ratios: str, shares: str) -> Step:
    """Models trained on fractions and mixtures of training sets."""
    chosen = _settings(size=size, steps=steps, batch=batch, ratios=ratios, shares=shares)
    return Step(("shifts", "pool", *_options(network=network, data=data), *chosen), out="pool", parts=False, fewest=0)


def zero_shot(backbone: str, data: str, *, outputs: str, templates: str, steps: int, batch: int) -> Step:
    """A model of images and text trained from its zero-shot classifier, with two learning rates."""
    chosen = _settings(outputs=outputs, templates=templates, steps=steps, batch=batch)
    words = ("shifts", "finetune", *_options(backbone=backbone, data=data), *chosen)
    return Step(words, out="tuned", parts=False, fewest=0)


def interpolated(first: str, second: str) -> Step:
    """Weights between those of two checkpoints."""
    return Step(("shifts", "interpolate", first, second), out="between", plans=False, parts=False, fewest=None)


def page(out: str) -> tuple[str, ...]:
    """Write the page of a run that has none yet."""
    return ("report", out, "--out", f"{out}/{PAGE}")


def published_levels() -> dict[int, tuple[str, ...]]:
    """Level → ids of its concepts."""
    import unseen

    levels = unseen.levels("cog-v2")
    return {number: levels.ids(number) for number in levels.numbers}


def run(words: Sequence[str]) -> None:
    """Run a command in this process."""
    import torch

    from unseen.cli.main import run as run_command

    torch.set_num_threads(1)
    sys.argv = ["unseen", *words]
    run_command()


def warm() -> None:
    """Import everything that commands import, so that copies of this process need not."""
    import unseen

    for name in ("torch", "torchvision", "timm", "open_clip", "optuna", "pandas", "PIL.Image", "matplotlib"):
        import_module(name)
    for module in pkgutil.walk_packages(unseen.__path__, "unseen."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):  # of optional packages
                import_module(module.name)


@dataclass(frozen=True, order=True)
class Score:
    """A number that must stay as it is, to the bit."""

    backbone: str
    dataset: str
    probe: str
    variant: str
    metric: str
    shots: str
    seed: int
    value: float
    low: float | None = None
    high: float | None = None


def scores(folder: Path) -> list[Score]:
    """All scores in the folder of a run; some probes write only a table."""
    found = []
    for table in sorted(folder.glob("*-scores.csv")):
        for row in csv.DictReader(table.read_text().splitlines()):
            what = (row["backbone"], row["domain"], _probe(row["probe"]), row["probe"], row["metric"], row["shots"])
            found.append(Score(*what, int(row["seed"]), float(row["value"])))
    if (folder / "run.json").is_file():
        from unseen.runs.record import read_run

        for each in read_run(folder).scores:
            what = (each.backbone, each.domain, _probe(each.probe), each.probe, each.metric, _shots(each.shots))
            found.append(Score(*what, each.seed, each.value, each.low, each.high))
    return found


def _probe(variant: str) -> str:
    """The probe that a variant is of: `knn` for `knn-20`, `mlp` for `mlp-linear`."""
    return re.sub(r"^(knn|pca)-\d+$|^(mlp)-linear$|^(.+)-extended$", r"\1\2\3", variant)


def details(folder: Path) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """How each result was obtained: trials, losses, hits. Key of a result → what it is the result of, and these."""
    from unseen.runs.results import read_result

    found: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for path in sorted((folder / "results").glob("*.json")):
        result = read_result(path.parent, path.stem)
        if result is not None:
            found[path.stem] = _name(result), _flat(result.values)
    return found


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values and details of all fits, without times."""
    flat = {name: value for name, value in values.items() if name != "fits"}
    for fit in values.get("fits", ()):
        flat |= {**fit["values"], **fit["details"]} | ({"interval": fit["interval"]} if "interval" in fit else {})
    return {name: value for name, value in flat.items() if name not in TIMES}


def _name(result: Any) -> str:
    job, settings = result.job, result.job.get("settings", {})
    if job["probe"] == "pool-training":
        parts = ["pool", settings["setup"]["network"], settings["setup"]["share"], settings["setup"]["ratio"]]
    elif job["probe"] == "zero-shot-training":
        parts = ["tuned", job["backbone"], settings["protocol"]["rate"]]
    elif job["probe"] == "fine-tuned-trial":
        trial = settings["protocol"]
        parts = [job["backbone"], job["dataset"], "trial", trial["rate"], trial["decay"], trial["augment"]]
    else:
        first, (shots, seed) = result.fits[0], result.setting
        parts = [job["backbone"], job["dataset"], first.variant, _shots(shots), seed, first.values[0][0]]
    return " | ".join(map(str, parts))


def _shots(shots: int | None) -> str:
    return "all" if shots is None else str(shots)


@dataclass(frozen=True, order=True)
class Store:
    """Extracted features: their folder, the key of what decides them, and the hash of their bytes."""

    folder: str
    key: str
    content: str
    rows: int


def stores(folder: Path) -> list[Store]:
    """All features below a folder.

    The key of a network in a folder that is named by its whole path depends on the machine; its weights are named
    instead.
    """
    found = []
    for path in folder.rglob("manifest.json"):
        about = json.loads(path.read_text())
        key, network = about["provenance"].get("key", ""), about["provenance"].get("backbone", {})
        name = str(path.parent.relative_to(folder))
        if ":/" in network.get("id", ""):
            name, key = name.replace(key[:12], network["digest"][:12]), ""
        found.append(Store(name, key, about["content_hash"], about["rows"]))
    return sorted(found)


def plan(said: str) -> dict[str, int]:
    """Numbers of parts, jobs and missing jobs in a printed plan."""
    jobs = re.search(r"([\d,]+) of ([\d,]+) to do", said)
    table = said.partition("\n\n")[0].splitlines()[2:]
    left, every = (int(number.replace(",", "")) for number in jobs.groups()) if jobs else (-1, -1)
    return {"parts": len(table), "jobs": every, "left": left}


def _options(**given: object) -> tuple[str, ...]:
    words: list[str] = []
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif isinstance(value, tuple):
            words += [word for each in value for word in (option, str(each))]
        elif value is not None and value is not False:
            words += [option, str(value)]
    return tuple(words)


def _settings(table: str = "", **given: object) -> tuple[str, ...]:
    """Options that set keys of a table; those that are None keep their defaults."""
    words = {name.replace("_", "-"): "true" if value is True else value for name, value in given.items()}
    return _options(set=tuple(f"{table}{name}={value}" for name, value in words.items() if value is not None))
