"""WebDataset shards: tar files in which the parts of a sample (key.jpg, key.cls, key.json) follow one another."""

import json
import re
import tarfile
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from unseen.errors import UserError
from unseen.images.listing import list_folder
from unseen.images.releases import provenance
from unseen.images.source import Entry
from unseen.images.tar_images import TarImages
from unseen.images.tar_index import Group, Groups, Watch, index_tars, open_index
from unseen.images.tars import IMAGE_SUFFIXES, files_in, open_plain_tar

RANGE = re.compile(r"\{(?P<first>[0-9]+)\.\.(?P<last>[0-9]+)\}")
LABEL_LIMIT = 1 << 20
MOST_SHARDS = 1_000_000


def webdataset_images(
    place: Path, *, label: str | None = None, cache: Path | None = None, watch: Watch = iter
) -> TarImages:
    """Images of shards: one tar file, a folder of them, or a pattern like `shard-{000000..000146}.tar`.

    Ids are `shard/key`; the order is that of the shards' names and of the samples in each.

    Args:
        label: where a sample's class is: "cls" (text, or a number), or the name of a field of its JSON. Unless given,
            `cls` where a sample has it, otherwise the field "label".
        cache, watch: see `imagenet_tars`.
    """
    shards = find_shards(place)
    kept_at = place if place.exists() else place.with_name(re.sub(r"[^\w.-]+", "_", place.name))
    settings = f"webdataset {label}"
    index, key = index_tars(kept_at, shards, settings, lambda: _groups(shards, label), cache, watch)
    entries = open_index(index, key).entries
    about = provenance("WebDataset", entries.classes, len(entries), shards=str(len(shards)))
    return TarImages(shards[0].parent, index, key, about)


def find_shards(place: Path) -> list[Path]:
    """The tar files that a path stands for, all of which must be there."""
    if place.is_dir():
        shards = [Path(entry.path) for entry in list_folder(place) if entry.name.endswith(".tar") and entry.is_file()]
    else:
        shards = [place.with_name(name) for name in _expanded(place.name)]
    if not shards:
        raise UserError(f"{place}: no tar files in it")
    missing = next((shard for shard in shards if not shard.is_file()), None)
    if missing is not None:
        raise UserError(f"{missing}: no such file")
    return shards


def _expanded(pattern: str) -> list[str]:
    match = RANGE.search(pattern)
    if not match:
        return [pattern]
    first, last, width = int(match["first"]), int(match["last"]), len(match["first"])
    if last < first or last - first >= MOST_SHARDS:
        raise UserError(f"{pattern}: {match[0]} is not a range of shards")
    before, after = pattern[: match.start()], pattern[match.end() :]
    return [name for i in range(first, last + 1) for name in _expanded(f"{before}{i:0{width}d}{after}")]


def is_shard(path: Path) -> bool:
    """Whether a tar file's first sample has an image and, with the same key, something else."""
    with open_plain_tar(path) as archive:
        _, parts = next(_samples(archive, str(path)), ("", {}))
    return len(parts) > 1 and any(f".{part}".endswith(IMAGE_SUFFIXES) for part in parts)


def _samples(archive: tarfile.TarFile, where: str) -> Iterator[tuple[str, dict[str, tarfile.TarInfo]]]:
    """(key, parts by what follows the key's first point), sample by sample."""
    for key, members in groupby(files_in(archive, where), lambda member: _key_and_part(member.name)[0]):
        parts: dict[str, tarfile.TarInfo] = {}
        for member in members:
            part = _key_and_part(member.name)[1].lower()
            if part in parts:
                raise UserError(f"{where}: {member.name} is there twice")
            parts[part] = member
        if not key.rpartition("/")[2]:  # hidden files
            continue
        yield key, parts


def _key_and_part(path: str) -> tuple[str, str]:
    folder, slash, name = path.removeprefix("./").rpartition("/")
    key, _, part = name.partition(".")
    return folder + slash + key, part


def _groups(shards: Sequence[Path], label: str | None) -> Groups:
    for number, shard in enumerate(shards):
        entries: list[Entry] = []
        places: list[tuple[int, int]] = []
        seen = set[str]()
        with open_plain_tar(shard) as archive:
            for key, parts in _samples(archive, str(shard)):
                where = f"{shard}: {key}"
                image = next((parts[part] for part in parts if f".{part}".endswith(IMAGE_SUFFIXES)), None)
                if image is None:
                    raise UserError(f"{where} has no image, only {', '.join(parts)}")
                if key in seen or not key.isprintable():
                    raise UserError(f"{where} is there twice, or its name is not plain text")
                seen.add(key)
                entries.append(Entry(f"{shard.stem}/{key}", _label(archive, parts, label, where)))
                places.append((image.offset_data, image.size))
        yield Group(f"{number:07d}", number, entries, places)


def _label(archive: tarfile.TarFile, parts: dict[str, tarfile.TarInfo], label: str | None, where: str) -> str:
    if label in (None, "cls") and "cls" in parts:
        text = _text(archive, parts["cls"], where).strip()
        found: object = int(text) if text.isdecimal() else text
    elif label != "cls" and "json" in parts:
        try:
            found = json.loads(_text(archive, parts["json"], where)).get(label or "label")
        except (ValueError, AttributeError):
            raise UserError(f"{where}.json is not a JSON object") from None
    else:
        lacking = "cls or json" if label is None else label
        raise UserError(f"{where} has no {lacking}, only {', '.join(parts)}; say with --label where its class is")
    if isinstance(found, bool) or not isinstance(found, str | int) or found == "" or not str(found).isprintable():
        place = label or "cls, or label in its json"
        raise UserError(f"{where}: found no class in '{place}', but {found!r}; name the field to take with --label")
    return str(found)


def _text(archive: tarfile.TarFile, member: tarfile.TarInfo, where: str) -> str:
    file = archive.extractfile(member)
    if file is None or member.size > LABEL_LIMIT:
        raise UserError(f"{where}: {member.name} is too large for a label")
    try:
        return file.read().decode()
    except UnicodeDecodeError:
        raise UserError(f"{where}: {member.name} is not UTF-8 text") from None
