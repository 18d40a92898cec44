"""Section 4.3 and the supplement of the first version of ImageNet-CoG: clusters, components, hidden layers."""

from itertools import combinations, pairwise

from unseen.papers.claims.claim import Claim, Finding, decide, not_printed
from unseen.papers.claims.first_version import ON_PAR, SELF_SUPERVISED, SUPERVISED
from unseen.papers.claims.printed import DOMAINS, LEVELS, REFERENCE, Printed, name, series
from unseen.text.words import signed

METRICS = ("purity", "ami", "nmi", "ari")
COMPONENTS = (32, 64, 128, 256, 512, 1024, 2048)
ON_PAR_PERCENT = 0.5  # of the accuracy, about the 0.2 points of the deviation over seeds


def _clusters_supervised(tables: Printed) -> Finding:
    gaps = {
        domain: min(tables.clusters["purity", m, domain] for m in SUPERVISED)
        - max(tables.clusters["purity", m, domain] for m in SELF_SUPERVISED)
        for domain in DOMAINS
    }
    failed = [domain for domain, gap in gaps.items() if gap <= 0]
    text = "Purity of the worst supervised minus the best self-supervised model: "
    text += ", ".join(f"{gap:.3f}" for gap in gaps.values()) + " from IN-1K to L5."
    return Finding(decide(len(failed), len(gaps)), text)


def _clusters_gap(tables: Printed) -> Finding:
    purity = {(m, d): tables.clusters["purity", m, d] for m in (REFERENCE, "s-BYOL", "s-SwAV") for d in DOMAINS}
    gaps = {m: [purity[REFERENCE, d] - purity[m, d] for d in DOMAINS] for m in ("s-BYOL", "s-SwAV")}
    failed = [model for model, values in gaps.items() if values[-1] != min(values)]
    text = "Gap in purity: " + "; ".join(
        f"{model} from {values[0]:.3f} on IN-1K to {values[-1]:.3f} on L5" for model, values in gaps.items()
    )
    return Finding(decide(len(failed), len(gaps)), f"{text}.")


def _clusters_moco(tables: Printed) -> Finding:
    order = {
        domain: sorted(SELF_SUPERVISED, key=lambda m: -tables.clusters["purity", m, domain])[:3]
        for domain in ("in1k", "l1")
    }
    right = [order["in1k"][0] == "s-MoCo-v2", set(order["l1"][:2]) == {"s-MoCo-v2", "s-BYOL"}]
    text = "; ".join(
        f"{name(domain)}: " + ", ".join(f"{m} {tables.clusters['purity', m, domain]:.3f}" for m in best)
        for domain, best in order.items()
    )
    return Finding(decide(right.count(False), len(right)), f"{text}.")


def _clusters_byol(tables: Printed) -> Finding:
    cases = [(metric, domain) for metric in METRICS for domain in DOMAINS]
    failed = [
        (metric, domain)
        for metric, domain in cases
        if tables.clusters[metric, "s-BYOL", domain] <= tables.clusters[metric, "s-SwAV", domain]
    ]
    text = f"Ahead in {len(cases) - len(failed)} of {len(cases)} cases, by four measures on six domains."
    return Finding(decide(len(failed), len(cases)), text)


def _clusters_measures(tables: Printed) -> Finding:
    pairs = list(combinations((*SUPERVISED, *SELF_SUPERVISED), 2))
    cases = [(metric, domain, a, b) for metric in METRICS[1:] for domain in DOMAINS for a, b in pairs]

    def sign(metric: str, domain: str, a: str, b: str) -> int:
        first, second = tables.clusters[metric, a, domain], tables.clusters[metric, b, domain]
        return (first > second) - (first < second)

    other = [case for case in cases if sign(*case) * sign("purity", *case[1:]) < 0]
    text = (
        f"Purity and the other three measures put two models in opposite order in {len(other)} of {len(cases)} cases: "
    )
    text += "; ".join(f"{metric.upper()} on {name(domain)}, {a} and {b}" for metric, domain, a, b in other)
    return Finding(decide(len(other), len(cases)), f"{text}.")


def _compact_seen(tables: Printed) -> Finding:
    values = {model: tables.compressed[model, "in1k", 32] for model in SUPERVISED}
    failed = [model for model, value in values.items() if value < 63]
    return Finding(decide(len(failed), len(values)), ", ".join(f"{m} {value}" for m, value in values.items()) + ".")


def _compact_unseen(tables: Printed) -> Finding:
    def gap(domain: str, d: int) -> float:
        worst = min(tables.compressed[m, domain, d] for m in SUPERVISED)
        return round(worst - max(tables.compressed[m, domain, d] for m in SELF_SUPERVISED), 1)

    gaps = [gap(level, d) for d in (32, 64) for level in LEVELS[:4]]
    text = f"The worst supervised model is ahead of the best self-supervised one by {min(gaps)} to {max(gaps)} points. "
    text += f"On L5, which the claim does not cover, it is not: {series(gap('l5', d) for d in (32, 64))}."
    return Finding(decide(sum(value <= 0 for value in gaps), len(gaps)), text)


def _saturation(tables: Printed) -> Finding:
    steps = {
        domain: [
            round(tables.compressed[REFERENCE, domain, b] - tables.compressed[REFERENCE, domain, a], 1)
            for a, b in pairwise(COMPONENTS)
        ]
        for domain in DOMAINS
    }
    growing = [domain for domain, values in steps.items() if values != sorted(values, reverse=True)]
    rest = {domain: sum(values[2:]) for domain, values in steps.items()}
    text = "Each doubling adds less than the one before. Beyond 128 components, there are still "
    text += ", ".join(f"{points:.1f}" for points in rest.values()) + " points to gain from IN-1K to L5"
    swav = tables.compressed["s-SwAV", "l5", 2048] - tables.compressed["s-SwAV", "l5", 128]
    return Finding(decide(len(growing), len(steps)), f"{text} (s-SwAV on L5: {swav:.1f}).")


def _half(tables: Printed) -> Finding:
    gains = {
        domain: round(tables.compressed[REFERENCE, domain, 2048] - tables.compressed[REFERENCE, domain, 1024], 1)
        for domain in DOMAINS
    }
    more = [domain for domain, points in gains.items() if points > ON_PAR]
    text = f"{series(gains.values())} points from IN-1K to L5; more than {ON_PAR} on {', '.join(map(name, more))}."
    return Finding(decide(len(more), len(gains)), text)


def _all_components(tables: Printed) -> Finding:
    gains = [
        round(tables.compressed[model, domain, 2048] - tables.compressed[model, domain, 1024], 1)
        for model in SELF_SUPERVISED
        for domain in DOMAINS
    ]
    text = f"The last doubling still adds {min(gains)} to {max(gains)} points."
    return Finding(decide(sum(gain <= 0 for gain in gains), len(gains)), text)


def _mlp_seen(tables: Printed) -> Finding:
    stated = {"s-MoCo-v2": 1.4, "s-SwAV": 1.1, "s-SimCLR-v2": 2.1, "s-BYOL": 0.7}
    gains = {model: tables.gain["mlp", model, "in1k"] for model in (*SUPERVISED, *SELF_SUPERVISED)}
    off = [m for m, gain in gains.items() if (gain != stated[m] if m in stated else gain > 0)]
    return Finding(decide(len(off), len(gains)), ", ".join(f"{m} {signed(gain)}%" for m, gain in gains.items()) + ".")


def _mlp_unseen(tables: Printed) -> Finding:
    gains = {m: [tables.gain["mlp", m, level] for level in LEVELS] for m in (*SUPERVISED, *SELF_SUPERVISED)}
    failed = [m for m, values in gains.items() if min(values) <= 0 or sorted(values)[3:] != values[3:]]
    every = [value for values in gains.values() for value in values]
    text = f"{signed(min(every))} to {signed(max(every))}%; every model gains most on L5, then on L4."
    return Finding(decide(len(failed), len(gains)), text)


def _mlp_linear(tables: Printed) -> Finding:
    cases = [(model, domain) for model in (*SUPERVISED[1:], *SELF_SUPERVISED) for domain in DOMAINS]
    better = [case for case in cases if tables.gain["mlp-linear", *case] > ON_PAR_PERCENT]
    reference = [tables.gain["mlp-linear", REFERENCE, level] for level in LEVELS]
    text = f"{REFERENCE}: {series(reference)}% from L1 to L5. Others above {signed(ON_PAR_PERCENT)}%: " + ", ".join(
        f"{model} on {name(domain)} ({signed(tables.gain['mlp-linear', model, domain])}%)" for model, domain in better
    )
    failed = len(better) + sum(gain <= 0 for gain in reference)
    return Finding(decide(failed, len(cases) + len(reference)), f"{text}.")


CLAIMS = (
    Claim("v1-clusters-supervised", "4.3.1", "Supervised models cluster better on all domains.", _clusters_supervised),
    Claim("v1-clusters-gap", "4.3.1", "s-BYOL and s-SwAV come closer to ResNet50 on L5.", _clusters_gap),
    Claim(
        "v1-clusters-moco",
        "4.3.1",
        "s-MoCo-v2 is the best self-supervised model on IN-1K and shares the lead with s-BYOL on L1.",
        _clusters_moco,
    ),
    Claim("v1-clusters-byol", "4.3.1", "s-BYOL clusters better than s-SwAV on all levels.", _clusters_byol),
    Claim("v1-clusters-measures", "4.3.1", "Other measures than purity give the same result.", _clusters_measures),
    Claim(
        "v1-geometry",
        "4.3.2",
        "Alignment and uniformity change from level to level.",
        not_printed("Alignment and uniformity are plotted (Figures 6 and 10) but not printed."),
    ),
    Claim(
        "v1-class-balance",
        "A",
        "With 732 training images for every concept, accuracies are lower, and all observations still hold.",
        not_printed(
            "Results on these class-balanced levels are not printed. `unseen concepts --variant class-balanced` "
            "measures them."
        ),
    ),
    Claim("v1-pca-seen", "C.2", "32 components of supervised models give at least 63% on IN-1K.", _compact_seen),
    Claim(
        "v1-pca-unseen",
        "C.2",
        "With 32 or 64 components, supervised models are ahead of self-supervised ones on L1 to L4.",
        _compact_unseen,
    ),
    Claim(
        "v1-pca-saturation",
        "C.2",
        "Beyond 128 components, the gains of ResNet50 become smaller and smaller.",
        _saturation,
    ),
    Claim("v1-pca-half", "C.2", "For ResNet50, 1024 components are as good as 2048 on all domains.", _half),
    Claim("v1-pca-all", "C.2", "Self-supervised models improve until all components are used.", _all_components),
    Claim(
        "v1-mlp-seen",
        "C.3",
        "On IN-1K, hidden layers add nothing for supervised models, and 1.4, 1.1, 2.1 and 0.7% for s-MoCo-v2, s-SwAV, "
        "s-SimCLR-v2 and s-BYOL.",
        _mlp_seen,
    ),
    Claim("v1-mlp-unseen", "C.3", "Hidden layers help all models on all levels, most on L4 and L5.", _mlp_unseen),
    Claim("v1-mlp-linear", "C.3", "Without activations, they help no model except ResNet50.", _mlp_linear),
    Claim(
        "v1-word-vectors",
        "E",
        "Levels by Lin similarity are harder than levels by word vectors, especially L3 to L5.",
        not_printed("Accuracies on both are plotted for five networks (Figure 11) but not printed."),
    ),
)
