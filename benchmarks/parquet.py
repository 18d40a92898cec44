"""Speed of extraction from Parquet files with images, compared with the same images as files in folders.

    PYTHONPATH=src python benchmarks/parquet.py --count 4000 --workers 0 2
    PYTHONPATH=src python benchmarks/parquet.py --count 20000 --workers 8 16 --device cuda

Images are JPEGs of 500 × 375 pixels and about 110 KB, like ImageNet's on average. Row groups have 100 rows, as data
sets of the Hugging Face Hub with images have, 1000, or all rows of the file, as pandas writes them. A few pixels are
the features, so that reading and decoding are the limit; on a GPU, that decodes. All sources take turns, and the least
time of each counts: wall-clock time, and CPU time of all processes, which is the fairer measure on a shared machine.
"Read alone" is one process that reads all images in order and decodes none. Features must be equal to the folder's.
"""

import argparse
import io
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from PIL import Image

from extraction import Best, Watch, chosen_backbone, measured
from machine import describe
from made_images import photograph
from unseen.data.core.folder import folder_images
from unseen.data.core.manifest import whole
from unseen.data.core.source import ImageSource
from unseen.data.sources.parquet_images import parquet_images
from unseen.features.extract import extract
from unseen.features.settings import Settings
from unseen.features.store import read_store

DISTINCT, CLASSES, FOLDER = 64, 10, "folder"


def files() -> list[bytes]:
    """Photographs, saved with so little loss that they are as large as ImageNet's."""
    made = []
    for seed in range(DISTINCT):
        file = io.BytesIO()
        Image.open(io.BytesIO(photograph(seed))).save(file, "JPEG", quality=100)
        made.append(file.getvalue())
    return made


def write_all(root: Path, count: int) -> dict[str, ImageSource]:
    """The same images in the same order, as files and in Parquet files of several kinds; all images differ."""
    pictures = files()
    contents = [pictures[number % DISTINCT] + number.to_bytes(4, "big") for number in range(count)]
    labels = [number * CLASSES // count for number in range(count)]
    for number, (content, label) in enumerate(zip(contents, labels, strict=True)):
        place = root / FOLDER / f"class{label}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number:08d}.jpg").write_bytes(content)
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    rows = pa.array([{"bytes": content, "path": f"{number}.jpg"} for number, content in enumerate(contents)], kind)
    table = pa.table({"image": rows, "label": [f"class{label}" for label in labels]})
    sources: dict[str, ImageSource] = {FOLDER: folder_images(root / FOLDER)}
    for size in (100, 1000, count):
        path = root / f"{size}.parquet"
        pq.write_table(table, path, row_group_size=size)
        sources[f"row groups of {size:,}"] = parquet_images([path])
    return sources


def read_all(source: ImageSource) -> int:
    return sum(len(source.read(number)) for number in range(len(source.entries)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 2])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="folder for temporary images and features; /tmp by default")
    options = parser.parse_args()
    on_gpu = options.device.startswith("cuda")
    backbone = chosen_backbone(None, options.device)
    with TemporaryDirectory(dir=options.folder) as folder:
        sources = write_all(Path(folder), options.count)
        size = read_all(sources[FOLDER]) / options.count
        print(f"{describe(torch.device(options.device))}; {options.count:,} JPEGs of {size / 1000:.0f} KB\n")
        print(
            "| workers | source | images/s | folder's time / its time | core ms an image | folder's / its | host GB |"
        )
        print("| ---: | --- | ---: | ---: | ---: | ---: | ---: |")
        alone = {name: Best() for name in sources}
        for _ in range(options.turns):
            for name, source in sources.items():
                alone[name].add(*measured(partial(read_all, source))[1:])
        for name in sources:
            show("read alone", name, alone, options.count, "")
        for workers in options.workers:
            settings = Settings(
                device=options.device, precision="half" if on_gpu else "single", batch=128, workers=workers,
                decode="gpu" if on_gpu else "cpu",
            )  # fmt: skip
            best, memory = {name: Best() for name in sources}, dict[str, str]()
            expected = None
            for turn in range(options.turns):
                for name, source in sources.items():
                    watch, out = Watch(), Path(folder) / f"features-{workers}-{turn}-{name}"
                    images = whole(source, "all")
                    (store,), *took = measured(
                        lambda: extract(source, images, "all", [backbone], out, settings, watch=watch)  # noqa: B023
                    )
                    best[name].add(*took)
                    memory[name] = f"{max(watch.quarter, watch.end) / 1e9:.2f}"
                    found = np.asarray(read_store(store).X)
                    expected = found if expected is None else expected
                    assert np.array_equal(found, expected), name
            for name in sources:
                show(str(workers), name, best, options.count, memory[name])


def show(workers: str, name: str, best: dict[str, Best], count: int, memory: str) -> None:
    own, folder = best[name], best[FOLDER]
    cells = [
        workers, name, f"{count / own.wall:,.0f}", f"{folder.wall / own.wall:.2f}×", f"{1000 * own.cores / count:.2f}",
        f"{folder.cores / own.cores:.2f}×", memory,
    ]  # fmt: skip
    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
