"""The provenance of a run as text for its reader, label → text. The texts are never compared or parsed."""

from collections.abc import Iterator

from unseen.data.core.decoding.transform import NORMALISATIONS, Transform
from unseen.data.core.releases import RELEASES
from unseen.features.about import BackboneAbout
from unseen.probes.protocol import cuts_text
from unseen.runs.data import RunData, Written
from unseen.runs.setup import SHORT, Extraction, FeatureKey, ImagesUsed, LevelsUsed, ProtocolUsed, Setting, SplitsUsed


def provenance(data: RunData) -> dict[str, str]:
    """The provenance of a run, in the order of the page; the labels of merged runs start with their names."""
    if data.parts:
        return {f"{name}: {label}": text for name, part in data.parts for label, text in provenance(part).items()}
    return {**_written(data.written), **dict(_decided(data)), **data.remarks}


def _decided(data: RunData) -> Iterator[tuple[str, str]]:
    for protocol in data.protocols:
        what = "protocol" if protocol.name else "settings"
        of = "" if protocol.name and protocol.probe == data.protocols[0].probe else f" of {protocol.probe}"
        if text := protocol_text(protocol):
            yield f"{what}{of}", text
    if data.seeds:
        yield "seeds", ", ".join(map(str, data.seeds))
    if data.levels:
        yield "levels", levels_text(data.levels)
    for images in data.images:
        yield _images(images)
    if data.splits:
        yield "splits", _splits(data.splits)
    yield from _backbones(data)
    for name in dict.fromkeys(features.backbone for features in data.features):
        own = (features for features in data.features if features.backbone == name)
        yield f"features by {name}", "; ".join(f"{features.domain}: {_features(features)}" for features in own)
    for domain in data.domains:
        if domain.axis == "tasks":
            yield f"images used of {domain.name}", limit_text(domain.limit)
        if domain.licence:
            yield f"licence of {domain.name}", domain.licence


def _backbones(data: RunData) -> Iterator[tuple[str, str]]:
    for backbone in data.backbones:
        if backbone.features and (text := extraction_text(backbone.features)):
            yield f"backbone {backbone.name}", text
        elif backbone.classifier and backbone.description:
            yield f"model {backbone.name}", backbone.description
        if backbone.finetuning:
            yield f"fine-tuning of {backbone.name}", _backbone_text(backbone.finetuning)


def _written(written: Written | None) -> dict[str, str]:
    if written is None:
        return {}
    changed = f", last changed {_date(written.last)}" if written.last != written.first else ""
    return {
        **({"command": written.command} if written.command else {}),
        "date": f"{_date(written.first)}{changed}",
        "device": written.device or "unknown",
        "versions": ", ".join(f"{package} {version}" for package, version in written.versions.items()),
    }


def _date(moment: str) -> str:
    """An ISO 8601 time as `2026-11-16 02:05 UTC`."""
    return f"{moment[:16].replace('T', ' ')} UTC"


def protocol_text(protocol: ProtocolUsed) -> str:
    """A protocol in one line, with its most important settings."""
    known = protocol.settings
    if known.keys() >= {"trials", "epochs"}:
        size, epochs, survivors = (known.get(name) for name in ("round_size", "cut_epochs", "survivors"))
        if isinstance(epochs, list) and isinstance(survivors, list):
            cuts = cuts_text(epochs, survivors)
            return f"{protocol.name}: {known['trials']} trials of {known['epochs']} epochs, of which the best {cuts}"
        order = "" if size is None else ", one trial at a time" if size == 1 else f", rounds of {size} trials"
        return f"{protocol.name}: {known['trials']} trials of {known['epochs']} epochs{order}"
    if known.keys() >= {"steps", "weakest", "strongest", "max_iterations"}:
        folds = f"{known.get('folds')} folds of the test data"
        where = "validation data" if known.get("temperature") == "validation" else folds
        fits = "the chosen one solved to its optimum, " if known.get("converge") == "chosen" else ""
        each = " each" if not fits else ""
        return (
            f"{protocol.name}: {known['steps']} constants from {_number(known['weakest'])} to "
            f"{_number(known['strongest'])}, {fits}at most {known['max_iterations']} iterations{each}, "
            f"temperature from {where}"
        )
    settings = ", ".join(f"{name} {_number(value)}" for name, value in known.items())
    return ": ".join(filter(None, (protocol.name, settings)))


def _number(value: Setting) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def levels_text(levels: LevelsUsed) -> str:
    return f"{levels.name}, {levels.hash}"


def limit_text(limit: int | None) -> str:
    """How much of a data set was used."""
    return f"at most {limit} images per class in every split" if limit else "all images"


def _images(images: ImagesUsed) -> tuple[str, str]:
    if images.hash:
        pixels = f", pixels {images.fingerprint[:SHORT]}" if images.fingerprint else ""
        return f"images of {images.domain}", f"sha256:{images.hash}{pixels}"
    names = {release.code: release.name for release in RELEASES}
    count = "an unknown number" if images.images is None else f"{images.images:,}"
    text = names.get(images.release or "", f"{count} images, not a known release of ImageNet")
    return ("images of the levels" if images.pool else f"{images.split} images of {images.domain}"), text


def _splits(splits: SplitsUsed) -> str:
    if splits.file is not None:
        return f"{splits.file}, {(splits.hash or '')[:SHORT]}"
    most = f"at most {splits.max_train} training images per concept" if splits.max_train else "all others for training"
    if splits.seed is None:
        return f"regrouped, {most}"
    return f"drawn with seed {splits.seed}: {splits.test} test and {most}"


def _features(features: FeatureKey) -> str:
    return ", ".join(
        f"{features.files[split]}, {key}" if split in features.files else key for split, key in features.keys.items()
    )


def extraction_text(extraction: Extraction) -> str:
    """The settings of an extraction in one line, as far as known."""
    parts = [
        (True, _backbone_text(extraction.backbone)),
        (extraction.precision, f"{extraction.precision} precision"),
        (extraction.fast, "fast decoding"),
        (extraction.exif, "EXIF orientation"),
        (extraction.decode == "gpu", "JPEGs decoded on a GPU"),
        (extraction.decode == "gpu-processors", "JPEGs decoded on a GPU without a JPEG decoder"),
    ]
    return ", ".join(text for holds, text in parts if holds and text)


def _backbone_text(backbone: BackboneAbout) -> str:
    parts = [
        (backbone.weights, backbone.weights),
        (backbone.digest is not None, f"tensors {(backbone.digest or '')[:SHORT] or 'none'}"),
        (backbone.layer, f"layer {backbone.layer}"),
        (backbone.pool, f"pooling {backbone.pool}"),
        (backbone.transform, backbone.transform and transform_text(backbone.transform)),
    ]
    return ", ".join(str(text) for holds, text in parts if holds)


def transform_text(transform: Transform) -> str:
    """The preprocessing of images; the normalization is given only if it is not that of ImageNet."""
    sides = "both sides" if transform.squash else "shortest side"
    resize = f"{sides} to {transform.resize}, {transform.interpolation}" if transform.resize else "not resized"
    text = f"{resize}, crop {transform.size}"
    given = transform.mean, transform.std
    if given == NORMALISATIONS["imagenet"]:
        return text
    name = next((name for name, numbers in NORMALISATIONS.items() if numbers == given), given)
    return f"{text}, normalization {name}"
