"""A training with a monitor in several processes, for torchrun: `trained_in_processes.py DATA OUT SHARE`."""

import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from small_training import SIDE, small, study_of
from torch import nn

import unseen


def main(data: Path, out: Path, share: bool) -> None:
    """Train with and without the monitor, and write what this process has: weights that are the same, and scores."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    weights = []
    for monitored in (False, True):
        network = nn.parallel.DistributedDataParallel(small())
        monitor = unseen.Monitor(
            study_of(data, "knn", "ridge", batch=7), every=2, out=out, transform=SIDE, features="encoder", share=share
        )
        torch.manual_seed(rank)
        optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
        steps = []
        for step in range(5):
            loss = nn.functional.cross_entropy(network(torch.randn(4, 3, SIDE, SIDE)), torch.randint(3, (4,)))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            if monitored and (check := monitor(step, network)) is not None:
                steps.append([step, check.means, [each.failed for each in check.failures]])
        weights.append(torch.cat([each.detach().flatten().double() for each in network.state_dict().values()]))
    best = monitor.best()
    record = {
        "same": torch.equal(*weights), "steps": steps, "best": None if best is None else best.step,
        "weights": {name: value.tolist() for name, value in network.module.state_dict().items()},
    }  # fmt: skip
    (out.parent / f"rank{rank}.json").write_text(json.dumps(record))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    assert "RANK" in os.environ
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "share")
