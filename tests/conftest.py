"""What several tests use."""

import gc
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from examples import USUAL
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from unseen.runs.means import Means

SHARED = Path(__file__).parents[2] / "shared"
COUNTS = SHARED / "data/imagenet21k_fall11_image_counts.csv"
MOST_SECONDS = 40.0
"""Seconds of CPU that a test of the usual run may take; the slowest takes about seven."""

# A test that fails because the machine is busy says nothing.
settings.register_profile("unseen", max_examples=USUAL, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", settings.get_profile("unseen"), max_examples=10 * USUAL)
gc.disable()  # until the tests are collected: what is imported and collected stays for good
os.environ.pop("COLUMNS", None)  # pytest-xdist says 80 in its workers, and commands would believe it


@pytest.fixture
def two_devices(monkeypatch: pytest.MonkeyPatch) -> "Iterator[Means]":
    """Two workers of one thread that stand in for devices; this process is of one thread too, to round as they do."""
    from sent_team import SentTeam

    from unseen.runs.executors.here import limited_threads
    from unseen.runs.means import Means

    monkeypatch.setattr("unseen.runs.executors.devices.ProcessTeam", SentTeam)
    with limited_threads(1):
        yield Means(2, devices=("cpu", "cpu"))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a case of bytes after its argument: a packed file holds the time, and workers must agree on names."""
    return argname if isinstance(val, bytes) else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--gpu", action="store_true", help="run the tests marked gpu or gpu_too, on a GPU, and no others")
    parser.addoption(
        "--long-suite", action="store_true", help="run the tests marked long_suite, and Hypothesis longer; no others"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples Hypothesis tries, and hide GPUs from the tests and their processes before PyTorch loads.

    Otherwise a test would compute other digits on a machine with a GPU, and could not copy its process.
    """
    settings.load_profile("long" if config.getoption("--long-suite") else "unseen")
    if not config.getoption("--gpu"):
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        return
    from unseen.device import on_gpu

    if not on_gpu():
        pytest.exit("no GPU here: the tests that need one are skipped", returncode=0)


@pytest.hookimpl(trylast=True)  # after Hypothesis has marked its tests
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the tests of this run. Files marked `early` come first: no worker is left alone with one at the end."""
    items.sort(key=lambda item: item.get_closest_marker("early") is None)
    on_gpu, long_suite = config.getoption("--gpu"), config.getoption("--long-suite")
    chosen, left_out = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        in_suite = bool(marks & {"long_suite", "hypothesis"}) if long_suite else "long_suite" not in marks
        on_device = bool(marks & {"gpu", "gpu_too"}) or not on_gpu
        (chosen if in_suite and on_device else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = chosen
    if on_gpu:
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="needs a GPU (pytest --gpu)"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test that takes far too long for the usual run, whatever else the machine does at the same time."""
    began = sum(os.times()[:4])
    yield
    seconds = sum(os.times()[:4]) - began  # of this process and of those that it has waited for
    usual = not (item.config.getoption("--gpu") or item.config.getoption("--long-suite"))
    if usual and seconds > MOST_SECONDS:
        pytest.fail(f"took {seconds:.0f} seconds of CPU: make it smaller, or mark it long_suite", pytrace=False)


def pytest_collection_finish() -> None:
    """Keep all that is there from being looked through again and again."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Let the end of Python collect everything: Triton's bindings would print what is left as leaked."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def counts_file() -> Path:
    if not COUNTS.is_file():
        pytest.skip("needs the image counts of ImageNet-21K in ../shared/data")
    return COUNTS


@pytest.fixture(scope="session")
def dictionary() -> Path:
    """Princeton's WordNet 3.0 dictionary."""
    nltk_reference = pytest.importorskip("nltk_reference")
    try:
        return nltk_reference.dictionary()
    except FileNotFoundError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def nltk_wordnet(dictionary: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("nltk")
    from nltk_reference import nltk_wordnet

    with pytest.warns(UserWarning, match="multilingual"):
        return nltk_wordnet(tmp_path_factory.mktemp("nltk_data"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window, which draws with its own software where a page needs a GPU."""
    api = pytest.importorskip("playwright.sync_api", reason="needs the Python package playwright")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs Chromium (Debian: apt-get install chromium)")
    quiet = ("quic", "background-networking", "component-update", "sync")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(
            executable_path=program, args=[*flags, "--no-first-run", *(f"--disable-{each}" for each in quiet)]
        )
        yield found
        found.close()


class Answer(NamedTuple):
    """What a command said."""

    code: int
    out: str
    err: str


@pytest.fixture
def unseen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Run the command line in this process."""
    from unseen.cli.main import run

    monkeypatch.setitem(os.environ, "COLUMNS", "200")
    monkeypatch.setattr("unseen.cli.starting.SECONDS", 3600.0)  # tests compare all that a command prints

    def call(*arguments: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["unseen", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            run()
        captured = capsys.readouterr()
        return Answer(stop.value.code or 0, captured.out, captured.err)

    return call
