"""`unseen leaderboard`: the published models and the user's, ranked."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unseen.cli.choices import choose
from unseen.cli.output import Json, console, note, print_json, print_table
from unseen.cli.rankings import rank_text, show_rankings, write_board_table
from unseen.errors import UserError
from unseen.text.words import counted

if TYPE_CHECKING:
    from unseen.papers.leaderboard import Entry, Leaderboard

WIDE, MIDDLE, NARROW = 125, 105, 78
"""Terminal widths for the whole table, for all but intervals, and for all but categories and middle levels."""
HEADINGS = {"in1k": "IN-1K", "l1": "L1", "l2": "L2", "l3": "L3", "l4": "L4", "l5": "L5", "mean": "mean"}
WHAT = {"l5": "accuracy on L5", "mean": "mean accuracy on L1 to L5", "effective": "effective concept generalization"}


def leaderboard(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Run folders. Those on the concepts of ImageNet-CoG, and results files (unseen export), are ranked "
            "among the published models; backbones of other studies are ranked among themselves."
        ),
    ] = None,
    shots: Annotated[
        str | None,
        typer.Option(
            help="Training images per concept: 1, 2, 4, 8, 16, 32, 64, 128 or all. Default: all; for other studies, "
            "the most of each probe.",
            show_default=False,
        ),
    ] = None,
    category: Annotated[
        list[str] | None,
        typer.Option(
            help="Show only yours and the models of this category: reference, architecture, self-supervision, "
            "regularization or web data."
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="[l5|mean|effective|DATASET]",
            autocompletion=lambda incomplete: [word for word in WHAT if word.startswith(incomplete)],
            help="Rank by accuracy on L5 (the default), mean accuracy over L1 to L5, or effective concept "
            "generalization; backbones of other studies by the mean over data sets (the default) or by one data set.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Also write a page (.html) or a table (.csv, .json, .parquet, .md, .tex).")
    ] = None,
    site: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Also write a static site to host: the leaderboard, one page per model of yours, and all results to "
            "download. The folder must be empty or an earlier site.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Rank your backbones, and the 31 models of ImageNet-CoG.

    Backbones of a study of ImageNet-CoG are ranked among the published models, those of other studies among each other.
    Without runs it needs no data.
    """
    from unseen.analyses.leaderboard import any_leaderboard
    from unseen.papers import cog_models
    from unseen.papers.leaderboard import Leaderboard

    known = list(dict.fromkeys(cog_models()["category"]))
    wanted = {choose("--category", name, known) for name in category or ()}
    if site is not None:
        _refuse_other_folder(site)
        _show(_with_site(runs or [], site, shots=shots, by=by), wanted, out, as_json=as_json)
    else:
        board = any_leaderboard(runs or [], shots=shots, by=by)
        if isinstance(board, Leaderboard):
            _show(board, wanted, out, as_json=as_json)
        elif wanted:
            raise UserError("--category is only for the models of ImageNet-CoG; leave it out")
        else:
            show_rankings(board, out, as_json=as_json)
    for written in filter(None, (out, site)):
        note(f"Wrote {written}")


def _with_site(runs: "Sequence[Path]", site: Path, *, shots: str | None, by: str | None) -> "Leaderboard":
    """The leaderboard with runs and results files, after its site is written."""
    from unseen.analyses.leaderboard import known_order, leaderboard_with_runs
    from unseen.exchange.contributions import is_results, read_contributions
    from unseen.report.leaderboard.site import write_site
    from unseen.report.leaderboard.transfer import has_transfer

    contributions = read_contributions(runs)
    board = leaderboard_with_runs(
        [], contributions, shots=shots or "all", by=known_order(by or "l5"), elsewhere=has_transfer(contributions),
        behind=[run for run in runs if not is_results(run)],
    )  # fmt: skip
    write_site(board, contributions, site)
    return board


def _show(board: "Leaderboard", wanted: set[str], out: Path | None, *, as_json: bool) -> None:
    """Write the page or table, and print the models of the wanted categories."""
    from dataclasses import replace

    shown = replace(board, entries=tuple(e for e in board.entries if not wanted or e.category in wanted or e.yours))
    if out is not None:
        _write(board, shown, out)
    if as_json:
        print_json(_as_json(shown))
    else:
        _print(shown, len(board.entries))


def _as_json(board: "Leaderboard") -> dict[str, Any]:
    """The leaderboard as JSON, with what its ranks are from."""
    models = board.to_frame().astype(object)
    return {
        "by": board.by, "shots": board.shots, "rank_intervals": "seeds",
        "models": models.where(models.notna(), None).to_dict("records"), "notice": board.notice,
    }  # fmt: skip


def _refuse_other_folder(site: Path) -> None:
    """Refuse to mix a site with other files; an earlier site is written again."""
    if site.is_dir() and any(site.iterdir()) and not (site / "results.schema.json").is_file():
        raise UserError(f"{site}: has other files in it; give --site an empty folder, a new one, or an earlier site")


def _write(board: "Leaderboard", shown: "Leaderboard", out: Path) -> None:
    """The page has all models and its own filter; a table has only the models shown."""
    if out.suffix == ".html":
        from unseen.report.leaderboard.page import write_leaderboard_page

        write_leaderboard_page(board, out)
        return
    write_board_table(shown.to_frame(), out)


def _print(board: "Leaderboard", models: int) -> None:
    width = console().width
    marks = _marks(board.entries)
    domain = "l5" if board.by == "l5" else "mean"
    accuracies = ["in1k", *_levels(width, domain)]
    columns = ["rank", "model", "category", *(HEADINGS[name] for name in accuracies), "vs R50", "effective"]
    left_out = set() if width >= MIDDLE else {"category"} if width >= NARROW else {"category", "vs R50"}
    rows = []
    for entry in board.entries:
        name = f"{'▶ ' if entry.yours else ''}{entry.model}{_mark_text(entry, marks)}"
        effective = entry.effective[domain]
        ends = f" ({_points(effective.low)} to {_points(effective.high)})" if width >= WIDE else ""
        accuracy = [f"{100 * entry.accuracy[place]:.1f}" for place in accuracies]
        relative = _points(entry.relative[domain])
        rows.append([_rank(entry), name, entry.category, *accuracy, relative, _points(effective.value) + ends])
    kept = [place for place, column in enumerate(columns) if column not in left_out]
    shots = "all images" if board.shots == "all" else f"{counted(int(board.shots), 'image')} per concept"
    print_table(
        f"{models} models of ImageNet-CoG by {WHAT[board.by]}, {shots}; top-1, percent",
        [columns[place] for place in kept],
        [[row[place] for place in kept] for row in rows],
        right=[name for name in columns if name not in ("model", "category")],
    )
    _print_notes(board, marks, domain)


def _levels(width: int, domain: str) -> list[str]:
    """The levels that fit in the terminal, and the mean if models are ranked by it."""
    if width < NARROW:
        return [domain]
    levels = ["l1", "l2", "l3", "l4", "l5"] if width >= MIDDLE else ["l1", "l5"]
    return levels + (["mean"] if domain == "mean" else [])


def _print_notes(board: "Leaderboard", marks: dict[str, str], domain: str) -> None:
    out = console()
    out.soft_wrap = False
    lines = [f"{mark} Not a fair comparison with ResNet50: {text}" for text, mark in marks.items()]
    of = "L5" if domain == "l5" else "the mean over L1 to L5"
    lines += _own_lines(board)
    lines += [
        "In brackets: 95% interval of the rank, from the standard deviation of accuracies over seeds.",
        f"vs R50: difference from ResNet50 on {of}, in percentage points. effective: accuracy on {of} above what "
        f"accuracy on IN-1K predicts, in percentage points; the fit is on {board.fits['l5'].n} models trained only on "
        f"IN-1K and explains {_explained(board, domain)}.",
    ]
    out.print()
    for line in [*filter(None, [board.notice]), *lines]:
        out.print(line)


def _own_lines(board: "Leaderboard") -> list[str]:
    """The ranks of the user's backbones among themselves, in one line."""
    if board.own is None:
        return []
    own = board.own
    each = [
        f"{name} {rank_text(int(own.rank[row]), int(own.low[row]), int(own.high[row]))}, tie group {own.group[row]}"
        for row, name in enumerate(own.names)
    ]
    return [f"Among yours, from comparisons on the same test images: {'; '.join(each)}."]


def _explained(board: "Leaderboard", domain: str) -> str:
    """The share of variance that the fits on IN-1K explain: one per level; the mean has no fit of its own."""
    levels = ["l5"] if domain == "l5" else list(board.fits)
    shares = [f"{100 * max(board.fits[level].r2, 0):.0f}%" for level in levels]
    if len(levels) == 1:
        return f"{shares[0]} of the variance of {HEADINGS[levels[0]]}"
    return f"{', '.join(shares)} of the variance of {HEADINGS[levels[0]]} to {HEADINGS[levels[-1]]}"


def _rank(entry: "Entry") -> str:
    return str(entry.rank) if entry.low == entry.high else f"{entry.rank} ({entry.low}–{entry.high})"


def _points(share: float) -> str:
    from unseen.text.words import signed

    return signed(100 * share)


def _marks(entries: "Sequence[Entry]") -> dict[str, str]:
    """A raised number for each caution, in order of appearance."""
    cautions = dict.fromkeys(text for entry in entries for text in entry.cautions)
    return {
        text: str(number).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
        for number, text in enumerate(cautions, 1)
    }


def _mark_text(entry: "Entry", marks: dict[str, str]) -> str:
    return f" {' '.join(marks[text] for text in entry.cautions)}" if entry.cautions else ""
