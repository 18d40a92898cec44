"""`unseen ls backbones`: sources of backbones, the catalogue of the papers, and the settings of one backbone."""

from collections.abc import Sequence
from dataclasses import asdict
from shlex import quote
from typing import TYPE_CHECKING

from unseen.cli.output import note, print_json, print_table

if TYPE_CHECKING:
    from unseen.backbones.catalogue import Published, Training

Rows = list[tuple[str, ...]]


def show_backbone(name: str, settings: Sequence[str], *, as_json: bool) -> None:
    """Print the settings of a backbone; all of them are part of the key of extracted features.

    Args:
        settings: words such as `backbone.pool=cls`, as for `unseen run`.
    """
    from unseen.backbones.backbone import describe
    from unseen.cli.study_options import Changes
    from unseen.studies.backbones import StudyBackbones
    from unseen.studies.extraction import EXTRACTION

    study = Changes(backbones=[name], settings=settings).of(EXTRACTION)
    for backbone in StudyBackbones(study, device="cpu", tell=note, allow_code=True).vectors:
        if as_json:
            print_json(asdict(backbone.spec))
        else:
            print_table("", ("", ""), describe(backbone.spec))


def source_rows() -> tuple[tuple[str, ...], Rows]:
    """The sources of backbones, and which packages are missing."""
    from unseen.backbones.load import SOURCES, how_to_install, missing_packages

    rows: Rows = []
    for name, source in SOURCES.items():
        missing = missing_packages(source)
        advice = how_to_install(source) if missing else ""
        rows.append((f"{name}:", ", ".join(source.packages) or "–", "no" if missing else "yes", advice))
    rows.append(("file.py:function", "–", "yes", ""))
    return ("id", "needs", "installed", "to install"), rows


def catalogue_rows(*, training: bool = True) -> tuple[tuple[str, ...], Rows]:
    """The models of the papers, and how to get each today.

    Args:
        training: whether to add a last, long column on how they were trained.
    """
    from unseen.backbones.catalogue import catalogue

    rows: Rows = []
    for model in catalogue():
        sizes = str(model.dimension), str(model.size), model.normalisation, f"{model.parameters_millions:g}M"
        words = (_training(model.training) if model.training else "",) if training else ()
        rows.append(
            (model.paper, model.name, model.category, *sizes, model.extra_data, _how(model), model.note, *words)
        )
    facts = ("features", "pixels", "normalisation", "parameters", "extra data", "weights", "note")
    return ("paper", "model", "category", *facts, *(("training",) if training else ())), rows


def _how(model: "Published") -> str:
    """The value of `--backbone`; for a checkpoint also its repository and the prefix of the backbone's keys."""
    if model.id is not None:
        return model.id
    keys = f"keys under {model.prefix}" if model.prefix else ""
    whose = ", ".join(part for part in (model.repository, keys) if part)
    if not model.library:
        return f"{model.weights} ({whose})"
    options = f"{model.library}:{model.architecture}@{quote(model.weights)}"
    return f"{options} ({whose})" if whose else options


def _training(training: "Training") -> str:
    """The training of a model in words."""
    facts = asdict(training)
    words = [f"{facts.pop('epochs')} epochs", f"batch {facts.pop('batch_size')}"]
    for name, value in facts.items():
        word = name.replace("_", " ")
        if isinstance(value, bool):
            words += [word] if value else []
        elif value != "no":
            words.append(word if value == "yes" else f"{word} ({value})")
    return ", ".join(words)
