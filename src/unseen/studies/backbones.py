"""The backbones of a study, loaded as its probes need them: for vectors or patches, as networks, as classifiers."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from unseen.errors import UserError, did_you_mean, option
from unseen.extension.own_code import is_own_file, own_place, told_before
from unseen.studies.keys import BackboneKeys
from unseen.studies.paths import TABLE
from unseen.studies.study import Study

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone, Pool
    from unseen.backbones.load import OpenedBackbone
    from unseen.studies.shifts.plans import ModelPlan


@dataclass(frozen=True, eq=False)
class Entry:
    """A backbone of a study: how it is called and loaded; `given` is a backbone that was loaded in Python."""

    label: str
    id: str
    keys: BackboneKeys
    given: "Backbone | None" = None


@dataclass(frozen=True, eq=False)
class StudyBackbones:
    """Loads the backbones of a study, each form once.

    Attributes:
        given: backbones that were loaded in Python, besides those of the study.
        device: where features are computed.
        tell: called with sentences for the user.
        allow_code: whether tables of models may name Python files and torch.hub folders, which are executed.
        named: whether the study only names the backbones whose features are used; there may be none.
        forms: those that were loaded, by the name of their entry: one for each layer and pooling.
    """

    study: Study
    given: "Sequence[Backbone]" = ()
    device: str = "cpu"
    tell: Callable[[str], None] = logging.getLogger("unseen").warning
    allow_code: bool = False
    named: bool = False
    forms: "dict[str, list[Backbone]]" = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The names of the backbones whose features are used; empty for all."""
        return [*self.study.backbones, *(each.label for each in self.given)]

    @cached_property
    def entries(self) -> list[Entry]:
        """All of them, in order; equal names are refused."""
        from unseen.backbones.load import default_label

        study, found = self.study, list[Entry]()
        for word in study.backbones:
            if word.lower().endswith(TABLE):
                found += _of_table(Path(word), study.backbone_keys(""), self.allow_code)
                continue
            keys = study.backbone_keys(word)
            named = word in study.named_backbones
            if named and keys.id is None:
                raise UserError(f"[backbone.{word}]: the key id is missing; give the id of the backbone")
            id_ = keys.id or word
            found.append(Entry(word if named else default_label(id_), id_, keys))
        common = study.backbone_keys("")
        found += [Entry(each.label, each.spec.id, _own_keys(each, common), each) for each in self.given]
        if not found:
            raise UserError(
                f"no backbone was given; name one ({option('backbone')}), or give its features ({option('features')})"
            )
        labels = [each.label for each in found]
        clash = next((label for label in labels if labels.count(label) > 1), None)
        if clash is not None:
            raise UserError(f"{labels.count(clash)} backbones are called {clash}; give each once, under its own name")
        known = [*dict.fromkeys([*study.backbones, *labels])]
        stray = next((name for name, of in study.named_backbones.items() if "id" not in of and name not in known), None)
        if stray is not None:
            hint = did_you_mean(stray, known) or f"; there are {', '.join(labels)}"
            raise UserError(f"[backbone.{stray}]: no backbone is called '{stray}'{hint}")
        return found

    @cached_property
    def top1(self) -> dict[str, float]:
        """Known ImageNet accuracies, between 0 and 1, by name."""
        if self.named:
            known = {name: self.study.backbone_keys(name).imagenet_top1 for name in self.names}
        else:
            known = {each.label: each.keys.imagenet_top1 for each in self.entries}
        for label, percent in known.items():
            if percent is not None and not 1 < percent < 100:
                meant = f"; did you mean {100 * percent:g}?" if 0 < percent < 1 else ""
                raise UserError(f"{label}: imagenet-top1 must be a percentage from 1 to 100, not {percent:g}{meant}")
        return {label: percent / 100 for label, percent in known.items() if percent is not None}

    @cached_property
    def vectors(self) -> "list[Backbone]":
        """One for each layer and pooling, with the preprocessing of the study."""
        drawn = next((each.label for each in self.entries if each.keys.patches is not None), None)
        if drawn is not None:
            raise UserError(f"{drawn}: the key patches of a backbone is only for unseen extract; leave it out")
        forms = [self._published(each) for entry in self.entries for each in self._forms(entry, self.device)]
        return self._once(forms, self.device)

    @cached_property
    def patches(self) -> "list[Backbone]":
        """With the features of all patches of whole images."""
        from unseen.backbones.load import with_patches

        def form(entry: Entry) -> "Backbone":
            from unseen.backbones.patches import PatchSpec

            if entry.given is None:
                return self._load(entry, entry.keys.layers, self.device, patches=True)
            own = entry.given if isinstance(entry.given.spec, PatchSpec) else with_patches(entry.given, True)
            return replace(own, name=entry.label)

        return self._once([form(entry) for entry in self.entries], self.device)

    def drawn_patches(self, number: int | Literal["all"]) -> "list[Backbone]":
        """With the features of all patches, or of so many of them, which are the same in every image."""
        from unseen.backbones.load import with_patches

        kept = True if number == "all" else number
        found = []
        for each in self.entries:
            given = None if each.given is None else with_patches(each.given, kept)
            loaded = given or self._load(each, each.keys.layers, self.device, patches=kept)
            found.append(replace(loaded, name=each.label))
        return self._once(found, self.device)

    @cached_property
    def published_patches(self) -> "list[Backbone]":
        """With the features of all patches, and the preprocessing of the study."""
        return [self._published(each) for each in self.patches]

    @cached_property
    def networks(self) -> "list[Backbone]":
        """As whole networks with their own preprocessing, on the CPU: trainings copy them to a device."""
        return self._once([each for entry in self.entries for each in self._forms(entry, "cpu")], "cpu")

    @cached_property
    def published_networks(self) -> "list[Backbone]":
        """As whole networks, with the preprocessing of the study."""
        return [self._published(each) for each in self.networks]

    @cached_property
    def plans(self) -> "list[ModelPlan]":
        """As classifiers, which are loaded one after another."""
        for each in self.entries:
            told_before(each.id, self.tell)
        return [_plan(each.label, each.id, each.keys) for each in self.entries]

    def _forms(self, entry: Entry, device: str) -> "list[Backbone]":
        """One for each layer and pooling; they share one network, which is loaded once."""
        found = self.forms[entry.label] = []
        if entry.given is not None:
            found.append(replace(entry.given, name=entry.label))
            return found
        opened = self._open(entry, device)
        layers: Sequence[str | None] = opened.layer_names(entry.keys.layers) or [None]
        pools: Sequence[str | None] = entry.keys.pool or [None]
        for layer in layers:
            for pool in pools:
                parts = [*([layer] if len(layers) > 1 and layer else []), *([pool] if len(pools) > 1 and pool else [])]
                form = opened.backbone(layer, cast("Pool | None", pool))
                found.append(replace(_known_by_label(form, entry), name="/".join([entry.label, *parts])))
        self._tell_notes(entry, found[0])
        return found

    def with_usual_layers(self, entry: Entry) -> BackboneKeys:
        """How a backbone is loaded, with its layer and its pooling where they are unset, if its forms were loaded."""
        from unseen.backbones.load import Extractor

        forms = [each for each in self.forms.get(entry.label, ()) if isinstance(each.module, Extractor)]
        layers, pools = (tuple({getattr(each.spec, name): None for each in forms}) for name in ("layer", "pool"))
        keys = entry.keys
        return replace(keys, layers=keys.layers or layers, pool=keys.pool or (pools if len(pools) == 1 else ()))

    def _load(self, entry: Entry, layers: Sequence[str], device: str, *, patches: bool | int) -> "Backbone":
        """With the features of patches, of one layer (`OpenedBackbone.patch_layer`)."""
        opened = self._open(entry, device)
        found = opened.backbone(opened.patch_layer(layers), patches=patches)
        self._tell_notes(entry, found)
        return replace(_known_by_label(found, entry), name=entry.label)

    def _open(self, entry: Entry, device: str) -> "OpenedBackbone":
        from unseen.backbones.load import open_backbone

        keys = entry.keys
        told_before(entry.id, self.tell)
        return open_backbone(
            entry.id,
            size=keys.size,
            checkpoint=None if keys.checkpoint is None else Path(keys.checkpoint),
            weights=keys.weights,
            normalise=keys.normalize,
            device=device,
        )

    def _tell_notes(self, entry: Entry, backbone: "Backbone") -> None:
        for sentence in backbone.notes:
            self.tell(sentence if len(self.entries) == 1 else f"{entry.label}: {sentence}")

    def _published(self, backbone: "Backbone") -> "Backbone":
        return as_published(backbone) if self.study.preprocessing == "published" else backbone

    def _once(self, loaded: "list[Backbone]", device: str) -> "list[Backbone]":
        """The same backbones on a device; one that is given under two names is refused."""
        for number, each in enumerate(loaded):
            each.module.to(device)
            same = next((other for other in loaded[:number] if other.spec == each.spec), None)
            if same is not None:
                raise UserError(f"{same.label} and {each.label} are the same backbone; give it once")
        return loaded


def _known_by_label(backbone: "Backbone", entry: Entry) -> "Backbone":
    """The backbone with the id that its label is, if this is the same file: the study of a run has its whole path.

    The id is a part of the key of its features, which are found again wherever the file is named from.
    """
    if not (is_own_file(entry.id) and is_own_file(entry.label)):
        return backbone
    (place, name), (other, label) = own_place(entry.id), own_place(entry.label)
    if (Path(place).name, name) != (Path(other).name, label):
        return backbone
    return replace(backbone, spec=replace(backbone.spec, id=entry.label))


def as_published(backbone: "Backbone") -> "Backbone":
    """The backbone with the preprocessing of ImageNet-CoG: shortest side to the crop size, bicubic, centre crop."""
    transform = backbone.spec.transform
    changed = replace(transform, resize=transform.size, interpolation="bicubic", squash=False)
    return replace(backbone, spec=replace(backbone.spec, transform=changed))


def named_in_python(
    study: Study, backbones: "Sequence[Backbone | str | PathLike[str]]"
) -> "tuple[Study, list[Backbone]]":
    """The study with the ids and files among some backbones, and those that are loaded."""
    from unseen.backbones.backbone import Backbone

    ids = [fspath(each) for each in backbones if isinstance(each, str | PathLike)]
    loaded = [each for each in backbones if isinstance(each, Backbone)]
    if len(ids) + len(loaded) < len(backbones):
        wrong = next(each for each in backbones if not isinstance(each, str | PathLike | Backbone))
        raise UserError(f"backbone: {wrong!r:.60} is not an id, or a backbone loaded with unseen.load_backbone")
    if not backbones:
        return study, []
    return study.replace(backbones=ids), loaded


def named_words(study: Study, words: Sequence[str]) -> Study:
    """The study with backbones as a command names them: ids, or a name with an id, `mine=timm:resnet50`."""
    names = []
    for word in words:
        name, equals, id_ = word.partition("=")
        if equals and id_ and ":" not in name and "/" not in name and not Path(word).exists():
            study = study.replace(backbone={name: {"id": id_}})
            names.append(name)
        else:
            names.append(word)
    return study.replace(backbones=names) if words else study


def _own_keys(backbone: "Backbone", common: BackboneKeys) -> BackboneKeys:
    """How a backbone was loaded, as far as it says so, and what the study says about all."""
    again: dict[str, Any] = getattr(backbone.load, "keywords", {}) or {}
    checkpoint = again.get("checkpoint")
    known = {
        "layers": (again["layer"],) if again.get("layer") else (),
        "pool": (again["pool"],) if again.get("pool") else (),
        "size": again.get("size"),
        "checkpoint": None if checkpoint is None else str(checkpoint),
        "weights": again.get("weights") or "pretrained",
        "normalize": again.get("normalise"),
    }
    own = {each.name: getattr(common, each.name) for each in fields(BackboneKeys)}
    return BackboneKeys(**{**own, **known})


def _of_table(path: Path, common: BackboneKeys, allow_code: bool) -> list[Entry]:
    """The models of a table; what it leaves empty is as for all backbones of the study."""
    from unseen.studies.shifts.plans import read_plans

    return [
        Entry(
            plan.model, plan.backbone,
            replace(
                common, checkpoint=None if plan.checkpoint is None else str(plan.checkpoint), size=plan.size,
                weights=cast("Any", plan.weights), group=plan.group or None, head=plan.head, outputs=plan.classes,
                templates=plan.templates,
            ),
        )
        for plan in read_plans(path, common=_plan("", "", common), allow_code=allow_code)
    ]  # fmt: skip


def _plan(label: str, id_: str, keys: BackboneKeys) -> "ModelPlan":
    """A backbone as a classifier."""
    from unseen.studies.shifts.plans import ModelPlan

    checkpoint = None if keys.checkpoint is None else Path(keys.checkpoint)
    return ModelPlan(
        label, id_, keys.group or "", keys.head, checkpoint, keys.outputs, keys.templates, keys.weights, keys.size
    )
