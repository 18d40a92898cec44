"""ImageNet-21K as distributed: one tar file of per-class tar files, or the per-class tar files in a folder."""

from collections.abc import Sequence
from pathlib import Path

from unseen.data.core.links import refuse_links_out
from unseen.data.core.listing import check_class, list_folder
from unseen.data.core.releases import provenance
from unseen.data.core.source import Entry
from unseen.data.core.tars.archive import TAR_NAME, Member, images_in, open_plain_tar, tars_in
from unseen.data.core.tars.index import Group, Groups, Watch, index_tars, open_index
from unseen.data.core.tars.tar_images import TarImages
from unseen.errors import UserError


def imagenet_tars(place: Path, *, cache: Path | None = None, watch: Watch = iter) -> TarImages:
    """Images of a tar file of tar files, or of a folder with one tar file per class; nothing is unpacked.

    On first use, the headers of all images are read and their positions stored in an index (about 60 bytes per image),
    beside `place` or in the folder `cache`. It is rebuilt when the size or date of a tar file changes.
    """
    if place.is_dir():
        tars = [Path(entry.path) for entry in list_folder(place) if TAR_NAME.fullmatch(entry.name) and entry.is_file()]
        if not tars:
            raise UserError(f"{place}: contains no tar files; expected one per class (n01440764.tar)")
        refuse_links_out(place, tars)
    else:
        tars = [place]
    index, key = index_tars(place, tars, "imagenet", lambda: _groups(place, tars), cache, watch)
    entries = open_index(index, key).entries
    kind = "tar file per class" if place.is_dir() else "tar file of tar files"
    return TarImages(tars[0].parent, index, key, provenance(kind, entries.classes, len(entries)))


def _groups(place: Path, tars: Sequence[Path]) -> Groups:
    seen = set[str]()
    if tars == [place]:
        with open_plain_tar(place) as outer:
            for name, images in tars_in(outer):
                yield _group(place, name, 0, images, seen)
        if not seen:
            raise UserError(f"{place}: expected a tar file per class in it (n01440764.tar)")
        return
    for number, tar in enumerate(tars):
        with open_plain_tar(tar) as archive:
            yield _group(place, tar.stem, number, images_in(archive), seen)


def _group(place: Path, name: str, tar: int, images: Sequence[Member], seen: set[str]) -> Group:
    check_class(place, name, [image.name for image in images], seen)
    ordered = sorted(images, key=lambda image: image.name)
    entries = [Entry(f"{name}/{image.name}", name) for image in ordered]
    return Group(name, tar, entries, [(image.offset, image.size) for image in ordered], (name,))
