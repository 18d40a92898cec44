"""Make the pictures of the documentation from what the present code gives.

    python scripts/build_pictures.py [NAME …] [--work build/pictures]

Without names, all pictures in PICTURES are made, and the figures of the demo in the documentation are written too. The
work folder keeps runs, so that a second call takes seconds; the demo's run is `demo-run` in it. Needs Chromium and the
Python package playwright. Pictures in BY_HAND need data, weights or hours that a checkout does not have.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import chdir, redirect_stdout
from dataclasses import replace
from importlib.resources import files
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from demo_tables import write_parts
from unseen.analyses.core.comparables import Comparables
from unseen.analyses.paired import compare_with_baseline
from unseen.report.core.compared import Resolution
from unseen.report.core.export import page_figures
from unseen.report.core.looks import SYMBOLS
from unseen.report.core.model import Figure, Page, Section, Series
from unseen.report.core.resolution import difference_figure
from unseen.report.core.static import static_bytes
from unseen.report.of_runs import report_on
from unseen.runs.data import RunData

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs/images"
WIDTH = 1280
COLOURS = 96
"""Plots and text have few colours: a palette of so many looks the same, at a fifth of the size."""
TRAINED, PLANNED = ("mixup", "simclr"), ("mixup", "supervised")
"""Backbones of the demo: those that are compared with `supervised`, and the two that are planned for."""

BY_HAND = {
    "inversion.jpg": "docs/analyses.md: unseen run inversion on photographs; weights of EfficientNet-Lite0 and Lite1",
    "rooms.png": "docs/dense.md: scripts/render_rooms.py with 3-D models of a Debian package",
    "saliency.jpg": "docs/analyses.md: unseen run saliency on photographs; with EfficientNet-Lite0 and ResNet-50",
}
"""Pictures that this script does not make → how they were made."""


class Studio:
    """A work folder, and a browser that is opened for the first page."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self._browser: Any = None
        self._stop: Callable[[], None] = lambda: None

    def unseen(self, *words: str, made: str = "") -> None:
        """Run a command in the work folder, unless what it makes is there."""
        if made and (self.work / made).exists():
            return
        command = [sys.executable, "-m", "unseen", *words]
        path = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])}
        subprocess.run(command, cwd=self.work, check=True, env=os.environ | path, stdout=subprocess.DEVNULL)

    def whole_page(self, page: str, made: str) -> None:
        """Run every example and command of a page, in order, unless what they make exists."""
        if (self.work / made).exists():
            return
        text, names = (ROOT / "docs" / page).read_text(), dict[str, Any]()
        for language, block in re.findall(r"^```(python|sh)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            if language == "python":
                with chdir(self.work), redirect_stdout(StringIO()):
                    exec(block, names)
                continue
            for command in block.replace("\\\n", "").splitlines():
                self.unseen(*shlex.split(command)[1:])

    def python(self, page: str, *texts: str) -> None:
        """Run the Python examples of a page that contain these texts, in the work folder."""
        blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / page).read_text(), re.DOTALL | re.MULTILINE)
        with chdir(self.work), redirect_stdout(StringIO()):
            exec("\n".join(block for block in blocks if any(text in block for text in texts)), {})

    def page(
        self, path: str, first: str = "body", last: str = "", *, width: int = WIDTH, height: int = 10_000
    ) -> bytes:
        """A page from the top of one element to the bottom of another, or so many pixels of it."""
        page = self._open().new_page(viewport={"width": width, "height": 900})
        page.goto((self.work / path).as_uri())
        page.wait_for_load_state("networkidle")
        page.add_style_tag(content=".top, .tools, .modebar { display: none !important }")
        boxes = [page.locator(name).first.bounding_box() for name in (first, last or first)]
        top = max(boxes[0]["y"] - 14, 0)
        bottom = min(boxes[1]["y"] + boxes[1]["height"] + 14, top + height)
        clip = {"x": 0, "y": top, "width": width, "height": bottom - top}
        content: bytes = page.screenshot(full_page=True, clip=clip)
        page.close()
        return content

    def file(self, name: str) -> bytes:
        return (self.work / name).read_bytes()

    def _open(self) -> Any:
        if self._browser is None:
            from playwright.sync_api import sync_playwright

            names = ("chromium", "chromium-browser", "google-chrome")
            program = next((found for name in names if (found := shutil.which(name))), None)
            playwright = sync_playwright().start()
            flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
            self._browser = playwright.chromium.launch(executable_path=program, args=flags)
            self._stop = playwright.stop
        return self._browser

    def close(self) -> None:
        if self._browser is not None:
            self._browser.close()
            self._stop()


def report(studio: Studio) -> bytes:
    """The top of the demo's page, down to the first figure."""
    studio.unseen("demo", "--out", "demo-run")
    return studio.page("demo-run/report.html", last="#levels .plot")


def differences(studio: Studio) -> bytes:
    """The paired differences of the demo's trained networks; the others are far below."""
    page, data, every = _demo_page(studio)
    pairs = [pair for pair in compare_with_baseline(every, data) if pair.first in TRAINED]
    figure = replace(
        difference_figure(Resolution(data, every, pairs)), caption="With 95% intervals over 45 concepts and 3 seeds"
    )
    [shown] = page_figures(replace(page, sections=[Section("pairs", "", figures=[figure])])).values()
    return static_bytes(shown, "png")


def rank_intervals(studio: Studio) -> bytes:
    """The ranks of the demo's backbones on L5."""
    page, _, _ = _demo_page(studio)
    return static_bytes(page_figures(page)["comparison-ranks-on-l5"], "png")


def power(studio: Studio) -> bytes:
    """What studies of other sizes resolve, planned from the demo, with one line per number of seeds."""
    from unseen.api.run import Run

    report(studio)
    series = list[Series]()
    for number, seeds in enumerate((3, 5, 10)):
        plans = Run(studio.work / "demo-run").power(0.02, backbones=PLANNED, datasets=["l5"], seeds=seeds)
        curve = plans.every[0].curve("concepts")
        points = (100 * curve["difference"]).tolist()
        series.append(
            Series(f"{seeds} seeds", curve["number"].tolist(), points, number, strong=True, symbol=SYMBOLS[number])
        )
    ticks = tuple((float(at), f"{at:,}") for at in (10, 45, 100, 500, 1000))
    figure = Figure(
        "Which differences a larger study would resolve", "Number of concepts", "Difference (points)", series,
        ticks, zero=True, log_x=True, caption="With 80% power, 20 test images per concept",
    )  # fmt: skip
    return static_bytes(figure, "png")


def _demo_page(studio: Studio) -> tuple[Page, RunData, Comparables]:
    """The demo's page, its data and what can be compared in them."""
    report(studio)
    reported = report_on([studio.work / "demo-run"])
    assert isinstance(reported.source, RunData)
    assert reported.every is not None
    return reported.page, reported.source, reported.every


def levels(studio: Studio) -> bytes:
    studio.unseen("levels", "plot", "cog-v2", "--figure", "ranking", "--out", "levels.png")
    return studio.file("levels.png")


def examples(studio: Studio) -> bytes:
    words = ("--figure", "examples", "--concept", "tiger_cat.n.02", "--out", "examples.png")
    studio.unseen("levels", "plot", *words)
    return studio.file("examples.png")


def python_knn(studio: Studio) -> bytes:
    studio.python("python.md", 'unseen.example("l5")', '.save("shots.png")')
    return studio.file("shots.png")


def shifts(studio: Studio) -> bytes:
    """The fit of the pool that ships with the package, as in docs/model-pools.md."""
    shutil.copy(str(files("unseen.demo") / "data/emoji_pool.csv"), studio.work / "emoji_pool.csv")
    shifted = "ood_emojione,ood_emojione_ink,ood_twemoji,ood_openmoji,ood_drawings"
    studio.unseen(
        "shifts", "fit", "emoji_pool.csv", "--id", "id_noto,id_fluent_ink", "--ood", shifted, "--set", "group=group",
        "--set", "fit-on=group != noto-grey", "--out", "emoji-fit",
    )  # fmt: skip
    return studio.page("emoji-fit/report.html", "#shifts-title", "#shifts .plot")


def drawing_pool(studio: Studio) -> bytes:
    """The fit at the end of the whole pipeline, which trains its models: two minutes on idle cores."""
    studio.whole_page("shift-pipeline.md", made="drawing-fit/report.html")
    return studio.page("drawing-fit/report.html", "#shifts-title", "#shifts .plot")


def worked_study(studio: Studio) -> bytes:
    """The fits of the worked study, as in docs/worked-shift-study.md."""
    studio.whole_page("worked-shift-study.md", made="emoji-shift-fit/report.html")
    return studio.page("emoji-shift-fit/report.html", "#shifts-title", "#shifts .plot")


def worked_groups(studio: Studio) -> bytes:
    """Its groups under the line of the others."""
    worked_study(studio)
    return studio.page("emoji-shift-fit/report.html", "#group-effects .plot")


def worked_predictors(studio: Studio) -> bytes:
    """Its predictors, with those that need predictions."""
    from emoji_shift.analyse import predictors
    from emoji_shift.ship import PREDICTIONS, TABLE
    from unseen.report.shifts.sections.predictors import error_figure

    with np.load(PREDICTIONS, allow_pickle=False) as stored:
        figure = error_figure(predictors(TABLE, dict(stored)))
    page = Page(title="", sections=[Section("predictors", "", figures=[figure])])
    [shown] = page_figures(page).values()
    return static_bytes(shown, "png")


def axes(studio: Studio) -> bytes:
    studio.unseen("report", "--published", "--out", "axes.html")
    return studio.page("axes.html", "#ranks-title", "#ranks .plot", width=1440)


def leaderboard(studio: Studio) -> bytes:
    studio.unseen("leaderboard", "--out", "leaderboard.html")
    return studio.page("leaderboard.html", "#ranking-title", "#ranking", height=560)


def tasks(studio: Studio) -> bytes:
    words = ("--backbone", "demo:supervised", "--backbone", "demo:simclr", "--datasets", "digits")
    studio.unseen("run", "ericsson-2021", *words, "--out", "tasks-run", made="tasks-run/report.html")
    return studio.page("tasks-run/report.html", "#few-shot-title", "#few-shot .plot")


def dense(studio: Studio) -> bytes:
    """Scenes of drawings: the best and the worst predictions on seen concepts."""
    words = ("--datasets", "scenes-seen,scenes-unseen", "--backbone", "demo:supervised", "--set", "backbone.size=112")
    studio.unseen("run", "dense", *words, "--out", "dense-run", made="dense-run/report.html")
    return studio.page("dense-run/report.html", ".domain h3", ".domain")


def contributed(studio: Studio) -> bytes:
    """The page of a model on a leaderboard site, from its results file.

    The command refuses a site of this model alone, since a part of the digits cannot be compared with published scores.
    """
    from unseen.analyses.leaderboard import leaderboard_with_runs
    from unseen.exchange.contributions import read_contributions
    from unseen.report.leaderboard.site import write_site

    words = ("--datasets", "digits", "--limit", "20", "--backbone", "demo:supervised")
    studio.unseen("run", "ericsson-2021", *words, "--out", "digits-run", made="digits-run/report.html")
    studio.unseen("export", "digits-run", "--out", "results.json")
    models = read_contributions([studio.work / "results.json"])
    write_site(leaderboard_with_runs([], models, elsewhere=True), models, studio.work / "leaderboard-site")
    [page] = (studio.work / "leaderboard-site/models").glob("demo-supervised*.html")
    return studio.page(str(page.relative_to(studio.work)), height=1400)


def own_code(studio: Studio) -> bytes:
    """A probe and a metric of one's own on the demo's features."""
    report(studio)
    studio.python("own-code.md", 'Path("nearest_mean.py")', 'Path("worst_class.py")')
    words = ("--datasets", "seen,l1,l2,l3,l4,l5", "--shots", "all", "--seeds", "1", "--set", "levels=drawings")
    code = ("--probes", "logistic,nearest_mean.py", "--set", "metrics=worst_class.py")
    features = ("--features", "demo-run/features", "--backbone", "supervised", *code)
    short = ("--set", "logistic.protocol=cog-v2-short")
    studio.unseen("run", "cog-v2", *features, *words, *short, "--out", "code-run", made="code-run/report.html")
    return studio.page("code-run/report.html", "#own-code-title", "#own-code")


def own_concepts(studio: Studio) -> bytes:
    """Drawings with levels of their own: 14 seen classes, and five levels of 14."""
    from unseen.data.concepts.drawings import category_drawings, concepts, seen_concepts
    from unseen.ontology.wordnet import wordnet

    called = {name: wnid for wnid, name in concepts().items()}
    trained = {concepts()[wnid] for wnid in seen_concepts()}
    seen, others = sorted(trained)[:14], sorted(called.keys() - trained)[:80]
    for name in (*seen, *others):
        folder = studio.work / "own-drawings" / name
        folder.mkdir(parents=True, exist_ok=True)
        for number, pixels in enumerate(category_drawings()[name][:60]):
            Image.fromarray(pixels).save(folder / f"{number}.png")
    senses = "\n".join(f'"{name}" = "{wordnet().synset(called[name]).name}"' for name in (*seen, *others))
    facts = f'images = "own-drawings"\nseen = {json.dumps(seen)}\nlevels = 5\nsize = 14\ntest = 15\n'
    (studio.work / "own-drawings.toml").write_text(f"{facts}[concepts]\n{senses}\n")
    networks = [word for name in ("supervised", "simclr", "untrained") for word in ("--backbone", f"demo:{name}")]
    words = ("--set", "preprocessing=own", "--set", "logistic.protocol=cog-v2-short", "--shots", "all", "--seeds", "3")
    levels = ("--set", "levels=own-drawings.toml", "--out", "own-drawings-run")
    studio.unseen("run", "cog-v2", *levels, *networks, *words)
    return studio.page("own-drawings-run/report.html", last="#levels .plot")


PICTURES: dict[str, Callable[[Studio], bytes]] = {
    "report.png": report,
    "differences.png": differences,
    "rank-intervals.png": rank_intervals,
    "power.png": power,
    "levels.png": levels,
    "examples.png": examples,
    "python-knn.png": python_knn,
    "shifts.png": shifts,
    "drawing_pool.png": drawing_pool,
    "worked-shift-study.png": worked_study,
    "worked-shift-groups.png": worked_groups,
    "worked-shift-predictors.png": worked_predictors,
    "axes.png": axes,
    "leaderboard.png": leaderboard,
    "tasks.png": tasks,
    "dense.png": dense,
    "contributed.png": contributed,
    "own-code.png": own_code,
    "own-concepts.png": own_concepts,
}


def reduced(content: bytes) -> bytes:
    """A PNG with a palette, at most `WIDTH` wide."""
    image = Image.open(BytesIO(content)).convert("RGB")
    if image.width > WIDTH:
        image = image.resize((WIDTH, round(image.height * WIDTH / image.width)), Image.Resampling.LANCZOS)
    out = BytesIO()
    # Median cut, the default, gives small points the colour of larger areas.
    method = Image.Quantize.MAXCOVERAGE
    image.quantize(COLOURS, method=method, kmeans=1, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def main(names: Sequence[str], work: Path) -> None:
    """Make pictures, all of them where none is named, and then the figures of the demo too."""
    unknown = set(names) - PICTURES.keys()
    if unknown:
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(PICTURES)}")
    work.mkdir(parents=True, exist_ok=True)
    studio = Studio(work.resolve())
    try:
        for name in names or PICTURES:
            content = reduced(PICTURES[name](studio))
            (IMAGES / name).write_bytes(content)
            print(f"{name}: {len(content) / 1024:.0f} KB", flush=True)
    finally:
        studio.close()
    if not names or "report.png" in names:
        write_parts(work / "demo-run")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--work", type=Path, default=ROOT / "build/pictures")
    given = parser.parse_args()
    main(given.names, given.work)
