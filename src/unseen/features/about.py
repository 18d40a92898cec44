"""What a feature store says of itself, field by field.

Stores of `unseen extract` say all of it. Those of the demo, of other tools and of older versions say less: a field that
a store does not have is None here, and whoever reads it says so or leaves it out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from unseen.images.transform import Transform

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
        key: of everything that decides the features; files, and stores that were not extracted, have none.
    """

    backbone: BackboneAbout | None = None
    name: str | None = None
    split: str | None = None
    precision: str | None = None
    fast: bool | None = None
    exif: bool | None = None
    key: str | None = None
    damaged: tuple[DamagedImage, ...] = ()

    @staticmethod
    def of(provenance: Mapping[str, Any]) -> "StoreAbout":
        """From the provenance in a store's manifest."""
        backbone, source = provenance.get("backbone"), provenance.get("source")
        split = provenance.get("split") or (source.get("split") if isinstance(source, Mapping) else None)
        return StoreAbout(
            backbone=_backbone(backbone) if isinstance(backbone, Mapping) else None,
            split=split,
            damaged=tuple(
                DamagedImage(image["id"], image["reason"], image.get("label"))
                for image in provenance.get("damaged", ())
            ),
            **{name: provenance.get(name) for name in ("name", "precision", "fast", "exif", "key")},
        )


def _backbone(record: Mapping[str, Any]) -> BackboneAbout:
    known = {field.name: record.get(field.name) for field in fields(BackboneAbout)}
    return BackboneAbout(
        **known
        | {
            "id": record.get("id") or record.get("name"),
            "transform": _transform(record.get("transform")),
            "digest": record.get("digest", record.get("weights_sha256")),
        }
    )


def _transform(record: object) -> Transform | None:
    """A transform, if it is told field by field and not in words."""
    if not (isinstance(record, Mapping) and {"size", "resize"} <= record.keys()):
        return None
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in record.items()
    }
    try:
        return Transform(**values)
    except TypeError:
        return None
