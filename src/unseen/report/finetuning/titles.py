"""What figures of fine-tuning are called."""

from unseen.studies.tasks.finetune_data import FinetunePage, Tuned


def tuned_title(page: FinetunePage, each: Tuned) -> str:
    """The data set, and the backbone where there are several."""
    return each.title if len(page.backbones) == 1 else f"{each.title}, {each.backbone}"
