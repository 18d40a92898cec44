"""The models measured in the papers, and how to obtain each of them.

`data/catalogue.csv` has the 31 models of ImageNet-CoG (Sariyildiz et al. 2021, Tables 1 and 3, supplementary B.1) and
the 14 of Ericsson et al. 2021; `data/training.csv` has Table 10 of the latter. The locations of the weights, and the
key prefixes to remove, are from the two papers' public code.
"""

from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal

from unseen.errors import UserError, did_you_mean
from unseen.files import read_table

DATA = Path(__file__).parent / "data"
Category = Literal["reference", "architecture", "self-supervision", "regularization", "web data"]
Library = Literal["torchvision", "timm", ""]
Source = Literal["torchvision", "timm", "openclip", "checkpoint", "code"]
Normalisation = Literal["imagenet", "clip", "none"]


@dataclass(frozen=True)
class Training:
    """How a model was trained, according to Table 10 of Ericsson et al.

    Attributes:
        colour_jitter: "yes", "no", or "PCA" for the lighting noise of the supervised model.
        random_crop: "yes", or "multi" for several crops of two sizes.
    """

    epochs: int
    batch_size: int
    target_network: bool
    momentum_encoder: bool
    memory_bank: bool
    projection_head: bool
    jigsaw: bool
    grayscale: bool
    colour_jitter: str
    solarize: bool
    blur: bool
    random_crop: str
    horizontal_flip: bool
    normalise: bool


@dataclass(frozen=True)
class Published:
    """A model that a paper reports on.

    Attributes:
        name: as spelled in the paper's list of models; unique within the paper.
        paper: the protocol's short name, `cog-v2` or `ericsson-2021`.
        also: other spellings in the same paper.
        library, architecture: the library that defines the network, and its name there; no library if `source` is
            "code".
        source: where the weights come from; "checkpoint" is a file of the authors for the given architecture, "code" a
            file for a network that only the authors' repository defines.
        weights: their name in the source, with its tag; for a checkpoint, the file or the authors' name for it.
        repository: the authors' repository, owner/name; empty if there is none.
        prefix: prefix of the backbone's keys in a checkpoint; it is removed, and keys without it are ignored.
        dimension, size: of the features, and of the square image in pixels, as used in the paper.
        normalisation: of the image after division by 255.
        parameters_millions: parameters without the classifier, with the digits printed.
        extra_data: training data other than ImageNet-1K; comparisons with such a model are not fair.
        pool: "cls" if features are the class token alone; empty for the usual pooling.
        note: whatever else is needed to reproduce the paper's features.
    """

    name: str
    paper: str
    also: tuple[str, ...]
    category: Category
    library: Library
    architecture: str
    source: Source
    weights: str
    repository: str
    prefix: str
    dimension: int
    size: int
    normalisation: Normalisation
    parameters_millions: float
    extra_data: str
    pool: Literal["cls", ""]
    note: str
    training: Training | None

    @property
    def id(self) -> str | None:
        """The id that loads it, `source:name.tag`; None if a file has to be downloaded by hand."""
        return None if self.source in {"checkpoint", "code"} else f"{self.source}:{self.weights}"


def catalogue(paper: str | None = None) -> tuple[Published, ...]:
    """The published models in the papers' order; only those of one paper if it is named."""
    models = _read()
    if paper is None:
        return models
    papers = list(dict.fromkeys(model.paper for model in models))
    if paper not in papers:
        raise UserError(
            f"no paper '{paper}' in the catalogue, only {' and '.join(papers)}{did_you_mean(paper, papers)}"
        )
    return tuple(model for model in models if model.paper == paper)


@cache
def _read() -> tuple[Published, ...]:
    columns = [field.name for field in fields(Published) if field.name != "training"]
    rows = [row for _, row in read_table(DATA / "catalogue.csv", columns)]
    trainings = _read_trainings()
    return tuple(_published(row, trainings.get((row["paper"], row["name"]))) for row in rows)


def _published(row: dict[str, str], training: Training | None) -> Published:
    values: dict[str, Any] = dict(row)
    values["also"] = tuple(filter(None, row["also"].split(";")))
    values["dimension"], values["size"] = int(row["dimension"]), int(row["size"])
    values["parameters_millions"] = float(row["parameters_millions"])
    return Published(training=training, **values)


def _read_trainings() -> dict[tuple[str, str], Training]:
    columns = [field.name for field in fields(Training)]
    return {
        ("ericsson-2021", row["name"]): Training(**{column: _training_value(column, row[column]) for column in columns})
        for _, row in read_table(DATA / "training.csv", ["name", *columns])
    }


def _training_value(column: str, text: str) -> Any:
    if column in {"epochs", "batch_size"}:
        return int(text)
    if column in {"colour_jitter", "random_crop"}:
        return text
    return {"yes": True, "no": False}[text]
