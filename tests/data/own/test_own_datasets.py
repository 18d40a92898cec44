"""A user's own data sets of classification."""

import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from own_trees import CLASSES, bird_rows, write_birds, write_toml
from picture_files import jpeg, tar_of

from unseen.data.core.limit import limited
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.own.description import describe, is_own
from unseen.data.own.open_own import open_own, survey_own
from unseen.errors import UserError

BOTH = '[train]\nimages = "birds/train"\n[test]\nimages = "birds/test"\n'


def opened(place: Path) -> OpenDataset:
    return open_own(describe(place))


def refusal(place: Path) -> str:
    with pytest.raises(UserError) as error:
        opened(place)
    return str(error.value)


def shown(data: OpenDataset) -> list[tuple[str, str, str]]:
    rows = zip(data.manifest.entries, data.manifest.splits, strict=True)
    return [(entry.id, entry.label, split) for entry, split in rows]


def test_a_folder_without_validation_images_has_a_fifth_of_the_training_ones(tmp_path: Path) -> None:
    data = opened(write_birds(tmp_path / "birds"))
    assert Counter(data.manifest.splits) == {"train": 15, "val": 3, "test": 6}
    assert (data.dataset.name, data.dataset.classes, data.dataset.metric) == ("birds", 3, "top1")
    assert (data.dataset.validation, data.dataset.few_shot) == ("fifth", "other")
    assert data.classes == CLASSES
    assert data.source.read(0) == jpeg(0)
    assert shown(data) == shown(opened(tmp_path / "birds"))


@pytest.mark.parametrize("words", [("training", "validation", "testing"), ("train", "valid", "test")])
def test_folders_of_splits_by_other_names(tmp_path: Path, words: tuple[str, str, str]) -> None:
    root = write_birds(tmp_path / "birds", {"train": 3, "val": 2, "test": 1})
    for split, word in zip(("train", "val", "test"), words, strict=True):
        (root / split).rename(root / word)
    data = opened(root)
    assert Counter(data.manifest.splits) == {"train": 9, "val": 6, "test": 3}
    assert data.dataset.validation == "author"
    assert data.source.entries[0].id == "train/robin/train0.jpg"


def csv_table(root: Path) -> str:
    rows = "".join(f"{path},{label},{split}\n" for path, label, split in bird_rows())
    (root / "all.csv").write_text(f"file,kind,split\n{rows}")
    keys = 'image = "file"\nlabel = "kind"\nroot = "birds"\nimages = "all.csv"\n'
    return f'[train]\n{keys}split = "train"\n[test]\n{keys}split = "test"\n'


def parquet_tables(root: Path) -> str:
    for wanted in ("train", "test"):
        rows = [(path, CLASSES.index(label)) for path, label, split in bird_rows() if split == wanted]
        paths, labels = (list(column) for column in zip(*rows, strict=True))
        pq.write_table(pa.table({"path": paths, "label": labels}), root / f"{wanted}.parquet")
    classes = f"classes = {json.dumps(CLASSES)}\n"
    return classes + "".join(f'[{s}]\nimages = "{s}.parquet"\nroot = "birds"\n' for s in ("train", "test"))


def shards(root: Path) -> str:
    for wanted in ("train", "test"):
        files = dict[str, bytes]()
        for number, (path, label, split) in enumerate(bird_rows()):
            if split == wanted:
                files[f"{number:03d}.jpg"] = (root / "birds" / path).read_bytes()
                files[f"{number:03d}.cls"] = str(CLASSES.index(label)).encode()
        (root / f"{wanted}-0.tar").write_bytes(tar_of(files))
    (root / "names.txt").write_text("\n".join(CLASSES))
    return 'classes = "names.txt"\n[train]\nimages = "train-{0..0}.tar"\n[test]\nimages = "test-0.tar"\n'


def hugging_face(root: Path) -> str:
    names = {"_type": "ClassLabel", "names": list(CLASSES)}
    for wanted in ("train", "test"):
        rows = [(path, CLASSES.index(label)) for path, label, split in bird_rows() if split == wanted]
        folder = root / "hf" / wanted
        folder.mkdir(parents=True)
        images = [{"bytes": (root / "birds" / path).read_bytes(), "path": None} for path, _ in rows]
        table = pa.table({"image": images, "label": [label for _, label in rows]})
        with pa.OSFile(str(folder / "d.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "d.arrow"}]}))
        features = {"image": {"_type": "Image"}, "label": names}
        (folder / "dataset_info.json").write_text(json.dumps({"features": features}))
    (root / "hf/dataset_dict.json").write_text(json.dumps({"splits": ["train", "test"]}))
    return '[train]\nimages = "hf"\nsplit = "train"\n[test]\nimages = "hf"\nsplit = "test"\n'


@pytest.mark.parametrize("make", [csv_table, parquet_tables, shards, hugging_face])
def test_every_kind_of_place_gives_the_same_classes_and_images(tmp_path: Path, make: object) -> None:
    write_birds(tmp_path / "birds", by_split=False)
    tables = make(tmp_path)  # type: ignore[operator]
    data = opened(write_toml(tmp_path, f'name = "birds"\nmetric = "mean-per-class"\nlicence = "CC0"\n{tables}'))
    assert Counter(data.manifest.splits) == {"train": 15, "val": 3, "test": 6}
    assert (data.dataset.metric, data.dataset.licence) == ("mean-per-class", "CC0")
    assert Counter(entry.label for entry in data.manifest.entries) == dict.fromkeys(CLASSES, 8)
    labels = [entry.label for entry in data.source.entries]
    assert labels == [label for _, label, _ in bird_rows()]
    assert [data.source.read(number) for number in (0, 20)] == [jpeg(0), jpeg(20)]


def test_images_that_are_not_split_serve_episodes(tmp_path: Path) -> None:
    write_birds(tmp_path / "birds", by_split=False)
    data = opened(write_toml(tmp_path, 'name = "mine"\n[all]\nimages = "birds"\n'))
    assert {*data.manifest.splits} == {"all"}
    assert data.dataset.test is None
    drawn = write_toml(tmp_path, 'name = "mine"\ndraw_splits = true\n[all]\nimages = "birds"\n')
    data = opened(drawn)
    assert Counter(data.manifest.splits) == {"train": 16, "val": 4, "test": 4}
    assert (data.dataset.test, data.dataset.validation) == ("fifth", "fifth")
    tested = next(id_ for id_, label, split in shown(data) if (label, split) == ("wren", "test"))
    (tmp_path / "birds/wren/copy.jpg").write_bytes((tmp_path / "birds" / tested.removeprefix("all/")).read_bytes())
    assert "1 test image is in train too" in refusal(drawn)


def test_images_of_several_classes(tmp_path: Path) -> None:
    write_birds(tmp_path / "birds", {"train": 2, "val": 2, "test": 2})
    for split in ("train", "val", "test"):
        rows = [(path, label) for path, label, of in bird_rows({split: 2}) if of == split]
        text = "".join(f"{path},{label if path.endswith('0.jpg') else 'robin+wren'}\n" for path, label in rows)
        (tmp_path / f"birds/{split}/list.csv").write_text(text)
    tables = "".join(f'[{split}]\nimages = "birds/{split}/list.csv"\n' for split in ("train", "val", "test"))
    head = 'name = "mine"\nmetric = "map-11-point"\n'
    data = opened(write_toml(tmp_path, head + tables))
    assert (data.dataset.multi_label, data.dataset.few_shot, data.classes) == (True, None, CLASSES)
    without = tables.replace('[val]\nimages = "birds/val/list.csv"\n', "")
    assert "need given splits" in refusal(write_toml(tmp_path, head + without))
    wrong = write_toml(tmp_path, f'classes = ["robin", "tit", "owl"]\n{head}{tables}')
    assert "'wren' (" in refusal(wrong)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f'name = "birds"\n{BOTH}licens = "x"', r"\[test\]: unknown key 'licens'"),
        (f'name = "birds"\nlicense = "x"\n{BOTH}', "unknown key 'license'; did you mean licence"),
        (f'name = "birds"\nmetric = "top5"\n{BOTH}', "metric: must be one of top1, mean-per-class, map-11-point"),
        (f'name = "birds"\nmapping = "cifar-10"\n{BOTH}', "the key 'mapping' is for test sets"),
        (f"metric = 'top1'\n{BOTH}", "the key 'name' is missing"),
        ('name = "birds"\n[train]\nimages = "birds/train"\n', r"\[test\] is missing"),
        (f'name = "birds"\n{BOTH}[all]\nimages = "birds"\n', r"\[all\] is for unsplit images"),
        (f'name = "pets"\n{BOTH}', "'pets' is the name of another data set; choose another"),
        (f'name = "a/b"\n{BOTH}', "'a/b' cannot be the name"),
        (f'name = "birds"\nclasses = ["robin", "tit", "tit"]\n{BOTH}', "tit occurs twice"),
        (
            f'name = "birds"\nclasses = ["robin", "tit", "wrens"]\n{BOTH}',
            r"8 labels outside the list of classes: 'wren' \(8; did you mean wrens\)",
        ),
        (
            f'name = "birds"\nclasses = ["owl", "robin", "tit", "wren"]\n{BOTH}',
            "no training images of owl; no test images of owl",
        ),
        (BOTH.replace("birds/test", "tests").join(['name = "birds"\n', ""]), r"\[test\]: .*tests: no such file"),
        (f'name = "birds"\ntask = "detection"\n{BOTH}', r"\[train\]: the key 'annotations' is missing"),
        (f'name = "birds"\n{BOTH}annotations = "x"', r"\[test\]: the key 'annotations' is not used by"),
        (f'name = "birds"\n{BOTH}root = "birds"', r"\[test\]: .*has no option 'root'"),
    ],
)
def test_a_file_with_a_mistake_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    write_birds(tmp_path / "birds")
    with pytest.raises(UserError, match=reason):
        opened(write_toml(tmp_path, text))


def test_folders_that_are_no_data_sets(tmp_path: Path) -> None:
    root = write_birds(tmp_path / "birds", {"train": 5, "val": 2})
    assert "contains no folder test; to test on val, use a .toml file" in refusal(root)
    (root / "training").mkdir()
    assert "has train and training" in refusal(root)
    assert "contains neither train nor test" in refusal(root / "train")
    assert "no such file or folder" in refusal(tmp_path / "none")
    assert "is the name of another data set; rename the folder" in refusal(write_birds(tmp_path / "pets"))


def test_small_classes_and_empty_ones(tmp_path: Path) -> None:
    root = write_birds(tmp_path / "birds", {"train": 2, "test": 1})
    (root / "test/owl").mkdir()
    assert "no training images of owl; no test images of owl" in refusal(root)
    assert "remove the class from all splits" in refusal(root)
    (root / "test/owl").rmdir()
    assert "has 2 training images, too few to hold out a fifth" in refusal(root)


def test_missing_files_are_named_and_counted(tmp_path: Path) -> None:
    write_birds(tmp_path / "birds", by_split=False)
    place = write_toml(tmp_path, f'name = "birds"\n{csv_table(tmp_path)}')
    (tmp_path / "birds/robin/train0.jpg").unlink()
    (tmp_path / "birds/wren/test1.jpg").write_bytes(b"")
    found = survey_own(describe(place))
    files = [str(tmp_path / f"birds/{name}.jpg") for name in ("robin/train0", "wren/test1")]
    assert found.missing == files
    assert f"2 of 24 image files are missing or empty: {files[0]}" in found.problems[0]
    other = write_toml(tmp_path, f'name = "birds"\n{csv_table(tmp_path)}'.replace('root = "birds"', 'root = "."'))
    assert "check the folder that their paths are relative to (root)" in refusal(other)


def test_a_test_image_in_the_training_split_is_refused_unless_allowed(tmp_path: Path) -> None:
    root = write_birds(tmp_path / "birds")
    for name in ("test0", "test1"):
        (root / f"test/wren/{name}.jpg").write_bytes((root / "train/wren/train3.jpg").read_bytes())
    said = refusal(root)
    assert "2 test images are in train too: test/wren/test0.jpg is train/wren/train3.jpg" in said
    assert "allow_duplicates = true" in said
    place = write_toml(tmp_path, f'name = "birds"\nallow_duplicates = true\n{BOTH}')
    assert opened(place).dataset.shared == 2


def test_changed_labels_and_images_make_another_data_set(tmp_path: Path) -> None:
    root = write_birds(tmp_path / "birds")
    first, again = opened(root), opened(root)
    assert first.manifest.content_hash == again.manifest.content_hash == first.dataset.content
    (root / "train/wren/train2.jpg").write_bytes(jpeg(99))
    image = opened(root)
    (root / "train/wren/train2.jpg").rename(root / "train/robin/t2b.jpg")
    label = opened(root)
    hashes = {each.manifest.content_hash for each in (first, image, label)}
    assert len(hashes) == 3
    assert limited(image, 1).manifest.content_hash != limited(first, 1).manifest.content_hash


def test_words_that_are_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "birds").mkdir()
    (tmp_path / "pets").mkdir()
    own = [word for word in ("birds", "pets", "./pets", "no.toml", "cifar", tmp_path) if is_own(word)]
    assert own == ["birds", "./pets", "no.toml", tmp_path]
