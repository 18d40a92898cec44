"""Requests to train models, from the data and the settings that users give."""

from collections.abc import Sequence
from pathlib import Path

from unseen.data.own.one_split import open_test_set
from unseen.studies.shifts.finetune import FinetuneRequest
from unseen.studies.shifts.keys import FinetuneKeys, PoolKeys
from unseen.studies.shifts.model_pool import RATIOS
from unseen.studies.shifts.plans import ZERO_SHOT, ModelPlan
from unseen.studies.shifts.pool import PoolRequest
from unseen.studies.shifts.pool_networks import kind_of_network
from unseen.studies.shifts.recipes import SHARES, choose_recipe
from unseen.studies.shifts.training_sets import (
    TrainingSet,
    class_names_of,
    open_training_set,
    read_held_out,
    refuse_tested,
)


def pool_request(
    data: Sequence[str],
    networks: Sequence[str],
    keys: PoolKeys,
    *,
    without: Sequence[Path] = (),
    test_sets: Sequence[str] = (),
    workers: int = 0,
) -> PoolRequest:
    """A request to train networks on one or two training sets.

    Args:
        without: files with the ids of images that are not trained on.
        test_sets: test sets that must not share images with the training sets.
        workers: processes that decode images.
    """
    kinds = dict.fromkeys(kind_of_network(name) for name in networks)
    sets = _opened(data, without, test_sets, captions="clip" in kinds)
    return PoolRequest(
        sets,
        networks,
        {
            kind: choose_recipe(
                kind, epochs=keys.epochs, steps=keys.steps, batch=keys.batch, rate=keys.rate, decay=keys.decay
            )
            for kind in kinds
        },
        {kind: keys.shares or SHARES[kind] for kind in kinds},
        class_names_of(sets, keys.classes),
        ratios=keys.ratios or (*RATIOS, 1.0),
        size=keys.size,
        seed=keys.seed,
        sentence=keys.sentence,
        templates=keys.templates,
        workers=workers,
    )


def finetune_request(
    backbone: str,
    data: str,
    keys: FinetuneKeys,
    *,
    without: Sequence[Path] = (),
    test_sets: Sequence[str] = (),
    workers: int = 0,
) -> FinetuneRequest:
    """A request to fine-tune a zero-shot classifier on labelled images.

    Args:
        backbone: id of the zero-shot model.
        without, test_sets, workers: as for `pool_request`.
    """
    plan = ModelPlan(
        backbone, backbone, head=ZERO_SHOT, classes=keys.outputs, templates=keys.templates, weights=keys.weights,
        size=keys.size,
    )  # fmt: skip
    (training,) = _opened([data], without, test_sets)
    return FinetuneRequest(plan, training, keys.rates, keys.steps, keys.batch, keys.seed, workers)


def _opened(
    data: Sequence[str], without: Sequence[Path], test_sets: Sequence[str], *, captions: bool = False
) -> list[TrainingSet]:
    """The training sets without held-out images; images of test sets in them are refused."""
    held_out = read_held_out(without)
    sets = [open_training_set(place, captions=captions, without=held_out) for place in data]
    refuse_tested(sets, [open_test_set(place) for place in test_sets])
    return sets
