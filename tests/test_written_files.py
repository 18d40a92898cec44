"""Names of others are only text in every file that this package writes."""

import ast
import csv
import io
import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hostile_names import HOSTILE
from result_records import concept_records
from section_runs import run

import unseen
from unseen.exchange.every_eval_ever import write_every_eval_ever
from unseen.exchange.export import write_results
from unseen.exchange.hub_results import write_hub_results
from unseen.exchange.model_card import write_model_card
from unseen.exchange.record import ResultsFile
from unseen.files import read_table, write_table, write_text
from unseen.monitoring.records import lines_of
from unseen.monitoring.scores import Check, StepScore
from unseen.reading.json_lines import append_objects
from unseen.reading.keys import toml_value
from unseen.report.concepts.page import concept_page
from unseen.report.core.export import export_page, save_figure
from unseen.report.core.model import Figure, Page, Series
from unseen.report.core.render import page_html
from unseen.runs.data import RunData
from unseen.runs.record import write_run
from unseen.runs.tables import WRITERS
from unseen.runs.tables import write_table as write_frame
from unseen.text.plain import ACTING
from unseen.trackers.by_name.json_lines import JsonLines
from unseen.trackers.tracker import LoggedPlan, LoggedScore

SOURCE = Path(unseen.__file__).parent
NO_NAMES = {
    "backbones/classifier.py": "tensors", "backbones/wise_ft.py": "tensors", "data/core/dense/pictures.py": "a picture",
    "data/core/splits.py": "arrays", "data/core/tars/index.py": "Arrow", "data/own/kept_digests.py": "arrays",
    "demo/train.py": "a tool of developers", "features/mapped.py": "arrays", "features/pixels.py": "arrays",
    "features/shard_parts.py": "arrays", "features/store.py": "arrays, and ids, which sources refuse unless printable",
    "files.py": "the functions themselves", "probes/attentive/pictures.py": "a picture",
    "probes/finetuning/training_state.py": "tensors", "report/core/export.py": "pictures",
    "report/leaderboard/site.py": "the schema", "runs/kept_fits.py": "arrays", "runs/ray_cluster.py": "our own nonce",
    "runs/results.py": "arrays", "runs/tables.py": "Parquet", "studies/kept_images.py": "arrays",
    "studies/shifts/predictions.py": "arrays", "studies/study_file.py": "copies of files, byte for byte",
    "trackers/by_name/tensorboard.py": "protocol buffers", "reading/json_lines.py": "JSON in ASCII",
    "runs/result_index.py": "an index, read by nothing else",
}  # fmt: skip
"""Modules that write files other than by `write_text`, and what is in these files."""


def _writes(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in {"atomic_write", "write_bytes"} or (name == "write_text" and isinstance(call.func, ast.Attribute)):
        return True
    modes = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    flags = {each.attr for each in ast.walk(call) if isinstance(each, ast.Attribute)}
    return name == "open" and (any(re.fullmatch("[wax]b?|r[+]b?", mode) for mode in modes) or "O_CREAT" in flags)


def test_every_text_is_written_by_one_function() -> None:
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and _writes(node)
    }
    locks = {"runs/lock.py"}  # an empty file, and who holds it
    assert found - locks == NO_NAMES.keys()


def records(name: str) -> ResultsFile:
    first = concept_records()[0]
    backbone = replace(first.backbone, name=name, id=name, description=name, category=name, weights=name)
    data = replace(first.data, title=name, licence=name)
    return ResultsFile("unseen-results", 1, "1", [replace(first, backbone=backbone, data=data, protocol=name)])


def page(name: str) -> Page:
    values = {(domain, "logistic", None, "top1"): 0.5 for domain in ("in1k", "l5")}
    data = run(values, [name, "other"])
    data = replace(
        data, baseline=name, title=name, backbones=[replace(each, category=name) for each in data.backbones],
        domains=[replace(each, title=name) for each in data.domains],
    )  # fmt: skip
    return concept_page(data)


def frame(name: str) -> pd.DataFrame:
    return pd.DataFrame({"name": [name, "b"], name or "x": [1.0, 2.0]})


def tracked(name: str, folder: Path) -> None:
    logger = JsonLines()
    logger.on_plan(LoggedPlan(name, name, folder, (name,), settings={name: name}))
    logger.on_score(LoggedScore(name, name, name, 0.5, backbone=name))


def monitored(name: str, folder: Path) -> None:
    scores = [StepScore(1, name, name, name, 0.5)]
    append_objects(folder / "monitor.jsonl", [*lines_of(Check(1, scores, [], 1.0, 1.0))])


WAYS: dict[str, Callable[[str, Path], object]] = {
    **{f"table{end}": lambda name, to, end=end: write_frame(frame(name), to / f"t{end}") for end in WRITERS},
    "rows.csv": lambda name, to: write_table(to / "rows.csv", ["a", name], iter([[name, 1]])),
    "results": lambda name, to: write_results(records(name), to / "r.json"),
    "card.md": lambda name, to: write_model_card(records(name), to / "card.md"),
    "card.yaml": lambda name, to: write_model_card(records(name), to / "card.yaml"),
    "hub": lambda name, to: write_hub_results(records(name), to, "owner"),
    "eee": lambda name, to: write_every_eval_ever(records(name), to),
    "run": lambda name, to: write_run(to, replace(RunData("", (), [], [], ""), title=name), [name]),
    "toml": lambda name, to: write_text(to / "study.toml", f"name = {toml_value(name)}\n"),
    "tracker": tracked,
    "monitor": monitored,
    "figure.html": lambda name, to: save_figure(
        Figure(name, name, name, [Series(name, [0.0, 1.0], [0.0, 1.0], 0, name)]), to / "figure.html"
    ),
}


def faults(path: Path) -> Iterator[str]:
    """What a name does in a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        text = re.sub(r"<script>\n?.*?</script>", "", text, flags=re.DOTALL)  # plotly.js has control characters
        if re.search(r"<(?:script|img)\b(?! class| src=\"data:)[^>]*(?:alert|onerror)|href=\"javascript", text):
            yield "markup"
    if ACTING.search(text):
        yield f"the character {ACTING.search(text)!r}"
    if path.suffix == ".csv":
        for row in csv.reader(io.StringIO(text, newline="")):
            yield from (f"the formula {cell!r}" for cell in row if re.match(r"\s*[=+\-@＝]", cell))
    if path.suffix in {".json", ".jsonl"}:
        [json.loads(line) for line in ([text] if path.suffix == ".json" else text.splitlines())]
    if path.suffix == ".toml":
        tomllib.loads(text)
    if path.suffix == ".md" and text.startswith("|"):
        lines = text.splitlines()
        bars = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in lines}
        if len(lines) != 4 or len(bars) != 1 or re.search(r"(?<!\\)<", text):
            yield "another table"
    if path.suffix in {".tex", ".bib"} and re.search(r"\\(?:input\{/|write18)", text):
        yield "a command"


FEW = {0, 7, 9, 13, 16, 19}
"""Names in the usual suite: a formula, a sequence of escapes, a line, a direction, a script, and a command of LaTeX."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if place in FEW else pytest.mark.long_suite) for place, name in enumerate(HOSTILE)],
)
def test_names_are_only_text(name: str, tmp_path: Path) -> None:
    for way, write in WAYS.items():
        (tmp_path / way).mkdir()
        write(name, tmp_path / way)
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix not in {".parquet", ""}]
    assert {path.relative_to(tmp_path).parts[0] for path in files} >= WAYS.keys() - {"table.parquet"}
    assert {str(path.relative_to(tmp_path)): fault for path in files for fault in faults(path)} == {}
    plain = ACTING.sub("\N{REPLACEMENT CHARACTER}", name)
    if name.strip() == name:
        assert [row["a"] for _, row in read_table(tmp_path / "rows.csv/rows.csv", ["a"])] == [plain]
    assert json.loads((tmp_path / "results/r.json").read_text())["records"][0]["backbone"]["name"] == name
    assert json.loads((tmp_path / "run/run.json").read_text())["title"] == name


@pytest.mark.parametrize("names", [HOSTILE[7:15:2], pytest.param(HOSTILE, marks=pytest.mark.long_suite)])
def test_pages(names: tuple[str, ...], tmp_path: Path) -> None:
    for number, name in enumerate(names):
        (tmp_path / f"{number}.html").write_text(page_html(page(name)), encoding="utf-8")
    assert {names[int(path.stem)]: fault for path in tmp_path.iterdir() for fault in faults(path)} == {}


@pytest.mark.long_suite
@pytest.mark.parametrize("name", HOSTILE)
def test_exports_compile(name: str, tmp_path: Path) -> None:
    export_page(page(name), tmp_path)
    texts = [path for path in tmp_path.iterdir() if path.suffix in {".tex", ".bib", ".csv", ".svg"}]
    assert {path.name: fault for path in texts for fault in faults(path)} == {}
    if shutil.which("pdflatex"):
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:]
        assert b"root:" not in done.stdout
