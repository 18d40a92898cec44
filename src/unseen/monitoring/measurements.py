"""All checks of a training: when they are due, what they give, and who receives it."""

import logging
import os
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import index
from typing import Any

from unseen.errors import UserError
from unseen.monitoring.check import Checks
from unseen.monitoring.fits import reason
from unseen.monitoring.logged import Logged
from unseen.monitoring.network import Features, watched
from unseen.monitoring.processes import Processes
from unseen.monitoring.records import Records
from unseen.monitoring.scores import Check, Failure
from unseen.trackers.tracker import Status

UNKNOWN = "no module was found in the function that was given, so nothing is put into evaluation mode or restored"


@dataclass(eq=False)
class Measurements:
    """Measures a network in training and keeps what it finds; no error of a check reaches the training.

    Attributes:
        share: as in `Processes`.
    """

    checks: Checks
    records: Records
    trackers: Sequence[Logged] = ()
    features: Features = None
    share: bool = False
    failed: list[str] = field(default_factory=list)
    _begun: bool = False

    def check(self, step: int, network: Any) -> Check | None:
        """The scores at a step, those of before if it was checked before; None in processes that measure nothing."""
        processes = self._processes()
        if not processes.works:
            return None
        if not self._begun:
            self.records.checks = processes.from_first(self.records.checks)
            self._begun = True
            for tracker in self.trackers if processes.first else ():
                tracker.catch_up(self.records.checks.values())
        if self.records.is_done(step):
            return self.records.checks[step]
        check: Check = processes.from_first(self._measured(processes, step, network))
        self.records.add(check)
        if processes.first:
            self._keep(check)
        else:
            self.records.unwritten.clear()
        return check

    def decode(self) -> None:
        """Decode the images of this process now, instead of in the first check."""
        if self._processes().works:
            self.checks.decode()

    def end(self, error: BaseException | None = None) -> None:
        """Write what is not written yet, and tell the trackers that there will be no more scores.

        Args:
            error: what ended the training, if an error did.
        """
        if self.records.unwritten:
            self._write(max(self.records.checks))
        status: Status = "finished"
        if error is not None:
            status = "failed" if isinstance(error, Exception) else "interrupted"
            self.failed.append(f"the training ended with {reason(error)}")
        elif self.records.unwritten or not all(map(self.records.is_done, self.records.checks)):
            status = "failed"
        for each in self.trackers:
            each.end(status, self.failed)
        self.trackers = ()

    def _processes(self) -> Processes:
        """The processes as they are now: a training starts them after the monitor is made."""
        self.checks.processes = Processes.now(share=self.share)
        return self.checks.processes

    def _measured(self, processes: Processes, step: int, network: Any) -> Check:
        found, failed = None, ""
        try:
            found = watched(network, self.features)
        except Exception as error:
            failed = reason(error)
        failed = next(filter(None, processes.gathered(failed)), "")
        if failed or found is None:
            return Check(step, failures=[Failure(step, failed)])
        if not found.modules and processes.first:
            _warn(f"unseen.Monitor: {UNKNOWN}")
        try:
            return self.checks.run(found, step)
        except Exception as error:
            return Check(step, failures=[Failure(step, reason(error))])

    def _keep(self, check: Check) -> None:
        """Write a check, log it, and say what failed."""
        self._write(check.step)
        for tracker in self.trackers:
            tracker.pass_on(check)
        for failure in check.failures:
            self.failed.append(failure.sentence)
            _warn(failure.sentence)

    def _write(self, step: int) -> None:
        try:
            self.records.write()
        except UserError as error:
            failure = Failure(step, str(error), of_disk=True)
            self.failed.append(failure.sentence)
            self.records.note(failure)
            _warn(failure.sentence)


def step_number(step: Any) -> int:
    """A training step, also one of NumPy or PyTorch; anything but a whole number from 0 is a user's error."""
    number = -1
    if not isinstance(step, bool) and not callable(step):
        with suppress(TypeError, ValueError):
            number = index(step)
    if number < 0:
        raise UserError(
            f"the first argument of a monitor is the training step, a whole number from 0, not {step!r:.60}; the "
            "second one is the network"
        )
    return number


def is_first_started() -> bool:
    """Whether this is the first process of a training, as far as its launcher says so in the environment."""
    return os.environ.get("RANK", os.environ.get("LOCAL_RANK", "0")) == "0"


def _warn(sentence: str) -> None:
    """Warn; where a filter makes an exception of it, which would end the training, it is logged instead."""
    try:
        warnings.warn(sentence, RuntimeWarning, stacklevel=2)
    except RuntimeWarning:
        logging.getLogger("unseen").warning(sentence)
