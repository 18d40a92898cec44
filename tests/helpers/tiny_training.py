"""Pictures to train on, and the smallest networks there are."""

import json
from pathlib import Path

import numpy as np
import torch
from PIL import Image

HUES = {"red": (220, 40, 40), "blue": (40, 40, 220), "green": (40, 200, 40)}
NETWORK = "timm:test_vit"
SIZE = 32


def hues(folder: Path, *, count: int = 8, dark: float = 1.0, seed: int = 0) -> Path:
    """A folder per colour, with so many noisy pictures of each."""
    rng = np.random.default_rng(seed)
    for name, hue in HUES.items():
        (folder / name).mkdir(parents=True)
        for number in range(count):
            pixels = np.array(hue) * dark + rng.normal(0, 40, (16, 16, 3))
            Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(folder / name / f"{number}.png")
    return folder


def captions(folder: Path, table: Path) -> Path:
    """The pictures of a folder with captions, as Parquet."""
    import pandas as pd

    paths = sorted(path.relative_to(folder).as_posix() for path in folder.glob("*/*.png"))
    pd.DataFrame({"path": paths, "caption": [f"a photo of a {path.split('/')[0]}." for path in paths]}).to_parquet(
        table
    )
    return table


def tiny_clip(folder: Path, *, weights: bool = False) -> str:
    """The id of a CLIP model of two layers in all; without weights, its configuration alone."""
    import open_clip

    folder.mkdir()
    config = {
        "embed_dim": 16,
        "vision_cfg": {"image_size": SIZE, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16},
        "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 8, "heads": 1, "layers": 1},
    }
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": config, "preprocess_cfg": {}}))
    if weights:
        torch.manual_seed(0)
        torch.save(open_clip.CLIP(**config).state_dict(), folder / "open_clip_pytorch_model.bin")
    return f"openclip:{folder}"
