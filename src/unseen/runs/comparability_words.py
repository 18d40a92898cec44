"""Sentences that say whether scores are compared with published ones, and why not (`unseen.papers.comparability`)."""

from collections.abc import Mapping, Sequence

from unseen.errors import UserError
from unseen.papers.comparability import Code, Comparability, Reason
from unseen.runs.cautions import Caution
from unseen.runs.data import RunData

COG = "ImageNet-CoG"
ERICSSON = "Ericsson et al. 2021"
Verdicts = Mapping[tuple[str, str], Comparability]
"""(backbone, domain or data set) → verdict."""
RERUN = "run its command again, which repeats no finished work"


def comparison_notices(data: RunData) -> list[str]:
    """Sentences on the comparison of a concept study with published models; none for other studies."""
    titles = {domain.name: domain.title for domain in data.domains}
    return verdict_sentences(data.comparisons, titles, COG)


def caveats(data: RunData, backbone: str) -> list[Caution]:
    """The cautions that apply when a backbone is compared with published models."""
    reasons = [
        reason for (name, _), verdict in data.comparisons.items() if name == backbone for reason in verdict.reasons
    ]
    return list(dict.fromkeys(Caution(reason.code) for reason in reasons if not reason.refuses))


def searched_with(data: RunData) -> str:
    """An addition to captions of a run's own scores: `, searched with cog-v2-pruned`, or nothing."""
    names = dict.fromkeys(name for backbone, _ in data.comparisons for name in _pruned(data, backbone))
    return f", searched with {listed(list(names))}" if names else ""


def with_protocol(data: RunData, backbone: str) -> str:
    """The name of a backbone in comparisons with published models: `mine (cog-v2-pruned)`, or the name alone."""
    names = _pruned(data, backbone)
    return f"{backbone} ({listed(names)})" if names else backbone


def _pruned(data: RunData, backbone: str) -> list[str]:
    """Protocols of a backbone's scores that, unlike the paper's, stop trials early."""
    verdicts = [verdict for (name, _), verdict in data.comparisons.items() if name == backbone]
    reasons = [reason for verdict in verdicts for reason in verdict.reasons]
    return list(dict.fromkeys(str(reason.found) for reason in reasons if reason.code == "pruned-search"))


def verdict_sentences(verdicts: Verdicts, titles: Mapping[str, str], paper: str) -> list[str]:
    """One sentence on the data that are not comparable with the paper's, and one on differences in the others.

    Args:
        titles: domain or data set → its title on pages.
    """
    refused, told = refusal_clauses(verdicts, titles), _clauses(verdicts, titles, allowed=True)
    sentences = [f"Not compared with the numbers of {paper}: {'; '.join(refused)}."] if refused else []
    if told:
        sentences.append(
            f"Compared with the numbers of {paper}, but not expected to agree to the decimal: {'; '.join(told)}."
        )
    return sentences


def refusal_clauses(verdicts: Verdicts, titles: Mapping[str, str]) -> list[str]:
    """Why some data differ from those of the published numbers, one clause per kind of reason."""
    return _clauses(verdicts, titles, allowed=False)


def _clauses(verdicts: Verdicts, titles: Mapping[str, str], *, allowed: bool) -> list[str]:
    """One clause per kind of reason, with the numbers of the first affected domain and the names of the others."""
    backbones = len({backbone for backbone, _ in verdicts})
    groups: dict[tuple[Code, str], dict[tuple[str, str], Reason]] = {}
    for pair, verdict in verdicts.items():
        for reason in verdict.reasons:
            if verdict.allowed == allowed and reason.refuses != allowed:
                groups.setdefault((reason.code, reason.part), {})[pair] = reason
    clauses = []
    for reasons in groups.values():
        domains = list(dict.fromkeys(domain for _, domain in reasons))
        who = list(dict.fromkeys(backbone for backbone, _ in reasons))
        clause = _clause(next(iter(reasons.values())), [titles.get(domain, domain) for domain in domains])
        clauses.append(clause if len(who) == backbones else f"{clause} ({listed(who)})")
    return clauses


def _clause(reason: Reason, titles: Sequence[str]) -> str:
    if reason.code in ("other-protocol", "pruned-search"):
        if not reason.found:
            return f"no probe follows the protocol {reason.expected}"
        how = ": unpromising trials were stopped early" if reason.code == "pruned-search" else ""
        return f"the protocol is {reason.found}, not {reason.expected}{how}"
    if reason.code == "unknown-settings":
        return f"{reason.found} of the settings of {reason.expected} are not stated"
    if reason.code == "other-variant":
        return f"training images were chosen differently ({reason.found})"
    if reason.code in _ABOUT_IMAGES:
        return _ABOUT_IMAGES[reason.code].format(listed(titles), reason.found)
    what = "classes" if reason.code == "other-classes" else f"{reason.part} images".strip()
    likewise = f" (numbers differ in {listed(titles[1:])} too)" if len(titles) > 1 else ""
    return f"{titles[0]} has {reason.found:,} {what}, not {reason.expected:,}{likewise}"


_ABOUT_IMAGES: Mapping[Code, str] = {
    "unknown-counts": f"the run does not record the number of images of {{}}; {RERUN}",
    "part": "of {}, at most {} images per class were used",
    "own-draw": "the test images of {} are our own draw under the paper's protocol, not the authors' draw",
    "unknown-images": "the images behind the features of {} are not known",
}


def refusal(verdict: Comparability, title: str) -> str:
    """Why the scores of one backbone on one domain are not comparable with published ones, as a clause."""
    return "; ".join(_clause(reason, [title]) for reason in verdict.reasons if reason.refuses)


def listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else ""


def refuse_other_data(place: object, data: RunData) -> None:
    """Refuse a run whose scores are not comparable with published ones, with the first reason."""
    titles = {domain.name: domain.title for domain in data.domains}
    for (backbone, domain), verdict in data.comparisons.items():
        if not verdict.allowed:
            raise UserError(
                f"{place}: scores of {backbone} are not comparable with the published ones: "
                f"{refusal(verdict, titles[domain])}"
            )
