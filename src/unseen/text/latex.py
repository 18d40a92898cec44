"""LaTeX tables with booktabs for papers, with escaped names."""

from collections.abc import Iterable, Sequence

from unseen.text.words import printable

_SPECIAL = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    # After \\ at the end of a line, LaTeX takes a bracket for its argument.
    "[": "{[}", "]": "{]}", "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''", "\n": " ", "\t": " ",
    "±": r"$\pm$", "−": "$-$", "×": r"$\times$", "–": "--", "—": "---", "…": r"\dots{}", "≥": r"$\geq$",
    "≤": r"$\leq$", "→": r"$\rightarrow$", "²": "$^2$", "³": "$^3$", "√": r"$\surd$", "ρ": r"$\rho$", "τ": r"$\tau$",
    "λ": r"$\lambda$", "σ": r"$\sigma$", "°": r"$^\circ$", "·": r"$\cdot$", "▶": r"$\triangleright$", "⁻": "$^-$",
}  # fmt: skip


def escaped(text: str) -> str:
    """Text with LaTeX's special characters escaped and mathematical signs typeset."""
    return "".join(_SPECIAL.get(character, character) for character in printable(text))


def tabular(
    columns: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    groups: Sequence[tuple[str, int]] = (),
) -> str:
    """A `tabular` with booktabs rules; cells are LaTeX already.

    Args:
        columns: one letter per column, `l` or `r`.
        groups: title and width of each group of columns above their titles, after the first column.
    """
    lines = [f"\\begin{{tabular}}{{{columns}}}", "\\toprule", *_grouped(groups), _line(header), "\\midrule"]
    return "\n".join([*lines, *map(_line, rows), "\\bottomrule", "\\end{tabular}"]) + "\n"


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + " \\\\"


def _grouped(groups: Sequence[tuple[str, int]]) -> list[str]:
    if not groups:
        return []
    rules, first = [], 2
    for _, width in groups:
        rules.append(f"\\cmidrule(lr){{{first}-{first + width - 1}}}")
        first += width
    titles = [f"\\multicolumn{{{width}}}{{c}}{{{escaped(title)}}}" for title, width in groups]
    return [_line(["", *titles]), " ".join(rules)]
