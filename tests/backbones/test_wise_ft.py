"""Interpolated checkpoints."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from unseen.backbones.wise_ft import interpolate, write_interpolations
from unseen.errors import UserError


def state(seed: int) -> dict[str, Tensor]:
    random = torch.Generator().manual_seed(seed)
    return {
        "w": torch.randn(3, 4, generator=random),
        "half": torch.randn(5, generator=random).half(),
        "count": torch.tensor(seed),
    }


@pytest.mark.parametrize("alpha", [0.0, 0.25, 0.5, 1.0])
def test_is_the_weighted_mean(alpha: float) -> None:
    zero, fine = state(1), state(2)
    found = interpolate(zero, fine, alpha)
    torch.testing.assert_close(found["w"], (1 - alpha) * zero["w"] + alpha * fine["w"])
    assert found["half"].dtype == torch.float16
    assert int(found["count"]) == 1


def test_the_ends_are_exact() -> None:
    zero, fine = state(1), state(2)
    assert torch.equal(interpolate(zero, fine, 0)["half"], zero["half"])
    assert torch.equal(interpolate(zero, fine, 1)["half"], fine["half"])


def test_the_files(tmp_path: Path) -> None:
    torch.save({"state_dict": state(1), "epoch": 3}, tmp_path / "zero.pt")
    torch.save(state(2), tmp_path / "fine.pt")
    files = write_interpolations(tmp_path / "zero.pt", tmp_path / "fine.pt", [0.1, 0.5], tmp_path / "out")
    assert [file.name for file in files] == ["alpha-0.1.safetensors", "alpha-0.5.safetensors"]
    torch.testing.assert_close(load_file(files[1])["w"], (state(1)["w"] + state(2)["w"]) / 2)


@pytest.mark.parametrize(
    ("change", "alphas", "message"),
    [
        ({"w": torch.zeros(2, 4)}, [0.5], r"w has the shapes \(3, 4\) and \(2, 4\)"),
        ({"more": torch.zeros(1)}, [0.5], "differ by 1 tensors, the first more"),
        ({}, [0.5, 1.5], "α = 1.5"),
        ({}, [float("nan")], "α = nan"),
        ({}, [], "at least one"),
        ({}, [0.5, 0.5], "every α once"),
        ({}, [0.5, 0.5000000001], "told apart by six digits"),
    ],
)
def test_other_networks_and_shares_are_refused(
    change: dict[str, Tensor], alphas: list[float], message: str, tmp_path: Path
) -> None:
    torch.save(state(1), tmp_path / "zero.pt")
    torch.save(state(2) | change, tmp_path / "fine.pt")
    with pytest.raises(UserError, match=message):
        write_interpolations(tmp_path / "zero.pt", tmp_path / "fine.pt", alphas, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_code_in_a_checkpoint_is_not_run(tmp_path: Path) -> None:
    torch.save({"w": pytest.fail}, tmp_path / "bad.pt")
    torch.save(state(1), tmp_path / "good.pt")
    with pytest.raises(UserError, match="refused, it is not only tensors"):
        write_interpolations(tmp_path / "bad.pt", tmp_path / "good.pt", [0.5], tmp_path / "out")
