"""A user's runs on the leaderboard of ImageNet-CoG."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from unseen.backbones.catalogue import catalogue
from unseen.errors import UserError
from unseen.papers.concept_generalization import measured_accuracies, published_accuracies
from unseen.papers.leaderboard import By, Leaderboard, Own, leaderboard
from unseen.runs.cautions import Caution
from unseen.runs.comparability_words import caveats, comparison_notices, refusal
from unseen.runs.data import Backbone, RunData
from unseen.runs.tables import score_table, summarise

PROTOCOL = "cog-v2"


def leaderboard_with_runs(folders: Sequence[Path], *, shots: str = "all", by: By = "l5") -> Leaderboard:
    """The leaderboard with the backbones of runs among the published models.

    A run has to be of the same data (`RunData.comparisons`), and its backbones need a score on IN-1K and on all five
    levels with the shots asked for.
    """
    if not folders:
        return leaderboard(shots=shots, by=by)
    taken = published_accuracies(shots).models
    data = _read(folders)
    found, lacking = measured_accuracies(summarise(score_table(data.scores)), shots)
    for backbone, domains in lacking.items():
        raise UserError(
            f"{_places(folders)}: {backbone} has no score on {', '.join(domains)} with {shots} shots, which its place "
            f"on the leaderboard needs; finish the run, or choose other --shots"
        )
    names = [name if name not in taken else f"{name} (yours)" for name in found.models]
    known = {backbone.name: backbone for backbone in data.backbones}
    # A published model that was run again is left out of its own line, whatever its name here.
    own = replace(found, originals=tuple(_published_name(known.get(name), name) for name in found.models)).called(names)
    about = {
        name: Own("yours", tuple(each.text for each in known[original].cautions) if original in known else ())
        for name, original in zip(names, found.models, strict=True)
    }
    notice = " ".join([*data.notices, *comparison_notices(data)])
    return leaderboard(own, about, shots=shots, by=by, notice=notice)


def _read(folders: Sequence[Path]) -> RunData:
    # Reading runs imports the probes, which the published models alone can do without.
    from unseen.runs.merge import merge_runs
    from unseen.runs.record import read_run

    runs = []
    for folder in folders:
        data = read_run(folder)
        if data.published != PROTOCOL:
            raise UserError(
                f"{folder}: not a run over the concepts of ImageNet-CoG, so its scores are not to be set beside the "
                f"published ones; use unseen report"
            )
        refuse_other_data(folder, data)
        if not data.scores:
            raise UserError(f"{folder}: no scores yet; finish the run")
        blurred = [Caution("blurred-faces")] if any(each.code == "blurred-faces" for each in data.told) else []
        backbones = [
            replace(each, cautions=[*each.cautions, *caveats(data, each.name), *blurred]) for each in data.backbones
        ]
        data = replace(data, backbones=backbones)
        runs.append((folder.resolve().name, data))
    return merge_runs(runs)


def refuse_other_data(place: object, data: RunData) -> None:
    """Refuse a run whose scores may not be set beside the published ones, with the first reason."""
    titles = {domain.name: domain.title for domain in data.domains}
    for (backbone, domain), verdict in data.comparisons.items():
        if not verdict.allowed:
            raise UserError(
                f"{place}: scores of {backbone} are not to be set beside the published ones: "
                f"{refusal(verdict, titles[domain])}"
            )


def _published_name(backbone: Backbone | None, name: str) -> str:
    """What the published model is called that a backbone of a run is, by its id; its own name where it is none.

    An id does not have to name the weights: they are that model's where its category is.
    """
    category = backbone.category if backbone else ""
    id_ = name.partition(" (")[0]  # behind it is its run, where two runs differ in what they call so
    models = [model for model in catalogue(PROTOCOL) if model.category == category and model.id]
    return next((model.name for model in models if f"{model.id}.".startswith(f"{id_}.")), name)


def _places(folders: Sequence[Path]) -> str:
    return ", ".join(map(str, folders))
