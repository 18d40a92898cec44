"""Tables of concept studies: comparison with published and fine-tuned accuracies, and label noise."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from unseen.cli.output import console, print_table

if TYPE_CHECKING:
    from unseen.analyses.label_noise.inspection import Inspection
    from unseen.analyses.reproduction import Compared
    from unseen.runs.data import RunData


def show_compared(rows: "Sequence[Compared]") -> None:
    """Print measured and published accuracies."""
    from unseen.analyses.reproduction import verdict

    columns = ("domain", "shots", "measured", "published", "difference", "tolerance", "")
    shown = [
        (
            row.domain,
            row.shots,
            f"{row.measured:.1f}",
            f"{row.published:.1f}",
            f"{row.difference:+.1f}",
            f"± {row.tolerance:.1f}",
            "agrees" if row.agrees else "differs",
        )
        for row in rows
    ]
    print_table("ResNet-50, top-1 in percent", columns, shown, columns[2:6])
    console().print(f"\n{verdict(rows)}")


def show_relative(data: "RunData") -> None:
    """Print the accuracies of probes and of fine-tuning, if a run has both."""
    tuned = [score for score in data.scores if score.probe == "fine-tuned"]
    probed = [score for score in data.scores if score.probe == "logistic"]
    if not tuned or not probed:
        return
    from unseen.analyses.fine_tuning import relative_to_finetuned

    table = relative_to_finetuned(probed, tuned)
    columns = ("backbone", "domain", "features", "fine-tuned", "features − fine-tuned")
    rows = [
        (row.backbone, row.domain, f"{100 * row.mean:.1f}", f"{100 * row.finetuned:.1f}", f"{100 * row.relative:+.1f}")
        for row in table[table["shots"] == "all"].itertuples()
    ]
    if rows:
        console().print()
        print_table("Top-1 accuracy with all training images, percent", columns, rows, columns[2:])


def show_noise(found: "Inspection", threshold: float) -> None:
    """Print the share of predictions above a threshold, for each classifier on each other domain."""
    rows = [
        (classifier, domain, f"{images:,}", f"{found.share(classifier, domain):.1%}")
        for (classifier, domain), images in found.applied.items()
    ]
    columns = ("classifier", "test images", "number", f"above {threshold:g}")
    print_table("Predictions of classifiers on other domains", columns, rows, columns[2:])
    share = len(found.table) / max(sum(found.applied.values()), 1)
    console().print(f"\n{len(found.table):,} predictions above {threshold:g}: {share:.1%} of all.")
