"""Columns of images and labels in tables of Hugging Face data sets, whether in Arrow or in Parquet files."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unseen.data.core.multi_label import AND, NOTHING, UNSURE, join_classes
from unseen.errors import UserError, did_you_mean
from unseen.reading.json_records import typed

LABEL_COLUMNS = ("label", "class")
CAPTION_COLUMNS = ("caption", "text", "title")
"""Usual names of the columns of classes and of captions, in order of preference."""
SEVERAL = "several classes"
"""The key in a source's `about` that is set if its images have several classes each."""
Features = Mapping[str, Any]
"""Column → its type as the data set describes it, such as {"_type": "ClassLabel", "names": […]}."""


@dataclass(frozen=True)
class Labels:
    """The labels of all rows, and whether each stands for several classes, joined as in `multi_label`."""

    of_rows: list[str]
    several: bool = False


def image_column(where: object, features: Features, schema: Any, image: str | None) -> str:
    """The column of images: the given one, else the only one that the data set or else its type declares as such."""
    if image is None:
        usual = "image" if "image" in (features or schema.names) else None
        image = _only(where, _declared(features, "Image"), "Image", "image", usual)
    kind = _existing(where, schema, image)
    if not holds_images(kind):
        raise UserError(f"{where}: the column '{image}' has values of the type {kind}, not images")
    return image


def label_column(where: object, features: Features, schema: Any, label: str | None, *, captions: bool) -> str:
    """The column of classes or captions: the given one, else the only one of classes, else one with a usual name."""
    if label is None:
        names = CAPTION_COLUMNS if captions else LABEL_COLUMNS
        usual = next((name for name in names if name in (features or schema.names)), None)
        declared = [] if captions else _declared(features, "ClassLabel") or _declared_lists(features)
        what = "caption" if captions else "ClassLabel"
        label = _only(where, declared, what, "caption" if captions else "label", usual)
    _existing(where, schema, label)
    return label


def _declared(features: Features, kind: str) -> list[str]:
    return [name for name, value in features.items() if isinstance(value, dict) and value.get("_type") == kind]


def _declared_lists(features: Features) -> list[str]:
    """Columns with several classes in each row."""
    return [name for name, value in features.items() if _inner(value) is not None and _names_in(_inner(value))]


def _inner(feature: Any) -> Any:
    """The type of the elements of a list, which has been written in several ways; None if it is no list."""
    if isinstance(feature, list) and len(feature) == 1:
        return feature[0]
    if isinstance(feature, dict) and feature.get("_type") in {"Sequence", "List", "LargeList"}:
        return feature.get("feature")
    return None


def _names_in(feature: Any) -> bool:
    return isinstance(feature, dict) and feature.get("_type") == "ClassLabel"


def _only(where: object, candidates: Sequence[str], kind: str, option: str, usual: str | None) -> str:
    """The only candidate; without any, the column with a usual name if there is one."""
    if len(candidates) == 1:
        return candidates[0]
    if not candidates and usual is not None:
        return usual
    which = f"several columns of type {kind} ({', '.join(candidates)})" if candidates else f"no column of type {kind}"
    raise UserError(f"{where}: {which}; name the column to use ({option})")


def _existing(where: object, schema: Any, name: str) -> Any:
    """The type of a column."""
    if schema.names.count(name) != 1:
        problem = f"no column '{name}'" if name not in schema.names else f"several columns '{name}'"
        hint = did_you_mean(name, schema.names) or f"; there are {', '.join(schema.names)}"
        raise UserError(f"{where}: {problem}{hint}")
    return schema.field(name).type


def holds_images(kind: Any) -> bool:
    """Whether a column holds bytes, or structs of bytes and the path they came from."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return any(field.name == "bytes" for field in kind) and all(
            holds_images(field.type) or is_text(field.type) or pa.types.is_null(field.type) for field in kind
        )
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def plain_values(column: Any, where: str) -> list[Any]:
    """The numbers or texts of a column. Other types are refused, since a few bytes of them could expand to any size."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        parts = [(chunk.dictionary.to_pylist(), chunk.indices.to_pylist()) for chunk in column.chunks]
        return [None if index is None else names[index] for names, indices in parts for index in indices]
    if not (pa.types.is_integer(column.type) or is_text(column.type)):
        raise UserError(f"{where} has values of the type {column.type}, not numbers or names of classes")
    values: list[Any] = column.to_pylist()
    return values


def row_values(column: Any, where: str) -> list[Any]:
    """The label of each row of a column, or the list of its labels."""
    import pyarrow as pa

    if not _is_list(column.type):
        return plain_values(column, where)
    rows = list[Any]()
    for chunk in column.chunks:
        flat = plain_values(pa.chunked_array([chunk.flatten()]), where)
        lengths = [0 if length is None else length for length in _lengths(chunk)]
        ends = 0
        for length in lengths:
            rows.append(flat[ends : ends + length])
            ends += length
    return rows


def _lengths(chunk: Any) -> list[int | None]:
    import pyarrow.compute as pc

    lengths: list[int | None] = pc.list_value_length(chunk).to_pylist()
    return lengths


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def labels_of(
    where: object, column: str, values: Iterable[Any], feature: Any, described: object, *, captions: bool = False
) -> Labels:
    """The classes of all rows: by the names that the data set gives, otherwise numbers and texts as they are.

    Args:
        values: the value of each row, or a list of values if rows have several classes.
        feature: the type of the column as the data set describes it; None if unknown.
        described: where it does that.
        captions: whether the values are captions, which are put in one line each.
    """
    if captions:
        return Labels([_caption(where, column, row, value) for row, value in enumerate(values)])
    inner = _inner(feature)
    labels, several = list[str](), inner is not None
    names = _class_names(described, column, inner if several else feature)
    for row, value in enumerate(values):
        if isinstance(value, list):
            several = True
            shown = {_class_name(where, column, row, each, names) for each in value}
            _refuse_signs(where, column, shown)
            labels.append(join_classes(shown))
        else:
            labels.append(_class_name(where, column, row, value, names))
    return Labels(labels, several)


def _caption(where: object, column: str, row: int, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UserError(f"{where}: row {row} has no caption in the column '{column}' ({value!r:.60})")
    return " ".join(value.split())


def _class_names(where: object, column: str, feature: Any) -> list[str] | None:
    names = feature.get("names") if isinstance(feature, dict) else None
    place = f"{where}, features, {column}, names"
    checked: list[str] | None = typed(names, list[str] | None, place)
    twice = next((name for name, count in Counter(checked or ()).items() if count > 1), None)
    if twice is not None:
        raise UserError(
            f"{place}: two classes are named '{twice}' and would be one; rename one, or choose another column (label)"
        )
    return checked


def _class_name(where: object, column: str, row: int, value: Any, names: Sequence[str] | None) -> str:
    if isinstance(value, int) and names is not None:
        if 0 <= value < len(names):
            return names[value]
        if value == -1:
            raise UserError(
                f"{where}: row {row} has no class in the column '{column}' (-1, which marks labels that are not "
                "published); choose a split with labels"
            )
        raise UserError(f"{where}: row {row} has no class in the column '{column}' ({value}, of {len(names)} names)")
    if not isinstance(value, int) and not (isinstance(value, str) and value and value.isprintable()):
        raise UserError(f"{where}: row {row} has no class in the column '{column}' ({value!r:.60})")
    return str(value)


def _refuse_signs(where: object, column: str, names: Iterable[str]) -> None:
    """Refuse names that cannot be joined to one label."""
    wrong = next((name for name in names if AND in name or name.endswith(UNSURE) or name == NOTHING), None)
    if wrong is not None:
        raise UserError(
            f"{where}: '{wrong}' in the column '{column}' cannot be one of several classes of an image, since '{AND}', "
            f"'{UNSURE}' and '{NOTHING}' have a meaning there; rename it"
        )
