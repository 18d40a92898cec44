"""Section 4.2 of the first version of ImageNet-CoG: linear classifiers, seven models, other levels."""

from itertools import pairwise

from unseen.papers.claims.claim import Claim, Finding, decide
from unseen.papers.claims.printed import (
    DOMAINS,
    FEW,
    LEVELS,
    REFERENCE,
    Accuracies,
    Printed,
    listed,
    name,
    series,
    span,
)
from unseen.text.words import signed

SUPERVISED = (REFERENCE, "d-Semi-Sup", "d-Semi-Weakly-Sup")
SELF_SUPERVISED = ("s-MoCo-v2", "s-SwAV", "s-SimCLR-v2", "s-BYOL")
ON_PAR = 0.2  # points: what the paper says the deviation over seeds mostly is
CONSTANT = 1.0  # points within which gains are "almost constant"


def _harder(tables: Printed) -> Finding:
    rises, steps = tables.first_accuracy.rises(), 5 * len(tables.first_accuracy.models)
    return Finding(decide(len(rises), steps), f"Accuracy falls in {steps - len(rises)} of {steps} steps.")


def _supervised_ranking(tables: Printed) -> Finding:
    pairs = [("d-Semi-Weakly-Sup", "d-Semi-Sup"), ("d-Semi-Sup", REFERENCE)]
    leads = tables.first_accuracy.leads(pairs, DOMAINS)
    failed = [lead for lead in leads if lead.points <= 0]
    return Finding(decide(len(failed), len(leads)), f"Each is ahead of the next on all six domains, by {span(leads)}.")


def _constant_gains(tables: Printed) -> Finding:
    gains = {m: [tables.first_accuracy.lead(m, REFERENCE, domain) for domain in DOMAINS] for m in SUPERVISED[1:]}
    widths = {model: max(values) - min(values) for model, values in gains.items()}
    text = "; ".join(f"{model} {series(gains[model])}, a range of {width:.1f}" for model, width in widths.items())
    text += f". A range of up to {CONSTANT:.1f} counts as almost constant."
    return Finding(decide(sum(width > CONSTANT for width in widths.values()), len(widths)), text)


def _more_data(tables: Printed) -> Finding:
    values = [tables.first_accuracy.lead("d-Semi-Weakly-Sup", "d-Semi-Sup", domain) for domain in DOMAINS]
    off = [points for points, stated in ((values[0], 2.0), (values[-1], 0.5)) if points != stated]
    return Finding(decide(len(off), 2), f"{series(values)} from IN-1K to L5.")


def _byol_swav(tables: Printed) -> Finding:
    pairs = [(model, REFERENCE) for model in ("s-BYOL", "s-SwAV")]
    seen, unseen = (tables.first_accuracy.leads(pairs, domains) for domains in (("in1k",), LEVELS))
    failed = [lead for lead in seen if lead.points >= 0] + [lead for lead in unseen if lead.points <= 0]
    return Finding(decide(len(failed), len(seen + unseen)), f"{span(seen)} on IN-1K, {span(unseen)} on the levels.")


def _shift(tables: Printed) -> Finding:
    gaps = {m: [tables.first_accuracy.lead(m, REFERENCE, domain) for domain in DOMAINS] for m in SELF_SUPERVISED}
    steps = [(model, i) for model in SELF_SUPERVISED for i in range(5)]
    back = [(model, i) for model, i in steps if gaps[model][i + 1] < gaps[model][i]]
    text = "; ".join(f"{model} {series(values)}" for model, values in gaps.items()) + ". Exceptions: "
    text += ", ".join(f"{model} on {name(DOMAINS[i + 1])}" for model, i in back)
    return Finding(decide(len(back), len(steps)), f"{text}.")


def _margins(tables: Printed) -> Finding:
    stated = {"s-MoCo-v2": 0.8, "s-SwAV": 5.0, "s-SimCLR-v2": 1.5, "s-BYOL": 2.9}
    leads = {model: tables.first_accuracy.lead(model, REFERENCE, "l5") for model in stated}
    off = [model for model in stated if leads[model] != stated[model]]
    text = "; ".join(f"{model} {signed(points)}" for model, points in leads.items())
    return Finding(decide(len(off), len(stated)), f"{text}.")


def _swav_best(tables: Printed) -> Finding:
    leads = tables.first_accuracy.leads((("s-SwAV", m) for m in SELF_SUPERVISED if m != "s-SwAV"), DOMAINS)
    failed = [lead for lead in leads if lead.points <= 0]
    return Finding(decide(len(failed), len(leads)), f"Ahead of the other three by {span(leads)}, on IN-1K as well.")


def _kept(accuracy: Accuracies, model: str, domain: str) -> float:
    return accuracy.of(model, domain) / accuracy.of(model, "in1k")


def _swav_graceful(tables: Printed) -> Finding:
    accuracy = tables.first_accuracy
    best = {level: max(accuracy.models, key=lambda m: _kept(accuracy, m, level)) for level in LEVELS}
    lost = [level for level in LEVELS if best[level] != "s-SwAV"]
    text = "Loss relative to the accuracy on IN-1K, of s-SwAV and of the model that loses least: "
    text += "; ".join(
        f"{name(level)} {100 - 100 * _kept(accuracy, 's-SwAV', level):.1f}%, "
        f"{100 - 100 * _kept(accuracy, best[level], level):.1f}% ({best[level]})"
        for level in LEVELS
    )
    return Finding(
        decide(len(lost), len(LEVELS)), f"{text}. s-SwAV has the highest accuracy, but not the smallest loss."
    )


def _swav_margin(tables: Printed) -> Finding:
    values = [tables.first_accuracy.lead("s-SwAV", REFERENCE, level) for level in LEVELS]
    back = [level for (a, b), level in zip(pairwise(values), LEVELS[1:], strict=True) if b <= a]
    text = f"{series(values)} from L1 to L5; it does not grow on {', '.join(map(name, back)) or 'no level'}."
    return Finding(decide(len(back), len(values) - 1), text)


def _swav_last_level(tables: Printed) -> Finding:
    leads = [tables.first_accuracy.lead("s-SwAV", model, "l5") for model in SUPERVISED[1:]]
    off = [points for points, stated in zip(leads, (0.8, 0.3), strict=True) if points != stated]
    return Finding(decide(len(off), len(leads)), f"{series(leads)}.")


def _relative_loss(tables: Printed) -> Finding:
    accuracy = tables.first_accuracy
    lost = {model: 100 - 100 * _kept(accuracy, model, "l5") for model in accuracy.models}
    outside = [f"{model} ({share:.1f}%)" for model, share in lost.items() if not 25 <= round(share, 1) <= 35]
    text = f"{min(lost.values()):.1f}% ({min(lost, key=lost.__getitem__)}) to {max(lost.values()):.1f}% "
    text += f"({max(lost, key=lost.__getitem__)}) on L5. Outside: {', '.join(outside) or 'none'}."
    return Finding(decide(len(outside), len(lost)), text)


def _few_supervised(tables: Printed) -> Finding:
    leads = tables.first_accuracy.leads(((REFERENCE, m) for m in SELF_SUPERVISED), LEVELS[:4], FEW[:4])
    failed = [lead for lead in leads if lead.points <= 0]
    return Finding(
        decide(len(failed), len(leads)), f"Ahead in {len(leads) - len(failed)} of {len(leads)} cases: {span(leads)}."
    )


def _few_last_level(tables: Printed) -> Finding:
    accuracy, shots = tables.first_accuracy, (*FEW, "all")
    best = {n: max(("s-BYOL", "s-SwAV"), key=lambda m: accuracy.of(m, "l5", n)) for n in shots}
    leads = [lead for n in shots for lead in accuracy.leads([(best[n], REFERENCE)], ("l5",), (n,))]
    failed = [lead for lead in leads if lead.points < -ON_PAR]
    text = (
        f"{series(lead.points for lead in leads)} points with 1 to 128 and all images. Behind by more than {ON_PAR}: "
    )
    return Finding(decide(len(failed), len(leads)), f"{text}{listed(failed)}.")


def _few_match(tables: Printed) -> Finding:
    accuracy, stated = tables.first_accuracy, dict(zip(LEVELS, (128, 64, 32, 16, 4), strict=True))
    shots = {level: next(int(n) for n in FEW if accuracy.lead("s-SwAV", REFERENCE, level, n) >= 0) for level in LEVELS}
    off = [level for level in LEVELS if shots[level] != stated[level]]
    text = f"s-SwAV needs {', '.join(map(str, shots.values()))} images not to be behind. With the stated numbers: "
    text += listed([lead for v in off for lead in accuracy.leads([("s-SwAV", REFERENCE)], (v,), (str(stated[v]),))])
    fewer = all(shots[a] >= shots[b] for a, b in pairwise(LEVELS))
    return Finding(decide(len(off), len(LEVELS)) if fewer else "not what the tables say", f"{text}.")


def _few_moco(tables: Printed) -> Finding:
    leads = tables.first_accuracy.leads([("s-MoCo-v2", "s-SimCLR-v2")], ("in1k", "l1"), FEW[:4])
    failed = [lead for lead in leads if lead.points <= 0]
    return Finding(decide(len(failed), len(leads)), f"{listed(leads)}.")


def _few_byol(tables: Printed) -> Finding:
    pair, domains = [("s-BYOL", "s-SwAV")], DOMAINS[:4]
    few, every = (tables.first_accuracy.leads(pair, domains, shots) for shots in (FEW, ("all",)))
    behind = [lead for lead in few if lead.points <= 0]
    text = f"With 1 to 128 images, which the paper calls few, s-BYOL is ahead in {len(few) - len(behind)} of "
    text += f"{len(few)} cases. Not ahead: {listed(behind)}. With all images: {span(every)}."
    return Finding(decide(len(behind) + sum(lead.points > 0 for lead in every), len(few + every)), text)


CLAIMS = (
    Claim("v1-harder", "4.2", "Every model loses accuracy from each level to the next.", _harder),
    Claim(
        "v1-ranking",
        "4.2",
        "d-Semi-Weakly-Sup is ahead of d-Semi-Sup, and d-Semi-Sup of ResNet50, on every domain.",
        _supervised_ranking,
    ),
    Claim("v1-constant", "4.2", "Their gains over ResNet50 are almost constant.", _constant_gains),
    Claim(
        "v1-more-data", "4.2", "d-Semi-Weakly-Sup leads d-Semi-Sup by 2 points on IN-1K and by 0.5 on L5.", _more_data
    ),
    Claim("v1-byol-swav", "4.2", "s-BYOL and s-SwAV are behind ResNet50 on IN-1K and ahead on all levels.", _byol_swav),
    Claim("v1-shift", "4.2", "From level to level, self-supervised models gain on ResNet50.", _shift),
    Claim(
        "v1-margins", "4.2", "On L5, s-MoCo-v2, s-SwAV, s-SimCLR-v2 and s-BYOL lead by 0.8, 5.0, 1.5 and 2.9.", _margins
    ),
    Claim("v1-swav-best", "4.2", "s-SwAV is the best self-supervised model on all levels.", _swav_best),
    Claim("v1-swav-graceful", "4.2", "s-SwAV degrades the least.", _swav_graceful),
    Claim("v1-swav-margin", "4.2", "From L1 to L5, s-SwAV leads ResNet50 by a growing margin.", _swav_margin),
    Claim("v1-swav-l5", "4.2", "On L5, s-SwAV leads d-Semi-Sup by 0.8 and d-Semi-Weakly-Sup by 0.3.", _swav_last_level),
    Claim("v1-loss", "4.2", "On L5, all models lose 25 to 35% of their accuracy on IN-1K.", _relative_loss),
    Claim(
        "v1-few-sup",
        "4.2",
        "With up to 8 images, ResNet50 is ahead of self-supervised models on L1 to L4.",
        _few_supervised,
    ),
    Claim("v1-few-l5", "4.2", "On L5, the better of s-BYOL and s-SwAV is never behind ResNet50.", _few_last_level),
    Claim(
        "v1-few-match",
        "4.2",
        "s-SwAV catches up with ResNet50 at 128, 64, 32, 16 and 4 images on L1 to L5: fewer and fewer are needed.",
        _few_match,
    ),
    Claim("v1-few-moco", "4.2", "s-MoCo-v2 is ahead of s-SimCLR-v2 with up to 8 images on IN-1K and L1.", _few_moco),
    Claim(
        "v1-few-byol",
        "4.2",
        "s-BYOL is ahead of s-SwAV with few images (1 to 128) on IN-1K and L1 to L3, but not with all.",
        _few_byol,
    ),
)
