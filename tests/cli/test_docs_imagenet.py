"""The commands of docs/imagenet.md and docs/concepts.md that need ImageNet, run on a tiny one in the true formats."""

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tiny_imagenet import make_tiny_imagenet

Unseen = Callable[..., tuple[int, str, str]]
DOCS = Path(__file__).parents[2] / "docs"
DEIT = "timm:deit_small_patch16_224.fb_in1k"
QUICK = ["--protocol", "cog-v2-short", "--workers", "1"]


def commands(page: str) -> list[list[str]]:
    blocks = re.findall(r"^```text\n(.*?)^```$", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.replace("\\\n", "").splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("unseen ")]


def made_tiny(words: list[str]) -> list[str]:
    """The same command about the tiny tree: its levels, its draw, its backbone, and a short form of the protocol."""
    tiny = {"timm:resnet50.a1_in1k": "tiny.py:make", DEIT: "tiny.py:other", "l1,l5": "l1,l2"}
    changed = [tiny.get(word, word) for word in words]
    if "--levels" in changed:
        place = changed.index("--levels")
        changed[place : place + 2] = []
    added = {"--finetune", "--label-noise"} & set(words)
    if words[0] in ("extract", "concepts") and not added:
        changed += ["--levels", "levels.csv"]
        changed += ["--splits", "splits.npz"] if "--images" in changed else []
    if "--finetune" in words:
        changed += ["--splits", "splits.npz", "--epochs", "1", "--batch", "8", "--backbone", "tiny.py:make"]
    if words[0] == "concepts" and not added:
        if "--protocol" in changed:
            place = changed.index("--protocol")
            changed[place : place + 2] = []
        changed += [*QUICK, *([] if "--seeds" in words else ["--seeds", "1"])]
        changed += [] if "--shots" in words else ["--shots", "1,all"]
        changed = [word for word in changed if word != "--extended"]  # minutes; its jobs have tests of their own
    return [*changed, "--workers", "0"] if words[0] == "extract" else changed


@pytest.mark.parametrize("page", ["imagenet.md", pytest.param("concepts.md", marks=pytest.mark.long_suite)])
def test_commands(page: str, tmp_path: Path, unseen: Unseen, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = make_tiny_imagenet(tmp_path)
    (tmp_path / "imagenet").mkdir()
    shutil.copy(tiny.imagenet_21k, tmp_path / "imagenet")
    for folder in ("imagenet/ILSVRC2012", "ILSVRC2012"):
        shutil.copytree(tiny.imagenet_1k, tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    found = commands(page)
    assert len(found) >= 5
    for words in found:
        # These need the real levels; see test_concept_study.py.
        if "--check" in words or {"random", "cosine"} & set(words):
            continue
        if words[0] == "report" and "--compare" not in words:
            for name in words[1 : words.index("--out")]:
                if not Path(name).exists():
                    shutil.copytree("run", name)
        if "--compare" in words:  # the run of the other backbone, which the page leaves to the reader
            shutil.rmtree("run-there")
            first = {"timm:resnet50.a1_in1k": DEIT, "run": "run-there"}
            assert unseen(*made_tiny([first.get(word, word) for word in found[0]])).code == 0
        answer = unseen(*made_tiny(words))
        assert answer.code == 0, f"{words}\n{answer.err}"
    assert Path("run/report.html").is_file()
    if page == "imagenet.md":
        assert {path.name for path in Path("features").iterdir()} == {"in1k", "l1", "l2"}


def test_the_compressed_outer_tar_says_what_to_do(tmp_path: Path, unseen: Unseen) -> None:
    import gzip

    tiny = make_tiny_imagenet(tmp_path)
    packed = tmp_path / "winter21_whole.tar.gz"
    packed.write_bytes(gzip.compress(tiny.imagenet_21k.read_bytes()))
    words = (
        "extract",
        "--backbone",
        tiny.backbone,
        "--levels",
        tiny.levels,
        "--domains",
        "l1",
        "--splits",
        tiny.splits,
    )
    answer = unseen(*words, "--out", tmp_path / "features", "--images", packed)
    assert answer.code == 2
    assert "decompress it (gunzip)" in answer.err
