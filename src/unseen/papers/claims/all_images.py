"""Section 4.2.1 of ImageNet-CoG: linear classifiers on all images of the levels."""

from unseen.backbones.catalogue import catalogue
from unseen.papers.claims.claim import Claim, Finding, decide
from unseen.papers.claims.printed import (
    DOMAINS,
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

NAMED_SELF_SUPERVISED = ("s-DINO", "s-SwAV", "s-BYOL", "s-OBoW", "s-SimCLR-v2")
SMALL_TRANSFORMERS = ("a-DeiT-S", "a-T2T-ViT-t-14")
WEB = ("d-Semi-Sup", "d-Semi-Weakly-Sup", "d-CLIP")
DISTILLED = {"r-MEAL-v2": REFERENCE, "a-DeiT-S-distilled": "a-DeiT-S"}
SEARCHED = ("a-EfficientNet-B1", "a-EfficientNet-B4", "a-NAT-M4")
LABEL_MIXING = ("r-MixUp", "r-Manifold-MixUp", "r-ReLabel", "r-CutMix")
LARGE = {"a-DeiT-B-distilled", "a-ResNet152", "a-VGG19"}  # the orange ones of Figure 3
BETTER = {*LARGE, *SEARCHED}
SMALL = 1.0  # points: a gain below it is "small", or "practically lost"


def _category(wanted: str) -> list[str]:
    return [model.name for model in catalogue("cog-v2") if model.category == wanted]


def _over_reference(accuracy: Accuracies, model: str, domains: tuple[str, ...] = DOMAINS) -> list[float]:
    return [accuracy.lead(model, REFERENCE, domain) for domain in domains]


def _harder(tables: Printed) -> Finding:
    accuracy = tables.accuracy
    rises, steps = accuracy.rises(), 5 * len(accuracy.models)
    text = f"Accuracy falls in {steps - len(rises)} of {steps} steps from one domain to the next, for {REFERENCE} from "
    text += " to ".join(f"{accuracy.of(REFERENCE, domain):.1f}" for domain in ("in1k", "l5")) + "."
    for model, a, b in rises:
        text += f" {model} rises from {name(a)} to {name(b)}, {accuracy.of(model, a)} to {accuracy.of(model, b)}."
    return Finding(decide(len(rises), steps), text)


def _self_supervised_lead(tables: Printed) -> Finding:
    accuracy = tables.accuracy
    leads = accuracy.leads((model, REFERENCE) for model in NAMED_SELF_SUPERVISED)
    failed = [lead for lead in leads if lead.points <= 0]
    others = [m for m in _category("self-supervision") if m not in NAMED_SELF_SUPERVISED]
    more = [m for m in others if min(_over_reference(accuracy, m, LEVELS)) > 0]
    text = f"The five named models are ahead by {span(leads)}, and so is {' and '.join(more) or 'no other'}. "
    text += f"{', '.join(m for m in others if m not in more)} are not ahead on every level."
    return Finding(decide(len(failed), len(leads)), text)


def _self_supervised_shift(tables: Printed) -> Finding:
    models = _category("self-supervision")
    gaps = {model: _over_reference(tables.accuracy, model) for model in models}
    steps = [(model, i) for model in models for i in range(5)]
    back = [(model, i) for model, i in steps if gaps[model][i + 1] < gaps[model][i]]
    whole = [gaps[model][-1] - gaps[model][0] for model in models]
    text = f"From IN-1K to L5 all ten gain relative to {REFERENCE}, by {min(whole):.1f} to {max(whole):.1f} points. "
    text += f"{len(back)} of {len(steps)} single steps go in the other direction"
    between = {f"{name(DOMAINS[i])} to {name(DOMAINS[i + 1])}" for _, i in back}
    text += f", {'all' if len(between) == 1 else 'those'} from {', '.join(sorted(between))}: "
    text += ", ".join(f"{model} ({signed(gaps[model][i + 1] - gaps[model][i])})" for model, i in back) + "."
    return Finding(decide(len(back) + sum(gain <= 0 for gain in whole), len(steps)), text)


def _dino_on_top(tables: Printed) -> Finding:
    accuracy = tables.accuracy
    ranks = {domain: accuracy.place("s-DINO", domain) for domain in ("l3", "l4", "l5")}
    first = accuracy.order("l5")[0]
    text = ", ".join(f"rank {rank} of 31 on {name(domain)}" for domain, rank in ranks.items())
    text += f". On L5 {first} is the best model of the study with {accuracy.of(first, 'l5')}."
    return Finding(decide(sum(rank > 5 for rank in ranks.values()), len(ranks)), text[0].upper() + text[1:])


def _best_overall(tables: Printed) -> Finding:
    accuracy = tables.accuracy
    means = {m: sum(accuracy.of(m, domain) for domain in LEVELS) / 5 for m in accuracy.models}
    first, second = sorted(means, key=lambda model: -means[model])[:2]
    leaders = {domain: accuracy.order(domain)[0] for domain in DOMAINS}
    lost = [domain for domain in DOMAINS if accuracy.place("a-DeiT-B-distilled", domain) > 1]
    text = f"On the mean of the five levels {first} ({means[first]:.1f}) is just ahead of {second} "
    text += f"({means[second]:.1f}). On single domains, other models lead: "
    text += ", ".join(
        f"{leaders[domain]} on {name(domain)} ({accuracy.of(leaders[domain], domain)})" for domain in lost
    )
    if first != "a-DeiT-B-distilled":
        return Finding("not what the tables say", f"{text}.")
    return Finding("holds with exceptions" if lost else "holds", f"{text}.")


def _transformers_overfit(tables: Printed) -> Finding:
    accuracy = tables.accuracy
    leads = accuracy.leads((model, REFERENCE) for model in SMALL_TRANSFORMERS)
    kept = [lead for lead in leads if lead.points >= SMALL]
    text = " ".join(
        f"{model}: {series(_over_reference(accuracy, model))} over {REFERENCE} from IN-1K to L5."
        for model in SMALL_TRANSFORMERS
    )
    text += f" Gains of a point or more remain for {listed(kept)}."
    return Finding(decide(len(kept), len(leads)), text)


def _transformers_last_level(tables: Printed) -> Finding:
    leads = tables.accuracy.leads(((model, REFERENCE) for model in SMALL_TRANSFORMERS), ("l5",))
    failed = [lead for lead in leads if lead.points >= 0]
    distilled = tables.accuracy.lead("a-DeiT-S-distilled", REFERENCE, "l5")
    text = f"{listed(leads)}. The distilled model of the same size stays ahead ({signed(distilled)})."
    return Finding(decide(len(failed), len(leads)), text)


def _web_data(tables: Printed) -> Finding:
    leads = tables.accuracy.leads((model, REFERENCE) for model in WEB)
    failed = [lead for lead in leads if lead.points <= 0]
    mopro = tables.accuracy.leads([("d-MoPro", REFERENCE)])
    return Finding(
        decide(len(failed), len(leads)),
        f"Ahead by {span(leads)}; d-MoPro, which the paper does not name, by {span(mopro)}.",
    )


def _distillation(tables: Printed) -> Finding:
    leads = tables.accuracy.leads(DISTILLED.items(), DOMAINS)
    failed = [lead for lead in leads if lead.points <= 0]
    return Finding(
        decide(len(failed), len(leads)), f"Ahead of the undistilled models on IN-1K and all levels by {span(leads)}."
    )


def _distillation_fades(tables: Printed) -> Finding:
    accuracy = tables.accuracy
    gains = {model: _over_reference(accuracy, model) for model in DISTILLED}
    steps = [(model, i) for model in DISTILLED for i in range(5)]
    back = [(model, i) for model, i in steps if gains[model][i + 1] >= gains[model][i]]
    own = [accuracy.lead("a-DeiT-S-distilled", "a-DeiT-S", domain) for domain in DOMAINS]
    text = " ".join(f"{model}: {series(gains[model])} over {REFERENCE}." for model in DISTILLED)
    text += " Exceptions: " + ", ".join(f"{model} on {name(DOMAINS[i + 1])}" for model, i in back) + "."
    text += f" The gain over a-DeiT-S itself does not shrink: {series(own)}."
    large = [model for model in DISTILLED if gains[model][-1] >= SMALL]
    return Finding(decide(len(back) + len(large), len(steps) + len(DISTILLED)), text)


def _adversarial_training(tables: Printed) -> Finding:
    leads = tables.accuracy.leads([("r-Adv-Robust", REFERENCE)])
    hurt = [lead for lead in leads if lead.points < 0]
    seen = tables.accuracy.lead("r-Adv-Robust", REFERENCE, "in1k")
    text = f"{series(lead.points for lead in leads)} points on L1 to L5: less than on IN-1K ({signed(seen)}), "
    text += f"but a loss on {len(hurt)} levels of {len(leads)}."
    return Finding(decide(len(hurt), len(leads)), text)


def _searched_architectures(tables: Printed) -> Finding:
    leads = tables.accuracy.leads((model, REFERENCE) for model in SEARCHED)
    failed = [lead for lead in leads if lead.points <= 0]
    seen = tables.accuracy.lead("a-EfficientNet-B1", REFERENCE, "in1k")
    text = "; ".join(f"{model} {series(_over_reference(tables.accuracy, model, LEVELS))}" for model in SEARCHED)
    return Finding(decide(len(failed), len(leads)), f"{text}. On IN-1K a-EfficientNet-B1 is behind ({signed(seen)}).")


def _nat_among_searched(tables: Printed) -> Finding:
    others = [model for model in SEARCHED if model != "a-NAT-M4"]
    leads = {m: tables.accuracy.leads([("a-NAT-M4", m)], DOMAINS) for m in others}
    behind = [(m, lead) for m in others for lead in leads[m] if lead.points <= 0]
    ranks = [tables.accuracy.place("a-NAT-M4", domain) for domain in DOMAINS]
    text = f"Ranks {', '.join(map(str, ranks))} of 31 from IN-1K to L5 with 7.6M parameters. Behind "
    text += ", ".join(f"{m} on {name(lead.domain)} ({signed(lead.points)})" for m, lead in behind) + "."
    return Finding(decide(len(behind), sum(map(len, leads.values()))), text)


def _label_mixing(tables: Printed) -> Finding:
    seen = tables.accuracy.leads(((model, REFERENCE) for model in LABEL_MIXING), ("in1k",))
    unseen = tables.accuracy.leads((model, REFERENCE) for model in LABEL_MIXING)
    failed = [lead for lead in seen if lead.points <= 0] + [lead for lead in unseen if lead.points >= 0]
    text = f"{span(seen)} over {REFERENCE} on IN-1K, {span(unseen)} on the levels."
    return Finding(decide(len(failed), len(seen + unseen)), text)


def _top_of_hard_levels(tables: Printed) -> Finding:
    top = [(domain, m) for domain in ("l3", "l4", "l5") for m in tables.accuracy.order(domain)[:5]]
    strangers = [(domain, m) for domain, m in top if m not in BETTER and not m.startswith("d-")]
    text = "The best five: " + "; ".join(
        f"{name(d)} {', '.join(m for domain, m in top if domain == d)}" for d in ("l3", "l4", "l5")
    )
    text += ". Neither large nor trained on web data: " + ", ".join(f"{m} on {name(domain)}" for domain, m in strangers)
    return Finding(decide(len(strangers), len(top)), f"{text}.")


CLAIMS = (
    Claim("v2-harder", "4.2.1", "Every model loses accuracy from each level to the next.", _harder),
    Claim(
        "v2-self-supervised-lead",
        "4.2.1",
        "s-DINO, s-SwAV, s-BYOL, s-OBoW and s-SimCLR-v2 beat ResNet50 on all levels.",
        _self_supervised_lead,
    ),
    Claim(
        "v2-self-supervised-shift",
        "4.2.1",
        "From level to level, self-supervised models gain on ResNet50.",
        _self_supervised_shift,
    ),
    Claim("v2-dino", "4.2.1", "s-DINO is among the best models of any size on the hardest levels.", _dino_on_top),
    Claim("v2-best", "4.2.1", "a-DeiT-B-distilled is the best model overall.", _best_overall),
    Claim(
        "v2-transformers-overfit",
        "4.2.1",
        "The gain of a-DeiT-S and a-T2T-ViT-t-14 over ResNet50 on IN-1K is practically lost on unseen concepts.",
        _transformers_overfit,
    ),
    Claim("v2-transformers-l5", "4.2.1", "Both are slightly below ResNet50 on L5.", _transformers_last_level),
    Claim("v2-web-data", "4.2.1", "d-Semi-Sup, d-Semi-Weakly-Sup and d-CLIP beat ResNet50 on all levels.", _web_data),
    Claim(
        "v2-distillation",
        "4.2.1",
        "r-MEAL-v2 and a-DeiT-S-distilled beat their undistilled counterparts on all levels.",
        _distillation,
    ),
    Claim(
        "v2-distillation-fades",
        "4.2.1",
        "These gains shrink progressively and are small on L5.",
        _distillation_fades,
    ),
    Claim("v2-adversarial", "4.2.1", "Adversarial training does not seem to hurt.", _adversarial_training),
    Claim(
        "v2-searched", "4.2.1", "All three searched architectures beat ResNet50 on all levels.", _searched_architectures
    ),
    Claim("v2-nat", "4.2.1", "Among them, a-NAT-M4 stands out on IN-1K and on all levels.", _nat_among_searched),
    Claim(
        "v2-label-mixing",
        "4.2.1",
        "r-MixUp, r-Manifold-MixUp, r-ReLabel and r-CutMix gain on IN-1K and lose on unseen concepts.",
        _label_mixing,
    ),
    Claim(
        "v2-top",
        "4.2.1",
        "Better or larger architectures and models trained on more data lead from L3 to L5.",
        _top_of_hard_levels,
    ),
)
