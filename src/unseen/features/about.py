"""What a feature store says of itself, field by field.

Stores of `unseen extract` say all of it. Those of the demo, of other tools and of older versions say less: a field that
a store does not have is None here, and whoever reads it says so or leaves it out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, get_type_hints

from unseen.errors import UserError
from unseen.images.transform import Transform
from unseen.reading.json_records import typed

if TYPE_CHECKING:
    from unseen.backbones.backbone import Spec


@dataclass(frozen=True)
class BackboneAbout:
    """What is known of the backbone; fields as in `unseen.backbones.backbone.Spec`.

    Attributes:
        id: its id, or its name where it has none.
    """

    id: str | None = None
    weights: str | None = None
    layer: str | None = None
    pool: str | None = None
    dimension: int | None = None
    parameters: int | None = None
    transform: Transform | None = None
    digest: str | None = None

    @staticmethod
    def of(spec: "Spec") -> "BackboneAbout":
        """Everything, from a backbone's specification."""
        return BackboneAbout(**{field.name: getattr(spec, field.name) for field in fields(BackboneAbout)})


@dataclass(frozen=True)
class DamagedImage:
    """An image that could not be decoded and was left out.

    Attributes:
        label: its class, where the store says it.
    """

    id: str
    reason: str
    label: str | None = None


@dataclass(frozen=True)
class StoreAbout:
    """What is known of a store.

    Attributes:
        backbone: None where the store says nothing of it.
        name: what the backbone was called, where it was given a name.
        decode: what decoded JPEGs: "cpu" or "gpu".
        key: of everything that decides the features; files, and stores that were not extracted, have none.
    """

    backbone: BackboneAbout | None = None
    name: str | None = None
    split: str | None = None
    precision: str | None = None
    fast: bool | None = None
    exif: bool | None = None
    decode: str | None = None
    key: str | None = None
    damaged: tuple[DamagedImage, ...] = ()

    @staticmethod
    def of(provenance: Mapping[str, Any]) -> "StoreAbout":
        """From the provenance in a store's manifest."""
        where = "what a feature store says of itself"
        backbone, source = provenance.get("backbone"), provenance.get("source")
        split = provenance.get("split") or (source.get("split") if isinstance(source, Mapping) else None)
        known = {name: provenance.get(name) for name in ("name", "precision", "fast", "exif", "decode", "key")}
        if known["fast"] is not None:
            known["decode"] = known["decode"] or "cpu"
        return StoreAbout(
            backbone=_backbone(backbone, where) if isinstance(backbone, Mapping) else None,
            **typed_known(known | {"split": split, "damaged": provenance.get("damaged") or []}, StoreAbout, where),
        )


def typed_known(record: Mapping[str, Any], cls: type, where: str) -> dict[str, Any]:
    """The values of some fields of a dataclass, each of the type that it must have."""
    hints = get_type_hints(cls)
    return {name: typed(value, hints[name], f"{where}, {name}", defaults=True) for name, value in record.items()}


def _backbone(record: Mapping[str, Any], where: str) -> BackboneAbout:
    known = {field.name: record.get(field.name) for field in fields(BackboneAbout) if field.name != "transform"}
    known |= {
        "id": record.get("id") or record.get("name"),
        "digest": record.get("digest", record.get("weights_sha256")),
    }
    about = typed_known(known, BackboneAbout, f"{where}, backbone")
    return BackboneAbout(**about, transform=_transform(record.get("transform")))


def _transform(record: object) -> Transform | None:
    """A transform, if it is told field by field and not in words."""
    if not (isinstance(record, Mapping) and {"size", "resize"} <= record.keys()):
        return None
    try:
        found: Transform = typed(dict(record), Transform, "a transform", defaults=True)
    except UserError:
        return None
    return found
