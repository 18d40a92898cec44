"""The models of a shift study: from a CSV file or keys of backbones to classifiers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from unseen.errors import UserError, did_you_mean
from unseen.extension.own_code import allowing_code, runs_code
from unseen.files import read_table
from unseen.text.words import whole_number

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone
    from unseen.backbones.zero_shot import Templates

OWN, ZERO_SHOT, LINEAR = "own", "zero-shot", "linear"
IMAGENET, CIFAR = "imagenet-1k", "cifar-10"
HEADS, OUTPUTS = (OWN, ZERO_SHOT, LINEAR), (IMAGENET, CIFAR)
TEMPLATES = {
    "openai": "the 80 prompts of CLIP's authors",
    "simple": "7 prompts of CLIP's authors",
    "photo": 'the prompt "a photo of a {}."',
    "plain": 'the prompt "{}"',
}
"""Sets of prompt templates by name."""
FORMER = "name"
"""The misleading name that the templates `photo` once had; files of earlier versions may have it."""
WEIGHTS = ("pretrained", "random")
RESERVED = "labels"
OPTIONAL = ("group", "head", "checkpoint", "classes", "templates", "weights", "size")


@dataclass(frozen=True)
class ModelPlan:
    """A model of the study.

    Attributes:
        model: name of its row in the table.
        backbone: id of the backbone, `source:name`.
        head: how it classifies: with its `own` head, `zero-shot` (class names in prompts), `linear` (a layer that was
            fine-tuned with the backbone by this package), or a file of a linear probe.
        checkpoint: weights of the whole classifier from fine-tuning or WiSE-FT; for a probe, weights of the backbone.
        classes: classes of the outputs: `imagenet-1k`, `cifar-10`, or a CSV file with the columns class, name.
        templates: templates of zero-shot prompts: openai, simple, photo, plain, or a text file.
        size: side of the images, instead of the authors' default.
    """

    model: str
    backbone: str
    group: str = ""
    head: str = OWN
    checkpoint: Path | None = None
    classes: str = IMAGENET
    templates: str = "openai"
    weights: str = "pretrained"
    size: int | None = None

    def __post_init__(self) -> None:
        if self.checkpoint is not None:
            object.__setattr__(self, "checkpoint", Path(self.checkpoint))

    @property
    def description(self) -> str:
        """How it classifies, with the prompts of a zero-shot classifier."""
        if self.head != ZERO_SHOT:
            return f"{self.head} head"
        if self.checkpoint is not None:
            return f"{self.head} head of {self.checkpoint.name}"
        return f"{self.head} head with {TEMPLATES.get(self.templates, f'the prompts of {Path(self.templates).name}')}"


def read_plans(path: Path, *, common: ModelPlan | None = None, allow_code: bool = False) -> tuple[ModelPlan, ...]:
    """Read a CSV file with the columns model, backbone and optionally those of `OPTIONAL`; paths are relative to it.

    Args:
        common: what holds for models whose cells are empty.
        allow_code: whether its backbones may be Python files and torch.hub folders, whose code is executed.
    """
    usual = common or ModelPlan("", "")
    plans = dict[str, ModelPlan]()
    for line, row in read_table(path, ("model", "backbone"), OPTIONAL):
        for name in row:
            if name not in ("model", "backbone", *OPTIONAL):
                raise UserError(f"{path}, line 1: unknown column '{name}'{did_you_mean(name, OPTIONAL)}")
        model = row["model"]
        if not model or not row["backbone"] or model in plans:
            raise UserError(f"{path}, line {line}: {model or 'a model'} occurs twice, or a field is empty")
        if runs_code(row["backbone"]) and not allow_code:
            raise UserError(
                f"{path}, line {line}: the backbone {row['backbone']} is code that would run here; "
                f"if you trust this file and that code, allow it with {allowing_code()}"
            )
        plans[model] = ModelPlan(
            model=model,
            backbone=_backbone_beside(path, row["backbone"]),
            group=row["group"] or usual.group,
            head=_beside(path, row["head"], HEADS) if row["head"] else usual.head,
            checkpoint=path.parent / row["checkpoint"] if row["checkpoint"] else usual.checkpoint,
            classes=_beside(path, row["classes"], OUTPUTS) if row["classes"] else usual.classes,
            templates=_beside(path, row["templates"], (*TEMPLATES, FORMER)) if row["templates"] else usual.templates,
            weights=row["weights"] or usual.weights,
            size=_size(path, line, row["size"]) or usual.size,
        )
    if not plans:
        raise UserError(f"{path}: no models in it")
    return tuple(plans.values())


def check_plans(plans: Sequence[ModelPlan]) -> None:
    """Refuse models with the same name, and those that `check_plan` refuses."""
    names = [plan.model for plan in plans]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"the model '{twice}' is given twice; give each a name of its own")
    for plan in plans:
        check_plan(plan)


def check_plan(plan: ModelPlan) -> None:
    """Refuse unknown options and missing files before any model is loaded."""
    if plan.model == RESERVED:
        raise UserError(f"a model cannot be named '{RESERVED}': files of predictions use it for the true classes")
    if plan.weights not in WEIGHTS:
        raise UserError(f"{plan.model}: weights must be {' or '.join(WEIGHTS)}, not '{plan.weights}'")
    if plan.head == LINEAR and plan.checkpoint is None:
        raise UserError(f"{plan.model}: a linear head that was fine-tuned needs its checkpoint")
    if plan.checkpoint is not None and not plan.checkpoint.is_file():
        raise UserError(f"{plan.model}: the checkpoint {plan.checkpoint} is not a file")
    _refuse_unknown(plan.model, "head", plan.head, HEADS)
    _refuse_unknown(plan.model, "classes", plan.classes, OUTPUTS)
    check_templates(plan.model, plan.templates)


def check_templates(model: str, templates: str) -> None:
    """Refuse templates that are neither a known set nor a file of sentences with a place for the class.

    Args:
        model: who needs them, for error messages.
    """
    if templates == FORMER:
        raise UserError(
            f'{model}: the templates "{FORMER}", which were "a photo of a {{}}.", are now called photo; plain is '
            "the name of the class alone"
        )
    _refuse_unknown(model, "templates", templates, tuple(TEMPLATES))
    if templates not in TEMPLATES:
        from unseen.backbones.zero_shot import check_sentences, template_set

        check_sentences(templates, template_set(Path(templates)))


def _refuse_unknown(model: str, what: str, value: str, words: Sequence[str]) -> None:
    """Refuse a value that is neither one of some words nor a file."""
    if value not in words and not Path(value).is_file():
        hint = did_you_mean(Path(value).name, words)
        raise UserError(f"{model}: {what} '{value}' is not one of {', '.join(words)}, and not a file{hint}")


def templates_in_table(templates: str) -> str:
    """Templates as tables of models have them: a name, or the absolute path of a file, valid from any folder."""
    return templates if templates in TEMPLATES else fspath(Path(templates).absolute())


def load_model(plan: ModelPlan, device: str) -> "Backbone":
    """The classifier that a plan describes."""
    from unseen.backbones.classifier import fine_tuned, with_probe
    from unseen.backbones.load import load_backbone
    from unseen.backbones.own_head import own_head
    from unseen.backbones.zero_shot import template_set, zero_shot

    check_plan(plan)
    weights = cast("Literal['pretrained', 'random']", plan.weights)
    if plan.head == OWN:
        classes = tuple(class_names(plan))
        return own_head(
            plan.backbone, classes=classes, checkpoint=plan.checkpoint, weights=weights, size=plan.size, device=device
        )
    if plan.head == ZERO_SHOT:
        kind = cast("Templates", plan.templates)
        templates = template_set(kind if plan.templates in TEMPLATES else Path(plan.templates))
        names = class_names(plan)
        return zero_shot(
            plan.backbone, names, templates, checkpoint=plan.checkpoint, weights=weights, size=plan.size, device=device
        )
    if plan.head == LINEAR and plan.checkpoint is not None:
        backbone = load_backbone(plan.backbone, weights="random", size=plan.size, device=device)
        return fine_tuned(backbone, tuple(class_names(plan)), plan.checkpoint)
    backbone = load_backbone(plan.backbone, checkpoint=plan.checkpoint, weights=weights, size=plan.size, device=device)
    return with_probe(backbone, Path(plan.head))


def class_names(plan: ModelPlan) -> Mapping[str, str]:
    """Class → its name in prompts."""
    from unseen.backbones.zero_shot import imagenet_class_names, read_class_names
    from unseen.data.formats.named_folders import CIFAR_10, imagenet_classes

    if plan.classes == CIFAR:
        return {name: name for name in CIFAR_10}
    if plan.classes == IMAGENET:
        return imagenet_class_names() if plan.head == ZERO_SHOT else {wnid: wnid for wnid in imagenet_classes()}
    return read_class_names(Path(plan.classes))


def _backbone_beside(path: Path, backbone: str) -> str:
    """The id of a backbone; the path of a folder saved by open_clip is relative to the file, like other paths."""
    source, _, place = backbone.partition(":")
    return f"{source}:{path.parent / place}" if source == "openclip" and (path.parent / place).is_dir() else backbone


def _size(path: Path, line: int, text: str) -> int | None:
    if not text:
        return None
    number = whole_number(text)
    if not number:
        raise UserError(f"{path}, line {line}: '{text[:20]}' is not the side of images in pixels")
    return number


def _beside(path: Path, value: str, words: tuple[str, ...]) -> str:
    return value if value in words else str(path.parent / value)
