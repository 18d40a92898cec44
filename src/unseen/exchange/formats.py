"""The formats of others in which the scores of runs are exported."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from unseen.errors import UserError, look_up, option
from unseen.exchange.every_eval_ever import write_every_eval_ever
from unseen.exchange.export import results_of_runs
from unseen.exchange.hub_results import write_hub_results
from unseen.exchange.portable import Written
from unseen.files import check_writable

OURS, HUB, EVERY = "unseen", "hf-eval-results", "every-eval-ever"


def check_format(word: str, *, hits: bool = False) -> None:
    """Refuse a format that does not exist, that takes nothing after a colon, or that has no hits."""
    name, colon, _ = word.partition(":")
    look_up(dict.fromkeys((OURS, HUB, EVERY)), name, "format")
    if colon and name != HUB:
        raise UserError(f"{option('format', name)} takes nothing after a colon; only {HUB}:OWNER does")
    if hits and name != OURS:
        raise UserError(f"{option('hits', True)} is for results files of unseen, not for {option('format', name)}")


def export_for_others(folders: Sequence[Path], word: str, out: Path, *, backbones: Iterable[str] = ()) -> Written:
    """Write the scores of runs into a folder, in a format of others; the same runs give the same bytes.

    Args:
        word: the format, `hf-eval-results:OWNER` with the owner of the data sets' repositories.
        backbones: names of the backbones to export; by default all.
    """
    check_format(word)
    check_writable(out)
    name, _, owner = word.partition(":")
    file = results_of_runs(folders, backbones=backbones)
    return write_hub_results(file, out, owner) if name == HUB else write_every_eval_ever(file, out)
