"""Backbones of the user's own: `path/to/file.py:function`.

The function takes nothing and returns (module, Transform), where the module takes normalised images to features, or a
Backbone. The file is the user's own code, and runs.
"""

import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import nn

from unseen.backbones.backbone import Backbone
from unseen.backbones.checkpoint import file_sha256
from unseen.backbones.network import Network, Request, refuse_checkpoint
from unseen.backbones.pooling import layout_of
from unseen.errors import UserError, did_you_mean
from unseen.images.transform import Transform


def python_network(request: Request) -> Network | Backbone:
    refuse_checkpoint(request)
    file, _, name = request.name.rpartition(":")
    path = Path(file)
    if request.random:
        raise UserError(f"{request.id}: its weights are up to its function; write one that gives random ones")
    with _own_errors(request, path):
        made = _function(request, path, name)()
    if isinstance(made, Backbone):
        return made
    if isinstance(made, tuple) and len(made) == 2:
        module, transform = made
        if isinstance(module, nn.Module) and isinstance(transform, Transform):
            if request.size not in (None, transform.size):
                raise UserError(f"{request.id}: the size is in its Transform ({transform.size}); change it there")
            # Another network may come from the same weights when the code changes: the file is part of what they are.
            return Network(
                module=module,
                weights=f"sha256:{file_sha256(path)} ({path.name})",
                transform=transform,
                layer="output",
                layout=layout_of(module),
            )
    raise UserError(f"{request.id}: must return (module, Transform) or a Backbone, not {type(made).__name__}")


def _function(request: Request, path: Path, name: str) -> Callable[[], Any]:
    if not path.is_file():
        raise UserError(f"{request.id}: no such file, {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UserError(f"{request.id}: {path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Not by its loader: that takes compiled code of before for the code of a file that changed within the same second.
    exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)  # noqa: S102 (the user's own file)
    function = getattr(module, name, None)
    if not callable(function):
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise UserError(f"{request.id}: {path} has no function {name}{did_you_mean(name, known)}")
    return function  # type: ignore[no-any-return]


@contextmanager
def _own_errors(request: Request, path: Path) -> Iterator[None]:
    """The file's folder can be imported from, and what goes wrong in the file is told with its line."""
    folder = str(path.parent.resolve())
    sys.path.insert(0, folder)
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        line = next((frame.lineno for frame in reversed(frames) if Path(frame.filename) == path), None)
        if line is None and isinstance(error, SyntaxError):
            line = error.lineno
        raise UserError(f"{request.id}: line {line} of {path}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(folder)
