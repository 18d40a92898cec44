"""Compute the levels that ship with the package.

    python scripts/build_levels.py COUNTS

COUNTS is a CSV with the columns `wnid,images`: images per synset of the Fall 2011 release of ImageNet-21K.
"""

import sys
from pathlib import Path

from unseen.ontology.concept_sets import read_counts
from unseen.ontology.levels import build_levels
from unseen.ontology.recipes import RECIPES
from unseen.ontology.wordnet import DATA, wordnet

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    net = wordnet()
    universe, seen = net.members("imagenet-21k"), net.members("imagenet-1k")
    counts = read_counts(Path(sys.argv[1]), universe)
    for recipe in RECIPES.values():
        built = build_levels(recipe, net.taxonomy, universe, seen, counts=counts)
        built.levels.write(DATA / f"{recipe.name}.csv")
        print(f"{recipe.name}: {len(built.selection.eligible)} eligible, {len(built.levels.concepts)} in levels")
