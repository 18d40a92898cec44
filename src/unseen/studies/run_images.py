"""The images of a run, opened again as the studies in its folder name them."""

from pathlib import Path

from unseen.data.core.open_dataset import OpenDataset
from unseen.errors import UserError
from unseen.studies.opened import open_data
from unseen.studies.places import Places
from unseen.studies.probes import study_probes
from unseen.studies.study_file import named_code, studies_in
from unseen.studies.toml import read_study
from unseen.studies.watch import Watch


def images_of_run(run: Path, places: Places, watch: Watch) -> tuple[dict[str, OpenDataset], list[str]]:
    """The data sets of a run whose images are there, by name, and sentences about studies that could not be opened.

    The user's own code in a study is not executed for this: its data sets are opened without it, if they can be.
    """
    there, sentences = dict[str, OpenDataset](), list[str]()
    for path in studies_in(run):
        study = read_study(path)
        own = set(named_code(study))
        study = study.replace(
            probes=[each for each in study.probes if each not in own], metrics=[*{*study.metrics} - own]
        )
        try:
            opened = open_data(study, places, study_probes(study, watch.tell).wanted, watch)
        except UserError as error:
            sentences.append(f"{path.name}: {error}")
            continue
        there |= {each.name: each.opened for each in opened.data if each.opened is not None}
    return there, sentences
