"""`unseen concepts`: the study of concept generalization, and what is added to a run of it."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.choices import choose, one_of
from unseen.cli.concept_check import check_chain
from unseen.cli.concept_finetuning import finetune_concepts
from unseen.cli.concept_steps import (
    Study,
    known_draw,
    probe_study,
    study_of_features,
    study_of_images,
    study_of_other_levels,
    study_request,
)
from unseen.cli.domains import ImageOptions, choose_levels
from unseen.cli.extract import decoders
from unseen.cli.label_noise import look_for_noise
from unseen.cli.loading import load_backbones
from unseen.cli.modes import chosen_mode, given_options, option_name, refuse_options
from unseen.cli.option_groups import extraction_settings
from unseen.cli.options import (
    BACKBONES,
    EXTRACTION,
    IMAGES,
    STUDY,
    CheckpointOption,
    DomainsOption,
    DryRunOption,
    ExifOption,
    FastOption,
    IgnoreDiskOption,
    ImageNet1kOption,
    LayerOption,
    MissingOption,
    NamesOption,
    NormalizeOption,
    OnErrorOption,
    PoolOption,
    PrecisionOption,
    PreprocessingOption,
    SeenOption,
    SizeOption,
    SplitsOption,
    StudyDeviceOption,
    TruthOption,
    VariantOption,
    VectorsOption,
    WeightsOption,
)
from unseen.cli.running import WorkersOption, finish, processes
from unseen.errors import UserError
from unseen.files import check_writable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unseen.backbones.backbone import Backbone
    from unseen.studies.concepts.plan import Asked

FINETUNING, NOISE = "With --finetune", "With --label-noise"
LOADING = ("backbone", "checkpoint", "pool", "layer", "size", "weights", "name", "normalize", "preprocessing")
PLACES = ("images", "imagenet_1k", "truth")
DRAW = ("splits", "variant", "on_missing")
MACHINE = ("device", "precision", "batch", "on_error", "ignore_disk", "workers", "dry_run")
MODES = {
    "": (
        "out", "features", "regroup", "levels", "vectors", "domains", "seen", "shots", "seeds", "protocol",
        "sequential", "extended", "fast", "exif", *LOADING, *PLACES, *DRAW, *MACHINE,
    ),
    "--finetune": (
        "finetune", "out", "domains", "epochs", "batch", "rate", "seeds", "workers", "dry_run",
        *LOADING, *PLACES, *DRAW,
    ),
    "--label-noise": (
        "label_noise", "out", "page", "table", "features", "backbone", "domains", "threshold", "seed", *PLACES,
    ),
    "--check": ("check", "out", "features", "domains", "shots", "seeds", "checkpoint", "splits", *PLACES, *MACHINE),
}  # fmt: skip
"""What the command does, and the options that go with it."""
IMAGE_OPTIONS = (
    "images", "imagenet_1k", "truth", "on_missing", "checkpoint", "pool", "layer", "size", "weights",
    "name", "normalize", "preprocessing", "device", "precision", "batch", "on_error", "fast", "exif", "ignore_disk",
)  # fmt: skip
"""What says where images are and how features are made of them: nothing to features that are there.

Splits are not among them: whose draw features are of is for the reader of a report to know.
"""


def concepts(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder of the run; one that is there, with --finetune and --label-noise.")],
    finetune: Annotated[
        bool,
        typer.Option("--finetune", help="Add to a run its backbones fine-tuned on its domains, to compare with."),
    ] = False,
    label_noise: Annotated[
        bool,
        typer.Option("--label-noise", help="List images of a run that the classifier of another domain is sure about."),
    ] = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="Run torchvision's first ResNet-50; exit code 1 unless it agrees with the paper."),
    ] = False,
    workers: WorkersOption = None,
    dry_run: DryRunOption = False,
    levels: Annotated[
        str, typer.Option(help="cog-v2, cog-v1, a levels CSV, a measure, or random.", rich_help_panel=STUDY)
    ] = "cog-v2",
    vectors: VectorsOption = None,
    domains: DomainsOption = None,
    seen: SeenOption = None,
    shots: Annotated[
        str | None, typer.Option(help="Samples per concept: numbers and 'all', with commas.", rich_help_panel=STUDY)
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="How many seeds; 5, or 1 with --finetune.", rich_help_panel=STUDY)
    ] = None,
    protocol: Annotated[
        str, one_of("cog-v2", "cog-v2-short", help="Short: for a quick look.", rich_help_panel=STUDY)
    ] = "cog-v2",
    sequential: Annotated[
        bool, typer.Option("--sequential", help="One trial at a time, as in the paper.", rich_help_panel=STUDY)
    ] = False,
    extended: Annotated[
        str | None,
        typer.Option(
            metavar="[PROBES]",
            help="Also further probes: some of pca, mlp, kmeans and geometry (alignment and uniformity), or all.",
            rich_help_panel=STUDY,
        ),
    ] = None,
    variant: VariantOption = "plain",
    images: Annotated[
        str | None,
        typer.Option(help="ImageNet-21K, or what the levels are of: tars or folders.", rich_help_panel=IMAGES),
    ] = None,
    imagenet_1k: ImageNet1kOption = None,
    features: Annotated[
        Path | None,
        typer.Option(
            help="Features instead of images: a folder for each domain, as extract makes them.", rich_help_panel=IMAGES
        ),
    ] = None,
    regroup: Annotated[
        bool,
        typer.Option(
            "--regroup",
            help="The features are of the same concepts in other levels: group them anew.",
            rich_help_panel=IMAGES,
        ),
    ] = False,
    splits: SplitsOption = None,
    truth: TruthOption = None,
    on_missing: MissingOption = "fail",
    backbone: Annotated[
        list[str] | None,
        typer.Option(
            help="Its id; several share one pass over the images. With --finetune or --label-noise, some of the run's.",
            rich_help_panel=BACKBONES,
        ),
    ] = None,
    checkpoint: CheckpointOption = None,
    pool: PoolOption = None,
    layer: LayerOption = None,
    size: SizeOption = None,
    weights: WeightsOption = "pretrained",
    name: NamesOption = None,
    normalize: NormalizeOption = None,
    preprocessing: PreprocessingOption = "published",
    device: StudyDeviceOption = None,
    precision: PrecisionOption = None,
    batch: Annotated[
        int | None, typer.Option(help="Images per batch; 128, or 256 with --finetune.", rich_help_panel=EXTRACTION)
    ] = None,
    on_error: OnErrorOption = "fail",
    fast: FastOption = False,
    exif: ExifOption = False,
    ignore_disk: IgnoreDiskOption = False,
    epochs: Annotated[int, typer.Option(help="Passes over the training images.", rich_help_panel=FINETUNING)] = 30,
    rate: Annotated[
        float,
        typer.Option(help="The learning rate at the start; it falls along a cosine.", rich_help_panel=FINETUNING),
    ] = 0.01,
    threshold: Annotated[
        float, typer.Option(help="List predictions of a greater probability.", rich_help_panel=NOISE)
    ] = 0.99,
    seed: Annotated[int, typer.Option(help="Seed of the classifiers.", rich_help_panel=NOISE)] = 0,
    page: Annotated[
        Path | None,
        typer.Option(
            help="The page to write, or all rows as .csv, .parquet, .md or .tex; label-noise.html in the run's folder "
            "unless given.",
            rich_help_panel=NOISE,
        ),
    ] = None,
    table: Annotated[
        Path | None, typer.Option(help="Also all rows: .csv, .parquet, .md or .tex.", rich_help_panel=NOISE)
    ] = None,
) -> None:
    """How well a backbone does on concepts it has seen, and on levels of concepts it has not.

    Shows what it will do and what that takes, extracts the features that are missing, runs the probes that are missing,
    and writes a report. Asked for a part (--domains, --shots), it adds that part to what the folder has.
    """
    mode = chosen_mode({"--finetune": finetune, "--label-noise": label_noise, "--check": check})
    refuse_options(context, MODES, mode)
    missing = choose("--on-missing", on_missing, ("fail", "report"))
    options = ImageOptions(images, imagenet_1k, truth, splits, variant, "report" if missing == "report" else "fail")
    if mode == "--label-noise":
        return look_for_noise(
            out, options, features, backbone or [], domains=domains, threshold=threshold, seed=seed,
            page=page or out / "label-noise.html", table=table,
        )  # fmt: skip

    def load(ids: "Sequence[str]", place: str, names: "Sequence[str] | None") -> "list[Backbone]":
        return load_backbones(ids, preprocessing, place, checkpoint, pool, layer, size, weights, names, normalize)

    if mode == "--finetune":
        return finetune_concepts(
            out, options, backbone, name, load, domains=domains, epochs=epochs, batch=256 if batch is None else batch,
            rate=rate, seeds=1 if seeds is None else seeds, workers=decoders(workers), dry_run=dry_run,
        )  # fmt: skip
    if features is not None:
        _refuse_image_options(context)
    count, number = processes(workers), 5 if seeds is None else seeds
    settings = partial(
        extraction_settings, device, precision, 128 if batch is None else batch, count, on_error, fast, exif
    )
    if mode == "--check":
        return check_chain(
            out, ImageOptions(images, imagenet_1k, truth, splits), features, checkpoint, settings, domains=domains,
            shots=shots, seeds=number, workers=count, dry_run=dry_run, ignore_disk=ignore_disk,
        )  # fmt: skip
    from unseen.studies.concepts.plan import chosen_probes

    check_writable(out)
    chosen = choose_levels(levels, vectors, seen)
    draw, further = known_draw(features, splits), chosen_probes(extended)
    asked = study_request(chosen, domains, shots, number, protocol, sequential, variant, draw, further)
    if features is not None:
        study = _study_of_features(asked, features, backbone or [], out, regroup=regroup, dry_run=dry_run)
    else:
        if regroup:
            raise UserError("--regroup is for features that are there: --features")
        if not backbone:
            raise UserError("say which backbone: --backbone, or give its features: --features")
        how = settings()
        study = study_of_images(
            asked, chosen, options, load(backbone, how.device, name), how, out, count, dry_run, ignore_disk
        )
    if study is not None:
        finish(out, probe_study(study, out, count), open_=False)
    return None


def _study_of_features(
    asked: "Asked", features: Path, backbones: "Sequence[str]", out: Path, *, regroup: bool, dry_run: bool
) -> Study | None:
    """A study of features that are there, grouped as they are or anew; None where only the plan was wanted."""
    from unseen.images.splits import COG
    from unseen.studies.concepts.variants import split_rule

    if split_rule(asked.variant) != COG and not regroup:
        raise UserError(
            f"--variant {asked.variant} draws other images than --features has; group them anew (--regroup)"
        )
    if not regroup:
        return study_of_features(asked, features, backbones, dry_run)
    if dry_run or not backbones:
        raise UserError("--regroup needs --backbone, whose features to group anew, and has no --dry-run")
    return study_of_other_levels(asked, features, backbones, out)


def _refuse_image_options(context: typer.Context) -> None:
    """Refuse, beside features, what only images could follow."""
    wrong = next((name for name in given_options(context) if name in IMAGE_OPTIONS), None)
    if wrong is not None:
        option = option_name(context, wrong)
        raise UserError(f"give images or features (--features), not both: {option} says nothing to features")
