"""Build the site from the pages of docs/, generated pages, and pages elsewhere in the repository.

    python scripts/build_site.py OUT

A broken link to a page or a heading is an error. Nothing is fetched from the network.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path, PurePosixPath

from notebooks import as_page, read
from site_pages.api import api_reference
from site_pages.commands import command_reference
from site_pages.study import study_reference
from unseen.studies.schema import NAME, study_schema

ROOT = Path(__file__).parents[1]
ELSEWHERE = {
    "README.md": "index.md",
    "benchmarks/README.md": "benchmarks.md",
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""Files outside docs/ → the pages that they are on the site; the quick start stands for the README."""

FENCED = re.compile(r"(^ *```.*?^ *```$)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")


class BrokenSite(Exception):  # noqa: N818  (it is the site that is broken)
    """The site cannot be built; the message has every broken link."""


def build_site(out: Path) -> None:
    """Write the site to `out`, a folder that is replaced."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stage(folder)
        build(folder)
        if out.exists():
            shutil.rmtree(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(folder / "site", out)


def stage(folder: Path, root: Path = ROOT) -> None:
    """Put the configuration and all pages where the generator reads them."""
    docs = folder / "docs"
    shutil.copytree(root / "docs", docs)
    shutil.copy(root / "zensical.toml", folder)
    sources = {f"docs/{path.name}": path.name for path in sorted((root / "docs").glob("*.md"))}
    sources |= {source: page for source, page in ELSEWHERE.items() if page not in sources.values()}
    for source, page in sources.items():
        (docs / page).write_text(on_site((root / source).read_text(encoding="utf-8"), source, root), encoding="utf-8")
    for path in sorted((docs / "notebooks").glob("*.ipynb")):
        text, pictures = as_page(read(path), path.stem)
        path.with_suffix(".md").write_text(f"{text}\n[Download this notebook]({path.name})\n", encoding="utf-8")
        for name, content in pictures.items():
            path.with_name(name).write_bytes(content)
    shutil.copy(Path(__file__).parent / "site_pages/iframe-worker.js", docs)
    (docs / "reference").mkdir()
    (docs / "reference/commands.md").write_text(command_reference(), encoding="utf-8")
    (docs / "reference/api.md").write_text(api_reference(), encoding="utf-8")
    (docs / "reference/studies.md").write_text(study_reference(), encoding="utf-8")
    (docs / NAME).write_text(json.dumps(study_schema(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def build(folder: Path) -> None:
    """Run the generator in a folder that has been staged, without colours in its output."""
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    environment = os.environ | {"NO_COLOR": "1"}
    answer = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise BrokenSite(f"{answer.stdout}{answer.stderr}")


def on_site(text: str, source: str, root: Path = ROOT) -> str:
    """A page of the repository with the links of the site.

    A link to a file that is not a page, such as source code, becomes the name of the file.
    """

    def moved(match: re.Match[str]) -> str:
        picture, label, target, anchor = match.groups(default="")
        place = os.path.normpath(PurePosixPath(source).parent / target)
        if not (root / place).exists():
            raise BrokenSite(f"{source}: the link to {target} is broken")
        if place in ELSEWHERE or place.startswith("docs/"):
            page = ELSEWHERE.get(place, place.removeprefix("docs/")).replace(".ipynb", ".md")
            return f"{picture}[{label}]({page}{anchor})"
        return f"{label} (`{place}`)" if label.strip("`") != place else f"`{place}`"

    parts = FENCED.split(text)
    return "".join(part if number % 2 else LINK.sub(moved, part) for number, part in enumerate(parts))


if __name__ == "__main__":
    try:
        build_site(Path(sys.argv[1]))
    except BrokenSite as problem:
        sys.exit(str(problem))
