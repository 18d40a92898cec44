"""Everything that determines the numbers of a run, field by field, and the differences between two runs.

None means unknown: runs on a user's own features know few of these fields. Two runs differ in a field if both know it
and the values are not equal.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from unseen.data.core.decoding.transform import Transform
from unseen.features.about import BackboneAbout
from unseen.reading.keys import keys_of

if TYPE_CHECKING:
    from unseen.backbones.backbone import Spec
    from unseen.features.settings import Settings
    from unseen.probes.probe import Probe

Value = str | int | float | bool | None
Setting = Value | list[Value]
WORDS = {
    "pool": "pooling", "size": "crop", "fast": "fast decoding", "decode": "decoder", "exif": "EXIF orientation",
    "hash": "list", "images": "number",
}  # fmt: skip
"""Names of fields in sentences, if they differ from the field's name."""
LEVELS = "levels"
SHORT = 16
"""Number of hex digits of a hash that are compared and shown."""


@dataclass(frozen=True)
class ProtocolUsed:
    """How a probe is trained.

    Attributes:
        probe: name of the probe in scores, such as `logistic` or `fine-tuned`.
        name: name of the protocol, such as `cog-v2`.
        settings: everything in the protocol that can change a number.
    """

    probe: str
    name: str
    settings: Mapping[str, Setting] = field(default_factory=dict)

    @classmethod
    def of(cls, probe: str, protocol: Any, **more: Setting) -> "ProtocolUsed":
        """From the dataclass of a protocol with a `name`."""
        values = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(protocol).items()}
        return cls(probe, str(values.pop("name")), values | more)

    @classmethod
    def by(cls, probe: "Probe") -> "ProtocolUsed":
        """How a probe is fitted: its protocol, and its other settings."""
        settings = dict(probe.resolved.described)
        protocol = settings.pop("protocol", None) or {}
        chosen = {each.field for each in keys_of(type(probe)).values()}
        own = {name: value for name, value in settings.items() if value is not None and name in chosen}
        return cls(probe.name, probe.protocol_name, {k: v for k, v in protocol.items() if k != "name"} | own)


@dataclass(frozen=True)
class LevelsUsed:
    """The levels of unseen concepts; `hash` covers only the assignment of concepts to levels."""

    name: str
    hash: str


@dataclass(frozen=True)
class SplitsUsed:
    """The split of the levels' images into training and test images.

    Attributes:
        seed: seed of our own draw; None for splits from a file, and for features regrouped from other levels.
        test, max_train: number of test images, and largest number of training images, per concept.
        file, hash: for splits from a file, its name and the hash of its contents.
    """

    seed: int | None = None
    test: int | None = None
    max_train: int | None = None
    file: str | None = None
    hash: str | None = None


@dataclass(frozen=True)
class ImagesUsed:
    """The source of the images of a split of a domain.

    Attributes:
        images: number of images in the source, all domains together.
        release: code of the release of ImageNet that they were recognized as (`unseen.data.core.releases`).
        blurred: whether faces are blurred in that release; None if no release was recognized.
        hash: hash of the names of the images and their splits, for data sets with fixed splits; for a user's own data
            set, also of the pixels and labels of all images.
        fingerprint: hash of the pixels of some of the images.
        pool: whether several domains share the source, as levels do.
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
    """Everything that determines the features of a backbone.

    Attributes:
        fast: whether images were resized with PyTorch.
        exif: whether images were rotated by their EXIF orientation.
        decode: where JPEGs were decoded, "cpu" or "gpu"; None for feature stores of versions that had no choice.
    """

    backbone: BackboneAbout = field(default_factory=BackboneAbout)
    precision: str | None = None
    fast: bool | None = None
    exif: bool | None = None
    decode: str | None = None

    @staticmethod
    def by(spec: "Spec", settings: "Settings") -> "Extraction":
        """The extraction of a backbone with given settings."""
        return Extraction(BackboneAbout.of(spec), settings.precision, settings.fast, settings.exif, settings.decode)


@dataclass(frozen=True)
class FeatureKey:
    """The features of a backbone on a domain that were probed.

    Attributes:
        keys: split → key of everything that determines the features; for a user's own files, their hash. The same
            extraction on two machines may differ in the last bits, so hashes of features cannot be compared.
        files: split → name of the file, for a user's own features.
    """

    backbone: str
    domain: str
    keys: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Setup:
    """Everything that determines the numbers of a run, or of a planned part of a run.

    Attributes:
        extractions, patches, finetunings: by backbone, everything that determines its features of whole images, those
            of patches, and its trainings.
        limits: by data set, the largest number of images per class and split; None for all.
    """

    protocols: Sequence[ProtocolUsed] = ()
    levels: LevelsUsed | None = None
    splits: SplitsUsed | None = None
    images: Sequence[ImagesUsed] = ()
    extractions: Mapping[str, Extraction] = field(default_factory=dict)
    patches: Mapping[str, Extraction] = field(default_factory=dict)
    finetunings: Mapping[str, BackboneAbout] = field(default_factory=dict)
    features: Sequence[FeatureKey] = ()
    limits: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """A field in which two runs differ.

    Attributes:
        field: its name in words.
        first, second: its value in each.
        kind, name: what it is about: a `probe`, a `backbone` or a `domain` of that name; empty for the whole run.
    """

    field: str
    first: Value
    second: Value
    kind: Literal["probe", "backbone", "domain", ""] = ""
    name: str = ""


def differences(first: Setup, second: Setup) -> list[Difference]:
    """The fields in which two runs differ, among those known to both; levels and files are known by their contents."""
    found = list[Difference]()
    for (kind, name), known in _by_owner(second).items():
        before = _by_owner(first).get((kind, name), {})
        found += [replace(each, kind=kind, name=name) for each in _differences(before, known)]
    return [
        replace(each, first=_named(first), second=_named(second)) if each.field == LEVELS else each for each in found
    ]


def _by_owner(setup: Setup) -> "dict[tuple[Any, str], dict[str, Value]]":
    """What a setup says of each probe, backbone and domain, and of the whole run."""
    found: dict[tuple[Any, str], dict[str, Value]] = {}
    for owner, (name, value) in _known(setup):
        found.setdefault(owner, {})[name] = value
    return found


def _named(setup: Setup) -> str:
    return f"{setup.levels.name}, {setup.levels.hash[:SHORT]}" if setup.levels else ""


def extraction_differences(first: Extraction | None, second: Extraction | None) -> list[Difference]:
    """The differences between two extractions, in the fields known to both."""
    return _differences(*(dict(_extraction("", each)) if each else {} for each in (first, second)))


def backbone_differences(first: BackboneAbout | None, second: BackboneAbout | None) -> list[Difference]:
    """The differences between two backbones, in the fields known to both."""
    return _differences(*(dict(_backbone("", each)) if each else {} for each in (first, second)))


def _differences(first: Mapping[str, Value], second: Mapping[str, Value]) -> list[Difference]:
    shared = [name for name in second if name in first and first[name] != second[name]]
    return [Difference(name, first[name], second[name]) for name in shared]


Known = tuple[tuple[str, str], tuple[str, Value]]
"""What a field is about, its name and its value."""


def _known(setup: Setup) -> Iterator[Known]:
    """The known fields of a setup."""
    for protocol in setup.protocols:
        yield from _of("probe", protocol.probe, _protocol(protocol))
    if setup.levels:
        yield ("", ""), (LEVELS, setup.levels.hash[:SHORT])
    if setup.splits:
        decide = ("seed", "test", "max_train", "hash" if setup.splits.hash else "file")
        yield from _of("", "", _fields(setup.splits, "{} of the splits", decide))
    for domain, limit in setup.limits.items():  # before the numbers of images that follow from it
        yield ("domain", domain), (f"key limit on {domain}", "none" if limit is None else limit)
    for images in setup.images:
        of = "the levels" if images.pool else f"{images.domain}, {images.split}"
        named = _fields(images, f"{{}} of the images of {of}", ("images", "release", "hash", "fingerprint"))
        yield from _of("" if images.pool else "domain", "" if images.pool else images.domain, named)
    for name, extraction in setup.extractions.items():
        yield from _of("backbone", name, _extraction(f" of {name}", extraction))
    for name, extraction in setup.patches.items():
        yield from _of("backbone", name, _extraction(f" of the patches of {name}", extraction))
    for name, backbone in setup.finetunings.items():
        yield from _of("backbone", name, _backbone(f" of {name} in fine-tuning", backbone))
    yield from _weights(setup)
    for features in setup.features:
        for split, key in features.keys.items():
            what = f"{split} features of {features.domain} by {features.backbone}"
            yield ("backbone", features.backbone), (what, key[:SHORT])


def _of(kind: str, name: str, known: Iterable[tuple[str, Value]]) -> Iterator[Known]:
    yield from (((kind, name), each) for each in known)


def _protocol(protocol: ProtocolUsed) -> Iterator[tuple[str, Value]]:
    from unseen.probes.by_name import all_probes

    probe = all_probes().get(protocol.probe)
    names = {each.field: f"key {protocol.probe}.{each.name}" for each in keys_of(probe).values()} if probe else {}
    yield names.get("protocol", f"protocol of the {protocol.probe} probe"), protocol.name
    for name, value in protocol.settings.items():
        if not (name == "file" and "code" in protocol.settings):
            yield names.get(name, f"{name} of the {protocol.probe} protocol"), _comparable(value)


def _weights(setup: Setup) -> Iterator[Known]:
    """The weights of each backbone, which are the same however it is used."""
    used = [(name, each.backbone) for of in (setup.extractions, setup.patches) for name, each in of.items()]
    for name, backbone in (*used, *setup.finetunings.items()):
        if backbone.digest is not None:
            yield ("backbone", name), (f"weights of {name}", backbone.digest[:SHORT])


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
    """The known fields of a record among those named."""
    for each in fields(record):
        value = getattr(record, each.name)
        if value is not None and each.name in names:
            yield (
                named.format(WORDS.get(each.name, each.name)),
                value[:SHORT] if each.name in {"hash", "fingerprint"} else value,
            )


def _comparable(value: Any) -> Value:
    """Lists and tuples as text, since JSON turns tuples into lists."""
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
