"""A repository of a Hugging Face data set on disk: its Parquet files, by configuration and split.

Its README.md may say in its front matter which files are which (`configs`); otherwise splits are told by the names of
files and folders, as `data/train-00000-of-00005.parquet` or `validation/part.parquet`.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from unseen.data.core.links import refuse_links_out
from unseen.data.core.listing import list_folder
from unseen.data.core.rows import SPLIT_FOLDERS
from unseen.data.core.tars.archive import is_image
from unseen.data.sources.columns import holds_images
from unseen.data.sources.parquet_images import EXPECTED, PARQUET, ParquetImages, parquet_images
from unseen.errors import UserError, did_you_mean
from unseen.files import is_plain_name
from unseen.reading.guard import read_bounded, reading

README, DEFAULT = "README.md", "default"
MOST_README = 1 << 24
FRONT = re.compile(rb"\A(?:\xef\xbb\xbf)?---[ \t]*\r?\n(.*?\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
"""The front matter of a README, in YAML."""
WORDS = {word: split for split, words in SPLIT_FOLDERS.items() for word in words}
LETTERS = re.compile(r"[a-z]+")
ELSEWHERE = re.compile(r"^[a-z]+://")
Splits = dict[str, list[Path]]
"""The name of each split, as the repository has it, and its files in order."""


def repository_images(
    folder: Path,
    *,
    split: str | None = None,
    config: str | None = None,
    root: Path | None = None,
    image: str | None = None,
    label: str | None = None,
    captions: bool = False,
) -> ParquetImages:
    """Images and classes of a split of a repository.

    Args:
        split: the split to read, needed if there are several.
        config: the configuration to read, needed if there are several and none is the default.
        root: the folder of images that are stored beside the files; by default the repository.
        image, label, captions: see `parquet_images`.
    """
    splits = repository_splits(folder, config)
    if split is None and len(splits) > 1:
        raise UserError(f"{folder}: has the splits {', '.join(splits)}; choose one (split)")
    name = split or next(iter(splits))
    if name not in splits:
        name = next((each for each in splits if split_word(each) == split_word(name) is not None), name)
    if name not in splits:
        raise UserError(f"{folder}: no split '{name}'{did_you_mean(name, splits)}; available: {', '.join(splits)}")
    return parquet_images(splits[name], root=root or folder, image=image, label=label, captions=captions)


def split_word(name: str) -> str | None:
    """Whether the name of a split says that it is for "train", "val" or "test"; None if it says neither."""
    return WORDS.get(name.lower())


def is_repository(folder: Path) -> bool:
    """Whether a folder contains Parquet files of images where a repository has them, or a README that names some.

    Parquet files may also lie beside folders of images, as a list of labels does: a folder with a folder per class for
    training, validation or testing is none, unless its README says so, and a folder per class only one if the names of
    its Parquet files are those of splits.
    """
    inside = [entry for entry in list_folder(folder) if not entry.name.startswith(".")]
    files, splits = list[Path](), list[Path]()
    for entry in inside:
        if entry.is_dir() and (entry.name == "data" or split_word(entry.name)):
            splits += [Path(entry.path)] if split_word(entry.name) else []
            files += [Path(each.path) for each in list_folder(Path(entry.path))]
        else:
            files.append(Path(entry.path))
    found = [file for file in files if file.suffix.lower() == PARQUET]
    if found and _has_class_folders(folder):
        found = [file for file in found if _split_of(file.relative_to(folder))]
    if found and not any(map(_has_class_folders, splits)) and any(map(_may_hold_images, found)):
        return True
    return any(_has_parquet(folder, pattern) for each in _configs(folder).values() for pattern in _named(folder, each))


def _has_class_folders(folder: Path) -> bool:
    """Whether a folder contains two folders with images; a single one may have the images beside Parquet files."""
    below = (Path(entry.path) for entry in list_folder(folder) if entry.is_dir() and not entry.name.startswith("."))
    with_images = (each for each in below if any(is_image(entry.name) for entry in list_folder(each)))
    return len([*islice(with_images, 2)]) == 2


def _may_hold_images(file: Path) -> bool:
    """Whether a column of a Parquet file may hold images; so does a file that cannot be read, which opening it says."""
    from pyarrow import parquet

    with suppress(UserError), reading(file, EXPECTED):
        return any(holds_images(field.type) for field in parquet.read_schema(str(file)))
    return True


def has_all_splits(folder: Path) -> bool:
    """Whether a folder is a repository with a split for training and one for testing, of some configuration."""
    if not is_repository(folder):
        return False
    every: Sequence[str | None] = [*_configs(folder)] or [None]
    return any({"train", "test"} <= {split_word(name) for name in repository_splits(folder, each)} for each in every)


def _named(folder: Path, config: Mapping[str, Any]) -> list[str]:
    """The patterns of all files of a configuration."""
    files, below = config.get("data_files"), config.get("data_dir")
    if files is None:
        return [f"{below}/**/*{PARQUET}"] if isinstance(below, str) else []
    return [pattern for several in _patterns(folder, files).values() for pattern in several]


def _has_parquet(folder: Path, pattern: str) -> bool:
    """Whether a pattern of the README matches a Parquet file."""
    inside = not ELSEWHERE.match(pattern)
    return inside and any(file.suffix.lower() == PARQUET for file in folder.glob(str(_inside(folder, pattern))))


def repository_splits(folder: Path, config: str | None = None) -> Splits:
    """The files of each split of a configuration; at least one split."""
    configs = _configs(folder)
    if not configs:
        place = folder if config is None else folder / config
        if config is not None and not (is_plain_name(config) and place.is_dir()):
            raise UserError(f"{folder}: no configuration '{config}': neither its {README} nor a folder has this name")
        return _by_names(place)
    chosen = configs[_chosen(folder, configs, config)]
    files = chosen.get("data_files")
    if files is None:
        below = chosen.get("data_dir")
        return _by_names(_below(folder, below) if isinstance(below, str) else folder)
    splits = {split: _matching(folder, patterns) for split, patterns in _patterns(folder, files).items()}
    if not splits:
        raise UserError(f"{folder / README}: names no data files; list them in configs (data_files)")
    return splits


def _configs(folder: Path) -> dict[str, Mapping[str, Any]]:
    """Name → configuration, as the front matter of the README says; empty if it says nothing."""
    file = folder / README
    if not file.is_file():
        return {}
    import yaml

    with reading(file, "a README with front matter in YAML"):
        front = FRONT.match(read_bounded(file, MOST_README))
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        if front is None or b"configs" not in front[1]:
            return {}
        about = yaml.load(front[1], Loader=loader)  # noqa: S506 - a safe loader
    configs = about.get("configs") if isinstance(about, dict) else None
    if configs is None:
        return {}
    named = [each for each in configs if isinstance(each, dict)] if isinstance(configs, list) else []
    if not named or len(named) < len(configs):
        raise UserError(f"{file}: its configs are not a list of configurations with config_name and data_files")
    return {str(each.get("config_name", DEFAULT)): each for each in named}


def _chosen(folder: Path, configs: Mapping[str, Mapping[str, Any]], config: str | None) -> str:
    if config is not None:
        if config not in configs:
            hint = did_you_mean(config, configs) or f"; there are {', '.join(configs)}"
            raise UserError(f"{folder}: no configuration '{config}'{hint}")
        return config
    default = [name for name, each in configs.items() if each.get("default") is True]
    default = default or ([DEFAULT] if DEFAULT in configs else []) or ([*configs] if len(configs) == 1 else [])
    if len(default) != 1:
        raise UserError(f"{folder}: has the configurations {', '.join(configs)}; choose one (config, in a .toml file)")
    return default[0]


def _patterns(folder: Path, files: Any) -> dict[str, list[str]]:
    """Split → patterns of its files; files without a split are for training, as everywhere on the Hub."""
    if isinstance(files, list) and files and all(isinstance(each, dict) for each in files):
        pairs = [(each.get("split", "train"), each.get("path")) for each in files]
    else:
        pairs = [*files.items()] if isinstance(files, dict) else [("train", files)]
    patterns: dict[str, list[str]] = {}
    for split, paths in pairs:
        each = [paths] if isinstance(paths, str) else paths
        if not isinstance(each, list) or not each or not all(isinstance(path, str) for path in each):
            raise UserError(f"{folder / README}: the data_files of '{split}' are not paths or patterns")
        patterns.setdefault(str(split), []).extend(each)
    return patterns


def _matching(folder: Path, patterns: Sequence[str]) -> list[Path]:
    """The Parquet files that patterns name, sorted, each once."""
    found: dict[Path, None] = {}
    for pattern in patterns:
        if ELSEWHERE.match(pattern):
            raise UserError(f"{folder / README}: {pattern} is not in this folder; get it, and name it by its path")
        files = sorted(folder.glob(str(_inside(folder, pattern))))
        if not files:
            raise UserError(f"{folder}: no file {pattern}, which its {README} names; get the whole repository")
        refuse_links_out(folder, files)
        found |= dict.fromkeys(file for file in files if file.is_file())
    other = next((file for file in found if file.suffix.lower() != PARQUET), None)
    if other is not None or not found:
        raise UserError(f"{other or folder}: not a Parquet file; only these are read from a repository")
    return [*found]


def _inside(folder: Path, text: str) -> PurePosixPath:
    """A path or pattern of the README, which must not lead outside of the repository."""
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or not text.isprintable():
        raise UserError(f"{folder / README}: {text!a} is not below its folder")
    return path


def _below(folder: Path, text: str) -> Path:
    path = folder / _inside(folder, text)
    if not path.is_dir():
        raise UserError(f"{path}: no such folder, which {folder / README} names")
    return path


def _by_names(place: Path) -> Splits:
    """The splits of the Parquet files below a place, in the order training, validation, test."""
    files = [path for path in sorted(place.rglob(f"*{PARQUET}")) if not _is_hidden(path.relative_to(place))]
    if not files:
        raise UserError(f"{place}: contains no Parquet files")
    refuse_links_out(place, files)
    homes = dict.fromkeys(_home(file.relative_to(place)) for file in files)
    if len(homes) > 1:
        names = ", ".join(home or "." for home in homes)
        raise UserError(f"{place}: has Parquet files in several folders ({names}); choose one (config, in .toml)")
    found: Splits = {}
    for file in files:
        split = _split_of(file.relative_to(place))
        if split is None:
            raise UserError(
                f"{file}: its name does not say for which split it is; name the files in a .toml file ([train], [test])"
            )
        found.setdefault(split, []).append(file)
    return {split: found[split] for split in SPLIT_FOLDERS if split in found}


def _split_of(path: Path) -> str | None:
    """The split that the name of a file, or else of its folders, says."""
    words = (word for part in (path.stem, *reversed(path.parts[:-1])) for word in LETTERS.findall(part.lower()))
    return next((WORDS[word] for word in words if word in WORDS), None)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _home(path: Path) -> str:
    """The folder of a file, without folders that are named after splits, and without `data`."""
    return "/".join(part for part in path.parts[:-1] if part != "data" and not split_word(part))
