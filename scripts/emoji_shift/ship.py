"""Write what is kept of a run of the study: its table of accuracies and severities, and all predictions.

    python -m emoji_shift.ship RUN_DIR [TABLE.csv PREDICTIONS.npz]

Run it with `scripts` and `src` on the path. The table is the one that ships with the package; predictions are (models,
images) indices of classes for each test set, from which everything else on the page of the study follows.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emoji_shift.setups import setups
from unseen.api.run import Run
from unseen.data.concepts.drawings import DATA
from unseen.files import atomic_write
from unseen.studies.shifts.predictions import FOLDER, LABELS, read_predictions

ID_SETS = ("id_emoji", "id_drawings")
OOD_SETS = ("ood_flat", "ood_outlined", "ood_ink", "ood_icons", "ood_chalk")
SEVERITIES = ("information", "depth")
TABLE = DATA / "emoji_shift.csv"
PREDICTIONS = Path(__file__).with_name("predictions.npz")
Arrays = dict[str, NDArray[Any]]


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description="Keep the results of the study of emoji and drawings.")
    parser.add_argument("run", type=Path, help="folder of the run of study.toml")
    parser.add_argument("table", type=Path, nargs="?", default=TABLE, help="file for accuracies and severities (.csv)")
    parser.add_argument(
        "predictions", type=Path, nargs="?", default=PREDICTIONS, help="file for the predictions (.npz)"
    )
    args = parser.parse_args()
    table(args.run).to_csv(args.table, index=False, lineterminator="\n", float_format="%.6f")
    with atomic_write(args.predictions) as file:
        np.savez_compressed(file, **predicted(args.run))  # type: ignore[arg-type]


def table(run: Path) -> pd.DataFrame:
    """One row per model: what it is, its accuracies as fractions, and the mean severities of its mistakes."""
    facts = pd.DataFrame(
        {
            "model": each.name, "group": each.group, "network": each.network, "data": each.data, "ratio": each.ratio,
            "trained-by": "captions" if each.captions else "labels",
        }
        for each in setups()
    )  # fmt: skip
    accuracies = pd.read_csv(run / "accuracies.csv")[["model", *ID_SETS, *OOD_SETS]]
    made = facts.merge(accuracies, on="model", how="inner")
    for name in ID_SETS:
        found = Run(run).severity(name).set_index("model")
        for by in SEVERITIES:
            made[f"severity_{name.removeprefix('id_')}_{by}"] = made["model"].map(found[f"lca-{by}"])
    return made.sort_values(["group", "network", "ratio", "model"])


def predicted(run: Path) -> Arrays:
    """Names of models and classes, and for each test set its labels and all predictions."""
    arrays: Arrays = {}
    for name in (*ID_SETS, *OOD_SETS):
        stored = dict(read_predictions(run / FOLDER / f"{name}.npz"))
        labels = stored.pop(LABELS)
        models = arrays.setdefault("models", np.array(sorted(stored)))
        arrays[f"{name}_label"] = labels.astype(np.uint8)
        arrays[name] = np.stack([stored[model] for model in models.tolist()]).astype(np.uint8)
    return arrays


if __name__ == "__main__":
    main()
