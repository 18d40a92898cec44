"""Whether a training is of the images and the weights of features that it is compared with."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unseen.backbones.backbone import Backbone
from unseen.data.core.open_dataset import OpenDataset
from unseen.errors import UserError, option
from unseen.features.fingerprint import fingerprint
from unseen.studies.stored_features import FEATURES, Place, stores_in

SIDES = ("train", "test")


def refuse_other_features(out: Path, opened: OpenDataset, backbone: Backbone) -> None:
    """Refuse images or a backbone that differ from those of its features in the folder of a run, if there are any."""
    stores = [each for each in stores_in(out / FEATURES / opened.name) if each.backbone == backbone.label]
    for split in SIDES:
        own = [store for store in stores if store.split == split]
        faults = [_fault(store, split, opened, backbone) for store in own]
        if own and all(faults):
            raise UserError(f"{own[0].path}: {faults[0]}")


def _fault(store: Place, split: str, opened: OpenDataset, backbone: Backbone) -> str:
    """How features differ from those that these images and this backbone would have; empty if they do not."""
    if any(store.about.get(name, value) != value for name, value in _images(opened, split).items()):
        return (
            f"the {split} features of {opened.name} were extracted from other images; give the images and the splits "
            f"of the run ({option('data')})"
        )
    # Descriptions of stores went through JSON, which turns tuples into lists.
    spec, known = json.loads(json.dumps(asdict(backbone.spec))), store.about["backbone"]
    if known == spec:
        return ""
    other = [name for name in spec if known.get(name) != spec[name]]
    what = "weights" if "digest" in other else ", ".join(other)
    return (
        f"extracted with other {what} than {backbone.label} has now; load the backbone as in the run (its study.toml "
        "says how)"
    )


def _images(opened: OpenDataset, split: str) -> dict[str, Any]:
    """What the description of a store says of its images: hashes of names and of pixels."""
    source, manifest = opened.part(split)
    return {"manifest": manifest.content_hash, "images": fingerprint(source, manifest.numbers(source, split))}
