"""A Ray cluster on this machine that no other machine can reach.

Whoever reaches a port of a Ray cluster without token authentication can run code on it, and by default its processes
listen on all network interfaces.
"""

import ipaddress
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from unseen.errors import UserError, option

LOOPBACK_SWITCH = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Turned off, every process of a new cluster listens on the loopback address, as Ray does by itself on macOS."""


def start_local(**options: Any) -> None:
    """Start a cluster whose processes listen on the loopback address only, or refuse and stop it.

    Args:
        options: as of `ray.init`.
    """
    import ray

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    before = listening()
    with on_loopback():
        ray.init(address="local", **options)
    ray.get(ray.remote(lambda: None).options(num_cpus=0).remote())  # a worker listens too
    if open_to_others := sorted(address for address in listening() - before if not is_loopback(address[1])):
        ray.shutdown()
        name, host, port = open_to_others[0]
        raise UserError(
            f"Ray {ray.__version__} cannot start a cluster that only this machine reaches ({name} listens on "
            f"{host}:{port}); use Ray 2.60, start a cluster of your own (ray start --head), or leave out "
            f"{option('executor', 'ray')}"
        )


def listening() -> set[tuple[str, str, int]]:
    """Process name, address and port of every TCP port that this process and its descendants listen on."""
    import psutil  # a part of Ray, importable once Ray is

    here = psutil.Process()
    ports = set()
    for process in (here, *here.children(recursive=True)):
        connections = getattr(process, "net_connections", None) or process.connections  # its name before psutil 6
        try:
            listed = connections(kind="tcp")
            ports |= {(process.name(), *each.laddr) for each in listed if each.status == psutil.CONN_LISTEN}
        except psutil.NoSuchProcess:  # it has ended meanwhile
            continue
    return ports


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address, which may be an IPv4 address written as IPv6."""
    address = ipaddress.ip_address(host)
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


@contextmanager
def on_loopback() -> Iterator[None]:
    """While a cluster starts: Ray reads its switch when it is imported, and its processes when they start."""
    from ray._private import ray_constants

    known, given = getattr(ray_constants, "ENABLE_RAY_CLUSTER", None), os.environ.get(LOOPBACK_SWITCH)
    os.environ[LOOPBACK_SWITCH] = "0"
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = known
        if given is None:
            del os.environ[LOOPBACK_SWITCH]
        else:
            os.environ[LOOPBACK_SWITCH] = given
