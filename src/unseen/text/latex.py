"""LaTeX tables with booktabs for papers, with escaped names."""

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby

from unseen.text.words import printable

_SPECIAL = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    # After \\ at the end of a line, LaTeX takes a bracket for its argument.
    "[": "{[}", "]": "{]}", "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''", "\n": " ", "\t": " ",
    "±": r"$\pm$", "−": "$-$", "×": r"$\times$", "–": "--", "—": "---", "…": r"\dots{}", "≥": r"$\geq$",
    "≤": r"$\leq$", "→": r"$\rightarrow$", "√": r"$\surd$",
    "°": r"$^\circ$", "·": r"$\cdot$", "▶": r"$\triangleright$", "⁻": "$^-$",
}  # fmt: skip
_SPECIAL |= {
    letter: f"$\\{name}$" for letter, name in {
        "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "η": "eta", "θ": "theta", "κ": "kappa",
        "λ": "lambda", "μ": "mu", "µ": "mu", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "φ": "phi", "χ": "chi",
        "ω": "omega", "Δ": "Delta", "Σ": "Sigma", "Ω": "Omega", "ℓ": "ell", "↑": "uparrow", "↓": "downarrow",
        "←": "leftarrow", "∞": "infty", "≈": "approx", "≠": "neq", "∈": "in", "★": "star", "•": "bullet", "½": "frac12",
    }.items()
}  # fmt: skip
_SPECIAL |= {letter: f"$^{number}$" for number, letter in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
_SPECIAL |= {letter: f"$_{number}$" for number, letter in enumerate("₀₁₂₃₄₅₆₇₈₉")}
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c",
}  # fmt: skip
_LETTERS = {
    "ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "ı": "i", "†": "dag",
    "‡": "ddag", "§": "S", "¶": "P", "©": "copyright", "£": "pounds",
}  # fmt: skip
_QUOTES = {"‘": "`", "’": "'", "“": "``", "”": "''", "\u00a0": "~", "‐": "-", "‑": "-"}
GLYPH = "unseenglyph"
"""The command for a character that pdfLaTeX has no font for: XeLaTeX and LuaLaTeX print it, pdfLaTeX its number."""

DEFINITION = f"\\providecommand{{\\{GLYPH}}}[2]{{\\ifdefined\\Umathchar #1\\else{{[}}#2{{]}}\\fi}}"


def escaped(text: str) -> str:
    """Text with LaTeX's special characters escaped, mathematical signs typeset, and letters with accents as commands.

    All of it is ASCII, but for characters in arguments of `GLYPH`, so that it does not depend on fonts or encodings.
    """
    return "".join(map(_escaped, unicodedata.normalize("NFC", printable(text))))


def with_definitions(text: str) -> str:
    """LaTeX after the definition of the command that it uses for characters of other scripts, if it does."""
    if f"\\{GLYPH}{{" not in text:
        return text
    how = "XeLaTeX and LuaLaTeX print such a character if the font has it, pdfLaTeX prints its number."
    return f"% {how}\n{DEFINITION}\n{text}"


def _escaped(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    if character.isascii():
        return character
    if character in _LETTERS:
        return f"\\{_LETTERS[character]}{{}}"
    if character in _QUOTES:
        return _QUOTES[character]
    parts = unicodedata.normalize("NFD", character)
    if len(parts) == 2 and parts[0].isascii() and parts[1] in _ACCENTS:
        return f"\\{_ACCENTS[parts[1]]}{{{parts[0]}}}"
    return f"\\{GLYPH}{{{character}}}{{U+{ord(character):04X}}}"


def tabular(columns: str, header: Sequence[str], rows: Iterable[Sequence[str]], groups: Sequence[str] = ()) -> str:
    """A `tabular` with booktabs rules; cells are LaTeX already.

    Args:
        columns: one letter per column, `l` or `r`.
        rows: a row of no cells is a rule.
        groups: the title above each column, the same for neighbours under one title; empty for none.
    """
    lines = [f"\\begin{{tabular}}{{@{{}}{columns}@{{}}}}", "\\toprule", *_grouped(groups), _line(header), "\\midrule"]
    body = (_line(row) if row else "\\midrule" for row in rows)
    return "\n".join([*lines, *body, "\\bottomrule", "\\end{tabular}"]) + "\n"


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + " \\\\"


def _grouped(groups: Sequence[str]) -> list[str]:
    if not any(groups):
        return []
    titles, rules, first = [], [], 1
    for title, of in groupby(groups):
        last = first + len([*of]) - 1
        titles.append(
            f"\\multicolumn{{{last - first + 1}}}{{c}}{{{escaped(title)}}}" if title else "& " * (last - first)
        )
        rules += [f"\\cmidrule(lr){{{first}-{last}}}"] if title else []
        first = last + 1
    return [" & ".join(titles) + " \\\\", " ".join(rules)]
