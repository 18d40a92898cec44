"""The models that the papers measured, and how to get each today.

`data/catalogue.csv` has the 31 models of ImageNet-CoG (Sariyildiz et al. 2021, Tables 1 and 3, supplementary B.1) and
the 14 of Ericsson et al. 2021; `data/training.csv` has the latter's Table 10. Where the weights are, and how their
names have to be changed, is from the two papers' public code.
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
    """How a model was trained, as Table 10 of Ericsson et al. gives it from the original authors.

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
        name: as the paper's list of models spells it, unique in the paper.
        paper: the protocol's short name, `cog-v2` or `ericsson-2021`.
        also: other spellings in the same paper.
        library, architecture: who defines the network, and under which name; no library where `source` is "code".
        source: where weights come from; "checkpoint" is a file of the authors for the architecture named, "code" a
            file for a network that only the authors' repository defines.
        weights: their name in the source, with its tag; of a checkpoint, the file, or what the authors call it.
        repository: of the authors, owner/name; empty where there is none to name.
        prefix: of the backbone's keys in a checkpoint; it is taken off, and keys without it are left out.
        dimension, size: of the features, and of the square image in pixels, as the paper used them.
        normalisation: of the image after division by 255.
        parameters_millions: of the backbone without its classifier, to the digit printed.
        extra_data: what it saw beside, or instead of, ImageNet-1K; comparisons with it are not fair.
        pool: "cls" where features are the class token alone; empty where that goes without saying.
        note: what else has to be known to get the paper's features, in plain words.
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
        """What loads it, `source:name.tag`; None where a file has to be fetched by hand."""
        return None if self.source in {"checkpoint", "code"} else f"{self.source}:{self.weights}"


def catalogue(paper: str | None = None) -> tuple[Published, ...]:
    """The published models, in the papers' order; of one paper when it is named."""
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
