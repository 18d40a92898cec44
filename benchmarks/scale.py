"""The cost of many backbones, computed from the rates in README.md: the tables of docs/scale.md.

    PYTHONPATH=benchmarks python benchmarks/scale.py             # prints the tables
    PYTHONPATH=benchmarks python benchmarks/scale.py --write     # and writes them to the page

Nothing is measured here. Rates are read from README.md, so that they cannot differ from it, and a test compares the
page with the output of this script.
"""

import argparse
import re
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from unseen.papers.comparability import published_domain

README = Path(__file__).with_name("README.md")
PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
BEGIN, END = "<!-- benchmarks/scale.py begins -->", "<!-- benchmarks/scale.py ends -->"
IMAGENET = 1_281_167 + 50_000
LEVELS = ("l1", "l2", "l3", "l4", "l5")
DIMENSION, ITEM = 2048, 2
IMAGE_BYTES = 110_000
"""Mean size of an ImageNet file: 138 GB for the 1.28 million of the training set."""
CORES = 16
"""Cores that decode for one GPU."""
SHARED = 8
"""Backbones that share one pass over the images: each is decoded once for all of them."""
SHARD, JOBS, DOMAINS = 10_000, 6 * 9 * 5, 6
BACKBONES, GPUS = (1, 31, 1000), (1, 8, 64)


@dataclass(frozen=True)
class Rates:
    """Measured rates: on one H200, and decoding on a core of another machine.

    Attributes:
        model: minutes for the 270 regressions of a backbone.
        decode: CPU seconds per image.
        forward: GPU seconds per image of a ResNet-50, taken as a third of a training step (forward and backward).
    """

    model: float
    decode: float
    forward: float


def rates() -> Rates:
    """Rates from README.md; of two runs, the slower."""
    text = README.read_text(encoding="utf-8")

    def numbers(pattern: str) -> list[float]:
        found = re.search(pattern, text)
        if not found:
            raise SystemExit(f"{README}: no text matches {pattern}")
        return [float(each) for each in found.groups()]

    return Rates(
        model=max(numbers(r"a model: 6 domains × 9 settings × 5 seeds \(scaled\) \| ([\d.]+) min \| ([\d.]+) min")),
        decode=numbers(r"same pixels as PIL's \|.*\| [\d.]+ \| ([\d.]+) \| [\d.]+× \|")[0] / 1000,
        forward=numbers(r"\| ResNet-50, 224 \| [\d.]+ \| ([\d.]+) \|")[0] / 1000 / 64 / 3,
    )


def images() -> int:
    """Number of training and test images of the six domains."""
    published = [published_domain("cog-v2", level) for level in LEVELS]
    return IMAGENET + sum(part.images for data in published if data for part in data.parts)


def size(count: float) -> str:
    if count >= 1e12:
        return f"{count / 1e12:.1f} TB"
    return f"{count / 1e9:.0f} GB" if count >= 1e10 else f"{count / 1e9:.1f} GB"


def hours(seconds: float) -> str:
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 86400:.1f} days" if seconds > 2 * 86400 else f"{seconds / 3600:.1f} h"


def extraction_seconds(backbones: int, gpus: int, rate: Rates) -> float:
    """Passes over all images, `SHARED` backbones each; the slower of decoding and computing counts."""
    seconds = 0.0
    for first in range(0, backbones, SHARED):
        together = min(SHARED, backbones - first)
        seconds += images() * max(rate.decode / CORES, rate.forward * together) / gpus
    return seconds


def probing_seconds(backbones: int, gpus: int, rate: Rates) -> float:
    """Groups of one backbone and domain, each on one GPU."""
    groups = ceil(backbones * DOMAINS / gpus)
    return groups * rate.model * 60 / DOMAINS


def in_all(backbones: int, gpus: int) -> str:
    return hours(extraction_seconds(backbones, gpus, rates()) + probing_seconds(backbones, gpus, rates()))


def tables() -> str:
    """The tables of the page."""
    rate, count = rates(), images()
    feature_bytes = count * DIMENSION * ITEM
    lines = ["| backbones | passes over the images | read from image files | features | shards | results |"]
    lines.append("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for number in BACKBONES:
        passes = ceil(number / SHARED)
        lines.append(
            f"| {number:,} | {passes} | {size(passes * count * IMAGE_BYTES)} | {size(number * feature_bytes)} "
            f"| {number * ceil(count / SHARD):,} | {number * JOBS:,} |"
        )
    lines += ["", "| backbones | GPUs | extraction | probing | total | GPU hours | images read per second | network |"]
    lines.append("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for number in BACKBONES:
        for gpus in GPUS:
            extracting, probing = extraction_seconds(number, gpus, rate), probing_seconds(number, gpus, rate)
            speed = ceil(number / SHARED) * count / extracting
            lines.append(
                f"| {number:,} | {gpus} | {hours(extracting)} | {hours(probing)} | {hours(extracting + probing)} "
                f"| {gpus * (extracting + probing) / 3600:,.0f} | {speed:,.0f} | {speed * IMAGE_BYTES / 1e9:.1f} GB/s |"
            )
    return "\n".join(lines)


def facts() -> dict[str, str]:
    """Further numbers in the text of the page."""
    rate, count = rates(), images()
    return {
        "images": f"{count:,}",
        "decode": f"{1000 * rate.decode:.2f} ms",
        "forward": f"{1e6 * rate.forward:.0f} µs",
        "model": f"{rate.model} min",
        "cores": f"{rate.decode / rate.forward:.0f} cores",
        "level": size(1_100_000 * DIMENSION * ITEM),
        "31": f"{in_all(31, 1)} on one GPU and {in_all(31, 64)} on 64",
        "1,000": f"{in_all(1000, 1)} and {in_all(1000, 64)}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/scale.md")
    made = tables()
    print(made, *(f"\n{name}: {value}" for name, value in facts().items()))
    if parser.parse_args().write:
        text = PAGE.read_text(encoding="utf-8")
        before, after = text.partition(BEGIN)[0], text.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n\n{made}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
