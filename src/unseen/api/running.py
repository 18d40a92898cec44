"""`unseen.study` and `unseen.run`: what is measured, and measuring it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace as with_values
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unseen.api.run import Run
from unseen.extras import naming_extras

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone
    from unseen.data.core.open_dataset import OpenDataset
    from unseen.studies.plan import Plan
    from unseen.studies.study import Study
    from unseen.trackers.tracker import Tracker

Place = str | PathLike[str]


def study(name_or_file: Place, *, allow_code: bool = False, **keys: Any) -> "Study":
    """A study: data sets, probes and settings, without anything about this machine.

    Args:
        name_or_file: a name listed by `unseen ls studies`, a TOML file, or the folder of a run.
        allow_code: allow a file, or a table of models that the study is run with, to name Python files, which are
            executed.
        keys: other values of its keys, as for `Study.replace`: `shots=[1, "all"]`, `knn={"k": 5}`.

    Returns:
        The study, with `.replace(…)`, `.to_toml()`, and a short `repr` of what differs from the defaults.

    Example:
        >>> study = unseen.study("ericsson-2021", datasets=["dtd", "photos/"], probes=["linear", "knn"])
        >>> study.replace(knn={"k": 5}).probes
        ('linear', 'knn')
    """
    from unseen.studies.study_file import refuse_code
    from unseen.studies.toml import find_study

    found = find_study(fspath(name_or_file))
    refuse_code(found, fspath(name_or_file), allowed=allow_code)
    return with_values(found.replace(**keys), allow_code=allow_code)


@naming_extras()
def run(
    study: "Study | Place",
    backbone: "Backbone | Place | Sequence[Backbone | Place]" = (),
    *,
    data: "Place | OpenDataset | Mapping[str, Place] | Sequence[OpenDataset] | None" = None,
    features: Place | None = None,
    out: Place,
    workers: int = 1,
    devices: str | Sequence[int | str] | None = None,
    executor: str | None = None,
    part: tuple[int, int] = (1, 1),
    replace: bool = False,
    dry_run: bool = False,
    progress: "bool | str | Tracker | Sequence[str | Tracker]" = True,
) -> "Run | Plan":
    """Run a study: measure backbones on data sets with probes.

    Only missing features are extracted and only missing jobs are run, so an interrupted call resumes when it is
    repeated, and a call with other backbones, data sets or probes adds them to the run.

    Args:
        study: the result of `unseen.study`, or what it takes: a name, a TOML file, or the folder of a run.
        backbone: one or several ids, backbones loaded with `unseen.load_backbone`, or a CSV file of models. With
            `features`, the names of the backbones to use; by default all.
        data: the folder that contains the data sets; a mapping with places that have names of their own, such as
            {"": "/data", "imagenet-21k": "fall11_whole.tar"}; or data sets opened with `unseen.open_dataset`, which
            replace "all" and are added to those that the study names.
        features: instead of images, a folder with one folder of features per data set.
        out: folder of the run.
        workers: number of processes that decode images and run jobs. A script that uses several needs the usual
            `if __name__ == "__main__":`.
        devices: "all" GPUs of this machine, or a list such as [0, 1], one process per GPU. By default the first.
        executor: "ray" runs jobs on a Ray cluster, "ray:ADDRESS" on that one.
        part: (k, n) runs the k-th of n parts of the jobs; other calls with the same `out` run the others.
        replace: let this run take the place of what the folder has in another way, instead of being refused.
        dry_run: return the plan, with estimated time and disk space, without running anything.
        progress: show progress bars in a terminal or a notebook; or trackers that receive the scores too, by names such
            as "tensorboard" or "wandb:my-project", or as objects of your own (`unseen.trackers.tracker.Tracker`).

    Returns:
        The run, with `.scores()`, `.summary()`, `.compare("a", "b")`, `.plan()`, `.study` and `.report("page.html")`;
        with `dry_run`, the plan.

    Example:
        >>> run = unseen.run("cog-v2", "timm:resnet50.a1_in1k", data="/data", out="run/")
        >>> run = unseen.run("cog-v2", features="features/", out="run/")
        >>> run.report("page.html")
    """
    from unseen.api.running import study as find
    from unseen.backbones.backbone import Backbone
    from unseen.runs.machine import chosen_means
    from unseen.runs.parts import checked_part
    from unseen.studies.backbones import named_in_python
    from unseen.studies.given import Given
    from unseen.studies.progress_bars import bars
    from unseen.studies.run import plan_study, run_study
    from unseen.studies.study import Study
    from unseen.trackers.chosen import choose
    from unseen.trackers.trackers import Trackers

    trackers = Trackers([] if isinstance(progress, bool) else choose(progress))
    share = checked_part(part)
    means = chosen_means(workers, devices=devices, executor=executor)
    backbones = [backbone] if isinstance(backbone, str | PathLike | Backbone) else list(backbone)
    chosen, loaded = named_in_python(study if isinstance(study, Study) else find(study), backbones)
    given = Given.in_python(data, features, loaded, allow_code=chosen.allow_code)
    folder = Path(out)
    with bars(show=progress is not False) as watch:
        if dry_run:
            return plan_study(chosen, given, folder, means=means, watch=watch, part=share, replacing=replace)
        run_study(chosen, given, folder, means=means, watch=watch, part=share, replacing=replace, trackers=trackers)
    return Run(folder)
