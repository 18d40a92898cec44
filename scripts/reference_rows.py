"""Evaluate today's backbones on concepts, tasks and shifts, and write a results file for each and a site of all.

    python scripts/reference_rows.py --imagenet-21k fall11_whole.tar --imagenet-1k ILSVRC2012 \\
        --datasets data --shift-sets sets

Options that are omitted skip their study: without --datasets no tasks, without --shift-sets no shifts. An interrupted
command resumes, and a finished one does nothing. A backbone without available weights is named, and the others are
evaluated. docs/reference-rows.md has the cost, which `--cost` computes.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unseen.analyses.kept_classifier import write_classifier
from unseen.errors import UserError, look_up
from unseen.papers.comparability import published_domain
from unseen.papers.concept_generalization import DOMAINS
from unseen.reading.toml_records import read_toml

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone
    from unseen.studies.study import Study

MODELS = Path(__file__).with_name("reference.toml")
TERAFLOPS = {"vit": 228.0, "convnext": 129.0}
"""Per second on one H200, for the smaller of two measured networks (benchmarks/README.md)."""
DECODE, CORES = 4.85e-3, 16
"""CPU seconds to decode an image, and cores per GPU: docs/scale.md."""
PROBING, PROBED = 45.8 * 60, 2048
"""Seconds of the 270 regressions of a backbone, and the dimension they were measured with: docs/scale.md."""


@dataclass(frozen=True)
class Model:
    """A backbone of the list; the list itself says what the fields are."""

    name: str
    backbone: str
    gflop: float
    dimension: int
    size: int | None = None

    @property
    def address(self) -> str:
        """The stem of its file names."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")

    @property
    def forward(self) -> float:
        """Estimated seconds per image on the GPU."""
        return self.gflop / 1000 / TERAFLOPS["convnext" if "convnext" in self.backbone else "vit"]


@dataclass(frozen=True)
class ModelList:
    """A file of models."""

    models: tuple[Model, ...]


@dataclass(frozen=True)
class Work:
    """The options, and the folders of the studies."""

    given: argparse.Namespace

    @property
    def out(self) -> Path:
        return Path(self.given.out)

    @property
    def concepts(self) -> Path:
        return self.out / "concepts"

    @property
    def tasks(self) -> Path:
        return self.out / "tasks"

    @property
    def heads(self) -> Path:
        return self.out / "heads"

    @property
    def shifts(self) -> Path:
        return self.out / "shifts"

    def load(self, model: Model, *, size: int | None) -> "Backbone":
        import unseen

        loaded = unseen.load_backbone(
            model.backbone, size=size, weights="random" if self.given.random else "pretrained"
        )
        return replace(loaded, name=model.name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything that is missing; 1 if a backbone could not be loaded."""
    given = options().parse_args(arguments)
    try:
        models = chosen(Path(given.models), given.only)
        if given.cost:
            print(cost_table(models, given.together))
            return 0
        return run(Work(given), models)
    except UserError as error:
        print(f"reference_rows: {error}", file=sys.stderr)
        return 2


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--imagenet-21k", help="images of the levels, as for `unseen run cog-v2 --data imagenet-21k=…`")
    add("--imagenet-1k", help="folder or tar files of ImageNet-1K")
    add("--datasets", help="folder with the data sets of the task study")
    add("--shift-sets", help="folder with the test sets of the shift study")
    add("--out", default="reference", help="folder for runs, results and site (default: reference)")
    add("--models", default=str(MODELS), help="another list of models")
    add("--only", action="append", default=[], metavar="NAME", help="one model of the list; may be repeated")
    add("--together", type=int, default=8, help="backbones that share one pass over the images (default: 8)")
    add("--workers", type=int, default=CORES, help="processes that decode images (default: 16)")
    add("--fast", action="store_true", help="faster decoding, as the key fast of a study")
    add("--dry-run", action="store_true", help="show the plan of each study and exit")
    add("--cost", action="store_true", help="print the estimated cost on one H200 and exit")
    trial = parser.add_argument_group("for a trial")
    trial.add_argument("--random", action="store_true", help="random weights")
    trial.add_argument("--levels", default="cog-v2")
    trial.add_argument("--splits")
    trial.add_argument("--protocol", default="cog-v2")
    trial.add_argument("--shots")
    trial.add_argument("--seeds", type=int, default=5)
    trial.add_argument("--task", action="append", default=None, metavar="NAME", help="one data set; may be repeated")
    trial.add_argument("--limit", type=int, help="most images per class of the data sets")
    trial.add_argument("--partial", action="store_true", help="accept incomplete test sets")
    return parser


def chosen(file: Path, only: Sequence[str]) -> list[Model]:
    """The models of a list, or some of them."""
    known = {model.name: model for model in read_toml(file, ModelList).models}
    if len({model.address for model in known.values()}) < len(read_toml(file, ModelList).models):
        raise UserError(f"{file}: two models have the same name, or names that differ only in punctuation; rename one")
    return [look_up(known, name, "model", f" in {file}") for name in only] or list(known.values())


def run(work: Work, models: Sequence[Model]) -> int:
    """Run all studies of all models, some models at a time, then write the files."""
    given = work.given
    if not (given.imagenet_1k or given.datasets or given.task):
        raise UserError("nothing to run on: give --imagenet-1k and --imagenet-21k, --datasets, or both")
    lacking: dict[str, str] = {}
    for first in range(0, len(models), given.together):
        group = models[first : first + given.together]
        if given.imagenet_1k and given.imagenet_21k:
            concepts(work, load_all(work, group, lacking))
        if given.datasets or given.task:
            tasks(work, load_all(work, group, lacking))
        if given.imagenet_1k and given.shift_sets:
            shifts(work, [model for model in group if model.name not in lacking])
    if not given.dry_run:
        publish(work, [model for model in models if model.name not in lacking])
    for name, why in lacking.items():
        print(f"reference_rows: left out: {name}: {why}", file=sys.stderr)
    return 1 if lacking else 0


def load_all(work: Work, models: Sequence[Model], lacking: dict[str, str]) -> "list[Backbone]":
    """Load backbones at the size of the list; those that cannot be loaded are noted with the reason."""
    loaded = []
    for model in models:
        try:
            loaded.append(work.load(model, size=model.size))
        except UserError as error:
            lacking[model.name] = str(error)
    return loaded


def measure(work: Work, study: "Study", backbones: "Sequence[Backbone | str]", data: Any, out: Path) -> None:
    """Run a study, or print its plan."""
    import unseen

    print(unseen.run(study, backbones, data=data, out=out, workers=work.given.workers, dry_run=work.given.dry_run))


def study_of(name: str, **keys: Any) -> "Study":
    """A study with other values of the keys that are not None."""
    import unseen

    return unseen.study(name, **{key: value for key, value in keys.items() if value is not None})


def concepts(work: Work, backbones: "Sequence[Backbone]") -> None:
    given = work.given
    if backbones:
        study = study_of(
            "cog-v2", levels=given.levels, splits=given.splits, shots=given.shots and given.shots.split(","),
            seeds=given.seeds, fast=given.fast, logistic={"protocol": given.protocol},
        )  # fmt: skip
        data = {"imagenet-21k": given.imagenet_21k, "imagenet-1k": given.imagenet_1k}
        measure(work, study, backbones, data, work.concepts)


def tasks(work: Work, backbones: "Sequence[Backbone]") -> None:
    given = work.given
    if backbones:
        study = study_of("ericsson-2021", datasets=given.task, limit=given.limit, fast=given.fast)
        measure(work, study, backbones, given.datasets, work.tasks)


def shifts(work: Work, models: Sequence[Model]) -> None:
    """Accuracies of linear classifiers, trained on ImageNet-1K with the authors' own preprocessing, as for test images.

    This needs another pass over ImageNet-1K, because the concept study preprocesses images as ImageNet-CoG does.
    """
    given = work.given
    heads = {model.name: work.heads / f"{model.address}.npz" for model in models}
    missing = [model for model in models if not heads[model.name].is_file()]
    if missing:
        study = study_of(
            "cog-v2", levels=given.levels, datasets=["in1k"], shots=["all"], seeds=1, preprocessing="own",
            logistic={"protocol": given.protocol},
        )  # fmt: skip
        loaded = [work.load(model, size=None) for model in missing]
        measure(work, study, loaded, {"imagenet-1k": given.imagenet_1k}, work.heads)
        if given.dry_run:
            return
        for model in missing:
            write_classifier(work.heads, heads[model.name], backbones=[model.name], dataset="in1k")
    if models:
        weights = "random" if given.random else "pretrained"
        classifiers = {
            model.name: {"id": model.backbone, "head": str(heads[model.name]), "weights": weights} for model in models
        }
        study = study_of("shifts", complete=not given.partial, backbone=classifiers)
        measure(work, study, list(classifiers), given.shift_sets, work.shifts)


def publish(work: Work, models: Sequence[Model]) -> None:
    """A results file for each model that has scores, each of them checked, and the site of all."""
    from unseen.analyses.leaderboard import leaderboard_with_runs
    from unseen.exchange.check import check_results
    from unseen.exchange.contributions import read_contributions
    from unseen.exchange.export import export_runs
    from unseen.report.leaderboard.site import write_site
    from unseen.runs.record import RUN

    runs = [folder for folder in (work.concepts, work.tasks, work.shifts) if (folder / RUN).is_file()]
    files = []
    for model in models:
        files.append(work.out / "results" / f"{model.address}.json")
        export_runs(runs, files[-1], backbones=[model.name])
        for finding in check_results(files[-1]):
            print(f"{files[-1].name}: {finding.severity}: {finding.where}: {finding.text}")
    contributed = read_contributions(files)
    write_site(leaderboard_with_runs([], contributed, elsewhere=True), contributed, work.out / "site")
    print(f"{len(files)} results files and a site: {work.out}")


def cost_table(models: Sequence[Model], together: int) -> str:
    """Time and disk of the concept study, by model and in total, on one H200 with 16 cores."""
    return "\n".join(_cost_lines(models, together))


def _cost_lines(models: Sequence[Model], together: int) -> Iterator[str]:
    images = level_images()
    yield "| model | backbone | GFLOP per image | on the GPU | probes | features |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for m in models:
        probes, size = PROBING * m.dimension / PROBED, images * m.dimension * 2
        yield (
            f"| {m.name} | `{m.backbone}` | {m.gflop:.1f} | {images * m.forward / 3600:.1f} h | {probes / 60:.0f} min "
            f"| {size / 1e9:.0f} GB |"
        )
    computing = sum(images * m.forward for m in models)
    passes = -(-len(models) // together)
    decoding = passes * images * DECODE / CORES
    probing = sum(PROBING * m.dimension / PROBED for m in models)
    disk = sum(images * m.dimension * 2 for m in models)
    yield (
        f"| all, in {passes} passes | | | {max(computing, decoding) / 3600:.1f} h | {probing / 3600:.1f} h "
        f"| {disk / 1e9:.0f} GB |"
    )


def level_images() -> int:
    """Of ImageNet-1K and the five levels, to train and to test on."""
    published = [published_domain("cog-v2", name) for name in DOMAINS]
    return sum(part.images for data in published if data for part in data.parts)


if __name__ == "__main__":
    sys.exit(main())
