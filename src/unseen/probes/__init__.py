"""Probes: what is trained on frozen features. Pure functions of arrays; no files, no prints, no globals.

`unseen.probes.KNN(k=20)` and the like are probes with settings, for `unseen.probe`; `unseen.probes.by_name` has them.
"""

from typing import Any


def __getattr__(name: str) -> Any:
    """A probe's class, imported when it is asked for."""
    if name[:1].isupper():
        from unseen.probes.by_name import all_probes

        for probe in all_probes().values():
            if probe.__name__ == name:
                return probe
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    from unseen.probes.by_name import all_probes

    return sorted([*globals(), *(probe.__name__ for probe in all_probes().values())])
