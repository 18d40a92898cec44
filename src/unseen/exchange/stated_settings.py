"""Whether a record states every setting of the protocol that it names.

What is not stated cannot be compared with the protocol, whose name alone does not make scores comparable with
published ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from unseen.exchange.named_protocols import named
from unseen.exchange.read import own_metrics
from unseen.exchange.record import ResultRecord
from unseen.runs.setup import Setting
from unseen.text.words import joined

MOST_NAMED = 3


@dataclass(frozen=True)
class Stated:
    """The names of the settings of a probe, compared with those of its protocol.

    Attributes:
        missing: settings of the protocol that the record does not state.
        unknown: settings of the record that the protocol does not have.
    """

    probe: str
    missing: tuple[str, ...]
    unknown: tuple[str, ...]


def stated_settings(record: ResultRecord) -> Iterator[Stated]:
    """One for each probe of a record with a known protocol; the user's own probes and metrics have none."""
    own = own_metrics(record)
    for probe in dict.fromkeys([*(score.probe for score in record.scores), *record.settings]):
        settings = record.settings.get(probe, {})
        if probe not in own and "code" not in settings and (stated := compared(probe, record.protocol, settings)):
            yield stated


def compared(probe: str, protocol: str, settings: Mapping[str, Setting]) -> Stated | None:
    """The settings of a probe compared with those of a protocol; None if this installation does not know it."""
    known = named(probe, protocol)
    if known is None:
        return None
    missing = tuple(name for name in known.settings if name not in settings)
    return Stated(probe, missing, tuple(name for name in settings if name not in known.settings))


def named_settings(names: Sequence[str]) -> str:
    """Some settings in a sentence: `trials and epochs`, or `batch, epochs, trials and 5 more`."""
    return joined([*names[:MOST_NAMED], *([f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else [])])
