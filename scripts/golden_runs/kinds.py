"""All kinds of work by name, those that others build on first."""

from collections.abc import Callable, Mapping

from golden_runs import concept_kinds, shift_kinds, task_kinds
from golden_runs.kind import Kind

KINDS: Mapping[str, Callable[[], Kind]] = {
    each.__name__.replace("_", "-"): each
    for each in (
        concept_kinds.levels,
        concept_kinds.unsorted,
        concept_kinds.files,
        concept_kinds.extended,
        concept_kinds.mlp,
        concept_kinds.own_code,
        concept_kinds.reference,
        concept_kinds.regrouped,
        concept_kinds.random,
        concept_kinds.balanced,
        task_kinds.linear,
        task_kinds.several_classes,
        task_kinds.same_images,
        task_kinds.grid,
        task_kinds.patches,
        task_kinds.detector,
        task_kinds.single_images,
        shift_kinds.classifiers,
        shift_kinds.pool,
        shift_kinds.zero_shot,
    )
}
