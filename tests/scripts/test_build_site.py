"""The site builds without a broken link, and its generated pages have all that they describe."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

import unseen
from build_site import ELSEWHERE, ROOT, BrokenSite, build, build_site, on_site
from site_pages.api import api_reference
from site_pages.commands import command_reference
from site_pages.study import study_reference
from unseen.cli.main import app
from unseen.studies.schema import NAME, study_schema
from unseen.studies.toml import study_keys

REFERENCE = {"reference/commands.md", "reference/api.md", "reference/studies.md"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site") / "site"
    build_site(out)
    return out


def test_site_has_every_page(site: Path) -> None:
    for page in [*(ROOT / "docs").glob("*.md"), *map(Path, ELSEWHERE.values())]:
        assert (site / page.with_suffix(".html").name).exists(), page
    for page in (ROOT / "docs/notebooks").glob("*.ipynb"):
        assert (site / "notebooks" / page.with_suffix(".html").name).exists(), page
        assert (site / "notebooks" / f"{page.stem}-1.png").exists()
    for page in ("commands", "api", "studies"):
        assert (site / f"reference/{page}.html").exists()
    assert json.loads((site / NAME).read_text(encoding="utf-8")) == study_schema()


def test_site_loads_nothing_from_other_hosts(site: Path) -> None:
    loaded = re.compile(r"""<(?:script|link|img|iframe)[^>]*\s(?:src|href)=["']?(?:https?:)?//""")
    assert not [page.name for page in site.rglob("*.html") if loaded.search(page.read_text(encoding="utf-8"))]


@pytest.mark.long_suite
def test_a_site_opened_from_a_folder_can_be_searched(site: Path, browser: Any) -> None:
    tab = browser.new_page()
    trouble, asked = list[str](), list[str]()
    tab.on("pageerror", lambda error: trouble.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto((site / "reference/api.html").as_uri())
    tab.keyboard.press("Control+k")
    field = tab.get_by_role("combobox", name="Search")
    field.press_sequentially("effective robustness")
    tab.locator("a[href*='h=effective+robustness']").first.wait_for()
    assert field.input_value() == "effective robustness"
    tab.keyboard.press("Enter")
    tab.wait_for_url(f"{(site / 'glossary.html').as_uri()}*")
    assert "#effective-robustness" in tab.url
    assert trouble == []
    assert all(url.startswith(site.as_uri()) for url in asked)
    tab.close()


def test_every_page_is_in_the_navigation() -> None:
    nav = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]

    def pages(entry: object) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        below = entry.values() if isinstance(entry, dict) else entry
        return [page for each in below for page in pages(each)]  # type: ignore[attr-defined]

    there = {page.name for page in (ROOT / "docs").glob("*.md")} | set(ELSEWHERE.values())
    there |= {f"notebooks/{page.stem}.md" for page in (ROOT / "docs/notebooks").glob("*.ipynb")}
    assert sorted(pages(nav)) == sorted(there | REFERENCE)


def test_broken_links_are_errors(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("# Here\n\n[page](nowhere.md)\n\n[heading](#nothing)\n\n[good](#here)\n")
    (tmp_path / "zensical.toml").write_text('[project]\nsite_name = "x"\n')
    with pytest.raises(BrokenSite) as problem:
        build(tmp_path)
    assert sorted(re.findall(r"index\.md:(\d+)", str(problem.value))) == ["3", "5"]


def test_links_out_of_docs() -> None:
    page = "[a](../SECURITY.md#reporting) [b](levels.md) [c](../src/unseen/version.py) [d](https://e.org)\n```\n[e](f)\n```\n"
    wanted = (
        "[a](security.md#reporting) [b](levels.md) c (`src/unseen/version.py`) [d](https://e.org)\n```\n[e](f)\n```\n"
    )
    assert on_site(page, "docs/x.md") == wanted
    assert on_site("[a](docs/levels.md)", "CONTRIBUTING.md") == "[a](levels.md)"
    with pytest.raises(BrokenSite, match="nowhere"):
        on_site("[a](nowhere.md)", "docs/x.md")


def test_command_reference_has_every_command_and_option() -> None:
    sections = dict(re.findall(r"^## `([^`]*)`.*?\n(.*?)(?=^## |\Z)", command_reference(), re.DOTALL | re.MULTILINE))

    def check(command: Any, path: str) -> int:
        if below := getattr(command, "commands", {}):
            return sum(check(each, f"{path} {name}") for name, each in below.items())
        for param in command.params:
            assert re.search(rf"^\| `[^`]*{re.escape(param.opts[0])}\b", sections[path], re.MULTILINE | re.IGNORECASE)
        return 1

    assert check(typer.main.get_command(app), "unseen") == len(sections)
    assert "| `--out <path>` | Folder of the run" in sections["unseen run"]
    [seed] = [line for line in sections["unseen labels"].splitlines() if line.startswith("| `--seed ")]
    assert re.search(r"\| `0` \|$", seed)


def test_study_reference_has_every_key_once() -> None:
    page = study_reference()
    rows = re.findall(r"^\| `([^`]*)` \|.*\|.*\|.*\|$", page, re.MULTILINE)
    assert sorted(rows) == sorted(place for place, _ in study_keys())
    assert "| `seeds` | a whole number | `5` | number of seeds |" in page
    assert "| `limit` | a whole number | unset |" in page


def test_api_reference_has_every_public_name() -> None:
    page = api_reference()
    headings = re.findall(r"^## unseen\.(\w+) ", page, re.MULTILINE)
    assert headings == [name for name in unseen.__all__ if not name.startswith("__")]
    assert "unseen.levels(name: str | PathLike[str]) -> ConceptLevels" in page
    assert "unseen.probes.KNN(\n    k: int | tuple[int, ...] = 20," in page
    assert page.count("```") % 2 == 0


def test_api_reference_has_every_class_that_is_returned() -> None:
    page = api_reference()
    returned = {
        name
        for call in re.findall(r"^unseen\.[a-z_]+\([^`]*?\) -> (.*)$", page, re.MULTILINE)
        for name in re.findall(r"\b(?<!\.)[A-Z]\w+", call)
    }
    assert {"Run", "Study", "Plan", "Leaderboard", "Robustness", "OpenDataset"} <= returned
    described = set(re.findall(r"^### (\w+) ", page, re.MULTILINE))
    assert returned - {"Path"} <= described
    assert "to_frame() -> pd.DataFrame" in page.partition("\n### Robustness ")[2].partition("\n### ")[0]  # inherited
