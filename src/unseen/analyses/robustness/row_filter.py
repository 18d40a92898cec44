"""A small language to select rows of a table: `group in {imagenet, yfcc} and val >= 5`.

    choice     = all ("or" all)*          all  = one ("and" one)*          one = "not" one | "(" choice ")" | test
    test       = column ("==" | "!=" | "<" | "<=" | ">" | ">=") value  |  column ["not"] "in" "{" value ("," value)* "}"

A column or value with spaces or symbols needs single or double quotes. Values are compared as numbers if both are
numbers, and otherwise as text; only numbers are ordered, and an empty cell passes only `!=` and `not in`. No code is
evaluated: this is a parser and a handful of comparisons.
"""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from unseen.errors import UserError, did_you_mean

Row = Mapping[str, str]
Test = Callable[[Row], bool]

TOKEN = re.compile(r"""\s*(?:(?P<quoted>"[^"]*"|'[^']*')|(?P<sign>[<>=!]=|[<>{}(),])|(?P<word>[^\s<>=!{}(),"']+))""")
ORDERS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
KEYWORDS = ("and", "or", "not", "in")
DEEPEST = 50


@dataclass(frozen=True)
class Token:
    """A token of the text; `place` is the number of its first character, from 1."""

    kind: str
    text: str
    place: int


def row_filter(text: str, columns: list[str]) -> Test:
    """Parse a text into a test of rows; errors give their position."""
    parser = _Parser(text, columns)
    test = parser.choice(0)
    parser.expect("", "the end, `and` or `or`")
    return test


class _Parser:
    """Reads tokens from left to right."""

    def __init__(self, text: str, columns: list[str]) -> None:
        self.text, self.columns = text, columns
        self.tokens = _tokens(text)
        self.at = 0

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        token = self.next
        self.at += token.kind != "end"
        return token

    def accept(self, text: str) -> bool:
        """Consume the next token if it is this symbol or keyword; return whether it was."""
        found = self.next.text == text and self.next.kind != "quoted"
        if found:
            self.take()
        return found

    def expect(self, text: str, what: str) -> None:
        if not (self.accept(text) if text else self.next.kind == "end"):
            self.fail(what)

    def fail(self, wanted: str) -> NoReturn:
        found = f"'{self.next.text}'" if self.next.text else "the end"
        raise UserError(f"'{self.text}', character {self.next.place}: expected {wanted}, not {found}")

    def choice(self, depth: int) -> Test:
        tests = [self.all(depth)]
        while self.accept("or"):
            tests.append(self.all(depth))
        return tests[0] if len(tests) == 1 else lambda row: any(test(row) for test in tests)

    def all(self, depth: int) -> Test:
        tests = [self.one(depth)]
        while self.accept("and"):
            tests.append(self.one(depth))
        return tests[0] if len(tests) == 1 else lambda row: all(test(row) for test in tests)

    def one(self, depth: int) -> Test:
        if depth > DEEPEST:
            self.fail(f"at most {DEEPEST} brackets within each other")
        if self.accept("not"):
            test = self.one(depth + 1)
            return lambda row: not test(row)
        if self.accept("("):
            inner = self.choice(depth + 1)
            self.expect(")", "')'")
            return inner
        return self.test()

    def test(self) -> Test:
        column = self.column()
        if self.next.text in ("==", "!=", *ORDERS) and self.next.kind == "sign":
            return self.comparison(column, self.take().text)
        wanted = not self.accept("not")
        self.expect("in", "a comparison (==, !=, <, <=, >, >=, in)")
        values = self.values()
        return lambda row: any(_equal(row[column], value) for value in values) == wanted

    def comparison(self, column: str, sign: str) -> Test:
        if sign in ("==", "!="):
            value = self.value()
            return lambda row: _equal(row[column], value) == (sign == "==")
        limit = _number(self.next.text)
        if limit is None:
            self.fail(f"a number after {sign}")
        self.take()
        return lambda row: _ordered(row[column], sign, limit)

    def column(self) -> str:
        token = self.next
        if token.kind not in ("word", "quoted") or (token.text in KEYWORDS and token.kind == "word"):
            self.fail("the name of a column")
        if token.text not in self.columns:
            hint = did_you_mean(token.text, self.columns)
            raise UserError(f"'{self.text}', character {token.place}: no column '{token.text}' in the table{hint}")
        return self.take().text

    def value(self) -> str:
        if self.next.kind not in ("word", "quoted"):
            self.fail("a value")
        return self.take().text

    def values(self) -> list[str]:
        self.expect("{", "'{'")
        values = [self.value()]
        while self.accept(","):
            values.append(self.value())
        self.expect("}", "',' or '}'")
        return values


def _tokens(text: str) -> list[Token]:
    tokens, at = list[Token](), 0
    while text[at:].strip():
        match = TOKEN.match(text, at)
        if match is None:
            place = at + len(text[at:]) - len(text[at:].lstrip())
            what = "a quote that is not closed" if text[place] in "\"'" else f"'{text[place]}' has no meaning here"
            raise UserError(f"'{text}', character {place + 1}: {what}")
        kind = match.lastgroup or ""
        content = match[kind]
        tokens.append(Token(kind, content[1:-1] if kind == "quoted" else content, match.start(kind) + 1))
        at = match.end()
    return [*tokens, Token("end", "", len(text) + 1)]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _ordered(cell: str, sign: str, limit: float) -> bool:
    number = _number(cell)
    return number is not None and ORDERS[sign](number, limit)


def _equal(cell: str, value: str) -> bool:
    left, right = _number(cell), _number(value)
    return left == right if left is not None and right is not None else cell == value
