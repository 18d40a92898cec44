"""Runs as version 0.1 wrote them (format 1 of `run.json`), turned into what is written today.

They had their notices as one text, and the first of them neither said which study they are of nor had the accuracy of
a backbone on ImageNet elsewhere than in the provenance.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unseen.runs.data import FeatureKey
from unseen.runs.notices import SENTENCES, Notice, told
from unseen.runs.results import RESULTS, read_result

TOP1 = "ImageNet top-1 of "
"""How the label of provenance begins that says a backbone's accuracy on ImageNet, in percent."""
MADE_BY, FEATURES_BY = "backbone ", "features by "
"""How labels of provenance began that said what decided the features or the fine-tuning of a backbone."""
_PLAIN = {sentence: code for code, sentence in SENTENCES.items() if "{" not in sentence}


def upgraded(record: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A record of format 1 in today's format, with what can be said of the run that it did not say."""
    new = record | {"told": [asdict(each) for each in _notices(record.get("notice", ""))]}
    new.pop("notice", None)
    new.setdefault("study", _study(folder, record["keys"]))
    provenance = record["provenance"]
    of_tasks = new["study"] == "tasks"  # in which the first of the labels was of fine-tuning
    new["backbones"] = [
        _with_top1(backbone, provenance) | {"made": _made(backbone["name"], provenance, of_tasks=of_tasks)}
        for backbone in record["backbones"]
    ]
    new["features"] = [
        asdict(FeatureKey(backbone["name"], label.removeprefix("features of ").removesuffix(end), text))
        for backbone in record["backbones"]
        for label, text in provenance.items()
        if label.startswith("features of ") and label.endswith(end := f" by {backbone['name']}")
    ]
    new["provenance"] = {label: text for label, text in provenance.items() if not label.startswith(TOP1)}
    return new


def _notices(text: str) -> list[Notice]:
    sentences = re.split(r"(?<=\.) ", text) if text else []
    return [Notice(_PLAIN[sentence]) if sentence in _PLAIN else told(sentence) for sentence in sentences]


def _with_top1(backbone: dict[str, Any], provenance: dict[str, str]) -> dict[str, Any]:
    said = provenance.get(f"{TOP1}{backbone['name']}")
    return backbone if said is None or "imagenet_top1" in backbone else backbone | {"imagenet_top1": float(said) / 100}


def _made(name: str, provenance: dict[str, str], *, of_tasks: bool) -> dict[str, str]:
    own, features = provenance.get(f"{MADE_BY}{name}"), provenance.get(f"{FEATURES_BY}{name}")
    said = {"features": features, "fine-tuning": own} if of_tasks else {"features": own}
    return {what: text for what, text in said.items() if text}


def _study(folder: Path, keys: Sequence[str]) -> str:
    """The study of its jobs; concepts where none has a result."""
    found = next((result for key in keys if (result := read_result(folder / RESULTS, key))), None)
    return str(found.job["study"]) if found else "concepts"
