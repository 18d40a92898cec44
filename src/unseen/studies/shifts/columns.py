"""The columns of a table of accuracies: test sets, each on a choice of classes.

- `own`: each test set on its own classes (`imagenet-r`);
- the name of a test set: every test set that has all its classes, on exactly those (`val-on-imagenet-r-classes`);
- `shared`: every test set on the classes that all have (`val-on-shared-classes`);
- a list of classes, by name or file (`unseen.ontology.class_lists`): every test set that has all of them, on those.

The ID and OOD test sets of a fit must be on the same classes. A column with the name of a test set is on all its
classes, with or without a mapping of classes; the classes that a mapping keeps are a separate column
(`cifar-10-on-mapped-classes`, `val-on-mapped-cifar-10-classes`).
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unseen.errors import UserError, did_you_mean, names_of, setting
from unseen.metrics.class_subset import class_names, label_class, shared_classes
from unseen.ontology.class_lists import CLASS_LISTS, class_list, list_name

OWN, SHARED = "own", "shared"


@dataclass(frozen=True)
class Column:
    """A column of the table: a test set on some classes.

    Attributes:
        kept: the classes of the column, among the values of `classes`, which maps names to classes.
    """

    name: str
    test_set: str
    kept: tuple[str, ...]
    classes: Mapping[str, str]

    @property
    def digest(self) -> str:
        """Hash of the kept classes and of the names that belong to them."""
        wanted = set(self.kept)
        members = sorted((kept, name) for name, kept in self.classes.items() if kept in wanted)
        return hashlib.sha256(repr(members).encode()).hexdigest()[:16]


def table_columns(
    labels: Mapping[str, tuple[str, ...]], scopes: Sequence[str], mapping: Mapping[str, str] | None = None
) -> tuple[Column, ...]:
    """The columns of some scopes; see the docstring of this module.

    Args:
        labels: labels of each test set.
    """
    columns = dict[str, Column]()
    for scope in scopes:
        if scope in (OWN, SHARED, *labels):
            found = _scope_columns(scope, labels, mapping)
        elif scope in CLASS_LISTS or Path(scope).is_file():
            found = _listed_columns(scope, labels, mapping)
        else:
            words = [OWN, SHARED, *labels, *CLASS_LISTS]
            hint = did_you_mean(scope, words) or f"; choose from {', '.join(words)}, or give a file of classes"
            raise UserError(f"no classes '{scope}' to score on{hint}")
        columns |= {column.name: column for column in found}
    return tuple(columns.values())


def _listed_columns(
    scope: str, labels: Mapping[str, tuple[str, ...]], mapping: Mapping[str, str] | None
) -> Iterator[Column]:
    """The columns of test sets that have all classes of a list."""
    wanted, called = class_list(scope), list_name(scope)
    columns = [
        _column(f"{name}-on-{'mapped-' if mapping is not None else ''}{called}-classes", name, [wanted, own], mapping)
        for name, own in labels.items()
        if _covers(own, wanted, mapping)
    ]
    if not columns:
        raise UserError(f"no test set has images of all {len(wanted):,} classes of '{scope}' ({setting('classes')})")
    yield from columns


def _covers(own: tuple[str, ...], wanted: tuple[str, ...], mapping: Mapping[str, str] | None) -> bool:
    """Whether a test set has images of the classes of all given names."""
    both = [wanted, own]
    classes = class_names(both, mapping)
    whole = shared_classes([wanted], classes)
    return bool(whole) and shared_classes(both, classes) == whole


def _scope_columns(
    scope: str, labels: Mapping[str, tuple[str, ...]], mapping: Mapping[str, str] | None
) -> Iterator[Column]:
    mapped = "mapped-" if mapping is not None else ""
    if scope == OWN:
        for name, own in labels.items():
            yield _column(name, name, [own], None)
            if mapping is not None and shared_classes([own], class_names([own], mapping)):
                yield _column(f"{name}-on-mapped-classes", name, [own], mapping)
    elif scope == SHARED:
        for name in labels:
            yield _column(f"{name}-on-shared-classes", name, list(labels.values()), mapping)
    else:
        whole = _column(f"{scope}-on-mapped-classes" if mapped else scope, scope, [labels[scope]], mapping)
        yield whole
        for name, own in labels.items():
            both = [labels[scope], own]
            if name != scope and shared_classes(both, class_names(both, mapping)) == whole.kept:
                yield _column(f"{name}-on-{mapped}{scope}-classes", name, both, mapping)


def unmapped(columns: Sequence[Column], labels: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """For each column under a mapping, the labels of its test set that are left out."""
    for column in columns:
        own = labels[column.test_set]
        lost = [label for label in own if label_class(label, column.classes) not in column.kept]
        if lost:
            yield f"{column.name}: {len(lost):,} of {len(own):,} labels are left out: {names_of(lost)}"


def _column(name: str, test_set: str, labels: Sequence[tuple[str, ...]], mapping: Mapping[str, str] | None) -> Column:
    classes = class_names(labels, mapping)
    kept = shared_classes(labels, classes)
    if not kept:
        raise UserError(f"{name}: its test sets have no class in common; give other test sets or a mapping of classes")
    return Column(name, test_set, kept, classes)
