"""The page of fine-tuning in the task study: scores, what was tried and chosen, and calibration."""

from pathlib import Path

from unseen.report.concepts.rows import METRICS
from unseen.report.core.discover import build_sections
from unseen.report.core.model import Backbone, Page
from unseen.report.core.render import write_page
from unseen.studies.tasks.finetune_data import FinetunePage
from unseen.words import counted


def write_finetune_page(page: FinetunePage, path: Path) -> None:
    """Write the page of a run."""
    write_page(finetuning_page(page), path)


def finetuning_page(page: FinetunePage) -> Page:
    """The page of a run."""
    return Page(
        title=page.title,
        sections=build_sections("finetuning", page),
        facts=[page.protocol, counted(len(page.backbones), "backbone"), counted(len(page.datasets), "data set")],
        notices=page.notices,
        findings=findings(page),
        backbones=[Backbone(name) for name in page.backbones],
        beside_published=True,
    )


def findings(page: FinetunePage) -> list[str]:
    """The score of each backbone on each data set, in words."""
    return [
        f"{each.backbone}, fine-tuned on {each.title}: {100 * each.scores[0].value:.2f}% "
        f"{METRICS.get(each.metric, each.metric)}."
        for each in page.tuned
    ]
