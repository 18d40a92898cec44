"""The identifier of a set of levels."""

import hashlib

from unseen.ontology.levels import Levels


def levels_hash(levels: Levels) -> str:
    """The beginning of SHA-256 over (level, concept): it depends only on which concepts are in which level."""
    rows = sorted((concept.level, concept.wnid) for concept in levels.concepts)
    return hashlib.sha256("".join(f"{level}\t{wnid}\n" for level, wnid in rows).encode()).hexdigest()[:16]
