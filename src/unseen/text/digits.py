"""Digits that keep names apart which are the same after characters were replaced."""

from hashlib import sha256


def four_digits(text: str) -> str:
    """The first four hexadecimal digits of the SHA-256 of a text; they are in names on disk and must not change."""
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:4]
