"""Probes: models trained on frozen features. Pure functions of arrays; no files, no prints, no globals.

`unseen.probes.KNN(k=20)` and the like are probes with settings, for `unseen.probe`; they are defined in
`unseen.probes.by_name`. `ScoredProbe`, `DrawnProbe` and `Probe` are base classes for your own probes
(docs/own-code.md).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unseen.probes.probe import DrawnProbe as DrawnProbe
    from unseen.probes.probe import Probe as Probe
    from unseen.probes.scored import ScoredProbe as ScoredProbe


BASES = {"ScoredProbe": "unseen.probes.scored", "DrawnProbe": "unseen.probes.probe", "Probe": "unseen.probes.probe"}


def __getattr__(name: str) -> Any:
    """The class of a probe, imported on access."""
    if name in BASES:
        return getattr(import_module(BASES[name]), name)
    if name[:1].isupper():
        from unseen.probes.by_name import all_probes

        for probe in all_probes().values():
            if probe.__name__ == name:
                return probe
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    from unseen.probes.by_name import all_probes

    return sorted([*BASES, *(probe.__name__ for probe in all_probes().values())])
