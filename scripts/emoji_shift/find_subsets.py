"""Search the test sets of the study for subsets on which accuracy falls as ID accuracy rises, from stored predictions.

    python -m emoji_shift.find_subsets TABLE.csv PREDICTIONS.npz [--permutations 200]

Run it with `scripts` and `src` on the path. It needs no network: the files are those that `emoji_shift.ship` wrote.
"""

import argparse
from pathlib import Path

import numpy as np

from emoji_shift.ship import ID_SETS, OOD_SETS
from unseen.analyses.robustness.fits import ShiftSettings, study_shifts
from unseen.analyses.robustness.subset_keys import SubsetKeys
from unseen.analyses.robustness.subsets import ColumnHits, ShiftSubsets, find_subsets
from unseen.analyses.robustness.table import read_accuracies, shift_table
from unseen.probes.units import ScoredImages


def main() -> None:
    """Search, and print what was found on each test set."""
    parser = argparse.ArgumentParser(description="Search the study of emoji and drawings for subsets.")
    parser.add_argument("table", type=Path, help="accuracies (.csv)")
    parser.add_argument("predictions", type=Path, help="predictions (.npz)")
    parser.add_argument("--permutations", type=int, help="searches with permuted models")
    args = parser.parse_args()
    found = subsets(args.table, args.predictions, SubsetKeys(permutations=args.permutations))
    for each in found.found:
        print(each.sentence)
    for notice in found.notices:
        print(notice)


def subsets(table: Path, predictions: Path, keys: SubsetKeys) -> ShiftSubsets:
    """The searches on all OOD test sets, by accuracy on both ID test sets."""
    with np.load(predictions, allow_pickle=False) as stored:
        arrays = dict(stored)
    models, classes = (
        arrays["models"].tolist(),
        [str(number) for number in range(int(arrays["id_drawings_label"].max()) + 1)],
    )
    hits = {
        name: ColumnHits(
            ScoredImages.labelled(classes, arrays[f"{name}_label"]),
            dict(zip(models, arrays[name] == arrays[f"{name}_label"], strict=True)),
        )
        for name in OOD_SETS
    }
    sizes = {name: arrays[name].shape[1] for name in (*ID_SETS, *OOD_SETS)}
    checked = shift_table(read_accuracies(table), ID_SETS, OOD_SETS, group="group", unit="fraction")
    return find_subsets([study_shifts(checked, ShiftSettings(sizes=sizes))], hits, keys)


if __name__ == "__main__":
    main()
