"""What decides the numbers of a run, field by field, and where two runs differ in it.

A field that is None is not known: runs over a user's own features know little of these, and runs of earlier versions
less than today's. Two runs differ where both know something and it is not the same.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from unseen.features.about import BackboneAbout
from unseen.images.transform import Transform

if TYPE_CHECKING:
    from unseen.backbones.backbone import Spec
    from unseen.features.settings import Settings

Value = str | int | float | bool | None
Setting = Value | list[Value]
WORDS = {
    "pool": "pooling", "size": "crop", "fast": "fast decoding", "decode": "decoder", "exif": "EXIF orientation",
    "hash": "list", "images": "number",
}  # fmt: skip
"""What fields are called in sentences, where that is not their name."""
SHORT = 16
"""Hex digits of a hash that are compared, as earlier versions kept no more of them."""


@dataclass(frozen=True)
class ProtocolUsed:
    """How a probe is trained.

    Attributes:
        probe: as scores name it, `logistic` or `many-shot`; `fine-tuned` for fine-tuning.
        name: of the protocol, `cog-v2`.
        settings: everything in it that can change a number.
    """

    probe: str
    name: str
    settings: Mapping[str, Setting] = field(default_factory=dict)

    @classmethod
    def of(cls, probe: str, protocol: Any, **more: Setting) -> "ProtocolUsed":
        """From the dataclass of a protocol, which has a `name`."""
        values = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(protocol).items()}
        return cls(probe, str(values.pop("name")), values | more)


@dataclass(frozen=True)
class LevelsUsed:
    """The levels of unseen concepts; `hash` is of which concepts are in which level, and of nothing else."""

    name: str
    hash: str


@dataclass(frozen=True)
class SplitsUsed:
    """Which images of the levels train and which test.

    Attributes:
        seed: of a draw of ours; None for another's splits, and for features that were regrouped from other levels.
        test, max_train: images per concept, the latter at most.
        file, hash: of somebody else's splits: the name of the file, and the hash of what it says.
    """

    seed: int | None = None
    test: int | None = None
    max_train: int | None = None
    file: str | None = None
    hash: str | None = None


@dataclass(frozen=True)
class ImagesUsed:
    """Where the images of a split of a domain come from.

    Attributes:
        images: how many there are in that place, of all domains together.
        release: code of the release of ImageNet that they were recognised as (`unseen.images.releases`).
        blurred: whether faces are blurred in that release; None where none was recognised.
        hash: of the names of the images and their splits, where these are the data set's own; of a user's own data
            set, also of what all its images show and of their labels.
        fingerprint: of what some of the images show.
        pool: whether several domains share the place, as levels do.
    """

    domain: str
    split: str
    images: int | None = None
    release: str | None = None
    blurred: bool | None = None
    hash: str | None = None
    fingerprint: str | None = None
    pool: bool = False


@dataclass(frozen=True)
class Extraction:
    """What decided the features of a backbone.

    Attributes:
        fast: images were resized by PyTorch.
        exif: images were turned as their EXIF orientation says.
        decode: what decoded JPEGs, "cpu" or "gpu"; runs from before there was a choice do not say it.
    """

    backbone: BackboneAbout = field(default_factory=BackboneAbout)
    precision: str | None = None
    fast: bool | None = None
    exif: bool | None = None
    decode: str | None = None

    @staticmethod
    def by(spec: "Spec", settings: "Settings") -> "Extraction":
        """What decides features of a backbone that are extracted with some settings."""
        return Extraction(BackboneAbout.of(spec), settings.precision, settings.fast, settings.exif, settings.decode)


@dataclass(frozen=True)
class FeatureKey:
    """Which features of a domain by a backbone were probed.

    Attributes:
        keys: split → key of what decided them; of own files, their hash. Features that two machines made alike differ
            in their last bits, so that their hashes would not do.
        files: split → name of the file, of a user's own features.
    """

    backbone: str
    domain: str
    keys: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Setup:
    """What decides a run, or the part of one that is planned.

    Attributes:
        extractions, finetunings: by backbone, what decided its features and its fine-tuning.
        limits: by data set, images of each class that are taken of every split; None for all.
    """

    protocols: Sequence[ProtocolUsed] = ()
    levels: LevelsUsed | None = None
    splits: SplitsUsed | None = None
    images: Sequence[ImagesUsed] = ()
    extractions: Mapping[str, Extraction] = field(default_factory=dict)
    finetunings: Mapping[str, BackboneAbout] = field(default_factory=dict)
    features: Sequence[FeatureKey] = ()
    limits: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """A field of which two runs say different things: what it is called, what the first says, what the second."""

    field: str
    first: Value
    second: Value


def differences(first: Setup, second: Setup) -> list[Difference]:
    """Where two runs differ in what both know."""
    return _differences(dict(_known(first)), dict(_known(second)))


def extraction_differences(first: Extraction | None, second: Extraction | None) -> list[Difference]:
    """Where two backbones differ in what decided their features, as far as both are known."""
    return _differences(*(dict(_extraction("", each)) if each else {} for each in (first, second)))


def backbone_differences(first: BackboneAbout | None, second: BackboneAbout | None) -> list[Difference]:
    """Where two backbones differ in what decided their fine-tuning, as far as both are known."""
    return _differences(*(dict(_backbone("", each)) if each else {} for each in (first, second)))


def _differences(first: Mapping[str, Value], second: Mapping[str, Value]) -> list[Difference]:
    shared = [name for name in second if name in first and first[name] != second[name]]
    return [Difference(name, first[name], second[name]) for name in shared]


def _known(setup: Setup) -> Iterator[tuple[str, Value]]:
    """What is known, by the name of the field."""
    for protocol in setup.protocols:
        yield f"protocol of the {protocol.probe} probe", protocol.name
        for name, value in protocol.settings.items():
            yield f"{name} of the {protocol.probe} protocol", _comparable(value)
    if setup.levels:
        yield "levels", f"{setup.levels.name}, {setup.levels.hash[:SHORT]}"
    if setup.splits:
        yield from _fields(setup.splits, "{} of the splits", ("seed", "test", "max_train", "file", "hash"))
    for images in setup.images:
        of = "the levels" if images.pool else f"{images.domain}, {images.split}"
        yield from _fields(images, f"{{}} of the images of {of}", ("images", "release", "hash", "fingerprint"))
    for name, extraction in setup.extractions.items():
        yield from _extraction(f" of {name}", extraction)
    for name, backbone in setup.finetunings.items():
        yield from _backbone(f" of {name} in fine-tuning", backbone)
    for features in setup.features:
        for split, key in features.keys.items():
            yield f"{split} features of {features.domain} by {features.backbone}", key[:SHORT]
    for domain, limit in setup.limits.items():
        yield f"limit on the images of {domain}", "none" if limit is None else limit


def _extraction(of: str, extraction: Extraction) -> Iterator[tuple[str, Value]]:
    yield from _backbone(of, extraction.backbone)
    decode = extraction.decode or (None if extraction.fast is None else "cpu")
    yield from _fields(replace(extraction, decode=decode), f"{{}}{of}", ("precision", "fast", "exif", "decode"))


def _backbone(of: str, backbone: BackboneAbout) -> Iterator[tuple[str, Value]]:
    yield from _fields(backbone, f"{{}}{of}", ("weights", "layer", "pool"))
    if backbone.digest is not None:
        yield f"tensors{of}", backbone.digest[:SHORT]
    if backbone.transform is not None:
        for each in fields(Transform):
            value = getattr(backbone.transform, each.name)
            yield f"{WORDS.get(each.name, each.name)}{of}", "none" if value is None else _comparable(value)


def _fields(record: Any, named: str, names: Collection[str]) -> Iterator[tuple[str, Value]]:
    """The fields of a record, of those named, that are known."""
    for each in fields(record):
        value = getattr(record, each.name)
        if value is not None and each.name in names:
            yield (
                named.format(WORDS.get(each.name, each.name)),
                value[:SHORT] if each.name in {"hash", "fingerprint"} else value,
            )


def _comparable(value: Any) -> Value:
    """A list as text, as JSON makes lists of tuples."""
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
