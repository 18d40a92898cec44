"""The figures of the demo that the documentation quotes, from a run of it.

    python scripts/demo_tables.py RUN

RUN is the folder that `unseen demo` wrote. The tables stand between marks such as `<!-- demo-scores -->` and
`<!-- end -->`, with an empty line inside each, in docs/demo.md and docs/faq.md, and are written there. A test
compares them with a shorter demo.
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from textwrap import fill

from unseen.report.concepts.context import ConceptContext
from unseen.report.of_runs import report_on
from unseen.runs.record import read_run
from unseen.text.words import signed

ROOT = Path(__file__).parents[1]
DOMAINS = ("seen", "l1", "l2", "l3", "l4", "l5")
PAGES = {"docs/demo.md": ("demo-scores", "demo-findings", "demo-pairs"), "docs/faq.md": ("demo-over-pixels",)}
"""Page → the marked parts in it."""


def marked(text: str, name: str) -> str:
    """What stands between the marks of a name."""
    found = re.search(rf"<!-- {name} -->\n\n(.*?)\n?<!-- end -->\n", text, re.DOTALL)
    if not found:
        raise ValueError(f"no lines between <!-- {name} --> and <!-- end -->")
    return found[1]


def replaced(text: str, name: str, part: str) -> str:
    """The text with another part between the marks of a name."""
    start, end = f"<!-- {name} -->\n\n", "\n<!-- end -->\n"
    return text.replace(f"{start}{marked(text, name)}{end}", f"{start}{part}{end}")


def rows(table: str) -> dict[str, list[str]]:
    """First cell of each row → the others, of a Markdown table with two lines of head."""
    lines = [line for line in table.splitlines() if line.startswith("|")][2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {first: others for first, *others in cells}


def demo_parts(run: Path) -> dict[str, str]:
    """Each marked part, as it follows from a run of the demo."""
    scores = _scores(ConceptContext(read_run(run)))
    page = report_on([run]).page
    pairs = next(section for section in page.sections if section.name == "comparison")
    return {
        "demo-scores": scores,
        "demo-findings": _list(page.findings),
        "demo-pairs": _list(pairs.sentences),
        "demo-over-pixels": over_pixels(scores),
    }


def over_pixels(scores: str) -> str:
    """Points above raw pixels, from the rounded accuracies that readers see."""
    found = rows(scores)
    lines = [_head(*DOMAINS)]
    for name in ("supervised", "mixup", "simclr"):
        differences = [float(a) - float(b) for a, b in zip(found[name][:6], found["pixels"][:6], strict=True)]
        lines.append(_line(name, *(f"{value:.1f}" for value in differences)))
    return "".join(lines)


def _scores(context: ConceptContext) -> str:
    means = {
        (row.backbone, row.domain): row.mean for row in context.plotted if (row.metric, row.shots) == ("top1", "all")
    }
    lines = [_head(*DOMAINS, "drop to L5 (95% interval)")]
    for name in sorted({name for name, _ in means}, key=lambda name: -means[name, "seen"]):
        drop = context.drops[name, "l5", "all"]
        ends = f"{signed(100 * drop.value)} ({signed(100 * drop.low)} to {signed(100 * drop.high)})"
        lines.append(_line(name, *(f"{100 * means[name, domain]:.1f}" for domain in DOMAINS), ends))
    return "".join(lines)


def _head(*titles: str) -> str:
    names = (title if title == "seen" or " " in title else title.upper() for title in titles)
    return _line("backbone", *names) + _line("---", *("---:" for _ in titles))


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


def _list(sentences: Iterable[object]) -> str:
    """Sentences of a page as Markdown."""
    texts = (re.sub(r"</?code>", "`", str(sentence)) for sentence in sentences)
    return "".join(f"{fill(f'- {text}', 118, subsequent_indent='  ')}\n" for text in texts)


def write_parts(run: Path) -> None:
    """Write all marked parts of the documentation."""
    parts = demo_parts(run)
    for page, names in PAGES.items():
        path = ROOT / page
        text = path.read_text(encoding="utf-8")
        for name in names:
            text = replaced(text, name, parts[name])
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_parts(Path(sys.argv[1]))
