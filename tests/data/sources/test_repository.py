"""Repositories of data sets on disk."""

from pathlib import Path

import pytest
from hub_trees import SEVERAL, write_pets, write_repository
from picture_files import jpeg

from unseen.data.sources.open_source import FOLDERS, REPOSITORY, kind_of, open_images
from unseen.data.sources.repository import repository_splits
from unseen.errors import UserError

CONFIGS = """---
configs:
- config_name: plain
  data_files:
  - split: train
    path: plain/train-*
  - split: test
    path: [plain/test-0.parquet, plain/test-1.parquet]
- config_name: other
  data_files: {train: other/a.parquet}
- config_name: single
  data_files: other/*.parquet
- config_name: below
  data_dir: below
---
# Pets
"""


def write_configs(root: Path) -> Path:
    for number, name in enumerate(["plain/train-0", "plain/test-0", "plain/test-1", "other/a", "below/val/x"]):
        write_pets(root / f"{name}.parquet", [0, 1], 10 * number)
    (root / "README.md").write_text(CONFIGS)
    return root


def names(root: Path, config: str | None = None) -> dict[str, list[str]]:
    splits = repository_splits(root, config)
    return {split: [str(file.relative_to(root)) for file in files] for split, files in splits.items()}


def refusal(root: Path, **options: str) -> str:
    with pytest.raises(UserError) as error:
        open_images(root, **options)  # type: ignore[arg-type]
    return str(error.value)


def test_splits_by_names_of_files(tmp_path: Path) -> None:
    root = write_repository(tmp_path / "pets")
    assert kind_of(root) is REPOSITORY
    assert names(root) == {
        "train": ["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet"],
        "test": ["data/test-00000-of-00001.parquet"],
    }
    source = open_images(root, split="train")
    assert [source.read(number) for number in (0, 6)] == [jpeg(0), jpeg(100)]
    assert "has the splits train, test" in refusal(root)
    assert "did you mean test" in refusal(root, split="tset")


@pytest.mark.parametrize(
    ("files", "splits"),
    [
        (("train/0.parquet", "validation/0.parquet"), {"train": 1, "val": 1}),
        (("train.parquet", "dev.parquet", "test.parquet"), {"train": 1, "val": 1, "test": 1}),
        (("data/pets_train.parquet", "data/pets-valid-1.parquet"), {"train": 1, "val": 1}),
    ],
)
def test_other_names(tmp_path: Path, files: tuple[str, ...], splits: dict[str, int]) -> None:
    for file in files:
        write_pets(tmp_path / file, [0, 1])
    assert kind_of(tmp_path) is REPOSITORY
    assert {name: len(found) for name, found in repository_splits(tmp_path).items()} == splits


def test_configurations(tmp_path: Path) -> None:
    root = write_configs(tmp_path / "pets")
    assert kind_of(root) is REPOSITORY
    assert "plain, other, single, below" in refusal(root)
    assert names(root, "plain") == {
        "train": ["plain/train-0.parquet"], "test": ["plain/test-0.parquet", "plain/test-1.parquet"],
    }  # fmt: skip
    assert names(root, "other") == names(root, "single") == {"train": ["other/a.parquet"]}
    assert names(root, "below") == {"val": ["below/val/x.parquet"]}
    assert "did you mean other" in refusal(root, config="othr")
    assert open_images(root, config="below").read(0) == jpeg(40)
    assert open_images(root, config="plain", split="test").read(3) == jpeg(21)
    (root / "README.md").write_text(CONFIGS.replace("name: other", "name: other\n  default: true"))
    assert names(root) == {"train": ["other/a.parquet"]}
    (root / "README.md").unlink()
    assert "in several folders" in refusal(root, split="train") or kind_of(root) is FOLDERS
    assert names(root, "plain") == {
        "train": ["plain/train-0.parquet"], "test": ["plain/test-0.parquet", "plain/test-1.parquet"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("front", "words"),
    [
        ("configs: 3", "not a list of configurations"),
        ("configs: [a, b]", "not a list of configurations"),
        ("configs: [{config_name: a, data_files: [{split: train, path: 3}]}]", "not paths or patterns"),
        ("configs: [{data_files: ../x.parquet}]", "is not below its folder"),
        ("configs: [{data_files: /etc/x.parquet}]", "is not below its folder"),
        ("configs: [{data_files: 'https://example.org/x.parquet'}]", "is not in this folder"),
        ("configs: [{data_files: data/absent-*}]", "no file data/absent-*"),
        ("configs: [{data_files: README.md}]", "not a Parquet file"),
        ("configs: [{data_dir: absent}]", "no such folder"),
        ("configs: [}", "damaged, or not a README"),
        ("configs: !!python/object/apply:os.getcwd []", "damaged, or not a README"),
    ],
)
def test_a_readme_that_cannot_be_used(tmp_path: Path, front: str, words: str) -> None:
    write_repository(tmp_path)
    (tmp_path / "README.md").write_text(f"---\n{front}\n---\n")
    assert words in refusal(tmp_path, split="train")


def test_other_folders_are_no_repositories(tmp_path: Path) -> None:
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat/0.jpg").write_bytes(jpeg(0))
    (tmp_path / "README.md").write_text("---\nconfigs: [{data_files: '*.csv'}]\n---\n")
    assert kind_of(tmp_path) is FOLDERS


def test_images_in_one_folder_beside_the_files_are_no_class(tmp_path: Path) -> None:
    (tmp_path / "train/images").mkdir(parents=True)
    (tmp_path / "train/images/0.jpg").write_bytes(jpeg(0))
    write_pets(tmp_path / "train/0.parquet", [0, 1])
    assert kind_of(tmp_path) is REPOSITORY


def test_names_that_say_nothing_of_splits(tmp_path: Path) -> None:
    write_pets(tmp_path / "data/0000.parquet", [0, 1])
    assert "does not say for which split" in refusal(tmp_path)


def test_several_classes(tmp_path: Path) -> None:
    write_pets(tmp_path / "train.parquet", [[0], [1, 2]], feature=SEVERAL)
    assert [entry.label for entry in open_images(tmp_path).entries] == ["sun", "rain+snow"]
