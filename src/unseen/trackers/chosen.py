"""Which trackers a user chose, by words such as `tensorboard` or `wandb:my-project`, or as objects in Python."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from unseen.errors import UserError, look_up, option
from unseen.extras import EXTRAS, MissingExtraError, install_command
from unseen.trackers.by_name import all_loggers
from unseen.trackers.tracker import Logger, Tracker


@dataclass(frozen=True)
class Chosen:
    """A tracker that a user chose.

    Attributes:
        word: how it was chosen, `wandb:my-project`; empty for an object, which receives only scores of its own call.
        title: its usual name, for sentences.
    """

    word: str
    title: str
    tracker: Tracker


def choose(trackers: str | Tracker | Sequence[str | Tracker]) -> list[Chosen]:
    """Trackers by words `NAME[:WHERE]` or as objects; an unknown name and a missing package are errors.

    Args:
        trackers: one or several.
    """
    found = dict[str, Chosen]()
    for word in trackers if isinstance(trackers, Sequence) and not isinstance(trackers, str) else [trackers]:
        if isinstance(word, str):
            name, _, where = word.partition(":")
            logger = look_up(all_loggers(), name, "tracker")
            _refuse_missing(logger)
            found.setdefault(word, Chosen(word, logger.title, logger.make(where)))
        elif all(callable(getattr(word, method, None)) for method in ("on_plan", "on_score", "on_end")):
            found[f"{id(word)}"] = Chosen("", type(word).__name__, word)
        else:
            raise UserError(
                f"{type(word).__name__} is no tracker: give names such as 'tensorboard', or objects with on_plan, "
                "on_score and on_end"
            )
    return list(found.values())


def _refuse_missing(logger: Logger) -> None:
    if not logger.needs or find_spec(logger.needs.partition(".")[0]) is not None:
        return
    asked = option("log", logger.name, python="progress")
    if logger.needs not in EXTRAS:
        raise MissingExtraError(f"{asked} needs the package {logger.needs}, which is not installed")
    title, extra = EXTRAS[logger.needs]
    raise MissingExtraError(
        f"{asked} needs {title} (the extra {extra}), which is not installed: {install_command(extra)}"
    )
