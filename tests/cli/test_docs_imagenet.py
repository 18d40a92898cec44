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
TINY = {"timm:resnet50.a1_in1k": "tiny.py:make", DEIT: "tiny.py:other", "l1,l5": "l1,l2"}


def commands(page: str) -> list[list[str]]:
    blocks = re.findall(r"^```text\n(.*?)^```$", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.replace("\\\n", "").splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("unseen ")]


def settings(**values: object) -> list[str]:
    """Options that give keys of a study other values, with `__` for a dot."""
    return [word for name, value in values.items() for word in ("--set", f"{name.replace('__', '.')}={value}")]


def made_tiny(words: list[str]) -> list[str]:
    """The same command about the tiny tree: its levels, its draw, its backbone, and short forms of the protocols."""
    changed = [TINY.get(word, word) for word in words]
    if words[0] not in {"extract", "run"}:
        return changed
    if "fine-tuned" in words:  # of a run, whose study names levels and splits
        return [*changed, *settings(**{"fine-tuned__epochs": 1, "fine-tuned__batch": 8}), "--allow-code"]
    changed += settings(levels="levels.csv")
    changed += [] if "--features" in words else settings(splits="splits.npz")
    if words[0] == "extract":
        return [*changed, "--workers", "0"]
    if words[1] == "cog-v1":
        changed += ["--probes", "geometry"]  # the others take minutes, and have tests of their own
    elif "--probes" not in words or "logistic" in words[words.index("--probes") + 1]:
        changed += settings(logistic__protocol="cog-v2-short")
    changed += [] if "--shots" in words else ["--shots", "1,all"]
    changed += [] if "--seeds" in words else ["--seeds", "1"]
    return [*changed, "--workers", "1"]


@pytest.mark.parametrize("page", ["imagenet.md", pytest.param("concepts.md", marks=pytest.mark.long_suite)])
def test_commands(page: str, tmp_path: Path, unseen: Unseen, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = make_tiny_imagenet(tmp_path)
    (tmp_path / "imagenet").mkdir()
    shutil.copy(tiny.imagenet_21k, tmp_path / "imagenet")
    shutil.copytree(tiny.imagenet_1k, tmp_path / "imagenet/ILSVRC2012")
    monkeypatch.chdir(tmp_path)
    found = commands(page)
    assert len(found) >= 5
    for words in found:
        # These need the real levels, or the weights of the paper's ResNet-50.
        if {"levels=random", "levels=cosine", "random-run", "check-run"} & set(words):
            continue
        if words[0] == "report" and "--compare" not in words:
            for name in words[1 : words.index("--out")]:
                if not Path(name).exists():
                    shutil.copytree("run", name)
        if "--compare" in words:  # the run of the other backbone, which the page leaves to the reader
            shutil.rmtree("run-there")
            other = {"timm:resnet50.a1_in1k": DEIT, "run": "run-there"}
            command, *others = found[0]
            assert unseen(*made_tiny([command, *(other.get(word, word) for word in others)])).code == 0
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
    words = ("extract", "--backbone", tiny.backbone, "--datasets", "l1", "--data", f"imagenet-21k={packed}")
    keys = settings(levels=tiny.levels, splits=tiny.splits)
    answer = unseen(*words, *keys, "--out", tmp_path / "features")
    assert answer.code == 2
    assert "decompress it (gunzip)" in answer.err
