"""What `unseen concepts` prints: the plan, and accuracies beside published ones."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from unseen.cli.output import console, counted, duration, print_table
from unseen.files import byte_size

if TYPE_CHECKING:
    from unseen.studies.concepts.plan import Asked, Costs
    from unseen.studies.concepts.verify import Compared
    from unseen.studies.probing import FeaturePair


def show_costs(asked: "Asked", costs: "Costs", pairs: "list[FeaturePair]", workers: int) -> None:
    """Print what a study will do, and what that takes."""
    from unseen.device import on_gpu

    rows = [
        (
            cost.name,
            f"{cost.concepts:,}",
            f"{cost.train:,}",
            f"{cost.test:,}",
            byte_size(cost.bytes),
            f"{cost.done / (cost.train + cost.test):.0%}",
        )
        for cost in costs.domains
    ]
    columns = ("domain", "concepts", "training images", "test images", "features", "extracted")
    print_table(f"Concept generalization, levels {asked.levels.name}", columns, rows, columns[1:])
    place = "of GPU memory" if on_gpu() else f"of memory a process ({workers} at a time)"
    console().print(
        f"\nFeatures: about {duration(costs.extraction)} to extract those that are missing, "
        f"{byte_size(costs.disk)} of disk, of which {byte_size(costs.free)} are free."
        f"\nProbes: {jobs_text(asked, pairs)}; about {duration(costs.probing)} for all of them, "
        f"{byte_size(costs.memory)} {place}.\n"
    )


def jobs_text(asked: "Asked", pairs: "Sequence[FeaturePair]") -> str:
    """How many jobs there are, and why."""
    from unseen.studies.concepts.study import study_jobs

    backbones = len({pair.backbone for pair in pairs})
    number = backbones * len(asked.domains) * len(asked.shots) * asked.seeds
    numbers = (backbones, len(asked.domains), len(asked.shots), asked.seeds)
    words = ("backbone", "domain", "setting of shots", "seed")
    factors = [counted(count, word) for count, word in zip(numbers, words, strict=True)]
    text = f"{' × '.join(factors)} = {counted(number, 'regression')}"
    more = len(study_jobs(asked, pairs)) - number
    return f"{text}, and {counted(more, 'job')} of other kinds" if more else text


def show_compared(rows: "Sequence[Compared]") -> None:
    """Print measured beside published accuracies."""
    from unseen.studies.concepts.verify import verdict

    columns = ("domain", "shots", "measured", "published", "difference", "tolerance", "")
    shown = [
        (
            row.domain,
            row.shots,
            f"{row.measured:.1f}",
            f"{row.published:.1f}",
            f"{row.difference:+.1f}",
            f"± {row.tolerance:.1f}",
            "agrees" if row.agrees else "off",
        )
        for row in rows
    ]
    print_table("ResNet-50, top-1 in percent", columns, shown, columns[2:6])
    console().print(f"\n{verdict(rows)}")
