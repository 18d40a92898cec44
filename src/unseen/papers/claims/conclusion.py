"""Section 5 of ImageNet-CoG, and its supplement, which plots or states results that are in no table."""

from unseen.backbones.catalogue import catalogue
from unseen.papers.claims.claim import Claim, Finding, decide, not_printed
from unseen.papers.claims.printed import LEVELS, Printed, name
from unseen.papers.leaderboard import other_size

SUPERVISED = {"reference", "architecture", "regularization"}
"""Categories; models with web data are not comparable, as the paper says."""


def _any_supervised(tables: Printed) -> Finding:
    accuracy, models = tables.accuracy, catalogue("cog-v2")
    rivals = [m.name for m in models if m.category in SUPERVISED and not other_size(m.parameters_millions)]
    own = [m.name for m in models if m.category == "self-supervision"]
    best = {level: max(rivals, key=lambda model: accuracy.of(model, level)) for level in LEVELS}
    ahead = {level: [m for m in own if accuracy.lead(m, best[level], level) > 0] for level in LEVELS}
    everywhere = [m for m in own if all(m in ahead[level] for level in LEVELS)]
    text = f"From L1 to L5, {', '.join(str(len(found)) for found in ahead.values())} of {len(own)} are ahead of the "
    text += f"best of the {len(rivals)} supervised models within a quarter of ResNet50's size, "
    text += f"{', '.join(everywhere) or 'none'} on all five levels. The best supervised models: "
    text += "; ".join(
        f"{model} on "
        + ", ".join(f"{name(level)} ({accuracy.of(model, level)})" for level in LEVELS if best[level] == model)
        for model in dict.fromkeys(best.values())
    )
    cases = len(own) * len(LEVELS)
    return Finding(decide(cases - sum(map(len, ahead.values())), cases), f"{text}.")


CLAIMS = (
    Claim(
        "v2-self-supervised-any",
        "5",
        "Self-supervised models generalize better than any supervised model of the same size.",
        _any_supervised,
    ),
    Claim(
        "v2-class-balance",
        "A.4",
        "With 732 training images for every concept, accuracies are lower, and all observations still hold.",
        not_printed(
            "Results on these class-balanced levels are not printed. `unseen concepts --variant class-balanced` "
            "measures them."
        ),
    ),
    Claim(
        "v2-fine-tuning",
        "C.2",
        "Relative to fine-tuning, the features of ResNet50 get worse from IN-1K to L5.",
        not_printed("The difference is plotted (Figure 6) but not printed. `unseen concepts --finetune` measures it."),
    ),
    Claim(
        "v2-word-vectors",
        "D.1",
        "For ResNet50, levels by Lin similarity are harder than levels by word vectors, especially L3 to L5.",
        not_printed("Accuracies on levels by word vectors are plotted (Figure 7) but not printed."),
    ),
    Claim(
        "v2-blurred",
        "E",
        "With blurred faces in IN-1K, scores drop by 0.91% on average.",
        not_printed("Scores on blurred images are plotted (Figure 8) but not printed; only the mean is stated."),
    ),
)
