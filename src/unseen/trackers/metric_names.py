"""Names of scores in trackers: `DATASET/PROBE/METRIC`, or `DATASET/PROBE/8_shot/METRIC` with 8 samples per class.

A part consists of ASCII letters, digits and underscores, and the first one does not start with a digit: by such names
Weights & Biases sorts and filters, and every tracker takes them. Hyphens and dots become underscores. A part with other
characters also gets four digits of the SHA-256 of its true text, so that no two names of that kind are the same.
"""

import re
from collections.abc import Collection

from unseen.text.digits import four_digits

LONGEST = 60
"""Characters of a part; MLflow takes 250 for the whole name."""
PLAIN = re.compile(r"[A-Za-z0-9_.-]+")
OTHER = re.compile(r"[^A-Za-z0-9_]")


def metric_name(dataset: str, probe: str, metric: str, shots: int | None = None) -> str:
    """The name of a score; it stays the same in all versions, all runs and all trackers."""
    parts = [name_part(dataset), name_part(probe), *([] if shots is None else [f"{shots}_shot"]), name_part(metric)]
    return ("_" if parts[0][0].isdigit() else "") + "/".join(parts)


def name_part(text: str) -> str:
    """One part of a name."""
    plain = OTHER.sub("_", text)[:LONGEST]
    if PLAIN.fullmatch(text) and len(text) <= LONGEST:
        return plain
    return f"{plain}_{four_digits(text)}"


def folder_name(text: str, taken: Collection[str] = ()) -> str:
    """The name of a folder for a backbone: `timm-resnet50.a1` for `timm:resnet50.a1`.

    Other characters are replaced as above.

    Args:
        taken: names of other folders, from which it differs.
    """
    joined = re.sub(r"[:/]", "-", text)
    plain = re.sub(r"[^A-Za-z0-9_. -]", "_", joined).strip(" .")[:LONGEST]
    return plain if plain == joined and plain not in taken else f"{plain}_{four_digits(text)}"
