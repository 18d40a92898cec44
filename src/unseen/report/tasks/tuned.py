"""Results of fine-tuning for the page: every setting that was tried, and the chosen one."""

from collections.abc import Mapping, Sequence
from typing import Any

from unseen.errors import UserError
from unseen.probes.finetuning.grid import FinetuneGrid
from unseen.report.tasks.page_data import Bins, Tried, Tuned
from unseen.runs.data import RunData
from unseen.runs.results import Result
from unseen.runs.scores import result_scores

ARITHMETIC = {"float16": "Products in 16 bits, weights and updates in 32", "float32": "All numbers in 32 bits"}
DEVICES = {"cuda": "GPU", "cpu": "CPU"}


def arithmetic_text(tuned: Sequence[Tuned]) -> str:
    """The precision and device of all trainings; by data set if they differ."""
    found: dict[str, list[str]] = {}
    for each in tuned:
        found.setdefault(each.arithmetic, []).append(f"{each.backbone} on {each.dataset}")
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(f"{arithmetic}: {', '.join(dict.fromkeys(of))}" for arithmetic, of in found.items())


def tuned_of(result: Result, run: RunData, dataset: str, title: str) -> Tuned:
    """The contents of a result; a damaged one is an error.

    Args:
        dataset, title: name and title of its data.
    """
    try:
        details, job, device = result.details, result.job, result.values["device"]
        grid = FinetuneGrid(**job["settings"]["protocol"])
        bins = {when: Bins(b["counts"], b["confidence"], b["accuracy"]) for when, b in _reliability(details).items()}
        return Tuned(
            backbone=job["backbone"],
            dataset=dataset,
            title=title,
            metric=job["metric"],
            scores=list(result_scores(result, run)),
            tried=[
                Tried(setting.rate, setting.decay * setting.rate, setting.augment, value)
                for setting, value in zip(grid.settings, details["validation"], strict=True)
            ],
            chosen=range(grid.trials).index(details["chosen"]),  # an error if there is no such position
            passed_over=[range(grid.trials).index(place) for place in details.get("passed_over", ())],
            edges=details["edges"],
            arithmetic=f"{ARITHMETIC[job['arithmetic']]}, on a {DEVICES.get(device, device)}",
            seconds=details["trial_seconds"] + result.seconds,
            temperatures=details.get("temperatures", ()),
            unbounded=details.get("unbounded_temperature", False),
            seed=result.setting[1],
            before=bins.get("before"),
            after=bins.get("after"),
        )
    except (KeyError, TypeError, ValueError):
        raise UserError(f"the result {result.key}.json is damaged; delete the file and run again") from None


def _reliability(details: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = details.get("reliability", {})
    return found
