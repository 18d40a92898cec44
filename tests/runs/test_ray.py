"""Jobs on a Ray cluster: a head and two nodes on this machine, one of which is killed."""

import gc
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from tracked_runs import Notebook, tracked_run

from unseen.backbones.load import load_backbone
from unseen.data.core.folder import folder_images
from unseen.data.core.manifest import whole
from unseen.errors import UserError
from unseen.extras import MissingExtraError, naming_extras
from unseen.features.costs import COST
from unseen.features.extract import extract
from unseen.features.readers import read_features
from unseen.features.settings import Settings
from unseen.probes.by_name.logistic import Logistic
from unseen.probes.job import Job
from unseen.probes.protocol import LogisticProtocol
from unseen.runs import ray_cluster
from unseen.runs.execute import OneByOne, execute
from unseen.runs.executors import choose_executor
from unseen.runs.extraction import Pass, extract_passes
from unseen.runs.means import Means
from unseen.runs.ray_cluster import DIED, Examined, Node, connect, refusal, tell_errors_in_one_sentence
from unseen.runs.ray_local import is_loopback, listening, on_loopback, start_local
from unseen.runs.results import RESULTS, missing
from unseen.studies.probed_features import probed_features
from unseen.studies.probing import run

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own, on changes to come and on sockets
RAY = Means(2, executor="ray")
STORE = 80 * 2**20
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head that does no work and two nodes of one CPU each; everything they write is below one short path."""
    place = Path(tempfile.mkdtemp(prefix="r", dir="/tmp"))
    before = dict(os.environ)
    os.environ |= {"RAY_TMPDIR": str(place), "RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}
    import ray
    from ray import cloudpickle
    from ray.cluster_utils import Cluster

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # which nodes cannot import

    options = {"object_store_memory": STORE, "include_dashboard": False}
    with on_loopback():
        found = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **options})
        try:
            found.nodes = [found.add_node(num_cpus=1, object_store_memory=STORE) for _ in range(2)]
            os.environ["RAY_ADDRESS"] = found.address
            yield found
        finally:
            ray.shutdown()
            found.shutdown()
    os.environ.clear()
    os.environ |= before
    shutil.rmtree(place, ignore_errors=True)
    gc.collect()  # warnings of sockets that Ray leaves open belong here


def fail_at_three(job: Job) -> dict[str, Any]:
    if job.seed == 3:
        raise UserError("three is too many")
    return {"value": job.seed**2}


JOBS = [Job("square", 1, "b", "d", seed=number) for number in range(6)]
OWN = {"unseen": "1", "torch": "2", "source": "abc"}
NODE = Node("id", "10.0.0.7", 1, 0)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:1", "no Ray cluster answers"),
        ("nowhere", "host:port"),
        ("a:b", "host:port"),
        ("ray://a:1", "client"),
    ],
)
def test_a_cluster_that_cannot_be_reached(address: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        connect(address, 1)


@pytest.fixture
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Ray without a cluster, whatever else runs on this machine."""
    import ray

    start, place = ray.init, Path(tempfile.mkdtemp(prefix="r", dir="/tmp"))

    def init(address: str, **options: Any) -> None:
        if address == "auto":
            raise ConnectionError
        start(address, **options)

    monkeypatch.setattr(ray, "init", init)
    monkeypatch.setenv("RAY_TMPDIR", str(place))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    try:
        yield ray
    finally:
        ray.shutdown()
        shutil.rmtree(place, ignore_errors=True)
        gc.collect()


def test_other_machines_cannot_reach_a_cluster_that_is_started_here(no_cluster: Any) -> None:
    before = dict(os.environ)
    earlier = listening()
    connect("", 2)
    ports = listening() - earlier
    assert {"gcs_server", "raylet"} < {name for name, *_ in ports}
    assert len({name for name, *_ in ports}) >= 4  # this process and a worker too
    assert [port for port in ports if not is_loopback(port[1])] == []
    assert {name for name in os.environ if "CLUSTER" in name} == {name for name in before if "CLUSTER" in name}


def test_a_cluster_that_others_could_reach_is_stopped(no_cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped, sockets = [], iter([set(), {("raylet", "::ffff:127.0.0.1", 1), ("raylet", "::", 2)}])
    monkeypatch.setattr(no_cluster, "init", lambda **_: None)
    monkeypatch.setattr(no_cluster, "get", lambda _: 1)
    monkeypatch.setattr(no_cluster, "remote", lambda _: MagicMock())
    monkeypatch.setattr(no_cluster, "shutdown", lambda: stopped.append(True))
    monkeypatch.setattr("unseen.runs.ray_local.listening", lambda: next(sockets))
    with pytest.raises(UserError, match="raylet listens on :::2"):
        start_local()
    assert stopped == [True]


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.7", False),
        ("::ffff:10.0.0.7", False),
    ],
)
def test_loopback_addresses(host: str, local: bool) -> None:
    assert is_loopback(host) is local


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match="install .*ray"), naming_extras():
        connect("", 1)


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (Examined(NODE, answered=False), "does not answer"),
        (Examined(NODE), "does not have unseen"),
        (Examined(NODE, OWN | {"unseen": "0"}, True, True), "unseen 0, not 1"),
        (Examined(NODE, OWN | {"source": "b"}, True, True), "other source files"),
        (Examined(NODE, {"unseen": "1"}, True, True), "torch none, not 2"),
        (Examined(NODE, OWN), "does not see"),
        (Examined(NODE, OWN, reads=True), "does not see"),
        (Examined(NODE, OWN, True, True), ""),
    ],
)
def test_a_node_that_cannot_work_is_named(report: Examined, said: str) -> None:
    sentence = refusal([report], OWN, Path("/run"))
    assert said in sentence
    assert bool(sentence) == bool(said)
    assert not said or "10.0.0.7" in sentence


def test_an_error_is_reported_and_the_rest_goes_on(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="three is too many"):
        list(execute(JOBS, tmp_path, OneByOne(fail_at_three), choose_executor(RAY)))
    assert missing(JOBS, tmp_path) == [JOBS[3]]
    assert {path.suffix for path in tmp_path.iterdir()} == {".json"}  # what nodes wrote to be seen is gone


def test_shards_are_extracted_by_the_cluster(cluster: Any, tmp_path: Path) -> None:
    from PIL import Image

    (tmp_path / "images" / "class").mkdir(parents=True)
    for number in range(4):
        Image.effect_noise((28, 28), 99).convert("RGB").save(tmp_path / "images" / "class" / f"{number}.png")
    source, nets = folder_images(tmp_path / "images"), [load_backbone("demo:supervised")]
    manifest, settings = whole(source, "all"), Settings(workers=0, shard_rows=2)
    [[found]] = extract_passes(RAY, [Pass(source, manifest, "all", tmp_path / "ray")], nets, settings)
    [expected] = extract(source, manifest, "all", nets, tmp_path / "here", settings)
    assert sorted(path.name for path in found.iterdir()) == sorted(path.name for path in expected.iterdir())
    same = [path for path in found.iterdir() if path.name != COST]  # it has the speed that was measured
    assert all(path.read_bytes() == (expected / path.name).read_bytes() for path in same)


def blind(folder: str, nonce: str, name: str) -> tuple[dict[str, str], bool]:
    return ray_cluster.identity(), False


@pytest.mark.usefixtures("cluster")
def test_clusters_that_cannot_do_the_work_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(said: str) -> None:
        with pytest.raises(UserError, match=said):
            list(execute(JOBS, tmp_path, OneByOne(fail_at_three), choose_executor(RAY)))
        assert missing(JOBS, tmp_path) == JOBS

    with monkeypatch.context() as patch:
        patch.setattr(ray_cluster, "_examination", lambda: blind)
        refused("does not see the folder")
    with monkeypatch.context() as patch:
        patch.setattr(ray_cluster, "versions", lambda: {"unseen": "0.0"})
        refused("not 0.0 as this machine")
    with monkeypatch.context() as patch:
        patch.setattr("unseen.runs.executors.ray.on_gpu", lambda: True)
        refused("no node of the Ray cluster offers one")
    with pytest.raises(UserError, match="9 free CPUs"):
        list(execute(JOBS, tmp_path, OneByOne(fail_at_three), choose_executor(Means(9, threads=9, executor="ray"))))


def values(folder: Path, jobs: list[Job]) -> list[Any]:
    from unseen.runs.results import read_all

    return [(result.key, result.values) for result in read_all(folder / RESULTS, [job.key for job in jobs])]


def test_a_lost_node_loses_no_job_and_changes_no_score(cluster: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name, each in (("train", 20), ("test", 10)):
        y = np.arange(5).repeat(each)
        np.savez(tmp_path / f"{name}.npz", X=np.eye(5, 40)[y] + rng.standard_normal((len(y), 40)), y=y)
    places = {split: tmp_path / f"{split}.npz" for split in ("train", "test")}
    parts = {split: read_features(place) for split, place in places.items()}
    features = [probed_features("b", "d", parts, places)]
    protocol = LogisticProtocol(name="quick", epochs=4, trials=4, round_size=2, batch=64)
    jobs = [*Logistic(protocol).jobs(features[0], range(6), [1, 2, None])]
    done = 0
    for _ in run(jobs, features, tmp_path / "ray" / RESULTS, RAY):
        done += 1
        if done == 2:
            cluster.remove_node(cluster.nodes.pop(), allow_graceful=False)
    list(run(jobs, features, tmp_path / "here" / RESULTS, Means()))
    assert values(tmp_path / "ray", jobs) == values(tmp_path / "here", jobs)
    assert len(values(tmp_path / "ray", jobs)) == 18 >= done


@pytest.mark.long_suite
def test_the_documented_command_gives_the_scores_of_one_process(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unseen: Callable[..., Any]
) -> None:
    line = next(line for line in (DOCS / "clusters.md").read_text().splitlines() if line.endswith("--executor ray"))
    words = shlex.split(line.rpartition("unseen ")[2])
    rng = np.random.default_rng(0)
    (tmp_path / "own" / "pets").mkdir(parents=True)
    for name in ("train", "val", "test"):
        y = np.arange(5).repeat(10)
        np.savez(tmp_path / "own" / "pets" / f"{name}.npz", X=np.eye(5, 8)[y] + rng.standard_normal((50, 8)), y=y)
    monkeypatch.chdir(tmp_path)
    found = unseen(*words)
    assert found.code == 0, found.err
    assert "the Ray cluster" in found.err
    assert unseen(*words[: words.index("--out")], "--out", "one", "--workers", 1).code == 0
    assert Path("ray-run/scores.csv").read_text() == Path("one/scores.csv").read_text()


@pytest.mark.long_suite
def test_only_the_process_that_distributes_the_jobs_logs(cluster: Any, tmp_path: Path) -> None:
    class Unpicklable(Notebook):
        def __reduce__(self) -> Any:
            raise TypeError

    own = Unpicklable()
    run = tracked_run(tmp_path / "run", own, means=RAY)
    assert {(each.shots, each.seed, each.metric, each.value) for each in own.scores} == {
        (each.shots, each.seed, each.metric, each.value) for each in run.scores
    }
    assert len(own.scores) == len(run.scores) == 6


def test_errors_of_ray_are_one_sentence_each(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    worker = pytest.importorskip("ray._private.worker")
    monkeypatch.setattr(worker, "print_to_stdstream", print)
    tell_errors_in_one_sentence()
    for lines in (["Raylet is terminated.\n[state-dump] \x1b[33m" + "x" * 5000], ["The node died"], ["out of\nroom"]):
        worker.print_to_stdstream({"lines": lines, "pid": "raylet", "is_err": False}, ignore_prefix=False)
    assert [each.getMessage() for each in caplog.records if each.name == "unseen"] == [DIED, "Ray: out of room"]


@pytest.mark.long_suite
def test_the_death_of_the_node_of_the_driver_ends_no_command(cluster: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name in ("train", "test"):
        y = np.arange(4).repeat(20)
        np.savez(tmp_path / f"{name}.npz", X=np.eye(4, 8)[y] + rng.standard_normal((80, 8)), y=y)
    words = [
        "--probes",
        "logistic",
        "--seeds",
        "5",
        "--shots",
        "1,2,5,all",
        "--set",
        "logistic.protocol=cog-v2-short",
        "--workers",
        "1",
    ]
    command = [sys.executable, "-m", "unseen", "probe", tmp_path / "train.npz", tmp_path / "test.npz", *words]
    done = subprocess.run([*command, "--out", tmp_path / "here"], capture_output=True, check=True, text=True)
    driver = subprocess.Popen(
        [*command, "--executor", "ray", "--out", tmp_path / "ray"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    while driver.poll() is None and not list((tmp_path / "ray/results").glob("*.json")):
        time.sleep(0.02)
    for process in cluster.head_node.all_processes["raylet"]:
        os.kill(process.process.pid, signal.SIGKILL)
    out, err = driver.communicate(timeout=120)
    assert driver.returncode == 0, err
    assert (tmp_path / "ray/scores.csv").read_text() == (tmp_path / "here/scores.csv").read_text()
    assert len(out) < 2 * len(done.stdout)
    assert "state-dump" not in out + err
    assert err.count(DIED) <= 1
