"""Merge several runs: parts of one study from several machines, or studies that are compared on one page."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count
from typing import Any, TypeVar

from unseen.errors import UserError
from unseen.papers.comparability import ScoredData
from unseen.probes.own import OWN, OWN_METRIC
from unseen.runs.data import Backbone, ConceptAccuracy, ConceptHits, Domain, Origin, RunData
from unseen.runs.flaws import Flaw
from unseen.runs.notices import joint
from unseen.runs.record import in_order, joined_features, sorted_scores, with_known
from unseen.runs.score import Score
from unseen.runs.setup import FeatureKey, Setup, backbone_differences, differences, extraction_differences

T = TypeVar("T")


def merge_runs(runs: Sequence[tuple[str, RunData]]) -> RunData:
    """Merge several named runs into one for comparison.

    Domains with the same name and concepts are the same domain. Backbones with the same name are the same if all scores
    that both runs have are equal, or if both runs state the same weights and the same extraction: then the runs are
    parts of one study, for instance from several machines, and each adds what the earlier ones lack. If they differ,
    the name of the run is appended to the name of the later backbone.
    """
    return merge_with_names(runs)[0]


def merge_with_names(runs: Sequence[tuple[str, RunData]]) -> tuple[RunData, list[dict[str, str]]]:
    """`merge_runs`, and for each run the names of its backbones in the merged run."""
    if len(runs) == 1:
        data = runs[0][1]
        return data, [{backbone.name: backbone.name for backbone in data.backbones}]
    _refuse_other_studies(runs)
    _refuse_other_protocols([score for _, data in runs for score in data.scores])
    _refuse_other_settings(runs)
    _refuse_other_code(runs)
    domains: dict[str, Domain] = {}
    merged: dict[str, _Merged] = {}
    called: list[dict[str, str]] = []
    for name, data in runs:
        renamed, names = {}, {}
        for domain in data.domains:
            label = _label(domain.name, name, domains, partial(_same_concepts, domain))
            title = label if label != domain.name else domain.title
            origin = Origin(domain.name, name, data.levels)
            domains.setdefault(label, replace(domain, name=label, title=title, origin=origin))
            renamed[domain.name] = label
        for backbone in data.backbones:
            part = _part(data, backbone, renamed)
            label = _label(backbone.name, name, merged, part.is_of)
            merged[label] = merged[label].with_more(part) if label in merged else part.called(label)
            names[backbone.name] = label
        called.append(names)
    backbones, ordered = (
        [part.backbone for part in merged.values()],
        in_order(domains.values(), len(runs[0][1].domains)),
    )
    together = replace(
        runs[0][1],
        title=" and ".join(dict.fromkeys(data.title for _, data in runs)),
        told=joint([(name, data.told) for name, data in runs]),
        scores=sorted_scores([score for part in merged.values() for score in part.scores.values()], backbones, ordered),
        concept_accuracy=[item for part in merged.values() for item in part.concepts.values()],
        concept_hits=[hits for part in merged.values() for hits in part.hits.values()],
        backbones=backbones,
        domains=ordered,
        images=[],
        written=None,
        parts=runs,
        folders=[*dict.fromkeys(folder for _, data in runs for folder in data.folders)],
        scored=[each for part in merged.values() for each in part.scored.values()],
        features=[key for part in merged.values() for key in part.features.values()],
        published=runs[0][1].published if len({data.published for _, data in runs}) == 1 else "",
        flaws=[*dict.fromkeys(flaw for part in merged.values() for flaw in part.flaws)],
    )
    return together, called


@dataclass(frozen=True)
class _Merged:
    """The scores, accuracies per concept and features of one backbone, from one or several runs."""

    backbone: Backbone
    scores: Mapping[tuple[Any, ...], Score]
    concepts: Mapping[tuple[str, str], ConceptAccuracy]
    hits: Mapping[tuple[str, str, int], ConceptHits]
    features: Mapping[str, FeatureKey]
    scored: Mapping[str, ScoredData]
    flaws: Sequence[Flaw]

    def is_of(self, other: "_Merged") -> bool:
        """Whether this is the same backbone as another of the same name."""
        own, others = self.backbone, other.backbone
        known = (own.features and others.features) or (own.finetuning and others.finetuning)
        differ = extraction_differences(own.features, others.features)
        differ += backbone_differences(own.finetuning, others.finetuning)
        shared = self.features.keys() & other.features.keys()
        alike = all(_agree(self.features[domain].keys, other.features[domain].keys) for domain in shared)
        if known and alike and not differ:
            return True
        both = self.scores.keys() & other.scores.keys()
        same = all(self.scores[key].value == other.scores[key].value for key in both)
        return same and (bool(both) or not (self.scores or other.scores))

    def with_more(self, part: "_Merged") -> "_Merged":
        own = part.called(self.backbone.name)
        return replace(
            self,
            backbone=replace(
                with_known(self.backbone, part.backbone),
                cautions=[*dict.fromkeys([*self.backbone.cautions, *part.backbone.cautions])],
            ),
            scores={**own.scores, **self.scores},
            concepts={**own.concepts, **self.concepts},
            hits={**own.hits, **self.hits},
            features={key.domain: key for key in joined_features(own.features.values(), self.features.values())},
            scored={**own.scored, **self.scored},
            flaws=[*self.flaws, *own.flaws],
        )

    def called(self, name: str) -> "_Merged":
        return replace(
            self,
            backbone=replace(self.backbone, name=name),
            scores={key: replace(score, backbone=name) for key, score in self.scores.items()},
            concepts={key: replace(item, backbone=name) for key, item in self.concepts.items()},
            hits={key: replace(hits, backbone=name) for key, hits in self.hits.items()},
            features={domain: replace(key, backbone=name) for domain, key in self.features.items()},
            scored={domain: replace(each, backbone=name) for domain, each in self.scored.items()},
            flaws=[replace(flaw, backbone=name) for flaw in self.flaws],
        )


def _agree(first: Mapping[str, str], second: Mapping[str, str]) -> bool:
    """Whether the features of all splits that both have are the same."""
    return all(second.get(split, key) == key for split, key in first.items())


def _part(data: RunData, backbone: Backbone, renamed: Mapping[str, str]) -> _Merged:
    """The data of one run on a backbone, with the names of domains in the merged run."""
    own = [replace(s, domain=renamed[s.domain]) for s in data.scores if s.backbone == backbone.name]
    items = [replace(i, domain=renamed[i.domain]) for i in data.concept_accuracy if i.backbone == backbone.name]
    hits = [replace(h, domain=renamed[h.domain]) for h in data.concept_hits if h.backbone == backbone.name]
    return _Merged(
        backbone,
        {(s.protocol, s.domain, s.probe, s.shots, s.seed, s.metric): s for s in own},
        {(item.domain, item.concept): item for item in items},
        {(h.domain, h.shots, h.seed): h for h in hits},
        # Features of renamed domains belong to other concepts and do not distinguish backbones.
        {
            domain: replace(each, domain=domain)
            for each in data.features
            if each.backbone == backbone.name
            for domain in [renamed.get(each.domain, each.domain)]
        },
        {
            renamed[each.domain]: replace(each, domain=renamed[each.domain])
            for each in data.scored
            if each.backbone == backbone.name and each.domain in renamed
        },
        [replace(f, domain=renamed.get(f.domain, f.domain)) for f in data.flaws if f.backbone == backbone.name],
    )


def _refuse_other_studies(runs: Sequence[tuple[str, RunData]]) -> None:
    """Refuse runs of different studies, which have different pages; one study may have levels and other data sets."""
    by_axis = {axis: name for name, data in runs for axis in data.axes}
    if "tasks" in by_axis and len(by_axis) > 1 and all(len(data.axes) == 1 for _, data in runs):
        each = " and ".join(f"{name} measures {axis}" for axis, name in by_axis.items())
        raise UserError(f"{each}: this page shows one axis; use unseen report with all of them for a page across axes")


def _refuse_other_protocols(scores: Sequence[Score]) -> None:
    """Refuse runs that trained the same kind of probe in different ways."""
    for probe in {score.probe for score in scores}:
        protocols = sorted({score.protocol for score in scores if score.probe == probe})
        if len(protocols) > 1:
            raise UserError(f"these runs follow different protocols ({', '.join(protocols)}); report them separately")


def _refuse_other_settings(runs: Sequence[tuple[str, RunData]]) -> None:
    """Refuse runs that trained a probe with other settings under the same protocol; the first difference is named.

    Only the kind of device may differ, since a study may run on several machines.
    """
    different = dict[str, tuple[str, RunData]]()  # the first run with each choice of settings: many have the same
    compared = set[tuple[str, str, frozenset[str]]]()
    for name, data in runs:
        own, scored = repr(data.setup.protocols), frozenset({score.protocol for score in data.scores} | {""})
        for settings, (other, before) in different.items():
            if (settings, own, scored) in compared:
                continue
            compared.add((settings, own, scored))
            for each in differences(_protocols(before, scored), _protocols(data, scored)):
                raise UserError(
                    f"{other} and {name} differ in the {each.field} ({each.first} and {each.second}); report them "
                    "separately"
                )
        different.setdefault(own, (name, data))


def _protocols(data: RunData, names: Container[str]) -> Setup:
    """How the probes of a run were trained, of the protocols with these names and of probes without one."""
    own = [each for each in data.setup.protocols if each.name in names and each.name not in {OWN, OWN_METRIC}]
    return Setup([replace(each, settings=_without(each.settings, "arithmetic")) for each in own])


def _without(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key != name}


def _refuse_other_code(runs: Sequence[tuple[str, RunData]]) -> None:
    """Refuse runs in which a user's own probe or metric has the same name but different code."""
    first = dict[str, tuple[str, Any]]()
    for name, data in runs:
        for each in data.own_code:
            run, code = first.setdefault(each.probe, (name, each.settings.get("code")))
            if code != each.settings.get("code"):
                raise UserError(f"{each.probe} has different code in {run} and in {name}; report them separately")


def _same_concepts(first: Domain, second: Domain) -> bool:
    return tuple(first.concepts) == tuple(second.concepts)


def _label(name: str, run: str, taken: Mapping[str, T], is_same: Callable[[T], bool]) -> str:
    """The name itself if it is free or means the same, otherwise followed by the run's name, and a number if needed."""
    candidates = chain([name, f"{name} ({run})"], (f"{name} ({run} {number})" for number in count(2)))
    return next(label for label in candidates if label not in taken or is_same(taken[label]))
