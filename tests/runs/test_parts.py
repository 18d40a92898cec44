"""Parts of a job array: disjoint, complete, fair, and the same whoever computes them."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from unseen.errors import UserError
from unseen.runs.parts import own_jobs, parse_part


@dataclass(frozen=True)
class Job:
    backbone: str
    dataset: str
    cost: float
    seed: int = 0


def cost(job: Job) -> float:
    return job.cost


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 40])
def test_every_job_is_in_one_part_and_parts_are_fair(parts: int) -> None:
    draw = Random(parts)
    jobs = [Job(f"b{b}", f"l{d}", draw.uniform(1, 9), seed) for b in range(3) for d in range(4) for seed in range(2)]
    found = [own_jobs(jobs, (number, parts), cost) for number in range(1, parts + 1)]
    assert sorted(repr(job) for part in found for job in part) == sorted(map(repr, jobs))
    assert found == [own_jobs(list(jobs), (number, parts), cost) for number in range(1, parts + 1)]
    loads = [sum(map(cost, part)) for part in found]
    assert max(loads) <= sum(loads) / parts + max(map(cost, jobs)) * 2


def test_jobs_that_share_features_stay_together_where_there_are_enough_of_them() -> None:
    jobs = [Job("b", f"l{d}", 1.0, seed) for d in range(4) for seed in range(5)]
    assert {len({job.dataset for job in own_jobs(jobs, (n, 4))}) for n in range(1, 5)} == {1}
    assert {len(own_jobs(jobs, (n, 8))) for n in range(1, 9)} <= {2, 3}  # fewer data sets than parts: cut
    by_seed = own_jobs(jobs, (1, 5), shared=lambda job: job.seed)
    assert len({job.seed for job in by_seed}) == 1


def test_what_is_not_a_part_is_refused() -> None:
    assert parse_part("2/4") == (2, 4)
    for text in ("0/4", "5/4", "²/2", "2", "a/b", "1/0", "-1/2", " 1/2", "1/2\n", "9" * 5000 + "/1", ""):
        with pytest.raises(UserError, match="part"):
            parse_part(text)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_task_of_the_documented_array_does_its_part_when_it_is_submitted_again(tmp_path: Path) -> None:
    """The script of the page, with a command in the place of ours that prints what it is given."""
    page = (Path(__file__).parents[2] / "docs" / "clusters.md").read_text()
    [script] = [block for block in re.findall(r"^```bash\n(.*?)^```$", page, re.DOTALL | re.M) if "--array" in block]
    (tmp_path / "unseen").write_text('#!/bin/bash\nprintf "%s\\n" "$@"\n')
    (tmp_path / "unseen").chmod(0o755)
    again = {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "1", "SLURM_ARRAY_TASK_MAX": "3"}
    environment = os.environ | again | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-eu"], input=script, env=environment, capture_output=True, text=True, check=True)
    words = done.stdout.splitlines()
    parts = re.findall(r"#SBATCH --array=1-(\d+)$", script, re.M)
    assert parse_part(words[words.index("--part") + 1]) == (3, int(parts[0]))
