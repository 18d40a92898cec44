"""What results keep of each image: written with the result, read back, checked, and named if it is damaged."""

import json
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unseen.analyses.core.comparable import unit_of
from unseen.errors import UserError
from unseen.probes.job import Fit, Job, fits_kept
from unseen.probes.units import CORRECT, UNITS, ScoredImages, Units, hit_units
from unseen.runs import results as module
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.kept_units import kept_units, result_behind, why_no_units
from unseen.runs.merge import merge_runs
from unseen.runs.record import read_run, write_run
from unseen.runs.results import (
    RESULTS,
    Result,
    beside_path,
    missing,
    read_result,
    remove_result,
    result_path,
    write_result,
)

CLASSES = ("a", "b", "c")
NAMES = [f"{number}.png" for number in range(10)]
LABELLED = ScoredImages.labelled(CLASSES, np.arange(10) % 3, NAMES)
HITS = np.arange(10) % 4 > 0
DEPTHS = {"rmse": np.linspace(0.1, 1, 10), "delta1": np.linspace(0.9, 0.5, 10)}


def job_of(probe: str = "fine-tuned", **changes: Any) -> Job:
    return Job(probe, 1, "net", "pets", {"spec": "ab", "images": "cd"}, {"protocol": "p"}, **changes)


def depth_fit(arrays: Mapping[str, Any] = DEPTHS) -> Fit:
    values = [(name, float(arrays[key].mean())) for name, key in (("depth-rmse", "rmse"), ("delta1", "delta1"))]
    images = ScoredImages.unlabelled((), 10, NAMES)
    return Fit("psp", None, 0, values, units=Units("depths", dict(arrays), images))


def hit_fit(hits: Any = HITS, variant: str = "fine-tuned") -> Fit:
    return Fit(variant, None, 0, [("top1", float(hits.mean()))], {"rate": 1.0}, units=hit_units(hits, LABELLED))


def written(folder: Path, *fits: Fit, job: Job | None = None) -> tuple[Path, Result]:
    job = job or job_of()
    write_result(folder / RESULTS, job, fits_kept(fits), 1.0)
    result = read_result(folder / RESULTS, job.key)
    assert result is not None
    return folder / RESULTS, result


def with_fit(result: Result, **changes: Any) -> Result:
    [fit] = result.values["fits"]
    return replace(result, values={**result.values, "fits": [{**fit, **changes}]})


def test_hits_are_in_the_result_and_their_images_beside_it(tmp_path: Path) -> None:
    results, result = written(tmp_path, hit_fit(), hit_fit(~HITS, "fine-tuned-2"))
    first, second = kept_units(results, result)
    assert (first.variant, second.variant, first.kind, first.shots, first.seed) == (
        "fine-tuned", "fine-tuned-2", "images", None, 0,
    )  # fmt: skip
    assert np.array_equal(first.arrays[CORRECT], HITS)
    assert np.array_equal(second.arrays[CORRECT], ~HITS)
    assert first.images is not None
    assert first.images.difference(LABELLED) == ""
    assert first.identity == LABELLED.ids
    assert first.scores == {"top1": HITS.mean()}
    by_class = np.mean([HITS[np.arange(10) % 3 == number].mean() for number in range(3)])
    assert first.rescored() == pytest.approx({"top1": HITS.mean(), "mean-per-class": by_class})
    weights = np.arange(10)
    assert first.rescored(weights)["top1"] == pytest.approx((HITS * weights).sum() / 45)
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {"cd.npz", f"{result.key}.json"}


def test_classes_and_episodes_are_in_the_result(tmp_path: Path) -> None:
    precision, right = np.array([0.25, 0.5, 1.0]), np.array([75, 60, 30])
    several = Units("classes", {"average_precision": precision}, ScoredImages.unlabelled(CLASSES, 10))
    episodes = Units("episodes", {"right": right, "queries": np.array([75])}, identity="drawn")
    results, result = written(
        tmp_path, Fit("a", None, 0, [("map-11-point", precision.mean())], units=several),
        Fit("b", 5, 0, [("top1", float((right / 75).mean()))], units=episodes),
    )  # fmt: skip
    of_classes, of_episodes = kept_units(results, result)
    of_each = of_classes.values("map-11-point")
    assert of_each is not None
    assert of_each.tolist() == precision.tolist()
    assert of_classes.images is not None
    assert of_classes.images.classes == CLASSES
    of_each = of_episodes.values("top1")
    assert of_each is not None
    assert of_each.tolist() == [1, 0.8, 0.4]
    assert (of_episodes.identity, of_episodes.images) == ("drawn", None)
    assert not beside_path(results, result.key).exists()


def test_large_arrays_are_beside_the_result(tmp_path: Path) -> None:
    results, result = written(tmp_path, depth_fit())
    [kept] = kept_units(results, result)
    assert {name: array.tolist() for name, array in kept.arrays.items()} == {k: v.tolist() for k, v in DEPTHS.items()}
    assert kept.values("miou") is None
    assert kept.scores == pytest.approx({"depth-rmse": 0.55, "delta1": 0.7})
    remove_result(results, result.key)
    assert [path for path in results.iterdir() if path.name != ".lock"] == []


def test_values_of_queries_leave_out_those_that_do_not_count(tmp_path: Path) -> None:
    precision, first = np.array([0.25, np.nan, 1.0, 0.5]), np.array([0.0, np.nan, 1.0, np.nan])
    units = Units("queries", {"map": precision, "recall-at-1": first}, ScoredImages.unlabelled((), 4, NAMES[:4]))
    results, result = written(tmp_path, Fit("a", None, 0, [("map", 1.75 / 3), ("recall-at-1", 0.5)], units=units))
    [kept] = kept_units(results, result)
    assert [[*kept.values(name)] for name in ("map", "recall-at-1")] == [[0.25, 1.0, 0.5], [0.0, 1.0]]
    assert kept.scores == pytest.approx({"map": 1.75 / 3, "recall-at-1": 0.5})
    assert kept.rescored(np.array([2, 5, 0, 1])) == pytest.approx({"map": 1 / 3, "recall-at-1": 0})
    assert [unit_of(kept, concepts=concepts) for concepts in (True, False)] == ["images", "images"]
    every = replace(kept, arrays={"map": np.array([0.25, 1.0, 0.5, 0.0])})
    assert unit_of(every, concepts=True) == "concepts"
    with pytest.raises(UserError):
        kept_units(*written(tmp_path, Fit("a", None, 0, [("map", 0.5)], units=units)))


def test_a_kill_between_both_files_is_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job, results = job_of(), tmp_path / RESULTS

    def killed(*_: Any) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(module, "result_path", killed)
        write_result(results, job, fits_kept([depth_fit({**DEPTHS, "rmse": DEPTHS["rmse"] + 1})]), 1.0)
    assert beside_path(results, job.key).is_file()
    assert not result_path(results, job.key).exists()
    assert missing([job], results) == [job]
    results, result = written(tmp_path, depth_fit())
    assert missing([job], results) == []
    assert len(kept_units(results, result)) == 1


def test_arrays_of_another_kind_of_result_do_not_stay(tmp_path: Path) -> None:
    results, result = written(tmp_path, depth_fit())
    written(tmp_path, hit_fit())
    assert not beside_path(results, result.key).exists()


def test_two_writers_leave_the_arrays_of_the_result(tmp_path: Path) -> None:
    """As GPUs may give two processes other digits of the same job."""
    fits = [depth_fit({**DEPTHS, "rmse": DEPTHS["rmse"] + more}) for more in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(lambda fit: write_result(tmp_path / RESULTS, job_of(), fits_kept([fit]), 1.0), fits):
            pass
    result = read_result(tmp_path / RESULTS, job_of().key)
    assert result is not None
    assert len(kept_units(tmp_path / RESULTS, result)) == 1


def test_damaged_arrays_are_named_in_a_sentence_and_the_result_stays(tmp_path: Path) -> None:
    results, result = written(tmp_path, depth_fit())
    path = beside_path(results, result.key)
    whole = path.read_bytes()

    def refused() -> str:
        with pytest.raises(UserError) as error:
            kept_units(results, result)
        assert "\n" not in str(error.value)
        assert path.name in str(error.value)
        return str(error.value)

    for content in (whole[:100], b"", b"x" * 500):
        path.write_bytes(content)
        assert "damaged" in refused()
    np.savez(path, **{f"0/{name}": array + 1e-9 for name, array in DEPTHS.items()})
    assert "not those of the result" in refused()
    path.unlink()
    assert "missing" in refused()
    assert missing([job_of()], results) == []
    assert dict(result.fits[0].values)["depth-rmse"] == pytest.approx(0.55)


@pytest.mark.parametrize(
    "changes",
    [
        {"values": {"top1": 0.9}},
        {"details": {"images": 9, CORRECT: "AAA="}},
        {"details": {"images": "10", CORRECT: "AAA="}},
        {"details": {}, UNITS: {"kind": "pixels"}},
        {"details": {}, UNITS: {"kind": "classes"}},
        {"details": {}, UNITS: []},
    ],
)
def test_units_that_do_not_give_the_scores_are_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    results, result = written(tmp_path, hit_fit())
    with pytest.raises(UserError, match=rf"{result.key}\.json"):
        kept_units(results, with_fit(result, **changes))


def test_scores_other_than_those_of_the_arrays_are_refused(tmp_path: Path) -> None:
    results, result = written(tmp_path, depth_fit())
    with pytest.raises(UserError, match="depth-rmse differs"):
        kept_units(results, with_fit(result, values={"depth-rmse": 0.56, "delta1": 0.7}))


@pytest.mark.parametrize("count", [0, 9, 11])
def test_other_test_images_are_refused(tmp_path: Path, count: int) -> None:
    results, result = written(tmp_path, hit_fit())
    path = tmp_path / "tests/cd.npz"
    if count:
        module.write_images(path, ScoredImages.labelled(CLASSES, np.arange(count) % 3))
    else:
        path.unlink()
    with pytest.raises(UserError, match=r"cd\.npz"):
        kept_units(results, result)


def test_a_result_that_names_other_places_reads_nothing_there(tmp_path: Path) -> None:
    results, result = written(tmp_path, hit_fit())
    for name in ("../cd", "/cd", ""):
        with pytest.raises(UserError, match="names no test set"):
            kept_units(results, replace(result, job={**result.job, "reads": {"images": name}}))


def test_results_of_earlier_versions_are_done_and_keep_nothing(tmp_path: Path) -> None:
    results, result = written(tmp_path, Fit("psp", None, 0, [("depth-rmse", 0.5)]), job=job_of("psp"))
    assert missing([job_of("psp")], results) == []
    assert kept_units(results, result) == []
    assert why_no_units(result).startswith("psp of net on pets keeps no values of single images")
    assert not (tmp_path / "tests").exists()


def a_run(folder: Path, backbone: str, fits: Sequence[Fit]) -> RunData:
    job = replace(job_of(), backbone=backbone)
    written(folder, *fits, job=job)
    write_run(
        folder, RunData("", (), [Domain("pets", "Pets", axis="tasks")], [Backbone(backbone, "")], backbone), [job.key]
    )
    return read_run(folder)


def test_a_merged_run_leads_to_the_results_of_its_parts(tmp_path: Path) -> None:
    first, second = a_run(tmp_path / "1", "net", [hit_fit()]), a_run(tmp_path / "2", "net", [hit_fit(~HITS)])
    moved = shutil.copytree(tmp_path / "1", tmp_path / "3")
    merged = merge_runs([("1", first), ("2", second), ("3", read_run(moved))])
    assert [*merged.folders] == [tmp_path / "1", tmp_path / "2", tmp_path / "3"]
    assert "folders" not in json.loads((tmp_path / "1/run.json").read_text())
    found = {}
    for score in merged.scores:
        place = result_behind(merged, score)
        assert place is not None
        [kept] = kept_units(*place)
        assert kept.scores == {"top1": score.value}
        found[score.value] = place[0]
    # The job is the same, but its hits are not.
    assert found == {HITS.mean(): tmp_path / "1" / RESULTS, (~HITS).mean(): tmp_path / "2" / RESULTS}
    assert result_behind(merged, replace(merged.scores[0], key="")) is None
    assert result_behind(merged, replace(merged.scores[0], key="0" * 32)) is None
