"""A reader takes a time that grows with a text, whatever is in it."""

import gc
import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from test_any_reader import READERS

from unseen.errors import UserError
from unseen.exchange.places import names_a_place
from unseen.reading.toml_text import parse_toml
from unseen.studies.toml import study_of

SECONDS, REPEATS, MOST, START = 0.05, 5, 1 << 19, 1 << 15
RATIO = 3
"""Of the times for twice the text: 2 if they are proportional, 4 if they are quadratic."""
UNITS = (
    "=", "a.", ",", "\n", '"', '\\"', "[", "{", "9", "\t", "a ", "a/", "\u202e", "#", "a=1\n", '"a":1,', "<a>", "x",
)  # fmt: skip
TEXTS = {
    name for name in READERS
    if name.startswith(("own", "table", "coco", "voc", "results", "vectors.txt", "list.csv", "arrow s", "store man"))
}  # fmt: skip


def seconds(act: Callable[[], object]) -> float:
    """CPU time; an act may end with a sentence."""
    start = time.process_time()
    with suppress(UserError):
        act()
    return time.process_time() - start


def assert_linear(of: Callable[[int], Callable[[], object]], most: int = MOST) -> None:
    """Assert that acts on twice as much take less than three times as long, at a size that can be timed.

    Args:
        of: the act on something of a size.
        most: the size at which something that takes less than `SECONDS` counts as bounded.
    """
    size = START
    while (took := seconds(of(size))) < SECONDS and size < most:
        size *= 2
    if took < SECONDS:
        return
    once, twice = of(size), of(2 * size)
    if seconds(twice) < RATIO * took:
        return
    gc.collect()
    best = [min(seconds(act) for _ in range(REPEATS)) for act in (once, twice)]
    assert best[1] < RATIO * best[0], f"{best[0]:.3f} s for {size:,}, {best[1]:.3f} s for twice as much"


def repeated(unit: str, size: int) -> str:
    return unit * (size // len(unit))


@pytest.mark.parametrize("unit", ["=", "=a/", "@", "a/.py_", "=a/x.py_", "/a ", "=/", "c:/", "http://"])
def test_paths_in_a_text(unit: str) -> None:
    assert_linear(lambda size: lambda: names_a_place(repeated(unit, size) + str(time.perf_counter())), 1 << 16)


@pytest.mark.parametrize("unit", ["a.", '"a".', "[a.", "a . ", '"""\\"""\\', "'", "a=[", "a={", '"\\'])
@pytest.mark.parametrize("parse", [parse_toml, lambda text: study_of(text, "s", "s.toml")])
def test_keys_of_toml(unit: str, parse: Callable[[str], object]) -> None:
    def act(size: int) -> Callable[[], object]:
        def parsed() -> None:
            with pytest.raises((ValueError, UserError)):
                parse(repeated(unit, size) + "a=1")

        return parsed

    assert_linear(act, 1 << 16)


def test_dots_in_texts_and_comments_are_no_keys() -> None:
    dots = "a." * 99
    text = f"# {dots}a\nb.c.'{dots}'.\"{dots}\" = '{dots}'\nd = '''\n{dots}'''\ne = \"\"\"{dots}\\\"\"\"\"\n"
    assert parse_toml(text) == {"b": {"c": {dots: {dots: dots}}}, "d": dots, "e": f'{dots}"'}
    assert parse_toml(".".join("a" * 16) + " = 1")
    for key in (".".join("a" * 17), ".".join(['"a"'] * 17), " . ".join(["'a'"] * 17)):
        for form in (f"{key} = 1", f"[{key}]", f"[[{key}]]", f"a = {{ {key} = 1 }}"):
            with pytest.raises(ValueError, match="16"):
                parse_toml(form)


def places(content: str) -> Iterator[int]:
    """The beginning, the end, and some places behind quotes and separators."""
    behind = [at + 1 for at, letter in enumerate(content) if letter in "\"',=[>\n "]
    yield from {0, len(content), *random.Random(0).sample(behind, min(len(behind), 2))}


@pytest.mark.long_suite
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(TEXTS))
def test_hostile_text_of_twice_the_size_takes_twice_as_long(tmp_path: Path, name: str) -> None:
    path, read = READERS[name](tmp_path)
    content = path.read_text()
    for at in places(content):
        for unit in UNITS:

            def act(size: int, at: int = at, unit: str = unit) -> Callable[[], object]:
                def read_it() -> None:
                    path.write_text(content[:at] + repeated(unit, size) + content[at:])
                    read()

                return read_it

            assert_linear(act)
