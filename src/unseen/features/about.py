"""The provenance of a feature store, field by field.

Stores written by `unseen extract` have all fields. Those of the demo, of other tools and of older versions have fewer;
a missing field is None here, and readers report it or leave it out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, get_type_hints

from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.reading.json_records import typed

if TYPE_CHECKING:
    from unseen.backbones.backbone import Spec


@dataclass(frozen=True)
class BackboneAbout:
    """Provenance of the backbone; fields as in `unseen.backbones.backbone.Spec`.

    Attributes:
        id: its id, or its name if it has none.
    """

    id: str | None = None
    weights: str | None = None
    layer: str | None = None
    pool: str | None = None
    dimension: int | None = None
    parameters: int | None = None
    transform: Transform | None = None
    digest: str | None = None

    def name_of_network(self, label: str) -> str:
        """The name of a backbone without the layer and the pooling that a study with several adds to it."""
        for suffix in (f"/{self.layer}/{self.pool}", f"/{self.layer}", f"/{self.pool}"):
            if label.endswith(suffix) and label != suffix:
                return label.removesuffix(suffix)
        return label

    @staticmethod
    def of(spec: "Spec") -> "BackboneAbout":
        """All fields, from a backbone's specification."""
        return BackboneAbout(**{field.name: getattr(spec, field.name) for field in fields(BackboneAbout)})


@dataclass(frozen=True)
class DamagedImage:
    """An image that could not be decoded and was left out.

    Attributes:
        label: its class, if the store records it.
    """

    id: str
    reason: str
    label: str | None = None


@dataclass(frozen=True)
class StoreAbout:
    """Provenance of a store.

    Attributes:
        backbone: None if the store does not record it.
        name: name of the backbone, if one was given.
        decode: what decoded JPEGs: "cpu" or "gpu".
        key: hash of everything that determines the features; None for files and for stores that were not extracted.
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
        """Read the provenance in a store's manifest."""
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
    """The values of some fields of a dataclass, each checked for its type."""
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
    """A transform, if it is given field by field and not as text."""
    if not (isinstance(record, Mapping) and {"size", "resize"} <= record.keys()):
        return None
    try:
        transform: Transform = typed(dict(record), Transform, "a transform", defaults=True)
    except UserError:
        return None
    return transform
