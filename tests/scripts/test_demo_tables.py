"""The figures of the demo in the documentation belong together; test_demo compares them with a run."""

from pathlib import Path

import pytest

from demo_tables import PAGES, marked, over_pixels, replaced, rows

ROOT = Path(__file__).parents[2]
DEMO, FAQ = ((ROOT / page).read_text() for page in ("docs/demo.md", "docs/faq.md"))
SCORES = rows(marked(DEMO, "demo-scores"))


def drop(backbone: str) -> float:
    return float(SCORES[backbone][6].split()[0].replace("−", "-"))


def test_every_part_has_its_marks() -> None:
    for page, names in PAGES.items():
        text = (ROOT / page).read_text()
        assert all(replaced(text, name, marked(text, name)) == text for name in names)
        assert text.count("<!-- end -->") == len(names)


def test_drops_are_those_of_the_accuracies() -> None:
    for backbone, cells in SCORES.items():
        assert drop(backbone) == pytest.approx(float(cells[5]) - float(cells[0]), abs=0.11)


def test_the_findings_quote_the_table() -> None:
    findings = " ".join(marked(DEMO, "demo-findings").split())
    best = max(SCORES, key=lambda name: float(SCORES[name][0]))
    assert f"`{best}` loses {-drop(best):.1f} points" in findings
    assert f"`{best}` reaches {SCORES[best][0]}% top-1 accuracy on seen, not clearly ahead of" in findings
    assert all(float(cells[1]) < float(cells[2]) for cells in SCORES.values())
    assert "Every backbone is less accurate on L1 than on L2" in findings


def test_the_faq_quotes_the_table() -> None:
    assert marked(FAQ, "demo-over-pixels") == over_pixels(marked(DEMO, "demo-scores"))
    near, far = SCORES["pixels"][1:3]
    assert f"{near}% on L1" in FAQ
    assert f"{far}% on L2" in FAQ
