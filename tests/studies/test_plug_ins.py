"""A run with a probe, a metric, a data set, a source of backbones and a study of another installed package."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from installed_packages import Site, site_at

import unseen
from unseen.errors import UserError
from unseen.exchange.export import export_runs
from unseen.exchange.formats import export_for_others
from unseen.extension.module_digest import digest_of_module
from unseen.metrics.by_name import score_metrics
from unseen.probes.by_name import all_probes
from unseen.runs.record import read_record, read_run

STUDY, BACKBONE = "corners-study", "quarters:mean"
PROBE = """
from dataclasses import dataclass
from typing import ClassVar
from unseen.metrics.catalogue import Metric
from unseen.probes import DrawnProbe

METRICS = [Metric("feature-spread", higher_is_better=True, lower=0, upper=None, unit="score")]

@dataclass(frozen=True)
class Spread(DrawnProbe):
    name: ClassVar[str] = "spread"
    title: ClassVar[str] = "the standard deviation of features"
    metrics: ClassVar[tuple[str, ...]] = ("feature-spread",)

    def fit_drawn(self, data, seed):
        yield "spread", [("feature-spread", float(data.train_rows().std()))], {}
"""
FAILING = """
from unseen.metrics.own import OwnMetric

def failing(y, predictions):
    return 1 / 0

FAILING = OwnMetric("failing", higher_is_better=True, lower=0, upper=1, unit="share", compute=failing, title="none")
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    (tmp_path / "site").mkdir()
    yield from site_at(tmp_path / "site", monkeypatch)


def test_a_run_records_the_package_and_the_version(site: Site, tmp_path: Path) -> None:
    site.add_example()
    out = tmp_path / "run"
    assert unseen.study(STUDY).plan(BACKBONE, out=out).jobs_left == 2
    run = unseen.run(STUDY, BACKBONE, out=out, part=(1, 1), progress=False)
    values = run.scores().set_index("metric")["value"].to_dict()
    assert values == {"top1": 1.0, "top5": 1.0, "error-rate": 0.0}
    record, keys = read_record(out)
    assert record.written is not None
    assert record.written.versions["unseen-corners"] == "1.0"
    codes = {
        "nearest-corner": all_probes().plug_in("nearest-corner"),
        "error-rate": score_metrics().plug_in("error-rate"),
    }
    for protocol in record.protocols:
        plug_in = codes[protocol.probe]
        assert plug_in is not None
        expected = {"package": "unseen-corners", "version": "1.0", "code": plug_in.code.digest}
        assert expected.items() <= protocol.settings.items()
    [line] = [text for label, text in record.remarks.items() if label == "from unseen-corners 1.0"]
    assert all(word in line for word in ("nearest-corner", "error-rate", "corners", "quarters", STUDY))
    about = record.backbones[0].features
    assert about is not None
    assert "unseen-corners 1.0" in str(about.backbone.weights)
    assert unseen.study(out).plan(BACKBONE, out=out).jobs_left == 0

    site.remove("unseen-corners")
    for act in (lambda: unseen.study(out), lambda: unseen.run(out, out=tmp_path / "again", progress=False)):
        with pytest.raises(UserError, match=r"install unseen-corners 1\.0$"):
            act()
    for number, word in enumerate(("hf-eval-results:me", "every-eval-ever")):
        assert export_for_others([out], word, tmp_path / f"others-{number}").scores
    exported = export_runs([out], tmp_path / "results.json")
    assert [settings["nearest-corner.norm"] for settings in exported.study_settings] == [2.0]
    assert exported.study_settings[0]["based-on"] == STUDY
    export_runs([out], tmp_path / "card.yaml")

    site.add_example("1.1")
    with pytest.raises(UserError, match=r"version.*1\.0.*1\.1|1\.1.*1\.0"):
        unseen.run(STUDY, BACKBONE, out=out, progress=False)
    unseen.run(STUDY, BACKBONE, out=out, replace=True, progress=False)
    again, other_keys = read_record(out)
    assert not {*keys} & {*other_keys}
    assert again.written is not None
    assert again.written.versions["unseen-corners"] == "1.1"

    site.remove("unseen-corners")  # its runs can still be read, and be shown
    assert len(read_run(out).scores) == 3
    unseen.report(out, tmp_path / "page.html")
    assert "unseen-corners 1.1" in (tmp_path / "page.html").read_text()
    with pytest.raises(UserError, match=r"install unseen-corners 1\.1$"):
        unseen.study(out)


def test_a_probe_with_a_metric_of_its_own(site: Site, tmp_path: Path) -> None:
    site.add_example()
    site.add("spread", {"unseen.probes": {"spread": "spread_module:Spread"}}, spread_module=PROBE)
    study = unseen.study(STUDY).replace(probes=["spread"], metrics=[])
    run = unseen.run(study, BACKBONE, out=tmp_path / "run", progress=False)
    assert run.scores()["metric"].tolist() == ["feature-spread"]
    assert json.loads((tmp_path / "run/run.json").read_text())["protocols"][1]["settings"]["package"] == "spread"
    digest_of_module.cache_clear()


def test_an_error_of_a_metric_names_its_package(site: Site) -> None:
    site.add("failing", {"unseen.metrics": {"failing": "failing_module:FAILING"}}, failing_module=FAILING)
    X, y = np.eye(2).repeat(20, axis=0), np.arange(2).repeat(20)
    with pytest.raises(UserError, match=r"failing 1\.0.*ZeroDivisionError"):
        unseen.probe(X, y, X, y, probe="knn", metric="failing", progress=False)


@pytest.mark.filterwarnings("ignore::unseen.extension.registry.PlugInWarning")
def test_a_broken_plug_in_that_a_study_names_says_why(site: Site, tmp_path: Path) -> None:
    site.add_example()
    broken = {"unseen.datasets": {"lost": "lost_module:DATASET"}, "unseen.backbones": {"lost": "lost_module:SOURCE"}}
    site.add("lost", {**broken, "unseen.probes": {"lost": "lost_module:Lost"}}, lost_module="import nowhere_at_all")
    study = unseen.study(STUDY)
    asked = [
        lambda: study.replace(probes=["lost"]),
        lambda: unseen.run(study.replace(metrics=["lost"]), BACKBONE, out=tmp_path / "a", progress=False),
        lambda: unseen.run(study, "lost:small", out=tmp_path / "b", progress=False),
        lambda: unseen.run(study.replace(datasets=["lost"]), BACKBONE, out=tmp_path / "c", progress=False),
        lambda: unseen.study("ericsson-2021", datasets=["dtd", "lost"], probes=["knn"]).plan(features=tmp_path),
    ]
    for number, each in enumerate(asked):
        with pytest.raises(UserError, match="no metric" if number == 1 else r"lost 1\.0.*nowhere_at_all"):
            each()
