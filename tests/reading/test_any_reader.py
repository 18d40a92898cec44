"""Whatever is in a file, its reader reads it or says in one sentence what is wrong; a broken cache is made anew."""

import gzip
import io
import json
import pickle
import random
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unseen.errors import UserError

PICTURE = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
Made = tuple[Path, Callable[[], Any]]
"""A file that can be read, and what reads it."""


def npz(path: Path, **arrays: Any) -> Path:
    np.savez_compressed(path, **arrays)
    return path


def text(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def features(folder: Path, suffix: str) -> Made:
    import torch
    from safetensors.numpy import save_file

    from unseen.features.readers import read_features

    X, y = np.arange(12, dtype=np.float32).reshape(6, 2), np.arange(6) % 2
    path = folder / f"train{suffix}"
    if suffix == ".npz":
        npz(path, X=X, y=y, classes=np.array(["a", "b"]), ids=np.array(list("uvwxyz")))
    elif suffix == ".safetensors":
        save_file({"X": X, "y": y}, path)
    elif suffix == ".pth":
        torch.save({"X": torch.from_numpy(X), "Y": torch.from_numpy(y)}, path)
    else:
        np.save(path, X)
        np.save(folder / "train_y.npy", y)
    return path, lambda: read_features(path)


def store(folder: Path, file: str) -> Made:
    from unseen.features.about import StoreAbout
    from unseen.features.store import read_store, write_store

    about = {
        "backbone": {"id": "timm:x", "transform": {"size": 8, "resize": 8}},
        "damaged": [{"id": "a", "reason": "b"}],
    }
    write_store(folder, [(np.ones((4, 2)), np.arange(4) % 2)], ["a", "b"], provenance=about, ids=list("wxyz"))
    return folder / file, lambda: StoreAbout.of(read_store(folder, verify=True).provenance)


def hugging_face(folder: Path, file: str) -> Made:
    from unseen.data.sources.arrow import arrow_images

    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    images = pa.array([{"bytes": b"jpeg", "path": "a"}] * 3, kind)
    table = pa.table({"image": images, "label": [0, 1, 0]})
    with pa.OSFile(str(folder / "d.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    kinds = {"image": {"_type": "Image"}, "label": {"_type": "ClassLabel", "names": ["cat", "dog"]}}
    text(folder / "dataset_info.json", json.dumps({"features": kinds}))
    text(folder / "state.json", json.dumps({"_data_files": [{"filename": "d.arrow"}]}))
    return folder / file, lambda: [arrow_images(folder).read(number) for number in range(3)]


def tar(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def tar_of_class(folder: Path, suffix: str) -> Made:
    from unseen.data.core.listing import list_images

    content = tar({"a.jpg": b"x" * 600, "b.jpg": b"y"})
    path = folder / "n00000001.tar"
    path.write_bytes(gzip.compress(content) if suffix else content)
    return path, lambda: list(list_images(folder))


def webdataset(folder: Path) -> Made:
    from unseen.data.core.tars.webdataset import webdataset_images

    path = folder / "0.tar"
    path.write_bytes(tar({"a.jpg": b"x", "a.cls": b"1", "b.jpg": b"y", "b.json": b'{"label": "cat"}'}))
    return path, lambda: webdataset_images(path, cache=folder / "cache")


def onnx_model(folder: Path) -> Made:
    onnx = pytest.importorskip("onnx")
    from unseen.backbones.onnx_files import read_onnx

    helper = onnx.helper
    ends = [helper.make_tensor_value_info(name, 1, (1, 3)) for name in "ab"]
    graph = helper.make_graph([helper.make_node("Relu", ["a"], ["b"])], "g", ends[:1], ends[1:])
    path = folder / "m.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())
    return path, lambda: read_onnx(path)


def checkpoint(folder: Path) -> Made:
    import torch

    from unseen.backbones.checkpoint import read_checkpoint

    torch.save({"state_dict": {"a.weight": torch.ones(2, 2)}, "epoch": 3}, folder / "c.pth")
    return folder / "c.pth", lambda: read_checkpoint(folder / "c.pth")


def matlab(folder: Path) -> Made:
    scipy_io = pytest.importorskip("scipy.io")
    from unseen.data.formats.matlab import read_mat, whole_numbers

    scipy_io.savemat(folder / "a.mat", {"ids": np.arange(5), "names": np.array(["x", "yz"], dtype=object)})
    return folder / "a.mat", lambda: whole_numbers(read_mat(folder / "a.mat").get("ids"))


def idx(folder: Path, suffix: str) -> Made:
    from unseen.data.formats.idx import idx_shape, read_idx

    content = b"\0\0\x08\x01\0\0\0\x05" + bytes(range(5))
    path = folder / f"a{suffix}"
    path.write_bytes(gzip.compress(content) if suffix else content)
    return path, lambda: (idx_shape(path), read_idx(path))


def pickled(folder: Path) -> Made:
    from unseen.reading.pickles import read_plain_pickle

    path = folder / "a.pkl"
    path.write_bytes(pickle.dumps({"n1": {"train": np.array(["a.jpg", "b.jpg"])}, "x": [1, 2.5, None]}))
    return path, lambda: read_plain_pickle(path)


def captions(folder: Path, suffix: str) -> Made:
    from unseen.data.captions.files import Columns, read_captions

    path, rows = folder / f"c{suffix}", "id,caption\n1,a cat\n2,a dog\n"
    if suffix == ".parquet":
        pq.write_table(pa.table({"id": ["1", "2"], "caption": ["a cat", "a dog"]}), path)
    else:
        path.write_bytes(gzip.compress(rows.encode()))
    return path, lambda: list(read_captions(path, Columns("id", "caption")))


def splits(folder: Path) -> Made:
    from unseen.data.core.splits import SplitRule, Splits, draw_splits

    images = [("n1", [f"n1_{number}.jpg" for number in range(9)]), ("n2", list("abcdefghi"))]
    drawn = draw_splits(images, ["n1", "n2"], source="s", rule=SplitRule(2, 3, 5))
    drawn.write(folder / "s.npz")
    return folder / "s.npz", lambda: Splits.read(folder / "s.npz")


def predictions(folder: Path) -> Made:
    from unseen.studies.shifts.predictions import read_predictions

    path = npz(folder / "p.npz", labels=np.arange(4), model=np.arange(4))
    return path, lambda: read_predictions(path)


def labels(folder: Path) -> Made:
    from unseen.runs.kept_labels import read_labels

    path = npz(folder / "l.npz", y=np.array([0, 1, 1]), classes=np.array(["a", "b"]), ids=np.array("h"))
    return path, lambda: read_labels(path)


def units(folder: Path) -> Made:
    from unseen.probes.job import Fit, Job, fits_kept
    from unseen.probes.units import ScoredImages, Units
    from unseen.runs.kept_units import kept_units
    from unseen.runs.results import beside_path, read_result, write_result

    job, values = Job("psp", 1, "b", "d", {"images": "x"}), np.arange(1.0, 5)
    of = Units("depths", {"rmse": values, "delta1": values / 5}, ScoredImages.unlabelled((), 4))
    results = folder / "results"
    write_result(results, job, fits_kept([Fit("psp", None, 0, [("depth-rmse", 2.5), ("delta1", 0.5)], units=of)]), 1.0)
    result = read_result(results, job.key)
    assert result is not None
    return beside_path(results, job.key), lambda: kept_units(results, result)


def coco(folder: Path) -> Made:
    from unseen.data.formats.coco import read_coco

    record = {
        "images": [{"id": 1, "file_name": "a.jpg"}],
        "annotations": [{"image_id": 1, "category_id": 2, "bbox": [0, 0, 3, 4]}],
        "categories": [{"id": 2, "name": "cat"}],
    }
    path = text(folder / "c.json", json.dumps(record))
    return path, lambda: read_coco({"train": path})


def results(folder: Path) -> Made:
    from unseen.exchange.contributions import read_contributions
    from unseen.exchange.export import run_records, write_results
    from unseen.exchange.read import run_of_records
    from unseen.exchange.record import ResultsFile
    from unseen.runs.cautions import caution
    from unseen.runs.data import Backbone, Domain, RunData
    from unseen.runs.score import Score

    score = Score("probe", "p", "a", "b", "knn", None, 0, "top1", 0.5)
    run = RunData(
        "",
        [score],
        [Domain("b", "B", axis="probe")],
        [Backbone("a", "", cautions=[caution("image-size", size=3)])],
        "a",
    )
    path = folder / "r.json"
    write_results(ResultsFile("unseen-results", 1, "1", run_records(run)), path)
    return path, lambda: [run_of_records(each.records) for each in read_contributions([path])]


def voc(folder: Path) -> Made:
    from unseen.data.sets.voc import read_objects

    box = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>5</xmax><ymax>6</ymax></bndbox>"
    path = text(folder / "a.xml", f"<annotation><object><name>cat</name>{box}</object></annotation>")
    return path, lambda: read_objects(path)


def image_list(folder: Path, suffix: str) -> Made:
    from unseen.data.sources.list_file import listed_images

    path, rows = folder / f"list{suffix}", {"path": ["a.jpg", "b.jpg"], "label": ["cat", "dog"]}
    if suffix == ".parquet":
        pq.write_table(pa.table(rows), path)
    else:
        text(path, "path,label\n" + "".join(f"{a},{b}\n" for a, b in zip(*rows.values(), strict=True)))
    return path, lambda: listed_images(path, there=False)


def own_dataset(folder: Path) -> Made:
    from unseen.data.own.description import describe

    path = text(folder / "own.toml", 'name = "birds"\n[train]\nimages = "a"\nroot = "b"\n[test]\nimages = "c"\n')
    return path, lambda: describe(path)


def own_concepts(folder: Path, suffix: str) -> Made:
    from unseen.data.own.concept_file import read_concept_file

    content = {
        ".toml": 'images = "a"\nseen = ["cat", "dog"]\nlevels = 2\n[concepts]\ncat = "cat.n.01"\n',
        ".csv": "class,domain,concept\ncat,seen,cat.n.01\ndog,seen,\nsaw,tools,\n",
    }
    path = text(folder / f"own{suffix}", content[suffix])
    return path, lambda: read_concept_file(path, folder)


def vectors(folder: Path, suffix: str) -> Made:
    from unseen.ontology.word_vectors import read_word_vectors

    path, lines = folder / f"v{suffix}", "cat 0.5 1.5\ndog 2 3\n"
    if suffix == ".bin":
        path.write_bytes(b"2 2\n" + b"".join(w + b" " + np.ones(2, "<f4").tobytes() + b"\n" for w in (b"cat", b"dog")))
    elif suffix == ".npy":
        np.save(path, np.ones((2, 2), np.float32))
        text(folder / "v.vocab", "cat\ndog\n")
    else:
        path.write_bytes(gzip.compress(lines.encode()) if suffix == ".gz" else lines.encode())
    return path, lambda: read_word_vectors(path, {"cat", "dog"})


def picture(folder: Path) -> Made:
    from PIL import Image

    from unseen.data.formats.map_files import read_colours

    Image.fromarray(PICTURE).save(folder / "a.png")
    return folder / "a.png", lambda: read_colours(folder / "a.png")


def table(folder: Path, kind: str) -> Made:
    from unseen.analyses.robustness.table import read_accuracies
    from unseen.data.core.manifest import Manifest
    from unseen.ontology.class_mapping import read_mapping
    from unseen.ontology.levels import load_levels
    from unseen.studies.shifts.plans import read_plans

    path = folder / "t.csv"
    if kind == "levels":
        load_levels("cog-v2").write(path)
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:5]))
    contents = {
        "manifest": ("id,class,split\na,x,train\nb,y,test\n", lambda: Manifest.read(path)),
        "mapping": ("wnid,class\nn02084071,dog\n", lambda: read_mapping(path)),
        "levels": (None, lambda: load_levels(path)),
        "models": ("model,backbone\na,timm:x\n", lambda: read_plans(path)),
        "accuracies": ("model,val,v2\na,50,40\nb,60,50\n", lambda: read_accuracies(path)),
    }
    content, read = contents[kind]
    if content is not None:
        path.write_text(content)
    return path, read


READERS: dict[str, Callable[[Path], Made]] = {
    **{f"features{s}": (lambda f, s=s: features(f, s)) for s in (".npz", ".npy", ".safetensors", ".pth")},  # type: ignore[misc]
    **{f"store {n}": (lambda f, n=n: store(f, n)) for n in ("manifest.json", "y.npy", "X-00000.npy", "ids.txt")},  # type: ignore[misc]
    **{f"arrow {n}": (lambda f, n=n: hugging_face(f, n)) for n in ("d.arrow", "state.json", "dataset_info.json")},  # type: ignore[misc]
    **{f"tar{s}": (lambda f, s=s: tar_of_class(f, s)) for s in ("", ".gz")},  # type: ignore[misc]
    **{f"idx{s}": (lambda f, s=s: idx(f, s)) for s in ("", ".gz")},  # type: ignore[misc]
    **{f"captions{s}": (lambda f, s=s: captions(f, s)) for s in (".parquet", ".csv.gz")},  # type: ignore[misc]
    **{f"list{s}": (lambda f, s=s: image_list(f, s)) for s in (".parquet", ".csv")},  # type: ignore[misc]
    **{f"own concepts{s}": (lambda f, s=s: own_concepts(f, s)) for s in (".toml", ".csv")},  # type: ignore[misc]
    **{f"vectors{s}": (lambda f, s=s: vectors(f, s)) for s in (".txt", ".bin", ".npy", ".gz")},  # type: ignore[misc]
    **{f"table {k}": (lambda f, k=k: table(f, k)) for k in ("manifest", "mapping", "levels", "models", "accuracies")},  # type: ignore[misc]
    "webdataset": webdataset,
    "onnx": onnx_model,
    "checkpoint": checkpoint,
    "matlab": matlab,
    "pickle": pickled,
    "splits": splits,
    "predictions": predictions,
    "labels": labels,
    "units": units,
    "coco": coco,
    "own data set": own_dataset,
    "results": results,
    "voc": voc,
    "picture": picture,
}


def damaged(content: bytes, *, as_json: bool) -> Iterator[bytes]:
    """Cut, empty, changed, deep and wrongly typed contents."""
    draw = random.Random(0)
    yield from (b"", b"\0", content[: len(content) // 2], content[:-1], content + b"x", b"[" * 100_000, b"{}", b"[7]")
    yield b"\xff\xfe" + content
    for _ in range(14):
        changed = bytearray(content)
        for _ in range(draw.choice([1, 1, 3])):
            changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
        yield bytes(changed)
    for _ in range(4):
        yield content[: draw.randrange(len(content))]
    for value in (None, -1, 10**400, [], [[]], {}, {"a": 1}, "x", 0.5, float("nan"), True) if as_json else ():
        for key in (record := json.loads(content)):
            yield json.dumps(record | {key: value}).encode()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_or_refused_in_a_sentence(tmp_path: Path, name: str) -> None:
    path, read = READERS[name](tmp_path)
    read()
    content, refused = path.read_bytes(), 0
    for each in damaged(content, as_json=path.suffix == ".json"):
        path.write_bytes(each)
        try:
            read()
        except UserError as error:
            refused += 1
            assert str(tmp_path) in str(error)
    assert refused > 4


@pytest.mark.filterwarnings("ignore")
def test_a_broken_index_of_tar_files_is_built_again(tmp_path: Path) -> None:
    _, read = webdataset(tmp_path)
    [entry, _] = read().entries
    [index] = (tmp_path / "cache").iterdir()
    whole = index.read_bytes()
    for each in damaged(whole, as_json=False):
        index.write_bytes(each)
        found = read()
        assert len(found.entries) == 2
        assert found.read(0) == b"x"
    index.write_bytes(whole[:-100])
    assert read().entries[0] == entry
