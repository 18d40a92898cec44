"""How long a comparison of predictors takes, beside scikit-learn's cross-validation in a loop, with the same errors.

    PYTHONPATH=src python benchmarks/shift_predictors.py [--models 338] [--test-sets 212] [--looped 10]

The table is made up, of the size of the testbed of Taori et al. (2020), with 10% of cells empty; models are held out
one at a time. The loop fits the same candidates on some of the test sets, and its time is scaled to all.
"""

import argparse
from time import perf_counter

import numpy as np
import pandas as pd
from scipy import special
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import LeaveOneOut, cross_val_predict

import unseen


def made_up(models: int, test_sets: int) -> pd.DataFrame:
    """Accuracies on two ID and many OOD test sets, in percent."""
    rng = np.random.default_rng(0)
    skill = rng.normal(0, 1, models)
    logits = {"id1": skill, "id2": skill + rng.normal(0, 0.3, models)}
    logits |= {
        f"ood{number}": rng.uniform(0.3, 1) * skill - rng.uniform(0, 2) + rng.normal(0, 0.2, models)
        for number in range(test_sets)
    }
    columns = {name: 100 * special.expit(values) for name, values in logits.items()}
    for name in [*columns][2:]:
        columns[name][rng.random(models) < 0.1] = np.nan
    return pd.DataFrame({"model": [f"net{number}" for number in range(models)], **columns})


def main() -> None:
    """Print both times, their ratio, and the largest difference of errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("--models", 338), ("--test-sets", 212), ("--looped", 10)):
        parser.add_argument(name, type=int, default=default)
    args = parser.parse_args()
    table, oods = made_up(args.models, args.test_sets), [f"ood{number}" for number in range(args.test_sets)]
    unseen.predictors(table, ["id1", "id2"], oods[:2])
    began = perf_counter()
    frame = unseen.predictors(table, ["id1", "id2"], oods).to_frame().set_index(["ood", "predictor"])["error"]
    ours, began = perf_counter() - began, perf_counter()
    apart = 0.0
    for ood in oods[: args.looped]:
        part = table[["id1", "id2", ood]].dropna()
        x, y = special.logit(part[["id1", "id2"]].to_numpy() / 100), special.logit(part[ood].to_numpy() / 100)
        for name, places in (("id1", [0]), ("id2", [1]), ("id1 + id2", [0, 1])):
            predicted = cross_val_predict(LinearRegression(), x[:, places], y, cv=LeaveOneOut())
            error = 100 * np.abs(special.expit(predicted) - special.expit(y)).mean()
            apart = max(apart, abs(error - frame[ood, name]))
    loop = (perf_counter() - began) * args.test_sets / args.looped
    print(f"{args.models} models, {args.test_sets} test sets: {ours:.2f} s; scikit-learn in a loop: {loop:.0f} s")
    print(f"ratio {loop / ours:.0f}; largest difference of errors {apart:.1e} points")


if __name__ == "__main__":
    main()
