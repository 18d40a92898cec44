"""Labelling captions: the tree of words, one regular expression of all names, and one expression per name.

    PYTHONPATH=benchmarks python benchmarks/captions.py [--captions 1000000] [--workers 2]

Captions are sequences of words from WordNet's glosses; a quarter of them contain a name of an ImageNet class. The
regular expressions only find names. They neither select the longest name nor handle names that several classes share.
"""

import argparse
import platform
import random
import re
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from unseen.data.captions.files import Columns
from unseen.data.captions.labelling import label_captions
from unseen.data.captions.matcher import CaptionMatcher, name_forms, read_names
from unseen.ontology.wordnet import wordnet

CHUNK = 50_000


@cache
def gloss_words() -> list[str]:
    return [word for gloss in wordnet().glosses for word in gloss.split()]


def make_captions(count: int, names: Sequence[str], seed: int) -> list[str]:
    """6 to 20 words of glosses each."""
    rng = random.Random(seed)
    words = gloss_words()
    captions = []
    for number in range(count):
        start = rng.randrange(len(words) - 20)
        caption = words[start : start + rng.randint(6, 20)]
        if number % 4 == 0:
            caption.insert(rng.randrange(len(caption)), rng.choice(names))
        captions.append(" ".join(caption))
    return captions


def write_parquet(path: Path, count: int, names: Sequence[str]) -> None:
    """A file of captions, made and written a chunk at a time."""
    schema = pa.schema({"key": pa.string(), "caption": pa.string()})
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, count, CHUNK):
            size = min(CHUNK, count - start)
            keys = [f"{start + i:09d}" for i in range(size)]
            writer.write_table(pa.table({"key": keys, "caption": make_captions(size, names, start)}, schema))


def rate(match: Callable[[str], object], captions: Sequence[str]) -> float:
    """Captions per second of one process."""
    start = time.perf_counter()
    for caption in captions:
        match(caption)
    return len(captions) / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--captions", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()

    names = read_names("imagenet-1k")
    flat = [name for several in names.values() for name in several]
    forms = sorted({r"[\W_]+".join(form) for name in flat for form in name_forms(name)}, key=len, reverse=True)
    print(f"{platform.machine()}, Python {platform.python_version()}, pyarrow {pa.__version__}, {len(flat)} names")

    sample = make_captions(4000, flat, 0)
    matcher = CaptionMatcher(names)
    together = re.compile(rf"(?<![^\W_])(?:{'|'.join(forms)})(?![^\W_])")
    apart = [re.compile(rf"(?<![^\W_]){form}(?![^\W_])") for form in forms]
    rates = {
        "tree of words": rate(lambda text: matcher.classes_in((text,)), sample * 5),
        "one regular expression": rate(lambda text: together.findall(text.lower()), sample[:200]),
        "one for each name": rate(lambda text: [found for found in apart if found.search(text.lower())], sample[:20]),
    }
    print("\n| one process | captions a second | ratio |\n| --- | ---: | ---: |")
    for name, found in rates.items():
        print(f"| {name} | {found:,.0f} | {rates['tree of words'] / found:.0f}× |")

    with tempfile.TemporaryDirectory() as folder:
        for count in (args.captions // 10, args.captions):
            path = Path(folder) / f"{count}.parquet"
            write_parquet(path, count, flat)
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as own:  # its peak memory is its own
                seconds, busy, peak = own.submit(label, path, args.workers).result()
            print(
                f"\n{count:,} captions of Parquet to a test set, {args.workers} processes: "
                f"{count / seconds * 60 / 1e6:.1f} million a minute, {count / busy * 60 / 1e6:.1f} million a minute of "
                f"one core's time; peak {peak[0]:.0f} MB where captions are read, {peak[1]:.0f} MB where matched"
            )


def label(path: Path, workers: int) -> tuple[float, float, tuple[float, float]]:
    """Seconds, seconds of all cores, and peak memory in MB of reading and of matching."""
    start = time.perf_counter()
    label_captions([path], Columns("key", "caption"), read_names("imagenet-1k"), workers=workers)
    here, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    busy = sum(used.ru_utime + used.ru_stime for used in (here, others))
    return time.perf_counter() - start, busy, (here.ru_maxrss / 1024, others.ru_maxrss / 1024)


if __name__ == "__main__":
    main()
