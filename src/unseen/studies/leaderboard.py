"""A user's runs on the leaderboard of ImageNet-CoG."""

from collections.abc import Sequence
from pathlib import Path

from unseen.errors import UserError
from unseen.report.run_data import RunData
from unseen.results.concept_generalization import Accuracies, measured_accuracies, published_accuracies
from unseen.results.leaderboard import By, Leaderboard, Own, leaderboard
from unseen.results.tables import score_table, summarise

PROTOCOL = "cog-v2"


def leaderboard_with_runs(folders: Sequence[Path], *, shots: str = "all", by: By = "l5") -> Leaderboard:
    """The leaderboard with the backbones of runs among the published models.

    A run has to be of the same concepts (`RunData.published`), and its backbones need a score on IN-1K and on all
    five levels with the shots asked for.
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
    own = Accuracies(tuple(names), found.mean, found.error, found.rounding)
    known = {backbone.name: backbone for backbone in data.backbones}
    about = {
        name: Own("yours", tuple(known[original].cautions) if original in known else ())
        for name, original in zip(names, found.models, strict=True)
    }
    return leaderboard(own, about, shots=shots, by=by)


def _read(folders: Sequence[Path]) -> RunData:
    # Reading runs imports the probes, which the published models alone can do without.
    from unseen.studies.run_folder import merge_runs, read_run

    runs = []
    for folder in folders:
        data = read_run(folder)
        if data.published != PROTOCOL:
            raise UserError(
                f"{folder}: not a run over the concepts of ImageNet-CoG, so its scores are not to be set beside the "
                f"published ones; use unseen report"
            )
        if not data.scores:
            raise UserError(f"{folder}: no scores yet; finish the run")
        runs.append((folder.resolve().name, data))
    return merge_runs(runs)


def _places(folders: Sequence[Path]) -> str:
    return ", ".join(map(str, folders))
