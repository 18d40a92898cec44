"""Zero-shot classifiers of open_clip: each class is the mean embedding of sentences that name it.

For a class and each template, the sentence is embedded and normalised; the embeddings are averaged over templates and
normalised again. Logits are the model's scale times the cosine similarity of an image's embedding and each class's
(Radford et al. 2021, section 3.1.4).
"""

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import normalize

from unseen.backbones.backbone import Backbone
from unseen.backbones.checkpoint import load_checkpoint
from unseen.backbones.classifier import LinearHead, classifier
from unseen.backbones.load import load_backbone
from unseen.backbones.sources.openclip_source import create_model, load_tokenizer
from unseen.errors import UserError
from unseen.extras import install_command
from unseen.files import read_table, read_text
from unseen.ontology.wordnet import wordnet

Templates = Literal["openai", "simple", "photo", "plain"]
"""80 sentences of CLIP's authors; seven of them; one sentence; the name of the class alone."""
PLACE = "{}"
SINGLE = {"photo": f"a photo of a {PLACE}.", "plain": PLACE}
AT_ONCE = 256


def zero_shot(
    name: str,
    class_names: Mapping[str, str],
    templates: Sequence[str],
    *,
    checkpoint: Path | None = None,
    weights: Literal["pretrained", "random"] = "pretrained",
    size: int | None = None,
    device: torch.device | str = "cpu",
) -> Backbone:
    """The model `openclip:name` as a classifier.

    Args:
        class_names: class → its name in sentences, in the order of the logits.
        templates: sentences with `{}` in place of the name.
        checkpoint: a state of this classifier, as written by fine-tuning or WiSE-FT: image tower (`network.…`) and
            class embeddings (`weight`).
        weights: "random" for an untrained model, initialised with a fixed seed.
        size: side of the images, instead of the authors'.
    """
    if not name.startswith("openclip:"):
        raise UserError(f"{name}: zero-shot classification needs an image-text model; use openclip:NAME")
    if not class_names:
        raise UserError(f"{name}: zero-shot classification needs class names")
    check_sentences(name, templates)
    tower = load_backbone(name, weights=weights, size=size, device=device)
    model, tokenise = _text_side(name.partition(":")[2], random=weights == "random")
    model = model.to(device)
    embeddings = class_embeddings(model, tokenise, list(class_names.values()), templates)
    scaled = embeddings * model.logit_scale.detach().exp()
    module = LinearHead(tower.module, scaled, None, normalise=True)
    words = f"{tower.spec.weights}, {len(templates)} templates"
    notes = tower.notes
    if checkpoint is not None:
        report = load_checkpoint(module, checkpoint)
        words, notes = f"sha256:{report.sha256}", (report.sentence(),)
    return classifier(module, tower.spec, tuple(class_names), weights=words, notes=notes)


def check_sentences(name: str, templates: Sequence[str]) -> None:
    """Refuse no templates, and templates without a place for the class.

    Args:
        name: of a model or of a file, for error messages.
    """
    if not templates:
        raise UserError(f"{name}: zero-shot classification needs at least one template")
    sentence = next((text for text in templates if PLACE not in text), None)
    if sentence is not None:
        raise UserError(f"{name}: the template '{sentence}' has no {PLACE} where the name of the class goes")


@torch.inference_mode()
def class_embeddings(
    model: Any, tokenise: Callable[[list[str]], Tensor], names: Sequence[str], templates: Sequence[str]
) -> Tensor:
    """(c, d) unit vectors: for each name, the normalised mean of its sentences' normalised embeddings."""
    device = next(model.parameters()).device
    rows = []
    for name in names:
        sentences = [template.replace(PLACE, name) for template in templates]
        parts = [
            normalize(model.encode_text(tokenise(sentences[start : start + AT_ONCE]).to(device)).float())
            for start in range(0, len(sentences), AT_ONCE)
        ]
        rows.append(normalize(torch.cat(parts).mean(dim=0), dim=0))
    return torch.stack(rows).clone()


def _text_side(name: str, *, random: bool) -> tuple[Any, Callable[[list[str]], Tensor]]:
    """The model loaded again for its text tower, scale and tokenizer; the weights are those of the image tower."""
    known, _, tag = (f"local-dir:{name}", "", "") if Path(name).is_dir() else name.partition(".")
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        model = create_model(known, tag or None, random=random)
    return model.eval(), load_tokenizer(known)


def template_set(templates: Templates | Path) -> tuple[str, ...]:
    """A known set of templates, or those in a text file with one per line."""
    if isinstance(templates, Path):
        return tuple(line.strip() for line in read_text(templates).splitlines() if line.strip())
    if templates in SINGLE:
        return (SINGLE[templates],)
    known = _words()
    functions = known.OPENAI_IMAGENET_TEMPLATES if templates == "openai" else known.SIMPLE_IMAGENET_TEMPLATES
    return tuple(template(PLACE) for template in functions)


def imagenet_class_names() -> dict[str, str]:
    """Synset id → the name that CLIP's authors use for each class of ImageNet-1K."""
    return dict(zip(wordnet().members("imagenet-1k"), _words().IMAGENET_CLASSNAMES, strict=True))


def _words() -> Any:
    """Names and sentences of CLIP's authors, which come with open_clip."""
    if find_spec("open_clip") is None:
        raise UserError(f"zero-shot classification needs the package open_clip: {install_command('openclip')}")
    from open_clip import zero_shot_metadata

    return zero_shot_metadata


def read_class_names(path: Path) -> dict[str, str]:
    """Class → name, from a CSV file with the columns class and, if it differs from the class, name."""
    names = dict[str, str]()
    for line, row in read_table(path, ("class",), ("name",)):
        if not row["class"] or row["class"] in names:
            raise UserError(f"{path}, line {line}: {row['class'] or 'a class'} occurs twice, or a field is empty")
        names[row["class"]] = row["name"] or row["class"]
    if not names:
        raise UserError(f"{path}: contains no classes")
    return names
