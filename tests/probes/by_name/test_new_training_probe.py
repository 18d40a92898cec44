"""A probe that trains networks is one file: studies find it by its name, plan it, run it and record it."""

from pathlib import Path

import pytest
from coloured_images import coloured, small_network

from studies import plan_of, run_of
from unseen.probes import by_name
from unseen.runs.record import read_run
from unseen.studies.study import Study

COMMONEST = '''
from dataclasses import dataclass
from typing import ClassVar

from unseen.probes.job import Fit, Held, Job
from unseen.probes.trainings import TrainingProbe
from unseen.reading.keys import key


@dataclass(frozen=True)
class CommonestProtocol:
    name: str = "counting"
    steps: int = 3


@dataclass(frozen=True)
class Commonest(TrainingProbe):
    """The commonest class of the training images."""

    name: ClassVar[str] = "commonest"
    title: ClassVar[str] = "the commonest class of the training images"
    steps: int = key(3, "steps", identity=False)
    protocol: CommonestProtocol | None = None

    def on(self, inputs):
        return Commonest(protocol=CommonestProtocol(steps=self.steps))

    def used(self, inputs):
        return self.on(inputs).protocol

    def image_remarks(self, inputs):
        yield "told", {"text": f"{inputs.backbone.label} is not used."}

    def job(self, inputs, seed):
        probe = self.on(inputs)
        return Job(
            self.name, 1, inputs.backbone.label, inputs.dataset.name, inputs.reads, probe.described, seed=seed,
            arithmetic=inputs.arithmetic, make=Held(probe),
        )

    def trained(self, cell, job):
        manifest = cell.opened.manifest
        labels = {
            split: [entry.label for entry, word in zip(manifest.entries, manifest.splits) if word == split]
            for split in ("train", "test")
        }
        commonest = max(labels["train"], key=labels["train"].count)
        cell.steps(job, "", self.protocol.steps)(self.protocol.steps)
        return Fit(self.name, None, job.seed, [("top1", labels["test"].count(commonest) / len(labels["test"]))])

    def step_seconds(self, cell, job):
        return 0.5


PROBE = Commonest
'''


def test_in_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "probes").mkdir()
    (tmp_path / "probes/commonest.py").write_text(COMMONEST)
    monkeypatch.setattr(by_name, "__path__", [*by_name.__path__, str(tmp_path / "probes")])
    by_name.all_probes.cache_clear()
    try:
        study = Study(name="mine", probes=("commonest",), seeds=2, settings={"commonest": {"steps": 5}})
        given = {"backbones": [small_network()], "datasets": [coloured(splits=["train"] * 10 + ["test"] * 6)]}
        plan = plan_of(study, tmp_path / "run", **given)
        run = run_of(study, tmp_path / "run", **given)
        assert plan_of(study, tmp_path / "run", **given).jobs_left == 0
    finally:
        by_name.all_probes.cache_clear()
    assert (plan.jobs, plan.probing, [part["steps left"] for part in plan.parts]) == (2, 2 * 5 * 0.5, [5, 5])
    assert [(score.probe, score.seed, score.value) for score in run.scores] == [
        ("commonest", 0, 2 / 6), ("commonest", 1, 2 / 6),
    ]  # fmt: skip
    [protocol] = read_run(tmp_path / "run").protocols
    assert (protocol.probe, protocol.name, protocol.settings) == ("commonest", "counting", {"steps": 5})
    assert "tiny is not used." in [each.text for each in run.told]
