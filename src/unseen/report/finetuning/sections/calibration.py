"""Calibration of fine-tuned networks."""

from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section
from unseen.report.finetuning.tables import calibration_tables
from unseen.report.finetuning.titles import tuned_title
from unseen.report.tasks.section_parts import reliability_lines, temperature_sentences
from unseen.studies.tasks.finetune_data import FinetunePage


def build(page: FinetunePage) -> Section | None:
    """Reliability diagrams where images have one class."""
    figures = [
        Figure(
            tuned_title(page, each), "Confidence (%)", "Accuracy (%)",
            reliability_lines(each.before, each.after, "as trained"),
        )
        for each in page.tuned if each.before and each.after
    ]  # fmt: skip
    if not figures:
        return None
    note = (
        "Test images in 15 bins by the confidence of their prediction. The temperature is fitted to the validation "
        "images by the network that was chosen, before it was trained on them. Published errors are means over ten "
        "data sets."
    )
    sentences = temperature_sentences([f"{each.title} ({each.backbone})" for each in page.tuned if each.unbounded])
    return Section("fine-tuned-calibration", "Calibration", sentences, figures, note, calibration_tables(page))


SECTION = PageSection("finetuning", 20, build)
