"""What other installed packages add: found by metadata, imported on use, refused with the package named."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from installed_packages import EXAMPLE_MODULE, Site, site_at

from unseen.cli import completion
from unseen.errors import UserError, look_up
from unseen.extension.entry_points import KINDS, distribution, installed, our_origin
from unseen.extension.module_digest import digest_of_module
from unseen.extension.registry import PlugInWarning, Registry
from unseen.metrics.by_name import score_metrics
from unseen.probes.by_name import all_probes, get_probe, with_code
from unseen.probes.job import Job

ORIGIN = "unseen-corners 1.0"
PROBE = """
from dataclasses import dataclass
from typing import ClassVar
from unseen.probes import ScoredProbe

@dataclass(frozen=True)
class Same(ScoredProbe):
    name: ClassVar[str] = "same"
    title: ClassVar[str] = "the first class"

    def scores(self, X_train, y_train, X_test, classes, seed):
        return X_test[:, :classes]

class NoDataclass(Same.__mro__[1]):
    name = "no-dataclass"

@dataclass(frozen=True)
class BeginsLikeOurs(Same):
    name: ClassVar[str] = "knn-other"

@dataclass(frozen=True)
class OursBegins(Same):
    name: ClassVar[str] = "patch"

@dataclass(frozen=True)
class UnknownMetric(Same):
    name: ClassVar[str] = "unknown-metric"
    metrics: ClassVar[tuple[str, ...]] = ("smiles",)
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    yield from site_at(tmp_path, monkeypatch)


def probes(**names: str) -> dict[str, dict[str, str]]:
    return {"unseen.probes": {name.replace("_", "-"): value for name, value in names.items()}}


def registries() -> dict[str, Registry[object]]:
    from unseen.backbones.load import SOURCES
    from unseen.data.registry import DATASETS
    from unseen.studies.toml import study_texts
    from unseen.trackers.by_name import all_loggers

    found = (all_probes(), score_metrics(), DATASETS, SOURCES, study_texts(), all_loggers())
    return dict(zip(KINDS, found, strict=True))


def test_names_are_known_before_anything_is_imported(site: Site) -> None:
    before = {kind: each.names() for kind, each in registries().items()}
    site.add_example()
    added = {kind: [*each.names()][len(before[kind]) :] for kind, each in registries().items()}
    assert added == {
        "probes": ["nearest-corner"], "metrics": ["error-rate"], "datasets": ["corners"], "backbones": ["quarters"],
        "studies": ["corners-study"], "loggers": ["lines"],
    }  # fmt: skip
    assert completion.probes("knn,nearest-c") == ["knn,nearest-corner"]
    assert completion.datasets("corn") == ["corners"]
    assert completion.studies("corners-s") == ["corners-study"]
    assert completion.backbones("quart") == ["quarters:"]
    assert not [name for name in sys.modules if name.startswith(EXAMPLE_MODULE)]
    for kind, each in registries().items():
        [name] = added[kind]
        assert name in each
        assert [*each][-1] == name
        assert each.origin(name) == ORIGIN
        assert each.origin(before[kind][0]) == our_origin()
    site.remove("unseen-corners")
    assert {kind: [*each] for kind, each in registries().items()} == before


def test_two_packages_with_one_name_are_both_refused(site: Site) -> None:
    site.add("first", probes(same="first_module:Same"), first_module=PROBE)
    site.add("second", probes(same="second_module:Same"), "2.0", second_module=PROBE)
    with pytest.warns(PlugInWarning) as told:
        assert "same" not in [*all_probes()]
    assert [sum(word in str(each.message) for word in ("first 1.0", "second 2.0")) for each in told] == [2]
    with pytest.raises(UserError) as refused:
        get_probe("same")
    assert "first 1.0 and second 2.0" in str(refused.value)
    assert "first_module" not in sys.modules
    site.remove("first")
    assert get_probe("same").title == "the first class"


def test_our_names_stay_ours(site: Site) -> None:
    ours = all_probes()["knn"]
    site.add("taker", probes(knn="taker_module:Same"), taker_module=PROBE)
    with pytest.warns(PlugInWarning, match=rf"taker 1\.0.*{distribution()}"):
        assert all_probes()["knn"] is ours
    assert all_probes().plug_in("knn") is None
    assert "taker_module" not in sys.modules


@pytest.mark.parametrize(("text", "reason"), [
    ("import nowhere_to_be_found", "ModuleNotFoundError"), ("1 / 0", "ZeroDivisionError"), ("def", "SyntaxError"),
    ("raise SystemExit(3)", "SystemExit"), ("", "AttributeError"),
])  # fmt: skip
def test_what_cannot_be_imported_is_named_once_and_left_out(site: Site, text: str, reason: str) -> None:
    before = [*all_probes()]
    site.add("broken", probes(broken="broken_module:Same"), broken_module=text)
    with pytest.warns(PlugInWarning) as told:
        found = [[*all_probes()], "broken" in all_probes(), all_probes().get("broken")]
    assert found == [before, False, None]
    site.add("other", {})  # everything is looked through again, and nothing is said again
    assert len(all_probes()) == len(before)
    assert len(told) == 1
    for known in (lambda: look_up(all_probes(), "broken", "probe"), lambda: get_probe("broken")):
        with pytest.raises(UserError) as failed:
            known()
        assert all(word in str(failed.value) for word in ("broken 1.0", reason))


@pytest.mark.parametrize(("name", "attribute"), [
    ("other-name", "Same"), ("no-dataclass", "NoDataclass"), ("knn-other", "BeginsLikeOurs"), ("patch", "OursBegins"),
    ("unknown-metric", "UnknownMetric"), ("same", "PROBE_OF_TEXT"),
])  # fmt: skip
def test_what_is_no_probe_is_refused(site: Site, name: str, attribute: str) -> None:
    site.add("odd", {"unseen.probes": {name: f"odd_module:{attribute}"}}, odd_module=f"{PROBE}\nPROBE_OF_TEXT = 'x'\n")
    with pytest.raises(UserError, match=r"odd 1\.0"):
        get_probe(name)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "probes"])
def test_what_is_of_another_kind_is_refused(site: Site, kind: str) -> None:
    site.add("odd", {f"unseen.{kind}": {"odd": "odd_module:odd"}}, odd_module="odd = 5\n")
    with pytest.raises(UserError, match=r"odd 1\.0"):
        registries()[kind]["odd"]
    with pytest.warns(PlugInWarning):
        assert "odd" not in [*registries()[kind]]


def test_a_data_set_of_a_plug_in_has_no_printed_results(site: Site) -> None:
    text = "from unseen.data.core.dataset import Dataset\nodd = Dataset('odd', 'Odd', 2)\n"
    site.add("odd", {"unseen.datasets": {"odd": "odd_module:odd"}}, odd_module=text)
    with pytest.raises(UserError, match="few_shot"):
        registries()["datasets"]["odd"]


def test_jobs_know_the_version_and_the_code(site: Site) -> None:
    job, ours = Job("same", 1, "b", "d"), Job("knn", 1, "b", "d")
    [before] = with_code([job])
    assert before.key == job.key  # nothing of that name is installed
    keys = []
    for version, text in (("1.0", PROBE), ("1.0", PROBE), ("1.1", PROBE), ("1.1", f"{PROBE}\n# changed")):
        site.add("same-probe", probes(same="same_module:Same"), version, same_module=text)
        digest_of_module.cache_clear()
        [same, untouched] = with_code([job, ours])
        keys.append(same.key)
        assert untouched.key == ours.key
    assert keys[0] == keys[1]
    assert len({job.key, *keys}) == 4


def test_a_digest_covers_what_a_module_imports_of_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "__init__.py": "", "probe.py": "from . import help\nfrom .deep.inner import f\nimport json", "help.py": "a = 1",
        "deep/__init__.py": "", "deep/inner.py": "from ..late import b\ndef f():\n    from digested.late import b",
        "late.py": "b = 1", "unused.py": "c = 1",
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / "digested" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "digested" / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)

    def digest(label: str = "digested 1.0") -> str:
        digest_of_module.cache_clear()
        return digest_of_module("digested.probe", label)

    before = digest()
    assert digest("digested 1.1") != before

    def changing(name: str) -> bool:
        path = tmp_path / "digested" / name
        text = path.read_text()
        path.write_text(f"{text}\n# another comment")
        after = digest()
        path.write_text(text)
        return after != before

    assert {name: changing(name) for name in files} == {name: name != "unused.py" for name in files}
    assert "digested" not in sys.modules or not hasattr(sys.modules["digested"], "probe")


def test_metadata_without_a_name_do_no_harm(site: Site) -> None:
    site.add("nameless", probes(same="nameless_module:Same"), nameless_module=PROBE)
    [info] = site.folder.glob("*.dist-info/METADATA")
    info.write_text("")
    installed.cache_clear()
    assert all_probes().names()[-1] == "same"
