"""Packages that `pip install unseen` leaves out, and the sentence that says which extra brings them.

Levels, published tables, the leaderboard and fits of shifts do not need PyTorch, which takes gigabytes. Code that needs
it imports it as usual; where that fails, the edge (the command line and the public functions) turns the error into a
sentence.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from unseen.errors import UserError

EXTRAS = {
    "torch": ("PyTorch", "torch"),
    "optuna": ("Optuna", "torch"),
    "safetensors": ("safetensors", "torch"),
    "torchvision": ("torchvision", "torchvision"),
    "h5py": ("h5py", "dense"),
    "ray": ("Ray", "ray"),
}
"""Package → (what people call it, the extra that brings it)."""


class MissingExtraError(UserError, ImportError):
    """A package is missing that an extra of unseen brings; a user's error that Python code may catch as ImportError."""


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
        raise MissingExtraError(f"this needs {title}, which is not installed: pip install 'unseen[{extra}]'") from None
