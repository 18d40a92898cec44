"""What a reader must know of the boxes or maps of a data set."""

from collections import Counter
from collections.abc import Iterator

from unseen.data.core.dense.label_survey import survey_labels
from unseen.data.core.open_dataset import OpenDataset
from unseen.errors import names_of
from unseen.runs.flaws import MOST_EXAMPLES, Flaw
from unseen.runs.notices import Notice, notice


def label_flaws(data: OpenDataset) -> Iterator[Flaw]:
    """Images that are skipped because their labels cannot be used, labels that are not used, and those of no image."""
    survey, name = survey_labels(data), data.dataset.name
    for split, word in (("train", "training images"), ("test", "test images")):
        if damaged := survey.damaged.get(split):
            examples = tuple(f"{each.id}: {each.reason}" for each in damaged[:MOST_EXAMPLES])
            total = Counter(data.manifest.splits)[split]
            yield Flaw("damaged-images", "", name, word, len(damaged), total, examples)
        lost = [f"{each.id}: {each.reason}" for each in survey.left_out.get(split, ())]
        stray = [f"{each} is of no image" for each in data.unmatched.get(split, ())]
        if lost or stray:
            boxes = data.dataset.kind == "boxes"
            own = int(survey.shown[split].sum()) + len(lost) if boxes else len(data.numbers(split))
            examples = tuple([*lost, *stray][:MOST_EXAMPLES])
            yield Flaw("unused-labels", "", name, word, len(lost) + len(stray), own + len(stray), examples)


def label_notices(data: OpenDataset) -> list[Notice]:
    """A notice about classes that cannot be learned, if there are any."""
    untrained = survey_labels(data).untrained(data.classes)
    if not untrained:
        return []
    names, title = names_of(untrained), data.dataset.title
    return [notice("untrained-classes", data.dataset.name, title=title, count=len(untrained), classes=names)]
