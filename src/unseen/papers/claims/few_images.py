"""Section 4.2.2 of ImageNet-CoG: linear classifiers on few images per concept."""

from unseen.papers.claims.all_images import DISTILLED, SMALL_TRANSFORMERS
from unseen.papers.claims.claim import Claim, Finding, decide
from unseen.papers.claims.printed import FEW, LEVELS, REFERENCE, Lead, Printed, listed, span

TRANSFORMERS = ("a-DeiT-S", "a-T2T-ViT-t-14", "a-DeiT-S-distilled", "a-DeiT-B-distilled")
LARGER = ("a-ResNet152", "a-DeiT-B-distilled", "a-VGG19")
WEB = ("d-Semi-Sup", "d-Semi-Weakly-Sup", "d-CLIP", "d-MoPro")
HALF_A_POINT = 0.5
STATED = FEW[1:]
"""The numbers of images in the section and in Figure 4; tables begin with 1."""


def _by_model(leads: list[Lead]) -> str:
    models = dict.fromkeys(lead.model for lead in leads)
    return "; ".join(f"{model} {span([lead for lead in leads if lead.model == model])}" for model in models)


def _transformers(tables: Printed) -> Finding:
    leads = tables.accuracy.leads(((model, REFERENCE) for model in TRANSFORMERS), LEVELS, STATED)
    failed = [lead for lead in leads if lead.points <= 0]
    text = f"Ahead in {len(leads) - len(failed)} of {len(leads)} comparisons with 2 to 128 images: {_by_model(leads)}."
    return Finding(decide(len(failed), len(leads)), text)


def _transformers_size(tables: Printed) -> Finding:
    leads = tables.accuracy.leads(((model, REFERENCE) for model in TRANSFORMERS), ("l5",), STATED)
    outside = [lead for lead in leads if not 3 - HALF_A_POINT <= lead.points <= 4 + HALF_A_POINT]
    plain = [lead for lead in leads if lead.model in SMALL_TRANSFORMERS]
    text = f"{len(outside)} of {len(leads)} gains are not within half a point of 3 to 4: {_by_model(leads)}. "
    mean = sum(lead.points for lead in plain) / len(plain)
    text += f"The two models of {REFERENCE}'s size without distillation gain {mean:.1f} on average."
    return Finding(decide(len(outside), len(leads)), text)


def _efficientnet(tables: Printed) -> Finding:
    pair = [("a-EfficientNet-B4", REFERENCE)]
    leads = tables.accuracy.leads(pair, LEVELS, (*STATED, "all"))
    failed = [lead for lead in leads if lead.points <= 0]
    alone = [lead for lead in tables.accuracy.leads(pair, LEVELS, FEW[:1]) if lead.points <= 0]
    text = (
        f"{span(leads)} with 2 to 128 and all images. Not ahead: {listed(failed)}. Not ahead with 1 image, which the "
    )
    return Finding(decide(len(failed), len(leads)), f"{text}section does not cover: {listed(alone)}.")


def _distilled(tables: Printed) -> Finding:
    leads = tables.accuracy.leads(DISTILLED.items(), LEVELS, (*STATED, "all"))
    failed = [lead for lead in leads if lead.points <= 0]
    seen = tables.accuracy.leads([("a-DeiT-S-distilled", "a-DeiT-S")], ("in1k",), FEW)
    behind = [lead for lead in seen if lead.points < 0]
    text = f"{_by_model(leads)}. On IN-1K, which the claim does not cover, one is behind: {listed(behind)}."
    return Finding(decide(len(failed), len(leads)), text)


def _larger(tables: Printed) -> Finding:
    leads = tables.accuracy.leads(((model, REFERENCE) for model in LARGER), LEVELS, FEW)
    failed = [lead for lead in leads if lead.points <= 0]
    behind = dict.fromkeys(lead.model for lead in failed)
    text = f"{_by_model(leads)}. Behind in {len(failed)} of {len(leads)} cases"
    return Finding(decide(len(failed), len(leads)), text + (f", all of {', '.join(behind)}." if behind else "."))


def _web_data(tables: Printed) -> Finding:
    leads = tables.accuracy.leads(((model, REFERENCE) for model in WEB), LEVELS, FEW)
    failed = [lead for lead in leads if lead.points <= 0]
    text = f"Ahead in {len(leads) - len(failed)} of {len(leads)} cases. Not ahead: {listed(failed)}."
    return Finding(decide(len(failed), len(leads)), text)


def _nat(tables: Printed) -> Finding:
    hard = [(domain, n) for domain in ("l3", "l4", "l5") for n in FEW]
    large, ours = "a-DeiT-B-distilled", "a-NAT-M4"
    others = [model for model in tables.accuracy.models if model not in {large, ours}]

    def won(rivals: list[str]) -> int:
        return sum(all(tables.accuracy.lead(ours, rival, *case) > 0 for rival in rivals) for case in hard)

    text = f"Without {large}, it is the best in {won(others)} of {len(hard)} cases from L3 to L5, and in "
    text += (
        f"{won([model for model in others if model not in WEB])} if models trained on web data are excluded too. On "
    )
    text += f"L5 with 128 images it ranks {tables.accuracy.place(ours, 'l5', '128')} of 31. "
    text += f"Compared with {large}: {span(tables.accuracy.leads([(ours, large)], ('l3', 'l4', 'l5'), FEW))}."
    return Finding(decide(len(hard) - won(others), len(hard)), text)


CLAIMS = (
    Claim(
        "v2-few-transformers", "4.2.2", "With 2 to 128 images, transformers beat ResNet50 on all levels.", _transformers
    ),
    Claim(
        "v2-few-transformers-l5",
        "4.2.2",
        "On L5, transformers gain 3 to 4 points. The paper names none, so all four are judged: a-DeiT-S, "
        "a-T2T-ViT-t-14, a-DeiT-S-distilled and a-DeiT-B-distilled.",
        _transformers_size,
    ),
    Claim(
        "v2-few-efficientnet",
        "4.2.2",
        "a-EfficientNet-B4 beats ResNet50 on all levels with 2 or more images.",
        _efficientnet,
    ),
    Claim(
        "v2-few-distilled",
        "4.2.2",
        "Distilled models beat their undistilled counterparts on all levels with 2 or more images.",
        _distilled,
    ),
    Claim("v2-few-larger", "4.2.2", "Larger models are better with few images.", _larger),
    Claim("v2-few-web", "4.2.2", "Models trained on web data are better with few images.", _web_data),
    Claim(
        "v2-few-nat",
        "4.2.2",
        "On distant concepts, a-NAT-M4 beats all others and rivals a-DeiT-B-distilled.",
        _nat,
    ),
)
