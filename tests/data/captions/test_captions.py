"""Test sets from captions in files of every kind, against a plain loop over all rows."""

import csv
import gzip
import hashlib
from collections import defaultdict
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unseen.data.captions.files import Columns, caption_files, read_captions
from unseen.data.captions.labelling import label_captions
from unseen.data.captions.rule import CaptionRule
from unseen.errors import UserError

NAMES = {"c": ("cat",), "d": ("dog", "hound"), "f": ("red fox",), "x": ("unicorn",)}
RULE = CaptionRule(least=6, held_out=4, seed=3)
COLUMNS = Columns("key", "caption")
FORMS = {
    "c": {("cat",), ("cats",)},
    "d": {("dog",), ("dogs",), ("hound",), ("hounds",)},
    "f": {("red", "fox"), ("red", "foxes")},
}


@pytest.fixture(scope="module")
def rows() -> list[tuple[str, str]]:
    rng = np.random.default_rng(0)
    words = ["cat", "dogs", "hound", "red fox", "a", "on", "the", "mat", "CAT!", "foxes", '"quoted']
    return [(f"img{i:05d}", " ".join(rng.choice(words, rng.integers(1, 6)))) for i in range(3000)]


def plain_test_set(rows: list[tuple[str, str]], rule: CaptionRule = RULE) -> tuple[dict[str, list[str]], int, int]:
    """Class → ids held out, and how many captions name one class and several: by equal runs of words."""
    ids, several = defaultdict(list), 0
    for key, text in rows:
        tokens = text.lower().replace("!", "").replace('"', "").split()
        runs = {tuple(tokens[i : i + length]) for length in (1, 2) for i in range(len(tokens))}
        found = [cls for cls, forms in FORMS.items() if runs & forms]
        if len(found) == 1:
            ids[found[0]].append(key)
        several += len(found) > 1
    held = {
        cls: sorted(keys, key=lambda key: hashlib.sha256(f"{rule.seed}/{cls}/{key}".encode()).hexdigest())[
            : rule.held_out
        ]
        for cls, keys in ids.items()
        if len(keys) >= rule.least
    }
    return held, sum(map(len, ids.values())), several


def as_parquet(path: Path, rows: list[tuple[str, str]]) -> Path:
    table = pa.table({"caption": [text for _, text in rows], "url": [""] * len(rows), "key": [key for key, _ in rows]})
    pq.write_table(table, path, row_group_size=700)
    return path


def as_tsv(path: Path, rows: list[tuple[str, str]], header: str = "key\turl\tcaption\n") -> Path:
    text = header + "".join(f"{key}\thttp://x\t{caption}\n" for key, caption in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("kind", ["parquet", "tsv", "tsv.gz", "csv"])
def test_every_kind_of_file_gives_the_test_set_of_a_plain_loop(
    tmp_path: Path, rows: list[tuple[str, str]], kind: str
) -> None:
    path = tmp_path / f"captions.{kind}"
    if kind == "parquet":
        as_parquet(path, rows)
    elif kind == "csv":
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([("key", "caption"), *rows])
    else:
        as_tsv(path, rows)
    found = label_captions([path], COLUMNS, NAMES, RULE)
    held, one, several = plain_test_set(rows)
    assert len(held) == 3
    assert {cls: [image for _, image, _ in images] for cls, images in found.test.items()} == held
    assert found.tally.captions == 3000
    assert (found.tally.matched[1], found.tally.matched[2]) == (one, several)
    assert found.ambiguous_share == pytest.approx(several / (one + several))


def test_order_files_and_processes_do_not_matter(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    (tmp_path / "parts").mkdir()
    backwards = rows[::-1]
    for part in range(3):
        as_parquet(tmp_path / "parts" / f"{part}.parquet", backwards[part::3])
    whole = label_captions([as_tsv(tmp_path / "all.tsv", rows)], COLUMNS, NAMES, RULE)
    parts = label_captions(caption_files([tmp_path / "parts"]), COLUMNS, NAMES, RULE, workers=2)
    assert parts.test == whole.test
    assert parts.tally == whole.tally


def test_files_for_the_test_set_and_for_removal(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    found = label_captions([as_parquet(tmp_path / "a.parquet", rows)], COLUMNS, NAMES, RULE)
    found.write(tmp_path / "out")
    held, _, _ = plain_test_set(rows)
    with (tmp_path / "out" / "test.csv").open(newline="") as file:
        test = list(csv.DictReader(file))
    assert {row["id"]: row["class"] for row in test} == {key: cls for cls, keys in held.items() for key in keys}
    captions = dict(rows)
    assert all(row["caption"] == captions[row["id"]] for row in test)
    assert (tmp_path / "out" / "remove.csv").read_text().split() == ["id", *sorted(chain(*held.values()))]
    with (tmp_path / "out" / "coverage.csv").open(newline="") as file:
        coverage = {row["class"]: row for row in csv.DictReader(file)}
    assert coverage["x"] == {
        "class": "x", "name": "unicorn", "captions_labelled": "0", "captions_ambiguous": "0", "held_out": "0",
    }  # fmt: skip
    assert coverage["d"]["held_out"] == "4"


def test_a_class_with_too_few_images_has_none_held_out(tmp_path: Path) -> None:
    rows = [(f"i{n}", "cat") for n in range(6)] + [(f"j{n}", "dog") for n in range(5)]
    found = label_captions([as_parquet(tmp_path / "a.parquet", rows)], COLUMNS, NAMES, RULE)
    assert list(found.test) == ["c"]
    assert found.tally.labelled == {0: 6, 1: 5}


def test_an_image_that_is_there_twice_counts_and_is_held_out_once(tmp_path: Path) -> None:
    rows = [(f"i{n % 5}", "cat") for n in range(20)]
    path = as_parquet(tmp_path / "a.parquet", rows)
    assert label_captions([path], COLUMNS, NAMES, RULE).test == {}  # 20 captions, but 5 images where 6 are needed
    found = label_captions([path], COLUMNS, NAMES, CaptionRule(least=5, held_out=4))
    assert len({image for _, image, _ in found.test["c"]}) == 4


@pytest.mark.parametrize(("least", "held"), [(1, "id,class,caption\n2,g,a goldfish\n"), (2, "id,class,caption\n")])
def test_an_image_of_two_classes_is_of_none(tmp_path: Path, least: int, held: str) -> None:
    rows = [("1", "a tench"), ("1", "a tench"), ("1", "a goldfish"), ("2", "a goldfish")]
    names = {"t": ("tench",), "g": ("goldfish",)}
    rule = CaptionRule(least=least, held_out=1)
    label_captions([as_tsv(tmp_path / "a.tsv", rows)], COLUMNS, names, rule).write(tmp_path)
    assert (tmp_path / "test.csv").read_text() == held
    counts = (tmp_path / "coverage.csv").read_text().splitlines()
    assert counts[0] == "class,name,captions_labelled,captions_ambiguous,held_out"
    assert counts[1:] == ["t,tench,2,0,0", f"g,goldfish,2,0,{2 - least}"]


def test_tags_as_yfcc_has_them_in_a_file_without_header(tmp_path: Path) -> None:
    lines = ["7\tuser\tgolden+age,red+fox", "8\tuser\tred,fox", "9\tuser\t", "10\tuser\tcat%2C+asleep,sofa"]
    path = tmp_path / "yfcc.tsv"
    path.write_text("\n".join(lines) + "\n")
    rule = CaptionRule(tags=True, least=1, held_out=1)
    found = label_captions([path], Columns("1", "3"), NAMES, rule)
    assert {cls: images[0][1] for cls, images in found.test.items()} == {"f": "7", "c": "10"}
    assert found.tally.captions == 4


def test_damaged_rows_are_counted_and_empty_captions_are_captions(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text('key\tcaption\n1\ta "cat\n2\n3\tdog\textra\n4\t\n5\thound\n')
    batches = list(read_captions(path, COLUMNS))
    assert [text for batch in batches for text in batch.texts] == ['a "cat', "", "hound"]
    assert sum(batch.damaged for batch in batches) == 2


@pytest.mark.parametrize("kind", ["tsv", "parquet"])
def test_bytes_that_are_not_text_cost_their_row_alone(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    texts = [b"a cat", b"caf\xe9 cat", b"", "un café".encode()]
    if kind == "tsv":
        path.write_bytes(b"key\tcaption\n" + b"".join(b"%d\t%s\n" % (n, text) for n, text in enumerate(texts)))
    else:
        pq.write_table(pa.table({"key": range(4), "caption": pa.array(texts, pa.binary())}), path)
    (batch,) = read_captions(path, COLUMNS)
    assert (batch.ids, batch.texts, batch.damaged) == (["0", "2", "3"], ["a cat", "", "un café"], 1)


@pytest.mark.parametrize("kind", ["tsv", "parquet"])
def test_rows_without_an_id_are_not_one_image(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    if kind == "tsv":
        path.write_text("key\tcaption\n\ta cat\n1\ta cat\n\ta dog\n")
    else:
        table = pa.table({"key": [None, "1", ""], "caption": ["a cat", "a cat", "a dog"]})
        pq.write_table(table, path)
    found = label_captions([path], COLUMNS, NAMES, CaptionRule(least=1, held_out=1))
    assert {cls: [image for _, image, _ in images] for cls, images in found.test.items()} == {"c": ["1"]}
    assert (found.tally.captions, found.tally.damaged) == (1, 2)


def test_columns_are_numbered_from_one() -> None:
    with pytest.raises(UserError, match="numbered from 1"):
        Columns("0", "3")


def test_other_columns_may_hold_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A column of numbers that has a word far down, and ids that begin as numbers."""
    monkeypatch.setattr("unseen.data.captions.files.BLOCK", 64)
    path = tmp_path / "a.tsv"
    path.write_text("key\tlikes\tcaption\n" + "7\t12\tcat\n" * 30 + "x\tmany\tdog\n")
    batches = list(read_captions(path, COLUMNS))
    assert len(batches) > 1
    assert [key for batch in batches for key in batch.ids] == ["7"] * 30 + ["x"]


def test_numbers_as_ids_and_missing_texts_of_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"key": [1, 2], "caption": [None, "cat"]}), path)
    (batch,) = read_captions(path, COLUMNS)
    assert (batch.ids, batch.texts) == (["1", "2"], ["", "cat"])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", b"not parquet", "not captions"),
        ("a.tsv", b"key\tcaptoin\n1\tcat\n", "no column 'caption'; did you mean captoin"),
        ("a.tsv", b"", "not captions"),
        ("a.tsv", b"key\tcaption\n1\t\xff\xfe\n", "contains no readable captions"),
        ("a.tsv.gz", b"not gzip", "not captions"),
        ("a.tsv", b"key\tcaption\n", "no readable captions"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError, match=message) as caught:
        label_captions([path], COLUMNS, NAMES, RULE)
    assert str(path) in str(caught.value)


def test_places_without_captions_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="contains no file with the suffix"):
        caption_files([tmp_path])
    with pytest.raises(UserError, match="no such file"):
        caption_files([tmp_path / "a.tsv"])
    (tmp_path / "a.jpg").write_bytes(b"")
    with pytest.raises(UserError, match="not a caption file"):
        caption_files([tmp_path / "a.jpg"])


def test_more_cannot_be_held_out_than_there_must_be() -> None:
    with pytest.raises(UserError, match="cannot hold out 6 images"):
        CaptionRule(least=5, held_out=6)


def test_a_text_that_is_repeated_without_end_is_refused(tmp_path: Path) -> None:
    """Kept once in the file and 20,000 times in memory."""
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000), ["x" * 100_000])
    pq.write_table(pa.table({"id": pa.array(range(20_000)), "caption": text}), tmp_path / "bomb.parquet")
    assert (tmp_path / "bomb.parquet").stat().st_size < 1_000_000
    with pytest.raises(UserError, match=r"bomb\.parquet: the column 'caption' has 2.0 GB in 20,000 rows"):
        list(read_captions(tmp_path / "bomb.parquet", Columns("id", "caption")))
