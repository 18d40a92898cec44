"""A probe of patches is one file: studies find it by its name, run it and show it on the page."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from unseen.runs.record import read_run

COMMONEST = '''
from dataclasses import dataclass
from typing import ClassVar

from unseen.probes.job import Fit
from unseen.probes.patches.patch_probe import Demand, PatchProbe, Predictor


@dataclass(frozen=True)
class CommonestProtocol:
    name: str = "commonest"
    patches: int | str = "all"


@dataclass(frozen=True)
class PatchCommonest(PatchProbe):
    """The commonest code of the training patches, everywhere."""

    name: ClassVar[str] = "patch-commonest"
    title: ClassVar[str] = "the commonest code of the training patches, everywhere"
    label: ClassVar[str] = "Commonest on patches"
    protocol: CommonestProtocol = CommonestProtocol()

    def predictor(self, task, seed):
        counts = sum(block.pixels.sum(0) for block in task.training.blocks([task.training.labelled()]))
        shares = (counts == counts.max()).float()

        def predict(features):
            return shares.expand(len(features), -1)

        scored = task.scored(predict)
        return Fit(self.name, None, seed, scored.values, scored.details), Predictor(task.codes, predict, scored.shown)

    def demand(self, size, item):
        return Demand(size.codes * 4, size.codes * 4)

    def samples_of_work(self, size, device):
        yield lambda: None, 1.0


PROBE = PatchCommonest
'''
WITH_IT = """
import sys
from unseen.probes import by_name
by_name.__path__ = [*by_name.__path__, sys.argv.pop(1)]
from unseen.cli.main import run
sys.exit(run())
"""


@pytest.mark.long_suite
def test_by_the_command(tmp_path: Path) -> None:
    """Beside a probe of the package; it sees all background if the commonest class of a scene is its background."""
    folder, out = tmp_path / "probes", tmp_path / "run"
    folder.mkdir()
    (folder / "patch_commonest.py").write_text(COMMONEST)

    def unseen(*words: object) -> str:
        command = [sys.executable, "-c", WITH_IT, folder, *words]
        said = subprocess.run([str(word) for word in command], check=False, capture_output=True, text=True)
        assert said.returncode == 0, said.stderr
        return said.stdout

    [row] = [row for row in json.loads(unseen("ls", "probes", "--json")) if row["probe"] == "patch-commonest"]
    assert (row["input"], row["labels"]) == ("patches", "map, normals, depth")
    words = ["--datasets", "scenes-seen", "--backbone", "demo:untrained", "--set", "backbone.size=28", "--workers", 1]
    probes = ["--probes", "patch-commonest,patch-context"]
    unseen("run", "dense", *words, "--set", "patches=4", *probes, "--out", out)
    run = read_run(out)
    found = {(score.probe, score.metric): score.value for score in run.scores}
    assert {probe for probe, _ in found} == {"patch-commonest", "patch-context"}
    [protocol] = [each for each in run.protocols if each.probe == "patch-commonest"]
    assert (protocol.name, protocol.settings["patches"]) == ("commonest", 4)
    classes = 1 / found["patch-commonest", "miou"] * found["patch-commonest", "pixel-accuracy"]
    # One class is predicted: its IoU is its share of the pixels, and that of every other class is 0.
    assert classes == pytest.approx(round(classes))
    assert 0 < found["patch-commonest", "pixel-accuracy"] < found["patch-context", "pixel-accuracy"]
    assert "Commonest on patches" in (out / "report.html").read_text()
