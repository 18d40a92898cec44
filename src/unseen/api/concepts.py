"""`unseen.concepts`: the study of concept generalization on features that are there."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.api.progress import bars
from unseen.api.run import Run
from unseen.errors import UserError
from unseen.extras import naming_extras
from unseen.files import check_writable
from unseen.images.domains import SEEN
from unseen.ontology.levels import Levels, load_levels
from unseen.studies.own_features import Shots, shots_in_python

if TYPE_CHECKING:
    from unseen.studies.concepts.plan import Asked


@naming_extras()
def concepts(
    *,
    features: str | PathLike[str],
    out: str | PathLike[str],
    levels: Levels | str | Path = "cog-v2",
    backbones: Sequence[str] = (),
    domains: Sequence[str] | None = None,
    seen: str = SEEN,
    shots: Shots = None,
    seeds: int = 5,
    protocol: str = "cog-v2",
    workers: int = 1,
    progress: bool = True,
) -> Run:
    """How well backbones do on concepts they have seen, and on levels of concepts they have not, from their features.

    Probes that `out` has already are not run again. For images instead of features, use the command `unseen concepts`.

    Args:
        features: a folder with one folder per domain, as `unseen extract --levels` makes them, or with your own
            `train` and `test` features in each.
        out: folder of the run.
        levels: what the domains l1, l2, … are: by `unseen.levels` or `unseen.build_levels`, a name, or a CSV file.
        backbones: those whose features to take; may be left out where there is only one.
        domains: some of them, for instance ["l1", "l5"]; by default the seen domain and all levels.
        seen: name of the domain of seen concepts.
        shots: training samples per concept: a number, "all" or a list; by default those of the paper.
        seeds: how many.
        protocol: "cog-v2", or "cog-v2-short" for a quick look.
        workers: processes to run probes in. Scripts that ask for several need the usual `if __name__ == "__main__"`.
        progress: whether to show a bar in a terminal or a notebook.

    Returns:
        The run, with `.scores()`, `.summary()`, `.compare("a", "b")` and `.report("page.html")`.

    Example:
        >>> run = unseen.concepts(features="features/", levels="cog-v2", out="run/", seeds=1)
        >>> run.report("page.html")
    """
    from dataclasses import replace

    from unseen.runs.record import LEVELS, extend_run
    from unseen.runs.results import RESULTS, missing
    from unseen.studies.concepts.features import class_names, feature_pairs, find_features
    from unseen.studies.concepts.study import study_jobs, study_run
    from unseen.studies.probing import job_keys
    from unseen.studies.probing import run as run_jobs

    folder = Path(out)
    check_writable(folder)
    loaded = levels if isinstance(levels, Levels) else load_levels(levels)
    asked = _asked(loaded, domains, seen, shots, seeds, protocol)
    places = find_features(Path(features), asked.domains, backbones)
    asked = replace(asked, concepts={**class_names(next(iter(places.values()))), **asked.concepts})
    pairs = [pair for name, at in places.items() for pair in feature_pairs(name, at, asked.concepts)]
    jobs = study_jobs(asked, pairs)
    extend_run(folder, study_run(asked, pairs, places, {}, ()), job_keys(jobs))
    loaded.write(folder / LEVELS)
    results = folder / RESULTS
    left = len(missing(jobs, results))
    with bars(show=progress) as watch:
        for _ in watch.track(run_jobs(jobs, pairs, results, workers=workers), "probes", left):
            pass
    return Run(folder)


def _asked(
    levels: Levels, domains: Sequence[str] | None, seen: str, shots: Shots, seeds: int, protocol: str
) -> "Asked":
    from dataclasses import replace

    from unseen.errors import did_you_mean
    from unseen.ontology.wordnet import wordnet
    from unseen.probes.protocol import protocol_named
    from unseen.studies.concepts.plan import Asked
    from unseen.studies.probing import SHOTS

    if isinstance(seeds, bool) or not 1 <= seeds < 1000:
        raise UserError(f"seeds is from 1 to 999, not {seeds}")
    known = {f"l{number}": levels.ids(number) for number in levels.numbers}
    names = (seen, *known)
    wrong = next((name for name in domains or () if name not in names), None)
    if wrong is not None:
        raise UserError(f"no domain '{wrong}'{did_you_mean(wrong, names) or '; there are ' + ', '.join(names)}")
    numbers = SHOTS if shots is None else shots_in_python(shots)
    chosen = tuple(name for name in names if domains is None or name in domains)
    asked = Asked(levels, chosen, {}, protocol_named(protocol), numbers, seeds, seen=seen)
    if asked.published:
        known[seen] = tuple(sorted(wordnet().members("imagenet-1k")))
    return replace(asked, concepts={name: known[name] for name in chosen if name in known})
