import pytest

from unseen.errors import UserError, look_up


def test_an_unknown_name_is_told_which_are_close_or_else_all() -> None:
    known = {"resnik": 1, "lin": 2}
    assert look_up(known, "lin", "measure") == 2
    with pytest.raises(UserError, match=r"^no measure 'resnick'; did you mean resnik\?$"):
        look_up(known, "resnick", "measure")
    with pytest.raises(UserError, match=r"^no measure 'x' of words; there are resnik, lin$"):
        look_up(known, "x", "measure", " of words")
