"""The script for today's backbones: its list, its arithmetic, and all of it on tiny data with random weights."""

import json
import re
from pathlib import Path

import pytest
import timm
from shift_places import picture

from reference_rows import MODELS, TERAFLOPS, chosen, cost_table, main
from tiny_imagenet import SEEN, make_tiny_imagenet
from unseen.errors import UserError
from unseen.exchange.check import check_results

PAGE = Path(__file__).parents[2] / "docs/reference-rows.md"
BENCHMARKS = (Path(__file__).parents[2] / "benchmarks/README.md").read_text()
BEGIN, END = "<!-- scripts/reference_rows.py begins -->\n\n", "\n\n<!-- scripts/reference_rows.py ends -->"
TINY = """
[[models]]
name = "Tiny/a"
backbone = "timm:test_vit.r160_in1k"
size = 32
gflop = 0.1
dimension = 64

[[models]]
name = "Not there"
backbone = "timm:no_such_network"
gflop = 0.1
dimension = 64
"""


def test_the_list_has_what_timm_has_weights_for() -> None:
    models = chosen(MODELS, [])
    names = {f"timm:{name}" for name in timm.list_pretrained()}
    assert [model.name for model in models if model.backbone not in names] == []
    for family in ("dinov2", "dinov3", "v2_webli", ".mae", "convnextv2", "eva02"):
        assert any(family in model.backbone for model in models), family


def test_the_page_has_the_scripts_arithmetic() -> None:
    models = chosen(MODELS, [])
    table = cost_table(models, 8)
    assert PAGE.read_text().partition(BEGIN)[2].partition(END)[0] == table, "paste what --cost prints"
    # 7,109,758 images of 123.1 GFLOP at 228 TFLOP/s take 3,839 s; 1024 of 2048 dimensions take 22.9 of 45.8 min.
    [mae] = [line for line in table.splitlines() if "MAE ViT-L" in line]
    assert mae.endswith("| 123.1 | 1.1 h | 23 min | 15 GB |")
    measured = re.findall(r"^\| (?:vit_b_16|convnext_base) \|.*\| ([0-9]+) \| [0-9]+% \|$", BENCHMARKS, re.MULTILINE)
    assert [float(rate) for rate in measured] == list(TERAFLOPS.values())


def test_wrong_lists_and_names_get_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twice = tmp_path / "m.toml"
    twice.write_text(TINY.replace("Not there", "tiny a"))
    with pytest.raises(UserError, match="two models have the same name"):
        chosen(twice, [])
    assert main(["--only", "DINOv3 ViT-B", "--cost"]) == 2
    assert "did you mean" in capsys.readouterr().err
    assert main([]) == 2
    assert "nothing to run on" in capsys.readouterr().err


@pytest.mark.long_suite
def test_from_images_to_a_site_and_nothing_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny, out = make_tiny_imagenet(tmp_path / "tiny"), tmp_path / "reference"
    for wnid in SEEN:
        picture(tmp_path / f"sets/sketch/{wnid}/sketch_0.JPEG", 0)
    (tmp_path / "models.toml").write_text(TINY)
    words = [
        "--models", tmp_path / "models.toml", "--out", out, "--random", "--workers", 0,
        "--imagenet-1k", tiny.imagenet_1k, "--shift-sets", tmp_path / "sets", "--partial",
        "--levels", tiny.levels, "--splits", tiny.splits, "--protocol", "cog-v2-short", "--shots", "all", "--seeds", 1,
        "--task", "digits", "--limit", 3,
    ]  # fmt: skip
    arguments = [str(word) for word in words]
    assert main([*arguments, "--imagenet-21k", str(tiny.imagenet_21k)]) == 1
    assert "left out: Not there: timm:no_such_network" in capsys.readouterr().err
    [file] = (out / "results").iterdir()
    assert file.name == "tiny-a.json"
    records = json.loads(file.read_text())["records"]
    assert [(each["study"], each["data"]["name"]) for each in records] == [
        ("concepts", "in1k"), ("concepts", "l1"), ("concepts", "l2"), ("tasks", "digits"),
        ("shifts", "imagenet-sketch"),
    ]  # fmt: skip
    assert {each.severity for each in check_results(file)} == {"note"}  # of keys that differ from shipped studies
    assert (out / "site/models/tiny-a.html").is_file()
    assert main([*arguments, "--imagenet-21k", str(tiny.imagenet_21k), "--only", "Tiny/a", "--dry-run"]) == 0
    assert re.findall(r"(\d+) of (\d+) jobs to do", capsys.readouterr().out) == [("0", "3"), ("0", "1"), ("0", "1")]
