"""Near-duplicates of the test images of a run, of a folder of features, or of one file of features."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from unseen.analyses.duplicates.pairs import NEAR, Duplicates, Part, SetPairs
from unseen.analyses.duplicates.search import nearest_rows
from unseen.analyses.duplicates.without import refuse_threshold, scores_without
from unseen.data.core.rows import ALL
from unseen.device import default_device
from unseen.errors import UserError, argument, did_you_mean, option
from unseen.features.readers import read_features
from unseen.runs.record import RUN, read_results, read_run
from unseen.studies.stored_features import (
    FEATURES,
    Place,
    Splits,
    about_finished,
    check_alike,
    find_features,
    stores_in,
)
from unseen.studies.watch import Silent, Watch

TESTED = Splits(("test",), ("train", "val"))
SEARCHED = ("train", "val")
MOST_OTHER = 0.05
"""Share of pairs of different classes from which the threshold is doubted: some copies have wrong labels."""


def find_duplicates(
    place: Path,
    *,
    against: Sequence[str] = (),
    features: Path | None = None,
    backbone: str | None = None,
    datasets: Sequence[str] | None = None,
    threshold: float = NEAR,
    watch: Watch | None = None,
) -> Duplicates:
    """The nearest training image of each test image by stored features, and the scores of a run without such pairs.

    Args:
        place: a run; a folder with one folder of features per data set; or features of test images.
        against: what is searched instead of each data set's own training and validation images: names of data sets in
            the same folder, or features.
        features: the folder of the features of a run, if they are not in its folder.
        backbone: whose features are compared, if there are several.
        datasets: names; None for all with test images.
        threshold: pairs of at least this similarity count as near-duplicates.
    """
    shown = watch or Silent()
    refuse_threshold(threshold)
    if features is not None and not (place / RUN).is_file():
        raise UserError(f"{place}: is not a run; leave out {option('features')}")
    if not place.exists():
        raise UserError(f"{place}: no such run, folder or file of features")
    where = _Where.of(place, features, backbone)
    sets, device = list[SetPairs](), default_device()
    tests = where.tests(datasets)
    for name, stores in shown.track(tests.items(), "data sets searched", len(tests)):
        parts = list(where.searched(name, stores, against))
        test = Part(name, "", read_features(stores["test"].path))
        _refuse_itself(test, parts)
        if where.is_run:
            _refuse_other_features(place, where.backbone, test)
        found = nearest_rows(test.features.X, [part.features.X for part in parts], device)
        sets.append(SetPairs(test, parts, found))
    scores, notices = scores_without(place, sets, threshold) if where.is_run else ([], [])
    doubts = [sentence for pairs in sets if (sentence := _doubt(pairs, threshold))]
    return Duplicates(where.backbone, threshold, sets, scores, [*where.left_out, *doubts, *notices])


@dataclass(frozen=True, eq=False)
class _Where:
    """Where the features are.

    Attributes:
        folder: the folder with one folder of features per data set; None for one file or store of test images.
        names: its data sets.
        left_out: sentences about data sets that are not searched.
    """

    place: Path
    folder: Path | None
    backbone: str
    names: Sequence[str]
    is_run: bool
    left_out: list[str]

    @classmethod
    def of(cls, place: Path, features: Path | None, backbone: str | None) -> "_Where":
        if place.is_file() or (place.is_dir() and about_finished(place) is not None):
            known = Place(place, (about_finished(place) or {}) if place.is_dir() else {})
            if backbone is not None:
                raise UserError(f"{place}: features of one backbone; leave out {option('backbone')}")
            return cls(place, None, known.backbone or "yours", [place.stem], False, [])
        is_run = (place / RUN).is_file()
        folder = (features or place / FEATURES) if is_run else place
        if not folder.is_dir():
            raise UserError(f"{folder}: no such folder; give the folder of the features ({option('features')})")
        there = sorted(each.name for each in folder.iterdir() if each.is_dir() and not each.name.startswith("."))
        if is_run:
            there = [each.name for each in read_run(place).domains if each.name in there]
        backbones = sorted({store.backbone for name in there for store in stores_in(folder / name) if store.backbone})
        return cls(place, folder, _chosen(folder, backbones, backbone), there, is_run, [])

    def tests(self, datasets: Sequence[str] | None) -> dict[str, dict[str, Place]]:
        """The features of the data sets with test images, by split."""
        if self.folder is None:
            if datasets is not None:
                raise UserError(f"{self.place}: is one data set; leave out {option('datasets')}")
            return {self.names[0]: {"test": Place(self.place)}}
        if wrong := next((name for name in datasets or () if name not in self.names), None):
            hint = did_you_mean(wrong, self.names) or f"; there are {', '.join(self.names) or 'none'}"
            raise UserError(f"{self.folder}: no features of {wrong}{hint}")
        found = dict[str, dict[str, Place]]()
        for name in self.names if datasets is None else datasets:
            try:
                [found[name]] = find_features(self.folder, name, TESTED, [self.backbone]).values()
            except UserError as error:
                if datasets is not None:
                    raise
                self.left_out.append(f"{name} is left out: {error}.")
        if not found:
            raise UserError(f"{self.folder}: no features of test images" + "".join(f"; {e}" for e in self.left_out))
        return found

    def searched(self, name: str, own: dict[str, Place], against: Sequence[str]) -> Iterator[Part]:
        """The features that are searched for images of a data set."""
        if not against:
            places = [(name, split, own[split]) for split in SEARCHED if split in own]
            if not places:
                raise UserError(
                    f"{name}: there are no features of its training images; give others ({option('against', 'PLACE')})"
                )
        else:
            places = [each for word in against for each in self._against(word)]
        check_alike([own["test"], *(place for *_, place in places)])
        for dataset, split, place in places:
            yield Part(dataset, split, read_features(place.path))

    def _against(self, word: str) -> list[tuple[str, str, Place]]:
        if word in self.names and self.folder is not None:
            [stores] = find_features(self.folder, word, Splits(("train",), ("val",)), [self.backbone]).values()
            return [(word, split, place) for split, place in stores.items()]
        path = Path(word)
        if path.is_file():
            return [(word, "", Place(path))]
        if path.is_dir() and (about := about_finished(path)) is not None:
            return [(word, str(about.get("split", "")), Place(path, about))]
        there = [each for each in stores_in(path) if each.backbone == self.backbone and each.split in (*SEARCHED, ALL)]
        if not there:
            hint = (
                did_you_mean(word, self.names) or f"; {argument('against')} names features, or one of these data sets"
            )
            what = f"no training features by {self.backbone}" if path.exists() else "no such data set, file or folder"
            raise UserError(f"{word}: {what}{hint}: {', '.join(self.names) or 'none'}")
        return [(word, str(each.split), each) for each in there]


def _refuse_other_features(run: Path, backbone: str, test: Part) -> None:
    """Refuse test features that are not those that the run has scores of: their images may be others."""
    of_set = [each.job for each in read_results(run) if each.job["dataset"] == test.dataset]
    hashes = {job["reads"].get("test") for job in of_set if job["backbone"] == backbone}
    if hashes and test.features.provenance.get("content_hash") not in hashes:
        raise UserError(
            f"{test.dataset}: these test features of {backbone} are not those of the run, so its scores may be of "
            f"other images; give the features of the run ({option('features')})"
        )


def _doubt(pairs: SetPairs, threshold: float) -> str:
    """That many pairs cannot be copies, if their images often have different classes; empty otherwise."""
    above = pairs.above(threshold)
    if not above.any() or any(part.dataset != pairs.dataset for part in pairs.parts):
        return ""
    other = 1 - float(pairs.same_class[above].mean())
    if other <= MOST_OTHER:
        return ""
    return (
        f"{pairs.dataset}: {other:.0%} of the pairs above the threshold have different classes, so many of them are no "
        f"copies: for this backbone, a threshold of {threshold:g} is too low."
    )


def _chosen(folder: Path, there: Sequence[str], wanted: str | None) -> str:
    """The backbone whose features are compared."""
    if wanted is None and len(there) > 1:
        raise UserError(f"{folder}: has features of {', '.join(there)}; choose one ({option('backbone')})")
    if wanted is not None and there and wanted not in there:
        hint = did_you_mean(wanted, there) or f"; there are {', '.join(there)}"
        raise UserError(f"{folder}: no features of {wanted}{hint}")
    return wanted or next(iter(there), "yours")


def _refuse_itself(test: Part, parts: Sequence[Part]) -> None:
    """Refuse to search among the test images themselves."""
    own = test.features.provenance.get("content_hash")
    same = next((part for part in parts if own and part.features.provenance.get("content_hash") == own), None)
    if same is not None:
        raise UserError(f"{same.words}: these are the features of the test images themselves; give those of others")
