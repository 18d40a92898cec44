"""Extraction of features by backbones: one pass over the images for all backbones, resumable.

Features are written shard by shard. An existing shard is never recomputed. The folder name of a store depends on every
setting that changes features, and on the contents of the images.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from unseen.backbones.backbone import Backbone, Spec
from unseen.data.core.manifest import Manifest
from unseen.data.core.source import ImageSource
from unseen.errors import ImageError, UserError, setting
from unseen.features.costs import keep_cost
from unseen.features.fingerprint import fingerprint
from unseen.features.plan import Plan, plan
from unseen.features.progress import Progress
from unseen.features.settings import Settings, checked_device
from unseen.features.unfinished import Unfinished
from unseen.files import remove_unfinished
from unseen.version import __version__


def extract(
    source: ImageSource,
    manifest: Manifest,
    split: str,
    backbones: Sequence[Backbone],
    folder: Path,
    settings: Settings,
    *,
    watch: Callable[[Progress], None] = lambda progress: None,
) -> list[Path]:
    """Extract the features of a split into one store per backbone below `folder`, and return the stores' folders.

    With `part`, a store is finished by the process that writes its last shard; until then it has no manifest.

    Args:
        watch: called after every batch, and at the end.
    """
    from unseen.features.one_pass import Task, one_pass

    device = checked_device(settings)
    rows = plan(source, manifest, split, settings.shard_rows)
    content_hash, shown = manifest.content_hash, fingerprint(source, rows.numbers)
    stores: dict[Path, Unfinished] = {}
    for backbone in backbones:
        decides = settings.decides(backbone.spec, content_hash, split, shown)
        key = decided_key(decides)
        place = folder / store_name(backbone.spec, split, key)
        if place in stores:
            raise UserError(f"{backbone.spec.id}: this backbone is given twice")
        # The name given to the backbone does not affect features, so it is not in the key.
        provenance = {
            **decides,
            "key": key,
            "name": backbone.label,
            "limit": manifest.limit,
            "source": dict(source.about),
            "versions": _versions(),
        }
        remove_unfinished(place)
        stores[place] = Unfinished(place, source, rows, settings.dtype, provenance)
    if settings.on_error == "fail":
        _refuse_damaged(stores.values())
    mine = own_shards(rows, settings)
    tasks = [
        Task(backbone, store, frozenset(store.missing().intersection(mine)))
        for backbone, store in zip(backbones, stores.values(), strict=True)
    ]
    tasks = [task for task in tasks if task.shards]
    speeds = one_pass(tasks, source, rows, settings, device, watch) if tasks else {}
    for backbone, store in zip(backbones, stores.values(), strict=True):
        keep_cost(store.folder, backbone, speeds.get(store.folder.name))
        store.finish()
    return list(stores)


def store_name(spec: Spec, split: str, key: str) -> str:
    """The folder name of a store: readable, and with enough of the key to be unique."""
    return f"{_slug(spec.id)}-{_slug(split)}-{key[:12]}"


def store_place(
    source: ImageSource, manifest: Manifest, split: str, spec: Spec, folder: Path, settings: Settings
) -> Path:
    """Where the features of a split by a backbone are, or will be, below `folder`."""
    return folder / store_name(spec, split, store_key(source, manifest, split, spec, settings))


def store_key(source: ImageSource, manifest: Manifest, split: str, spec: Spec, settings: Settings) -> str:
    """The key of everything that determines the features of a split by a backbone."""
    rows = plan(source, manifest, split, settings.shard_rows)
    shown = fingerprint(source, rows.numbers)
    return decided_key(settings.decides(spec, manifest.content_hash, split, shown))


def _versions() -> dict[str, str]:
    """Versions of the libraries that compute features; not in the key, since they only affect rounding."""
    import PIL
    import torch

    return {"unseen": __version__, "torch": torch.__version__, "pillow": PIL.__version__}


def own_shards(rows: Plan, settings: Settings) -> range:
    """The shards of the part that is done here."""
    return range(settings.part[0] - 1, rows.shards, settings.part[1])


def decided_key(decides: dict[str, object]) -> str:
    """The key of a store, from everything that determines its features."""
    text = json.dumps(decides, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _slug(text: str) -> str:
    """The last component of a path, in characters that are safe in a file name."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", text.rpartition("/")[2]).strip("-.")[:60]


def _refuse_damaged(stores: Iterable[Unfinished]) -> None:
    """Refuse images that an earlier extraction left out as damaged, if this one must not leave out any."""
    for store in stores:
        damaged = store.first_damaged()
        if damaged is not None:
            raise ImageError(
                f"{damaged[0]}: {damaged[1]} (an earlier extraction left it out of {store.folder}); "
                f"if it is repaired, delete that folder, or go on without it ({setting('on-error', 'skip')})"
            )
