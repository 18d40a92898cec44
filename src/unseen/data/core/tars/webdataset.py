"""WebDataset shards: tar files in which the parts of a sample (key.jpg, key.cls, key.json) are adjacent."""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from math import prod
from pathlib import Path

from unseen.data.core.links import refuse_links_out
from unseen.data.core.listing import list_folder
from unseen.data.core.releases import provenance
from unseen.data.core.source import Entry
from unseen.data.core.tars.archive import IMAGE_SUFFIXES, Archive, Member, open_plain_tar
from unseen.data.core.tars.index import Group, Groups, Watch, index_tars, open_index
from unseen.data.core.tars.tar_images import TarImages
from unseen.errors import UserError

RANGE = re.compile(r"\{(?P<first>[0-9]{1,18})\.\.(?P<last>[0-9]{1,18})\}")
LABEL_LIMIT = 1 << 20
MOST_SHARDS = 1_000_000
LONGEST_CLASS = 1000


def webdataset_images(
    place: Path, *, label: str | None = None, cache: Path | None = None, watch: Watch = iter
) -> TarImages:
    """Images of shards: one tar file, a folder of them, or a pattern such as `shard-{000000..000146}.tar`.

    Ids are `shard/key`, in the order of the shard names and of the samples in each.

    Args:
        label: where a sample's class is stored: "cls" (text, or a number), or the name of a field of its JSON. By
            default `cls` if a sample has it, otherwise the field "label". With "" all labels are empty, for callers
            that have their own labels.
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
    """The tar files that a path stands for; all of them must exist."""
    if place.is_dir():
        shards = [Path(entry.path) for entry in list_folder(place) if entry.name.endswith(".tar") and entry.is_file()]
    else:
        shards = [place.with_name(name) for name in _expanded(place.name)]
    if not shards:
        raise UserError(f"{place}: contains no tar files")
    missing = next((shard for shard in shards if not shard.is_file()), None)
    if missing is not None:
        raise UserError(f"{missing}: no such file")
    if place.is_dir():
        refuse_links_out(place, shards)
    return shards


def _expanded(pattern: str) -> list[str]:
    """All names that a pattern with ranges stands for, with the last range varying fastest."""
    ranges = [(match, int(match["first"]), int(match["last"]) + 1) for match in RANGE.finditer(pattern)]
    if (
        not all(first < stop for _, first, stop in ranges)
        or prod(stop - first for _, first, stop in ranges) > MOST_SHARDS
    ):
        raise UserError(f"{pattern}: {', '.join(match[0] for match, *_ in ranges)} is not a range of shards")
    names, end = [""], 0
    for match, first, stop in ranges:
        before, width = pattern[end : match.start()], len(match["first"])
        names = [f"{name}{before}{number:0{width}d}" for name in names for number in range(first, stop)]
        end = match.end()
    return [name + pattern[end:] for name in names]


def is_shard(path: Path) -> bool:
    """Whether a tar file's first sample has an image and another part with the same key."""
    with open_plain_tar(path) as archive:
        _, parts = next(_samples(archive), ("", {}))
    return len(parts) > 1 and any(f".{part}".endswith(IMAGE_SUFFIXES) for part in parts)


def _samples(archive: Archive) -> Iterator[tuple[str, dict[str, Member]]]:
    """(key, parts by the suffix after the key's first dot), sample by sample."""
    for key, members in groupby(archive.members(), lambda member: _key_and_part(member.path)[0]):
        parts: dict[str, Member] = {}
        for member in members:
            part = _key_and_part(member.path)[1].lower()
            if part in parts:
                raise UserError(f"{archive.where}: {member.path} occurs twice")
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
            for key, parts in _samples(archive):
                where = f"{shard}: {key}"
                image = next((parts[part] for part in parts if f".{part}".endswith(IMAGE_SUFFIXES)), None)
                if image is None:
                    raise UserError(f"{where} has no image, only {', '.join(parts)}")
                if key in seen or not key.isprintable():
                    raise UserError(f"{where} occurs twice, or its name is not plain text")
                seen.add(key)
                entries.append(Entry(f"{shard.stem}/{key}", _label(archive, parts, label, where)))
                places.append((image.offset, image.size))
        yield Group(f"{number:07d}", number, entries, places)


def _label(archive: Archive, parts: dict[str, Member], label: str | None, where: str) -> str:
    if label == "":
        return ""
    if label in (None, "cls") and "cls" in parts:
        text = _text(archive, parts["cls"], where).strip()
        label_value: object = text.lstrip("0") or "0" if text.isascii() and text.isdigit() else text
    elif label != "cls" and "json" in parts:
        try:
            label_value = json.loads(_text(archive, parts["json"], where)).get(label or "label")
        except (ValueError, AttributeError, RecursionError):
            raise UserError(f"{where}.json is not a JSON object") from None
    else:
        lacking = "cls or json" if label is None else label
        raise UserError(f"{where} has no {lacking}, only {', '.join(parts)}; choose where its class is stored (label)")
    if isinstance(label_value, bool) or not isinstance(label_value, str | int) or not _is_name(str(label_value)):
        place, shown = label or "cls, or label in its json", repr(label_value)[:80]
        raise UserError(f"{where}: found no class in '{place}', but {shown}; name the field to use (label)")
    return str(label_value)


def _is_name(text: str) -> bool:
    """Whether a text can be the name of a class."""
    return 0 < len(text) <= LONGEST_CLASS and text.isprintable()


def _text(archive: Archive, member: Member, where: str) -> str:
    if member.size > LABEL_LIMIT:
        raise UserError(f"{where}: {member.path} is too large for a label")
    try:
        return archive.read(member).decode()
    except UnicodeDecodeError:
        raise UserError(f"{where}: {member.path} is not UTF-8 text") from None
