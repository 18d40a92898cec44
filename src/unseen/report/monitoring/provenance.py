"""What was measured of a network in training, and how, as text for the reader of its page."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from unseen.backbones.backbone import resized
from unseen.data.core.decoding.transform import Transform
from unseen.monitoring.about import Described, described
from unseen.runs.provenance import limit_text
from unseen.text.words import joined


def monitor_provenance(folder: Path) -> dict[str, str]:
    """Label → text, from the record in the folder of a monitor; only the folder if there is none."""
    known = described(folder)
    return {"Folder": folder.resolve().name, **(dict(_facts(known)) if known is not None else {})}


def _facts(known: Described) -> Iterator[tuple[str, str]]:
    study = _study(known.study)
    if known.began:
        yield "Began", f"{known.began[:16].replace('T', ' ')} UTC, with unseen {known.version or 'of unknown version'}"
    if title := study.get("title"):
        based = study.get("based-on")
        yield "Study", f"{title}, based on {based}" if based else f"{title}"
    yield "Data sets", "; ".join(f"{name} ({joined([*of])})" for name, of in known.images.items())
    if study:
        yield "Images used", limit_text(study.get("limit"))
        yield "Training samples per class", _text(study.get("shots", "all"))
        yield "Seeds", _text(study.get("seeds", 1))
        yield "Probes", "; ".join(_probe(f"{name}", study.get(f"{name}")) for name in study.get("probes", ()))
        if study.get("metrics"):
            yield "Further metrics", _text(study["metrics"])
    yield "Features", _features(known.features)
    transform = known.transform
    numbers = (", ".join(f"{value:g}" for value in values) for values in (transform.mean, transform.std))
    yield "Images", f"{resized(transform)}{_crop(transform)}"
    yield "Pixels", "{} in 0…1, minus ({}), divided by ({})".format(transform.channels, *numbers)
    if study:
        yield "Precision", f"{study.get('precision', 'single')}, {study.get('batch', 'unknown')} images per batch"


def _study(text: str) -> Mapping[str, Any]:
    """The keys of the study; none if a later version wrote it otherwise."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def _probe(name: str, settings: Any) -> str:
    """A probe with the settings that the study names."""
    values = [f"{key} {_text(value)}" for key, value in settings.items()] if isinstance(settings, Mapping) else []
    return f"{name} ({', '.join(values)})" if values else name


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _features(features: str | Mapping[str, str] | None) -> str:
    if features is None:
        return "the output of the network"
    if isinstance(features, str):
        return f"the module {features}"
    code = f", code {features['code'][:8]}" if "code" in features else ""
    return f"the function {features.get('function', 'unknown')}{code}"


def _crop(transform: Transform) -> str:
    whole = transform.squash and transform.resize == transform.size
    return "" if whole else f", cropped to the {transform.size} × {transform.size} pixels in the centre"
