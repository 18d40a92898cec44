"""Record what tiny runs of every kind of study give, and compare two recordings to the bit.

    python scripts/golden.py record before
    PYTHONPATH=/another/checkout/src python scripts/golden.py record after --workers 2
    python scripts/golden.py compare before after

A recording is one JSON file per kind: scores, as hexadecimal floats; how they were obtained (trials, losses, hits);
folders and keys of stored features and hashes of their bytes; hashes of other arrays; numbers of parts and jobs in the
plans; the words of the pages; and whether a second run wrote nothing, two parts gave the whole, and a run that was
killed after its first result and resumed gave the same. Commands run with one thread and without a GPU. Numbers are
equal to the bit only on the same kind of processor with the same versions of PyTorch and NumPy.

`compare` shows the first differences, and fails if scores or stored features differ or a check failed. Only
`golden_runs/surface.py` knows the commands and files of the package.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path

from golden_runs.compare import ALWAYS, SECTIONS, differences
from golden_runs.kinds import KINDS
from golden_runs.process import ALONE, UNSET

SHOWN = 5
"""Differences that are shown of each section."""
MACHINE = "machine.txt"
PACKAGES = ("torch", "torchvision", "numpy", "timm", "open_clip_torch", "optuna", "pillow")


def main() -> None:
    """Parse the command line and carry it out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    record = commands.add_parser("record", help="run every kind and write its recording")
    record.add_argument("folder", type=Path, help="folder of the recording")
    record.add_argument("--workers", type=int, default=1, help="processes of each command (default: 1)")
    record.add_argument("--keep", type=Path, help="keep data and runs in this folder")
    compare = commands.add_parser("compare", help="compare two recordings; the exit code is 1 if they differ")
    compare.add_argument("first", type=Path)
    compare.add_argument("second", type=Path)
    for name in ("details", "arrays", "plans", "pages"):
        compare.add_argument(f"--{name}", action="store_true", help=f"fail for different {name}, too")
    for each in (record, compare):
        each.add_argument("--only", action="append", choices=KINDS, metavar="KIND", help=f"of: {', '.join(KINDS)}")
    asked = parser.parse_args()
    if asked.command == "record":
        record_kinds(asked.folder, asked.only or list(KINDS), asked.workers, asked.keep)
    else:
        also = [name for name in ("details", "arrays", "plans") if vars(asked)[name]] + ["page"] * asked.pages
        sys.exit(compare_recordings(asked.first, asked.second, asked.only or list(KINDS), [*ALWAYS, *also]))


def record_kinds(folder: Path, kinds: Sequence[str], workers: int, keep: Path | None = None) -> None:
    """Write the recordings of some kinds into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.update(ALONE)  # before PyTorch is imported
    for name in UNSET:
        os.environ.pop(name, None)
    from golden_runs import surface
    from golden_runs.record import Recorder

    surface.warm()
    (folder / MACHINE).write_text(machine())
    for name in kinds:
        begun = time.monotonic()
        with nullcontext(keep / name) if keep else tempfile.TemporaryDirectory() as work:
            os.environ.update({"XDG_CACHE_HOME": f"{work}/cache", "TORCH_HOME": f"{work}/hub"})
            found = Recorder(KINDS[name](), Path(work).absolute(), workers).record()
        (folder / f"{name}.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        used, took = sum(found["seconds"].values()), time.monotonic() - begun
        failed = [check for check, passed in found["checks"].items() if passed is not True]
        print(
            f"{name}: {len(found['scores'])} scores, {used:.0f} s of processor time, {took:.0f} s in all"
            f"{'; not so: ' + ', '.join(failed) if failed else ''}",
            flush=True,
        )


def machine() -> str:
    """What the last bits of a number depend on: the processor and the versions of packages."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.is_file() else []
    processor = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.processor())
    return "".join(f"{line}\n" for line in (processor, *(f"{name} {version(name)}" for name in PACKAGES)))


def compare_recordings(first: Path, second: Path, kinds: Sequence[str], failing: Sequence[str]) -> int:
    """Print differences between two recordings; 1 if there are any in the sections that must not differ."""
    code = 0
    if len({(folder / MACHINE).read_text() for folder in (first, second)}) > 1:
        print(f"recorded on other machines or with other packages, where last bits may differ: see {MACHINE} in each")
    for name in kinds:
        files = [folder / f"{name}.json" for folder in (first, second)]
        lacking = [str(file) for file in files if not file.is_file()]
        if lacking:
            print(f"{name}: no {' and no '.join(lacking)}")
            code = 1
            continue
        found = differences(*(json.loads(file.read_text()) for file in files))
        for section in SECTIONS:
            lines = found[section]
            if lines:
                code = code or int(section in failing)
                word = "FAILS" if section in failing else "differs"
                print(f"{name}, {section}: {word} in {len(lines)} lines")
                print("".join(f"    {line}\n" for line in lines[:SHOWN]), end="")
        if not any(found.values()):
            print(f"{name}: equal")
    return code


if __name__ == "__main__":
    main()
