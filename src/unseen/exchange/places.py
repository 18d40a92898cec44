"""Remove the paths of a machine from texts: only the last name of a path is kept."""

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

_NAME = r"[^\s/\\'\",;:()<>|`\[\]{}]+"
_FILE = r"\.(?:py|pth?|ckpt|bin|onnx|safetensors|np[yz]|csv|json|pkl|tar|gz|zip|parquet|toml|ya?ml|h5|mat|txt)\b"
_FOLDER = rf"{_NAME}(?: {_NAME})*"
"""Names of folders may have spaces; the last name ends at a space, since a sentence may go on behind it."""
_START = rf"(?:(?:file://|[A-Za-z]:|~|\.{{1,2}})[/\\]+|/[/\\]*|\\\\+|\\(?={_FOLDER}[/\\]))"
"""How an absolute path begins. A single backslash alone does not: it is LaTeX's, or a part of a name."""
_USERS = re.compile(r"(?:file://)?(?:(?<![A-Za-z])[A-Za-z]:)?[/\\](?:home|Users)[/\\][^/\\\n'\"]{1,64}[/\\]")
_ABSOLUTE = re.compile(rf"(?<![^\s'\"(=@,;:`\[{{]){_START}(?:{_FOLDER}[/\\]+)*({_NAME})[/\\]*")
_RUN = rf"(?:{_NAME}[/\\])*(?:{_NAME})?"
"""A path that names no file; no path within it does, so it is skipped whole and every character is read once."""
_RELATIVE = re.compile(rf"(?<![^\s'\"(=@,;:`\[{{])(?:(?:{_NAME}[/\\])+({_NAME}{_FILE})|{_RUN})")
_URL = re.compile(r"\bhttps?://\S+")


def without_places(value: Any) -> Any:
    """A JSON value in which every path is replaced by its last name; web addresses are kept."""
    if isinstance(value, dict):
        return {without_places(key): without_places(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_places(each) for each in value]
    return _plain_text(value) if isinstance(value, str) else value


def names_a_place(text: str) -> bool:
    """Whether a text contains a path that `without_places` would replace."""
    return _plain_text(text) != text


@lru_cache(maxsize=1 << 14)  # the records of a file repeat the same texts
def _plain_text(text: str) -> str:
    addresses = _URL.findall(text)
    parts = [_without_paths(part) for part in _URL.split(text)]
    return "".join(part + address for part, address in zip(parts, [*addresses, ""], strict=True))


def _without_paths(text: str) -> str:
    home = str(Path.home())
    if len(home) > 1:
        text = text.replace(f"{home}/", "/")
    text = _USERS.sub("/", text)  # a user's name may have spaces
    return _RELATIVE.sub(lambda found: found[1] or found[0], _ABSOLUTE.sub(r"\1", text))
