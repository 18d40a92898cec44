"""Commands that were renamed after version 0.1: the old name gives an error with the new one."""

from typing import Any

from unseen.errors import UserError

MOVED = {
    "axes": "report",
    "claims": "papers claims",
    "compare": "report --compare",
    "concept": "levels lookup",
    "finetune": "tasks --finetune",
    "finetune-concepts": "concepts --finetune",
    "label-noise": "concepts --label-noise",
    "ls published": "papers tables",
    "ls sets": "ls concept-sets",
    "published": "papers tables",
    "shifts evaluate": "shifts run",
    "shifts sets": "ls shift-sets",
    "show": "ls backbones",
    "similarity": "levels similarity",
    "splits": "levels splits",
    "verify": "concepts --check",
}
"""Old name → new name, both without the `unseen` before them."""


def refuse_old_name(context: Any, name: str) -> None:
    """Refuse the old name of a command.

    Args:
        context: that of the group in which the command is named.
    """
    words, place = [name], context
    while place.parent is not None:
        words.insert(0, str(place.info_name))
        place = place.parent
    old = " ".join(words)
    if old in MOVED:
        raise UserError(f"'{old}' is now 'unseen {MOVED[old]}'")
