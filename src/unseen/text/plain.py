"""Text that is only text, whatever is in the names of others: without control characters, and in one direction.

Escape sequences act when a file is shown in a terminal, a carriage return overwrites what is before it, and marks that
change the writing direction make a text read otherwise than it is. Every text file that this package writes goes
through `unseen.files.write_text`, which uses these functions.
"""

import re

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and line end
    "\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # marks of direction and format
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f"
    "\u2028\u2029\ud800-\udfff]"  # other line ends, and halves of surrogate pairs
)
"""Characters that do something instead of being shown, but for joiners, which shape the letters of some scripts."""


def plain_text(text: str) -> str:
    """The text with a visible sign in the place of characters that act; line ends and tabs are kept."""
    return ACTING.sub(REPLACEMENT, text)


def escaped_text(text: str, *, long: bool = False) -> str:
    """Text in JSON or TOML with such characters as escapes in their strings, so that names stay as they are.

    Half of a surrogate pair, as in file names that are not UTF-8, stands for no character, and is replaced.

    Args:
        long: escape characters beyond 16 bits by their number, as in TOML, instead of by two halves, as in JSON.
    """

    def escape(found: re.Match[str]) -> str:
        code = ord(found[0])
        if 0xD800 <= code < 0xE000:
            return REPLACEMENT
        if code < 0x10000:
            return f"\\u{code:04x}"
        high, low = divmod(code - 0x10000, 0x400)
        return f"\\U{code:08x}" if long else f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"

    return ACTING.sub(escape, text)
