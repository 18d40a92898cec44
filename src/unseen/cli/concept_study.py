"""`unseen concepts` and `unseen verify`: the study of concept generalization, alone and against published numbers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.choices import choose
from unseen.cli.concept_steps import Study, probe_study, study_of_features, study_of_images, study_of_other_levels
from unseen.cli.concept_tables import show_compared
from unseen.cli.domains import Chosen, ImageOptions, choose_levels
from unseen.cli.extract import (
    BatchOption,
    CheckpointOption,
    DomainsOption,
    ExifOption,
    FastOption,
    IgnoreDiskOption,
    ImageNet1kOption,
    LayerOption,
    MissingOption,
    OnErrorOption,
    PoolOption,
    PrecisionOption,
    SeenOption,
    SizeOption,
    SplitsOption,
    StudyDeviceOption,
    TruthOption,
    VariantOption,
    VectorsOption,
    WeightsOption,
    extraction_settings,
)
from unseen.cli.loading import NamesOption, NormalizeOption, load_backbones
from unseen.cli.output import console
from unseen.cli.running import WorkersOption, finish, processes
from unseen.errors import UserError
from unseen.files import check_writable

if TYPE_CHECKING:
    from unseen.papers.comparability import Draw
    from unseen.runs.data import RunData
    from unseen.studies.concepts.plan import Asked

ImagesOption = Annotated[str | None, typer.Option(help="ImageNet-21K, or what the levels are of: tars or folders.")]
ShotsOption = Annotated[str | None, typer.Option(help="Samples a concept: numbers and 'all', with commas.")]
SeedsOption = Annotated[int, typer.Option(help="How many seeds.")]
IMAGE_OPTIONS = (
    "images", "imagenet_1k", "truth", "on_missing", "checkpoint", "pool", "layer", "size", "weights",
    "name", "normalize", "preprocessing", "device", "precision", "batch", "on_error", "fast", "exif", "ignore_disk",
)  # fmt: skip
"""What says where images are and how features are made of them: nothing to features that are there.

Splits are not among them: whose draw features are of is for the reader of a report to know.
"""
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show the plan and what it takes, and stop.")]


def concepts(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder of the run.")],
    backbone: Annotated[list[str] | None, typer.Option(help="Its id; several share one pass over the images.")] = None,
    images: ImagesOption = None,
    imagenet_1k: ImageNet1kOption = None,
    features: Annotated[
        Path | None, typer.Option(help="Features instead of images: a folder for each domain, as extract makes them.")
    ] = None,
    regroup: Annotated[
        bool, typer.Option("--regroup", help="The features are of the same concepts in other levels: group them anew.")
    ] = False,
    levels: Annotated[str, typer.Option(help="cog-v2, cog-v1, a levels CSV, a measure, or random.")] = "cog-v2",
    vectors: VectorsOption = None,
    domains: DomainsOption = None,
    seen: SeenOption = None,
    shots: ShotsOption = None,
    seeds: SeedsOption = 5,
    protocol: Annotated[str, typer.Option(help="cog-v2, or cog-v2-short for a quick look.")] = "cog-v2",
    sequential: Annotated[bool, typer.Option("--sequential", help="One trial at a time, as in the paper.")] = False,
    extended: Annotated[
        str | None,
        typer.Option(
            metavar="[PROBES]",
            help="Also further probes: some of pca, mlp, kmeans and geometry (alignment and uniformity), or all.",
        ),
    ] = None,
    variant: VariantOption = "plain",
    splits: SplitsOption = None,
    truth: TruthOption = None,
    on_missing: MissingOption = "fail",
    checkpoint: CheckpointOption = None,
    pool: PoolOption = None,
    layer: LayerOption = None,
    size: SizeOption = None,
    weights: WeightsOption = "pretrained",
    name: NamesOption = None,
    normalize: NormalizeOption = None,
    preprocessing: Annotated[
        str, typer.Option(help="published, as in ImageNet-CoG, or the backbone's own.")
    ] = "published",
    device: StudyDeviceOption = None,
    precision: PrecisionOption = None,
    batch: BatchOption = 128,
    on_error: OnErrorOption = "fail",
    fast: FastOption = False,
    exif: ExifOption = False,
    ignore_disk: IgnoreDiskOption = False,
    workers: WorkersOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """How well a backbone does on concepts it has seen, and on levels of concepts it has not.

    Shows what it will do and what that takes, extracts the features that are missing, runs the probes that are missing,
    and writes a report. Asked for a part (--domains, --shots), it adds that part to what the folder has.
    """
    from unseen.images.splits import COG
    from unseen.studies.concepts.plan import chosen_probes
    from unseen.studies.concepts.variants import split_rule

    check_writable(out)
    rule, chosen = split_rule(variant), choose_levels(levels, vectors, seen)
    draw, further = _draw(features, splits), chosen_probes(extended)
    asked = _asked(chosen, domains, shots, seeds, protocol, sequential, variant, draw, further)
    count = processes(workers)
    if features is not None:
        _refuse_image_options(context)
        if rule != COG and not regroup:
            raise UserError(f"--variant {variant} draws other images than --features has; group them anew (--regroup)")
        if regroup and (dry_run or not backbone):
            raise UserError("--regroup needs --backbone, whose features to group anew, and has no --dry-run")
        if regroup:
            study: Study | None = study_of_other_levels(asked, features, backbone or [], out)
        else:
            study = study_of_features(asked, features, backbone or [], dry_run)
    else:
        if regroup:
            raise UserError("--regroup is for features that are there: --features")
        if not backbone:
            raise UserError("say which backbone: --backbone, or give its features: --features")
        missing = choose("--on-missing", on_missing, ("fail", "report"))
        options = ImageOptions(images, imagenet_1k, truth, splits, variant, "report" if missing == "report" else "fail")
        settings = extraction_settings(device, precision, batch, count, on_error, fast, exif)
        loaded = load_backbones(
            backbone, preprocessing, settings.device, checkpoint, pool, layer, size, weights, name, normalize
        )
        study = study_of_images(asked, chosen, options, loaded, settings, out, count, dry_run, ignore_disk)
    if study is not None:
        finish(out, probe_study(study, out, count), open_=False)


def verify(
    context: typer.Context,
    images: ImagesOption = None,
    imagenet_1k: ImageNet1kOption = None,
    features: Annotated[Path | None, typer.Option(help="Its features instead of images.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the run.")] = Path("unseen-verify"),
    domains: DomainsOption = None,
    shots: ShotsOption = None,
    seeds: SeedsOption = 5,
    checkpoint: Annotated[
        Path | None, typer.Option(help="The weights' file, where they cannot be downloaded (resnet50-0676ba61.pth).")
    ] = None,
    splits: SplitsOption = None,
    truth: TruthOption = None,
    device: StudyDeviceOption = None,
    precision: PrecisionOption = None,
    batch: BatchOption = 128,
    on_error: OnErrorOption = "fail",
    ignore_disk: IgnoreDiskOption = False,
    workers: WorkersOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Check the whole chain: torchvision's first ResNet-50 against what ImageNet-CoG reports of it.

    Exit code 1 where an accuracy is further from the published one than chance explains.
    """
    from unseen.studies.concepts.verify import BACKBONE

    check_writable(out)
    chosen = choose_levels("cog-v2", None)
    asked = _asked(chosen, domains, shots, seeds, draw=_draw(features, splits))
    count = processes(workers)
    if features is not None:
        _refuse_image_options(context)
        study = study_of_features(asked, features, [BACKBONE], dry_run)
    else:
        settings = extraction_settings(device, precision, batch, count, on_error)
        loaded = load_backbones([BACKBONE], "published", settings.device, checkpoint)
        options = ImageOptions(images, imagenet_1k, truth, splits)
        study = study_of_images(asked, chosen, options, loaded, settings, out, count, dry_run, ignore_disk)
    if study is not None:
        _compare(probe_study(study, out, count, published=True), study)


def _refuse_image_options(context: typer.Context) -> None:
    """Refuse, beside features, what only images could follow."""
    for name in IMAGE_OPTIONS:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            raise UserError(f"give images or features (--features), not both: {option} says nothing to features")


def _asked(
    chosen: Chosen,
    domains: str | None,
    shots: str | None,
    seeds: int,
    protocol: str = "cog-v2",
    sequential: bool = False,
    variant: str = "plain",
    draw: "Draw" = "unknown",
    extended: tuple[str, ...] = (),
) -> "Asked":
    from unseen.studies.concepts.plan import Asked, chosen_domains
    from unseen.studies.own_features import parse_shots, protocol_named
    from unseen.studies.probing import SHOTS

    if not 1 <= seeds < 1000:
        raise UserError(f"--seeds is from 1 to 999, not {seeds}")
    names = chosen_domains(domains, chosen.names)
    known = dict(chosen.domains) | ({chosen.seen_domain: chosen.seen} if chosen.seen else {})
    return Asked(
        levels=chosen.levels,
        domains=names,
        concepts={name: known[name] for name in names if name in known},
        protocol=protocol_named(protocol, sequential=sequential),
        shots=parse_shots(shots) if shots else SHOTS,
        seeds=seeds,
        variant=variant,
        draw=draw,
        extended=extended,
        seen=chosen.seen_domain,
    )


def _draw(features: Path | None, splits: Path | None) -> "Draw":
    """Who chose the images of the levels, as far as options tell: features are of a draw that nobody told us."""
    if splits is not None:
        return "given"
    return "ours" if features is None else "unknown"


def _compare(data: "RunData", study: Study) -> None:
    """Print measured beside published accuracies; exit code 1 where they do not agree."""
    from unseen.papers import published
    from unseen.runs.comparability_words import comparison_notices
    from unseen.runs.tables import score_table, summarise
    from unseen.studies.concepts.features import test_images
    from unseen.studies.concepts.verify import compare

    [places] = study.places.values()
    asked = [score for score in data.scores if score.domain in places]
    rows = compare(summarise(score_table(asked)), published("cog-v2"), test_images(places))
    show_compared(rows)
    for sentence in [*data.notices, *comparison_notices(data)]:
        console().print(f"\n{sentence}")
    if not all(row.agrees for row in rows):
        raise typer.Exit(1)
