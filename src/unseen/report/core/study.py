"""The section about the study of a run: how it differs from the shipped one, and every setting."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from unseen.report.core.model import Cell, Column, Row, Section, Table
from unseen.studies.differences import differences_from_shipped, settings_of
from unseen.studies.study import FILES, Study
from unseen.studies.study_file import studies_in
from unseen.studies.toml import read_study

MOST_STUDIES = 10
"""Studies whose settings a page lists, when it shows many runs."""


def study_section(folders: Sequence[Path]) -> Section | None:
    """The studies of some runs; None if they have none."""
    studies = [(_named(folder, path, folders), read_study(path)) for folder in folders for path in studies_in(folder)]
    if not studies:
        return None
    return Section(
        "study",
        "Study" if len(studies) == 1 else "Studies",
        sentences=[_sentence(name, study) for name, study in studies],
        tables=[
            *(table for number, each in enumerate(studies, 1) for table in _different(number, *each)),
            *(_settings(number, *each) for number, each in enumerate(studies[:MOST_STUDIES], 1)),
        ],
        note="study.toml in the folder of the run has every setting; unseen run study.toml runs it again, and unseen "
        "show explains each.",
    )


def _named(folder: Path, path: Path, folders: Sequence[Path]) -> str:
    return path.name if len(folders) == 1 else f"{folder.resolve().name}/{path.name}"


def _sentence(name: str, study: Study) -> str:
    different = differences_from_shipped(study)
    if different is None:
        return f"{name} follows no study that comes with unseen."
    how = (
        f"with {len(different)} changed {'setting' if len(different) == 1 else 'settings'}" if different else "as it is"
    )
    return f"{name} is {study.based_on} {how}."


def _different(number: int, name: str, study: Study) -> Iterator[Table]:
    """The settings that differ from the shipped study."""
    different = differences_from_shipped(study)
    if different:
        columns = [Column("Setting", number=False), Column(study.based_on, number=False), Column(name, number=False)]
        rows = [Row([Cell(each.key), Cell(each.first), Cell(each.second)]) for each in different]
        yield Table(f"study-{number}-changed", columns, rows, f"{name}: settings that differ", kind="plain")


def _settings(number: int, name: str, study: Study) -> Table:
    columns = [Column("Setting", number=False), Column("Value", number=False)]
    rows = [
        Row([Cell(key), Cell(value)]) for key, value in settings_of(study).items() if not key.startswith(f"{FILES}.")
    ]
    return Table(f"study-{number}", columns, rows, f"{name}: every setting", kind="plain", folded=f"Settings of {name}")
