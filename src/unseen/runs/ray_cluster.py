"""Connection to a Ray cluster, and checks before any work that its nodes can do it.

Jobs read features from shared storage and write their results to it: Ray transports descriptions of jobs and their
outcome, but no data. So every node must see the folder of the run and have the same version of this package.
"""

import hashlib
import logging
import os
import socket
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unseen.errors import UserError, option
from unseen.runs.ray_local import start_local
from unseen.runs.results import versions
from unseen.text.plain import plain_text

SECONDS_TO_ANSWER = 120.0
"""Seconds that a node may take to start a process and look for the folder."""
SECONDS_TO_NOTICE = 60.0
"""Seconds that the head of a cluster may take to notice that a node has died."""
DIED = "a node of the Ray cluster has died; the others go on with its jobs, and finished ones are kept"
DEATH = ("terminated", "died", "dead")
"""Words of Ray's messages about a node that is gone."""
LONGEST = 200
"""Characters of any other message of Ray."""
STORE = 100 * 2**20
"""Bytes of the object store of a local cluster, which contains only descriptions of jobs."""


@dataclass(frozen=True)
class Node:
    """A node of the cluster that can run jobs."""

    id: str
    address: str
    cpus: int
    gpus: int


@dataclass(frozen=True)
class Examined:
    """The examination of a node.

    Attributes:
        versions: as `identity`; empty if this package is missing.
        reads, writes: whether the node sees the folder of the run, and whether this machine sees what it writes there.
        answered: whether the node answered at all.
    """

    node: Node
    versions: dict[str, str] = field(default_factory=dict)
    reads: bool = False
    writes: bool = False
    answered: bool = True


def identity() -> dict[str, str]:
    """Versions of this package and of the packages that numbers depend on, and a hash of this package's source."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package).as_posix()}\n".encode())
        digest.update(path.read_bytes())
    return versions() | {"source": digest.hexdigest()[:16]}


def connect(address: str, cpus: int) -> None:
    """Connect this process to a cluster for the rest of its life, unless it is already connected.

    Args:
        address: address of the cluster; empty for that of RAY_ADDRESS, the one running on this machine, or else a new
            local cluster.
        cpus: number of CPUs of a new local cluster.
    """
    import ray

    if ray.is_initialized():
        return
    given = address or os.environ.get("RAY_ADDRESS", "")
    if given.startswith("ray://"):
        raise UserError(f"{given}: the Ray client is not supported; run the command on a node of the cluster")
    if given and given != "auto":
        _refuse_unreachable(given)
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray warns about its own future changes
        try:
            ray.init(address=given or "auto", **options)
        except ConnectionError as error:
            if given:
                raise UserError(_unreachable(given, str(error).partition("\n")[0])) from None
            start_local(num_cpus=cpus, object_store_memory=STORE, include_dashboard=False, **options)
        except (RuntimeError, ValueError) as error:  # another version of Ray or Python, an invalid address
            raise UserError(f"Ray cluster {given}: {' '.join(str(error).split())}") from None
    tell_errors_in_one_sentence()


def tell_errors_in_one_sentence() -> None:
    """Say once that a node has died, instead of the log of its processes, which Ray prints into our output."""
    from ray._private import worker

    said = set[str]()

    def tell(batch: Mapping[str, Any], **_: Any) -> None:
        text = " ".join(" ".join(map(str, batch.get("lines", ()))).split())
        sentence = DIED if any(word in text for word in DEATH) else f"Ray: {plain_text(text)[:LONGEST]}"
        if sentence not in said:
            said.add(sentence)
            logging.getLogger("unseen").warning(sentence)

    if hasattr(worker, "print_to_stdstream"):  # private, and the only place that these messages pass
        worker.print_to_stdstream = tell


def _refuse_unreachable(address: str) -> None:
    """Report at once that no cluster answers, which takes Ray a minute."""
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        ray = option("executor", f"ray:{address}")
        raise UserError(f"{ray}: the address must be host:port, for instance ray:10.0.0.1:6379")
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except OSError as error:
        raise UserError(_unreachable(address, error.strerror or str(error))) from None


def _unreachable(address: str, reason: str) -> str:
    return f"{address}: no Ray cluster answers there ({reason}); start it (ray start --head), or give another address"


def useful_nodes(*, gpu: bool, threads: int) -> list[Node]:
    """The nodes that have a GPU, or enough free CPUs for a job; no such node is an error."""
    import ray

    alive = [node for node in ray.nodes() if node["Alive"]]
    nodes = [
        Node(
            node["NodeID"],
            node["NodeManagerAddress"],
            int(node["Resources"].get("CPU", 0)),
            int(node["Resources"].get("GPU", 0)),
        )
        for node in alive
    ]
    if gpu and not any(node.gpus for node in nodes):
        raise UserError(
            "the jobs are planned for a GPU because this machine has one, but no node of the Ray cluster offers one; "
            "start nodes with GPUs, or hide the GPU here (CUDA_VISIBLE_DEVICES=)"
        )
    useful = [node for node in nodes if (node.gpus if gpu else node.cpus >= threads)]
    if not useful:
        raise UserError(
            f"no node of the Ray cluster has {threads} free CPUs for a job; request fewer ({option('workers')})"
        )
    return useful


def checked_nodes(nodes: Sequence[Node], folder: Path) -> list[Node]:
    """Refuse a cluster with a node that lacks this package, has another version of it, or does not see the folder.

    Nodes that have died in the meantime are dropped.
    """
    place = folder.resolve()
    place.mkdir(parents=True, exist_ok=True)
    nonce = f".ray-{uuid.uuid4().hex}"
    (place / nonce).write_text(nonce)
    try:
        reports = _examine(nodes, place, nonce)
    finally:
        for path in place.glob(f"{nonce}*"):
            path.unlink(missing_ok=True)
    died = _died([report.node for report in reports if not report.answered])
    alive = [report for report in reports if report.node not in died]
    if wrong := refusal(alive, identity(), place):
        raise UserError(wrong)
    return [report.node for report in alive]


def _died(silent: Sequence[Node]) -> list[Node]:
    """The nodes without an answer that the cluster considers dead, which it may take a while to notice."""
    import ray

    died: list[Node] = []
    until = time.monotonic() + SECONDS_TO_NOTICE
    while silent and time.monotonic() < until:
        alive = {node["NodeID"] for node in ray.nodes() if node["Alive"]}
        died += [node for node in silent if node.id not in alive]
        silent = [node for node in silent if node.id in alive]
        if silent:
            time.sleep(1)
    return died


def refusal(reports: Iterable[Examined], own: dict[str, str], folder: Path) -> str:
    """The error message for the first node that cannot run jobs of this machine; empty if all can."""
    for report in reports:
        where = f"node {report.node.address} of the Ray cluster"
        if not report.answered:
            return f"{where} does not answer; check it (ray status), or remove it from the cluster"
        if not report.versions:
            return f"{where} does not have unseen; install the same versions of unseen and Ray on every node"
        for name, version in own.items():
            if (there := report.versions.get(name, "none")) != version:
                what = "other source files of unseen than" if name == "source" else f"{name} {there}, not {version} as"
                return f"{where} has {what} this machine; install the same version on every node"
        if not (report.reads and report.writes):
            return f"{where} does not see the folder {folder} of this machine; use a folder that all nodes share"
    return ""


def _examine(nodes: Sequence[Node], folder: Path, nonce: str) -> list[Examined]:
    import ray
    from ray.exceptions import RayError
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    task = ray.remote(_examination())
    asked = {
        node: task.options(
            num_cpus=0, max_retries=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False)
        ).remote(str(folder), nonce, node.id)
        for node in nodes
    }
    ray.wait(list(asked.values()), num_returns=len(asked), timeout=SECONDS_TO_ANSWER)
    reports = []
    for node, answer in asked.items():
        try:
            found, reads = ray.get(answer, timeout=0)
        except RayError:  # includes timeouts
            reports.append(Examined(node, answered=False))
            continue
        reports.append(Examined(node, found, reads, (folder / f"{nonce}-{node.id}").is_file()))
    return reports


def _examination() -> Callable[[str, str, str], tuple[dict[str, str], bool]]:
    """The function that examines a node. An inner function is sent as code, so it runs without this package."""

    def examine(folder: str, nonce: str, name: str) -> tuple[dict[str, str], bool]:
        from importlib import import_module
        from pathlib import Path

        try:
            found = import_module("unseen.runs.ray_cluster").identity()
        except ImportError:
            found = {}
        place = Path(folder)
        try:
            reads = (place / nonce).read_text() == nonce
            if reads:
                (place / f"{nonce}-{name}").write_text(nonce)
        except OSError:
            reads = False
        return found, reads

    return examine
