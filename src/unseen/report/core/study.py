"""The section about the study of a run: how it differs from the shipped one, and every setting."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

from unseen.errors import UserError
from unseen.report.core.model import Cell, Column, Row, Section, Table
from unseen.runs.record import read_record
from unseen.studies.differences import differences_from_shipped, settings_of
from unseen.studies.study import FILES, Study
from unseen.studies.study_file import again, studies_in
from unseen.studies.toml import read_study

MOST_STUDIES = 10
"""Studies whose settings a page lists, when it shows many runs."""


def study_section(folders: Sequence[Path], beside: Path | None = None) -> Section | None:
    """The studies of some runs; None if they have none. Of a file that cannot be read, the page says why.

    Args:
        beside: the folder of the page, to link to their files; None for no links.
    """
    paths = [(_named(folder, path, folders), path) for folder in folders for path in studies_in(folder)]
    if not paths:
        return None
    studies, sentences = list[tuple[str, Study]](), list[Markup]()
    for name, path in paths:
        try:
            studies.append((name, read_study(path)))
        except UserError as error:
            sentences.append(Markup("{}").format(str(error)))
        else:
            sentences.append(_sentence(_link(name, path, beside), studies[-1][1]) + _again(path))
    return Section(
        "study",
        "Study" if len(paths) == 1 else "Studies",
        sentences=sentences,
        tables=[
            *(table for number, each in enumerate(studies, 1) for table in _different(number, *each)),
            *(_settings(number, *each) for number, each in enumerate(studies[:MOST_STUDIES], 1)),
        ],
        note="The file has every setting, and unseen show explains each.",
    )


def _named(folder: Path, path: Path, folders: Sequence[Path]) -> str:
    return path.name if len(folders) == 1 else f"{folder.resolve().name}/{path.name}"


def _link(name: str, path: Path, beside: Path | None) -> Markup:
    if beside is None:
        return Markup("<code>{}</code>").format(name)
    place = Path(os.path.relpath(path.resolve(), beside.resolve())).as_posix()
    return Markup('<a href="{}"><code>{}</code></a>').format(quote(place, errors="surrogateescape"), name)


def _sentence(name: Markup, study: Study) -> Markup:
    different = differences_from_shipped(study)
    if different is None:
        return Markup("{} follows no study that comes with unseen.").format(name)
    how = (
        f"with {len(different)} changed {'setting' if len(different) == 1 else 'settings'}" if different else "as it is"
    )
    return Markup("{} is {} {}.").format(name, study.based_on, how)


def _again(path: Path) -> Markup:
    """The command that runs the study of a run in another folder."""
    command = read_record(path.parent)[0].remarks.get(again(path.name), "")
    return Markup(" Run it again in the folder of the run: <code>{}</code>").format(command) if command else Markup("")


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
