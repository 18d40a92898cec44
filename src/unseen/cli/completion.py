"""Names that shells complete: of studies, probes, data sets, backbones and trackers."""

from collections.abc import Iterable
from pathlib import Path


def studies(incomplete: str) -> list[str]:
    """Shipped studies, and TOML files and runs in the working directory."""
    from unseen.studies.toml import shipped_studies

    here = Path.cwd()
    files = [path.name for path in here.glob("*.toml")] + [path.parent.name for path in here.glob("*/study.toml")]
    return _beginning([*shipped_studies(), *sorted(files)], incomplete)


def probes(incomplete: str) -> list[str]:
    """Probes, after a comma too."""
    from unseen.probes.by_name import all_probes

    return _listed(all_probes(), incomplete)


def datasets(incomplete: str) -> list[str]:
    """Published data sets, after a comma too."""
    from unseen.data.registry import DATASETS

    return _listed(DATASETS, incomplete)


def backbones(incomplete: str) -> list[str]:
    """The backbones of the papers whose weights have an id."""
    from unseen.backbones.catalogue import catalogue

    return _listed(dict.fromkeys(model.id for model in catalogue() if model.id is not None), incomplete)


def trackers(incomplete: str) -> list[str]:
    """Kinds of trackers."""
    from unseen.trackers.by_name import all_loggers

    return _beginning(all_loggers(), incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _listed(names: Iterable[str], incomplete: str) -> list[str]:
    """Names that may follow those before the last comma."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _beginning(names, last)]
