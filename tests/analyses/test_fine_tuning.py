"""Frozen features relative to fine-tuning."""

import pandas as pd

from unseen.analyses.fine_tuning import relative_to_finetuned
from unseen.runs.score import Score


def test_relative_scores_are_differences_of_means() -> None:
    def score(domain: str, probe: str, seed: int, value: float, metric: str = "top1") -> Score:
        return Score("concepts", "p", "b", domain, probe, None, seed, metric, value)

    probes = [score("l1", "logistic", 0, 0.5), score("l1", "logistic", 1, 0.6), score("l2", "logistic", 0, 0.4)]
    probes += [score("l1", "logistic", 0, 0.9, "top5"), score("l1", "mlp", 0, 0.7)]
    table = relative_to_finetuned(probes, [score("l1", "fine-tuned", 0, 0.75), score("l5", "fine-tuned", 0, 0.7)])
    expected = pd.DataFrame(
        [["b", "l1", "all", 0.55, 0.75, -0.2]],
        columns=["backbone", "domain", "shots", "mean", "finetuned", "relative"],
    )
    pd.testing.assert_frame_equal(table.reset_index(drop=True), expected)
