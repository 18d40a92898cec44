"""`unseen panel`: a few concepts of each level that give the scores of all of them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unseen.cli.output import Json, console, print_json, print_table

if TYPE_CHECKING:
    from unseen.analyses.panels.of_runs import LevelPanel, Panels


def panel(
    runs: Annotated[
        list[Path], typer.Argument(help="Folders of runs on the same levels, with at least six backbones together.")
    ],
    concepts: Annotated[int, typer.Option(help="Number of concepts per level.")],
    out: Annotated[Path, typer.Option(help="File of levels to write (.csv).")] = Path("panel.csv"),
    shots: Annotated[str, typer.Option(help="Which results to use: training images per concept, or all.")] = "all",
    seed: Annotated[int, typer.Option(help="Seed of the held-out parts and of the random panels.")] = 0,
    json: Json = False,
) -> None:
    """Choose a few concepts of each level that give its score.

    The mean accuracy on the concepts comes close to the score of the whole level, for all backbones of past runs. How
    well such a choice works for other backbones is measured by holding out each backbone in turn, and compared with
    random panels of the same size.

    The file is a value of the key levels: unseen run cog-v2 --set levels=panel.csv.
    """
    from unseen.analyses.panels.file import check_panel_name, write_panel
    from unseen.analyses.panels.of_runs import panels_of_runs
    from unseen.files import check_writable

    check_panel_name(out)
    check_writable(out.parent)
    panels = panels_of_runs(runs, concepts, shots=shots, seed=seed)
    write_panel(panels, out)
    if json:
        print_json(_record(panels, out))
    else:
        _print(panels, out)


def _record(panels: "Panels", out: Path) -> dict[str, Any]:
    from dataclasses import asdict

    levels = [
        asdict(each)
        | {"concepts": [concept.wnid for concept in each.concepts]}
        | {"against_random": each.held_out.verdict, "beats_random": each.held_out.beats_random}
        for each in panels.levels
    ]
    return {**asdict(panels), "levels": levels, "beats_random": panels.beats_random, "file": str(out)}


def _print(panels: "Panels", out: Path) -> None:
    rows = [
        [
            each.domain, f"{panels.k} of {each.size}", str(each.held_out.backbones), _range(each, "error"),
            _range(each, "random"), "–" if each.other_kinds is None else _points(each.other_kinds),
            each.held_out.verdict,
        ]
        for each in panels.levels
    ]  # fmt: skip
    columns = ["level", "concepts", "backbones", "error", "random panels", "other kinds", "than random"]
    print_table(
        "Mean absolute error of the score of a held-out backbone, percentage points", columns, rows, right=columns[1:-1]
    )
    shown = console()
    shown.print()
    for sentence in _sentences(panels):
        shown.print(sentence)
    shown.print(f"\nPanel: {out}")


def _sentences(panels: "Panels") -> list[str]:
    """What the numbers mean, and whether the choice is worth more than a random one."""
    from unseen.data.concepts.domains import SEEN
    from unseen.text.words import joined

    by_verdict: dict[str, list[str]] = {}
    for each in panels.levels:
        by_verdict.setdefault(each.held_out.verdict, []).append(each.domain)
    own, random = (
        _ends([getattr(each.held_out, name).value for each in panels.levels]) for name in ("error", "random")
    )
    sentences = [
        f"With {panels.k} concepts per level, the score of a held-out backbone is off by {own} percentage points on "
        f"average, and with random panels by {random}. The score is estimated as intercept + slope · accuracy on the "
        "panel; both numbers are in the file."
    ]
    if better := by_verdict.get("better"):
        sentences.append(f"On {joined(better)}, the chosen panel is better than random panels of its size.")
    if unresolved := by_verdict.get("not resolved"):
        sentences.append(
            f"On {joined(unresolved)}, the chosen panel is not measurably better than a random one: these backbones do "
            "not show a difference."
        )
    if worse := by_verdict.get("worse"):
        sentences.append(f"On {joined(worse)}, the chosen panel is worse than random panels: do not use it.")
    sentences += [
        "In brackets: the 95% interval over backbones for the choice, and the range of 95% of random panels. Other "
        "kinds: the error if a whole category of backbones is held out. A backbone unlike all of these may be "
        "estimated less well.",
        "The errors are for accuracy on the panel's concepts among all concepts of the level. A study on the panel "
        "trains classifiers of its concepts alone, whose accuracy is higher: compare it only with other runs on the "
        "panel.",
    ]
    if panels.seen and panels.seen != SEEN:
        sentences.append(f"The seen concepts stay as they are: add --set seen={panels.seen} where you use the panel.")
    return sentences


def _range(level: "LevelPanel", name: str) -> str:
    interval = getattr(level.held_out, name)
    return f"{_points(interval.value)} ({_points(interval.low)} to {_points(interval.high)})"


def _ends(shares: list[float]) -> str:
    """The smallest and the largest of the errors of all levels."""
    return " to ".join(dict.fromkeys(_points(each) for each in (min(shares), max(shares))))


def _points(share: float) -> str:
    return f"{100 * share:.2f}"
