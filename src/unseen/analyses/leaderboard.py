"""A user's runs on the leaderboard of ImageNet-CoG."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.backbones.catalogue import catalogue
from unseen.errors import UserError, argument, did_you_mean, option
from unseen.metrics.paired.standings import Standings
from unseen.papers.concept_generalization import DOMAINS, SEEN, measured_accuracies, published_accuracies
from unseen.papers.leaderboard import BY, By, Leaderboard, Own, leaderboard
from unseen.runs.cautions import Caution
from unseen.runs.comparability_words import RERUN, caveats, comparison_notices, refuse_other_data, with_protocol
from unseen.runs.data import Backbone, RunData
from unseen.runs.score import shots_name
from unseen.runs.tables import score_table, summarise

if TYPE_CHECKING:
    from unseen.analyses.core.study_leaderboard import StudyLeaderboard
    from unseen.exchange.contributions import Contribution

PROTOCOL = "cog-v2"


def leaderboard_with_runs(
    folders: Sequence[Path],
    contributions: "Sequence[Contribution]" = (),
    *,
    shots: str = "all",
    by: By = "l5",
    elsewhere: bool = False,
    behind: Sequence[Path] = (),
) -> Leaderboard:
    """The leaderboard with the backbones of runs and contributed models among the published ones.

    A run must be on the same data (`RunData.comparisons`), and its backbones need scores on IN-1K and on all five
    levels with the requested shots. Contributed models without these are skipped, and the notice gives the reason. If
    all would be skipped, this is refused.

    Args:
        elsewhere: whether contributed models are shown elsewhere if none is on the leaderboard.
        behind: folders of runs that contributed models were read from.
    """
    if not folders and not contributions:
        return leaderboard(shots=shots, by=by)
    taken = published_accuracies(shots).models
    runs, refused, accepted = _read(folders), dict[str, list[str]](), list[str]()
    for each in contributions:
        data, why = _contributed(each, shots)
        if data is None:
            refused.setdefault(why, []).append(f"{each.name} ({', '.join(each.places)})")
        else:
            runs.append((each.places[0], data))
            accepted.append(each.name)
    clauses = [f"{', '.join(names)}: {why}" for why, names in refused.items()]
    left_out = [f"Left out: {clause}." for clause in clauses]
    if not runs and not elsewhere:
        advice = ""
        if behind:
            advice = (
                f"; a site is for studies of ImageNet-CoG, and {option('out', 'page.html')} instead of it writes the "
                "leaderboard of other studies"
            )
        raise UserError(f"none of these models can be ranked among the published ones: {'; '.join(clauses)}{advice}")
    if not runs:
        return leaderboard(shots=shots, by=by, notice=" ".join(left_out))
    data, called = _merged(runs)
    found, lacking = measured_accuracies(summarise(score_table(data.scores)), shots)
    for backbone, domains in lacking.items():
        raise UserError(
            f"{_places(folders)}: {backbone} has no score on {', '.join(domains)} with {shots} shots, which the "
            f"leaderboard needs; finish the run, or choose other shots ({option('shots')})"
        )
    sources = {
        merged: model
        for model, names in zip(accepted, called[len(folders) :], strict=True)
        for merged in names.values()
    }
    origins = {each.name: each.origin for each in contributions}
    kinds = {name: origins[sources[name]] if name in sources else "yours" for name in found.models}
    names = [
        with_protocol(data, name) if name not in taken else f"{with_protocol(data, name)} ({kinds[name]})"
        for name in found.models
    ]
    known = {backbone.name: backbone for backbone in data.backbones}
    # A published model that was run again is excluded from its own expectation, regardless of its name here.
    own = replace(found, originals=tuple(_published_name(known.get(name), name) for name in found.models)).called(names)
    about = {
        name: Own(
            kinds[original],
            tuple(each.text for each in known[original].cautions) if original in known else (),
            sources.get(original, ""),
        )
        for name, original in zip(names, found.models, strict=True)
    }
    labels = dict(zip(found.models, names, strict=True))
    if behind:
        labels = {each.source: name for name, each in about.items() if each.source}
    among, not_ranked = own_standings(_of_protocol(behind) if behind else data, labels, shots, by)
    notice = " ".join([*data.notices, *comparison_notices(data), *left_out, *not_ranked])
    return replace(leaderboard(own, about, shots=shots, by=by, notice=notice), own=among)


def own_standings(
    data: RunData | None, names: Mapping[str, str], shots: str, by: By
) -> tuple[Standings | None, list[str]]:
    """The backbones of runs ranked among themselves by the accuracy that the leaderboard ranks by.

    Args:
        names: backbone → its name on the leaderboard; others are left out.

    Returns:
        The standings, None if there are none, and sentences about backbones that cannot be compared with the others.
    """
    if data is None or by == "effective":
        return None, []
    # Comparisons need the results of runs, and the code that reads them.
    from unseen.analyses.core.rankings import rankings_by
    from unseen.runs.shots import one_number_of_shots

    only = replace(data, scores=[score for score in data.scores if score.backbone in names])
    for ranking in rankings_by(only, {"logistic": one_number_of_shots(shots)}, "l5" if by == "l5" else None):
        if ranking.standings is not None:
            not_ranked = [
                f"{names[each.backbone]} is not ranked among yours: {each.reason}." for each in ranking.left_out
            ]
            found = ranking.standings
            return replace(found, names=tuple(names[name] for name in found.names)), [*not_ranked, *ranking.notes]
    return None, []


def _of_protocol(folders: Sequence[Path]) -> RunData | None:
    """The runs on the concepts of ImageNet-CoG, merged; None if there are none."""
    from unseen.runs.merge import merge_runs
    from unseen.runs.record import read_runs

    runs = [(folder.resolve().name, data) for folder, data in zip(folders, read_runs(folders), strict=True)]
    of_levels = [(name, data.on_axes("concepts")) for name, data in runs if data.published == PROTOCOL]
    return merge_runs(of_levels) if of_levels else None


def any_leaderboard(
    places: Sequence[Path], *, shots: str | None = None, by: str | None = None
) -> "Leaderboard | StudyLeaderboard":
    """The leaderboard of ImageNet-CoG, with runs on its concepts and results files, or that of runs of any study.

    Runs on its levels without the seen concepts, such as those of a suite, are ranked among themselves.

    Args:
        shots: a number, or `all`; by default all, and of other studies the most of each probe.
        by: one of `BY`, by default `l5`; or a data set of the runs, whose backbones are then ranked among themselves.
    """
    folders, contributions = runs_and_contributions(places)
    if folders and not contributions:
        from unseen.runs.record import read_record

        records = [read_record(folder)[0] for folder in folders]
        datasets = {domain.name for record in records for domain in record.domains}
        apart = any(record.published != PROTOCOL for record in records) or SEEN not in datasets
        if apart or (by in datasets and by not in BY):
            from unseen.analyses.core.study_leaderboard import study_leaderboard

            mean = by == "mean" and by not in datasets
            return study_leaderboard(folders, shots=shots, by=None if mean else by)
    return leaderboard_with_runs(folders, contributions, shots=shots or "all", by=known_order(by or "l5"))


def known_order(by: str) -> By:
    """A criterion of the leaderboard of ImageNet-CoG; anything else is an error."""
    for known in BY:
        if by == known:
            return known
    raise UserError(f"{argument('by')} must be one of {', '.join(BY)}, not '{by}'{did_you_mean(by, BY)}")


def runs_and_contributions(places: Sequence[Path]) -> "tuple[list[Path], list[Contribution]]":
    """Folders of runs, and the models of results files."""
    files = [place for place in places if place.suffix == ".json" and not place.is_dir()]
    if not files:
        return list(places), []
    from unseen.exchange.contributions import read_contributions

    return [place for place in places if place not in files], read_contributions(files)


def _merged(runs: Sequence[tuple[str, RunData]]) -> tuple[RunData, list[dict[str, str]]]:
    from unseen.runs.merge import merge_with_names

    return merge_with_names(runs)


def _contributed(contribution: "Contribution", shots: str) -> tuple[RunData | None, str]:
    """The concept study of a contributed model, or the reason why it is not on the leaderboard."""
    from unseen.exchange.contributions import beside_published
    from unseen.exchange.read import run_of_records

    of_levels = [each for each in contribution.records if each.data.published == PROTOCOL]
    if not of_levels:
        return None, "no results on the concepts of ImageNet-CoG"
    records, why = beside_published(of_levels, DOMAINS)
    if not records:
        return None, why
    data = run_of_records(records)
    scores = [each for each in data.scores if (each.probe, each.metric) == ("logistic", "top1")]
    scores = [each for each in scores if shots_name(each.shots) == shots]
    lacking = [name for name in DOMAINS if name not in {score.domain for score in scores}]
    if lacking:
        return None, f"no accuracy on {', '.join(lacking)} with {shots} shots"
    return _with_caveats(replace(data, scores=scores)), ""


def _read(folders: Sequence[Path]) -> list[tuple[str, RunData]]:
    if not folders:
        return []
    # Reading runs imports the probes, which the published models alone do not need.
    from unseen.runs.record import read_run

    runs = []
    for folder in folders:
        data = read_run(folder)
        if data.published != PROTOCOL:
            raise UserError(
                f"{folder}: not a run on the concepts of ImageNet-CoG, so its scores are not comparable with the "
                f"published ones; use unseen report"
            )
        refuse_other_data(folder, data)
        _refuse_other_settings(folder, data)
        if not data.scores:
            raise UserError(f"{folder}: no scores yet; finish the run")
        runs.append((folder.resolve().name, _with_caveats(data)))
    return runs


def _refuse_other_settings(folder: Path, data: RunData) -> None:
    """Refuse a run whose settings differ from those of its protocol, or are not all recorded."""
    from unseen.exchange.contradictions import setting_contradictions
    from unseen.exchange.stated_settings import compared, named_settings

    settings = {each.probe: each.settings for each in data.protocols}
    for probe, protocol in dict.fromkeys((score.probe, score.protocol) for score in data.scores):
        for text in setting_contradictions(probe, protocol, settings.get(probe, {})):
            raise UserError(f"{folder}: {text}")
        stated = compared(probe, protocol, settings.get(probe, {}))
        if stated and stated.missing:
            raise UserError(
                f"{folder}: the run does not record {named_settings(stated.missing)} of the settings of {protocol}; "
                f"{RERUN}"
            )


def _with_caveats(data: RunData) -> RunData:
    """A run whose backbones have the cautions of a comparison with published models.

    The concepts of its domains are those of ImageNet-CoG and are not listed in results files. They are removed here, so
    that runs and results files have equal domains.
    """
    blurred = [Caution("blurred-faces")] if any(each.code == "blurred-faces" for each in data.told) else []
    backbones = [
        replace(each, cautions=[*each.cautions, *caveats(data, each.name), *blurred]) for each in data.backbones
    ]
    return replace(data, backbones=backbones, domains=[replace(each, concepts=()) for each in data.domains])


def _published_name(backbone: Backbone | None, name: str) -> str:
    """The name of the published model that a backbone of a run is, by its id; otherwise its own name.

    An id need not name the weights: they are taken to be those of the published model if the categories agree.
    """
    category = backbone.category if backbone else ""
    id_ = name.partition(" (")[0]  # the name of the run may follow in parentheses
    models = [model for model in catalogue(PROTOCOL) if model.category == category and model.id]
    return next((model.name for model in models if f"{model.id}.".startswith(f"{id_}.")), name)


def _places(folders: Sequence[Path]) -> str:
    return ", ".join(map(str, folders))
