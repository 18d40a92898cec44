"""What predicts accuracy, and what the average hides, from the stored predictions of the study: no network is needed.

    python -m emoji_shift.analyse [TABLE.csv PREDICTIONS.npz] [--permutations 200]

Run it with `scripts` and `src` on the path. By default it reads the table of the package and the predictions beside
this file, which `emoji_shift.ship` wrote. The page of the run says the same of all groups; here, models whose training
images were changed are only scored.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from emoji_shift.ship import ID_SETS, OOD_SETS, PREDICTIONS, SEVERITIES, TABLE, Arrays
from unseen.analyses.robustness.fits import ShiftSettings, study_shifts
from unseen.analyses.robustness.found_subsets import ShiftSubsets
from unseen.analyses.robustness.predictor_columns import Columns, Estimated, measures_of_table
from unseen.analyses.robustness.predictor_words import statements
from unseen.analyses.robustness.predictors import PredictorStudy, compare_predictors
from unseen.analyses.robustness.subset_keys import SubsetKeys
from unseen.analyses.robustness.subsets import ColumnHits, find_subsets
from unseen.analyses.robustness.table import ShiftTable, read_accuracies, shift_table
from unseen.metrics.agreement import agreement_line, expected_accuracy, refined_accuracy
from unseen.metrics.paired.estimate import Estimate
from unseen.probes.units import ScoredImages
from unseen.text.words import signed

FIT_ON = "group not in {drawings-colour, emoji-grey}"
PREDICTED = OOD_SETS[:-1]
"""Of chalk, no model of the fit knows anything: its accuracies are those of guessing."""


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description="Analyse the study of emoji and drawings.")
    parser.add_argument("table", type=Path, nargs="?", default=TABLE, help="accuracies and severities (.csv)")
    parser.add_argument("predictions", type=Path, nargs="?", default=PREDICTIONS, help="predictions (.npz)")
    parser.add_argument("--permutations", type=int, help="searches with permuted models")
    args = parser.parse_args()
    with np.load(args.predictions, allow_pickle=False) as stored:
        arrays = dict(stored)
    compared = predictors(args.table, arrays)
    frame = compared.to_frame()
    print(frame.pivot(index="predictor", columns="ood", values="error").round(2).to_string())
    print(*statements(compared), *compared.notices, sep="\n")
    print(captions(args.table))
    found = subsets(args.table, arrays, SubsetKeys(permutations=args.permutations))
    print(*(each.sentence for each in found.found), *found.notices, sep="\n")


def predictors(table: Path, arrays: Arrays, fit_on: str | None = FIT_ON) -> PredictorStudy:
    """Accuracies on both ID test sets, severity of mistakes on them, and agreement, on models of held-out groups."""
    rows = read_accuracies(table)
    checked = shift_table(rows, ID_SETS, PREDICTED, group="group", unit="fraction", fit_on=fit_on)
    severities = [f"severity_{name.removeprefix('id_')}_{SEVERITIES[0]}" for name in ID_SETS]
    columns = Columns([*measures_of_table(rows, severities, checked)], _agreement(checked, arrays))
    return compare_predictors(checked, ShiftSettings(sizes=_sizes(arrays, PREDICTED)), columns)


def captions(table: Path) -> str:
    """Image–text models against the supervised ones of the same network and images, in a sentence.

    Each pair has a difference of effective robustness under both ID test sets, in points, averaged over OOD test sets.
    """
    rows = read_accuracies(table)
    checked = shift_table(rows, ID_SETS, PREDICTED, group="group", unit="fraction", fit_on=FIT_ON)
    rho = study_shifts(checked).to_frame().groupby("model")["rho"].mean().mul(100).rename("rho")
    plain = rows[~rows["group"].isin(("drawings-colour", "emoji-grey"))].join(rho, on="model")
    by = plain.pivot_table(index=["data", "network", "ratio"], columns="trained-by", values="rho").dropna()
    per_set = (by["captions"] - by["labels"]).groupby("data").mean()
    mean, error, df = float(per_set.mean()), float(per_set.sem()), len(per_set) - 1
    found = Estimate(mean, mean, error, df)
    ends = found.interval()
    return (
        f"Captions minus labels, {len(by)} pairs of {len(per_set)} training sets: {signed(mean, 2)} points of "
        f"effective robustness, 95% interval {signed(ends.low, 2)} to {signed(ends.high, 2)}; so many training sets "
        f"resolve {found.detectable():.2f} points."
    )


def subsets(table: Path, arrays: Arrays, keys: SubsetKeys) -> ShiftSubsets:
    """The searches on all OOD test sets, by accuracy on both ID test sets, within groups of models."""
    classes = [str(number) for number in range(int(arrays["id_drawings_label"].max()) + 1)]
    hits = {
        name: ColumnHits(
            ScoredImages.labelled(classes, arrays[f"{name}_label"]),
            dict(zip(arrays["models"].tolist(), arrays[name] == arrays[f"{name}_label"], strict=True)),
        )
        for name in OOD_SETS
    }
    checked = shift_table(read_accuracies(table), ID_SETS, OOD_SETS, group="group", unit="fraction")
    return find_subsets([study_shifts(checked, ShiftSettings(sizes=_sizes(arrays, OOD_SETS)))], hits, keys)


def _agreement(table: ShiftTable, arrays: Arrays) -> list[Estimated]:
    """Accuracies that agreement on the emoji held out and on each OOD test set predicts, without OOD labels."""
    place = {model: number for number, model in enumerate(arrays["models"].tolist())}
    rows = [place[model] for model in table.models]
    known = arrays[ID_SETS[0]][rows].astype(np.int64)
    right = (known == arrays[f"{ID_SETS[0]}_label"]).mean(axis=1)
    lines = {name: agreement_line(known, arrays[name][rows].astype(np.int64)) for name in table.ood_sets}
    return [
        Estimated("agreement (line)", {name: expected_accuracy(line, right) for name, line in lines.items()}),
        Estimated("agreement (refined)", {name: refined_accuracy(line, right) for name, line in lines.items()}),
    ]


def _sizes(arrays: Arrays, oods: Sequence[str]) -> dict[str, int]:
    return {name: arrays[name].shape[1] for name in (*ID_SETS, *oods)}


if __name__ == "__main__":
    main()
