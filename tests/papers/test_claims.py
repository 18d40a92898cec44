"""The verdicts on the papers' claims: those that a reader of the tables can check by eye, and that they can change."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from unseen.papers.claims import CLAIMS, Claim, Finding, Printed, Verdict, page, printed
from unseen.papers.claims.claim import decide
from unseen.papers.claims.printed import Accuracies, Lead, listed

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "claims.md"
TABLES = printed()


def claim(name: str) -> Claim:
    [found] = [claim for claim in CLAIMS if claim.id == name]
    return found


def judged(name: str, tables: Printed = TABLES) -> Finding:
    return claim(name).judge(tables)


def changed(values: dict[tuple[str, str, str], float]) -> Printed:
    """The tables with other accuracies in a few cells of the second version."""
    return replace(TABLES, accuracy=Accuracies({**TABLES.accuracy.values, **values}))


def test_the_page_is_what_the_code_says() -> None:
    again = "python -c \"from unseen.papers.claims import page; print(page(), end='')\" > docs/claims.md"
    assert PAGE.read_text() == page(), f"write it again: {again}"


def test_claims_have_ids_of_their_own_and_a_verdict_with_evidence() -> None:
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS) == 60
    assert Counter(claim.id[:2] for claim in CLAIMS) == {"v2": 27, "v1": 33}
    for one in CLAIMS:
        finding = one.judge(TABLES)
        assert finding.verdict in get_args(Verdict)
        assert finding.evidence.endswith(".")


# The reader's own count, from the printed tables.
@pytest.mark.parametrize(
    ("name", "verdict", "evidence"),
    [
        ("v2-harder", "holds with exceptions", "d-CLIP rises from L3 to L4, 63.5 to 64.0"),
        ("v2-self-supervised-lead", "holds", "+0.3 to +5.6 points"),  # s-SimCLR-v2 on L1, s-DINO on L5
        ("v2-transformers-l5", "holds", "a-DeiT-S on L5 (−0.5); a-T2T-ViT-t-14 on L5 (−0.1)"),
        ("v2-adversarial", "not what the tables say", "a loss on 5 levels of 5"),
        ("v2-label-mixing", "holds", "−6.2 to −2.4"),  # r-CutMix on L5, r-Manifold-MixUp on L1
        ("v2-few-transformers-l5", "not what the tables say", "20 of 28"),
        ("v2-few-efficientnet", "holds", "a-EfficientNet-B4 on L1 with 1 (−0.2)"),
        ("v2-few-larger", "holds with exceptions", "all of a-VGG19"),
        ("v2-few-nat", "not what the tables say", "5 of 24"),
        ("v2-self-supervised-any", "not what the tables say", "s-SwAV, s-DINO on all five levels"),
        ("v2-self-supervised-any", "not what the tables say", "2, 4, 4, 4, 7 of 10"),
        ("v1-harder", "holds", "35 of 35"),
        ("v1-margins", "holds", "s-SwAV +5.0"),
        ("v1-loss", "holds with exceptions", "Outside: ResNet50 (35.2%)"),  # 75.8 on IN-1K, 49.1 on L5
        ("v1-few-l5", "holds with exceptions", "s-BYOL on L5 with 1 (−0.7)"),
        ("v1-few-byol", "holds with exceptions", "ahead in 26 of 32"),
        ("v1-few-match", "holds with exceptions", "128, 64, 64, 32, 4"),
        ("v1-pca-half", "not what the tables say", "more than 0.2 on L2, L3, L4, L5"),
        ("v1-mlp-linear", "holds with exceptions", "d-Semi-Sup on L5 (+0.7%)"),
        ("v1-geometry", "not in the tables", "plotted"),
    ],
)
def test_verdicts_that_can_be_checked_by_eye(name: str, verdict: str, evidence: str) -> None:
    finding = judged(name)
    assert finding.verdict == verdict
    assert evidence in finding.evidence


def test_a_verdict_follows_the_numbers() -> None:
    assert judged("v2-harder", changed({("d-CLIP", "l4", "all"): 63.4})).verdict == "holds"
    first = Accuracies({**TABLES.first_accuracy.values, ("ResNet50", "l5", "all"): 49.3})  # a loss of 35.0%
    assert judged("v1-loss", replace(TABLES, first_accuracy=first)).verdict == "holds"
    fewer = {**TABLES.compressed, ("ResNet50", "in1k", 32): 62.9}
    assert judged("v1-pca-seen", replace(TABLES, compressed=fewer)).verdict == "holds with exceptions"
    behind = {("s-DINO", level, "all"): 50.0 for level in ("l1", "l2", "l3", "l4", "l5")}
    worse = judged("v2-self-supervised-lead", changed(behind))
    assert worse.verdict == "holds with exceptions"
    assert judged("v2-dino", changed(behind)).verdict == "not what the tables say"
    levels = ("l1", "l2", "l3", "l4", "l5")
    same = {("r-Adv-Robust", level, "all"): TABLES.accuracy.of("ResNet50", level) for level in levels}
    assert judged("v2-adversarial", changed(same)).verdict == "holds"
    few = [str(2**i) for i in range(8)]
    by_three = {
        (model, "l5", n): TABLES.accuracy.of("ResNet50", "l5", n) + 3.4
        for model in ("a-DeiT-S", "a-T2T-ViT-t-14", "a-DeiT-B-distilled")
        for n in few
    }
    assert judged("v2-few-transformers-l5", changed(by_three)).verdict == "holds"
    better = {
        (model, level, "all"): 80.0 for model in TABLES.accuracy.models for level in levels if model.startswith("s-")
    }
    assert judged("v2-self-supervised-any", changed(better)).verdict == "holds"


def test_a_claim_names_the_models_it_is_judged_on() -> None:
    for model in ("a-DeiT-S", "a-T2T-ViT-t-14", "a-DeiT-S-distilled", "a-DeiT-B-distilled"):
        assert model in claim("v2-few-transformers-l5").says


@pytest.mark.parametrize(
    "name",
    ["v2-class-balance", "v2-fine-tuning", "v2-word-vectors", "v2-blurred", "v1-class-balance", "v1-word-vectors"],
)
def test_what_is_not_printed_is_not_judged(name: str) -> None:
    assert judged(name).verdict == "not in the tables"


def test_the_leaderboard_page_gives_the_same_verdicts() -> None:
    rows = [line.split("|") for line in (DOCS / "leaderboard.md").read_text().splitlines() if line.count("`v2-") == 1]
    found = {cell.split("`")[1]: cell.rpartition(": ")[2].strip() for row in rows for cell in row if "`v2-" in cell}
    assert len(found) == 7
    assert found == {name: judged(name).verdict for name in found}


def test_no_claim_holds_by_its_construction() -> None:
    """With every number turned around, what held does not hold in the same way."""

    def turned(values: Mapping[Any, float]) -> dict[Any, float]:
        return {key: 100 - value for key, value in values.items()}

    upside_down = Printed(
        Accuracies(turned(TABLES.accuracy.values)),
        Accuracies(turned(TABLES.first_accuracy.values)),
        {key: -value for key, value in TABLES.gain.items()},
        turned(TABLES.compressed),
        turned(TABLES.clusters),
    )
    even = {"v1-clusters-measures", "v1-constant", "v1-mlp-linear"}  # about agreement, not about up and down
    for one in CLAIMS:
        before, after = one.judge(TABLES).verdict, one.judge(upside_down).verdict
        if before in {"holds", "holds with exceptions"} and one.id not in even:
            assert after != before, one.id


@pytest.mark.parametrize(
    ("exceptions", "cases", "verdict"),
    [
        (0, 5, "holds"),
        (2, 5, "holds with exceptions"),
        (2, 4, "not what the tables say"),
        (1, 1, "not what the tables say"),
    ],
)
def test_the_rule(exceptions: int, cases: int, verdict: str) -> None:
    assert decide(exceptions, cases) == verdict


def test_places_are_shared() -> None:
    accuracy = Accuracies({("a", "l1", "all"): 3.0, ("b", "l1", "all"): 5.0, ("c", "l1", "all"): 5.0})
    assert [accuracy.place(model, "l1") for model in accuracy.models] == [3, 1, 1]


def test_words_for_differences() -> None:
    leads = [Lead("a", "l1", "1", -0.5), Lead("a", "l1", "2", 1.0), Lead("b", "in1k", "all", 0.0)]
    assert listed(leads) == "a on L1 with 1, 2 (−0.5, +1.0); b on IN-1K (0.0)"
    assert listed([]) == "none"
