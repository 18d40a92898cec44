"""Which characters act instead of being shown, compared with Unicode's categories."""

import json
import sys
import tomllib
import unicodedata

from unseen.text.plain import ACTING, REPLACEMENT, escaped_text, plain_text

SHOWN = {"\u06dd", "\u070f", "\u08e2", *map(chr, (*range(0x600, 0x606), 0x890, 0x891, 0x110BD, 0x110CD))}
"""Signs before numbers and verses, which are visible though Unicode calls them formats."""
JOINERS = {"\u200c", "\u200d"}


def test_the_characters_that_act_are_those_of_the_categories() -> None:
    every = map(chr, range(sys.maxunicode + 1))
    wanted = {letter for letter in every if unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}
    wanted -= SHOWN | JOINERS | {"\n", "\t"}
    found = {letter for letter in map(chr, range(sys.maxunicode + 1)) if ACTING.fullmatch(letter)}
    assert wanted - found == set()
    # Ranges of the expression include numbers that Unicode has not assigned yet.
    assert {unicodedata.category(letter) for letter in found - wanted} <= {"Cn"}


def test_names_stay_as_they_are_in_json_and_toml() -> None:
    name = "a\x1b[2J\x7f\x9b31m\u202ename\U000e0041\u2028 and é√😀"
    assert json.loads(escaped_text(json.dumps([name], ensure_ascii=False))) == [name]
    text = json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
    assert tomllib.loads(f"name = {escaped_text(text, long=True)}") == {"name": name}
    assert not ACTING.search(escaped_text(json.dumps([name], ensure_ascii=False)))
    assert escaped_text("\udcff") == plain_text("\udcff") == plain_text("\r") == REPLACEMENT
    assert plain_text("é\t\n\xa0√😀") == "é\t\n\xa0√😀"
