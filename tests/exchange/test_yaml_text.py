"""YAML with hostile names, read back by PyYAML."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from unseen.exchange.yaml_text import yaml_text

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
SCALARS = st.one_of(
    TEXTS, st.booleans(), st.none(), st.integers(-(10**9), 10**9), st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS | st.lists(SCALARS, max_size=3), lambda inner: st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6
)


@given(st.lists(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=3), min_size=1, max_size=3))
def test_values_are_read_back(value: list[dict[str, object]]) -> None:
    assert yaml.safe_load(yaml_text(value)) == value


@pytest.mark.parametrize(
    "text",
    ["yes", "null", "1e3", "0x1F", "- a", "a: b", "# c", "---", "!!python/object:os.system", "&a *a",
     "\u2028\x85\ufeff", "😀", "a\x1b[31m", '"\\', "%TAG", "{a: b}", "\r\n"],
)  # fmt: skip
def test_a_name_is_only_text(text: str) -> None:
    value = {"name": text, "list": [text, 1e-7], text: {"n": 1}, "of": [{text: text}]}
    assert yaml.safe_load(yaml_text(value)) == value
    assert yaml_text({"a": text}).count("\n") == 1


def test_half_a_character_is_replaced() -> None:
    assert yaml.safe_load(yaml_text({"a": "x\udc80"})) == {"a": "x\ufffd"}
