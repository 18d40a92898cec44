"""The checkpoint of a training: its complete state."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from unseen.errors import UserError
from unseen.files import atomic_write

FORMAT = 2


@dataclass(frozen=True, eq=False)
class TrainingState:
    """The complete state of a training."""

    model: nn.Module
    optimiser: torch.optim.Optimizer
    scaler: torch.amp.GradScaler
    identity: str

    def save(self, path: Path, step: int, losses: list[float], skipped: int) -> None:
        record = {
            "format": FORMAT,
            "identity": self.identity,
            "step": step,
            "losses": losses,
            "skipped": skipped,
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "scaler": self.scaler.state_dict(),
        }
        with atomic_write(path) as file:
            torch.save(record, file)

    def load(self, path: Path, device: torch.device) -> tuple[int, list[float], int]:
        """The step to resume from, the losses and skipped steps so far; initial values if there is no checkpoint."""
        try:
            record: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
            if record["format"] == FORMAT and record["identity"] == self.identity:
                step, losses, skipped = int(record["step"]), list(record["losses"]), int(record["skipped"])
                self.model.load_state_dict(record["model"])
                self.optimiser.load_state_dict(record["optimiser"])
                self.scaler.load_state_dict(record["scaler"])
                return step, losses, skipped
        except FileNotFoundError:  # there is none, or another process has just finished the same training
            return 0, [], 0
        except Exception as error:  # a damaged file fails in many ways
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise UserError(f"{path}: damaged checkpoint ({reason}); delete it to start over") from None
        raise UserError(f"{path}: a checkpoint of another fine-tuning; delete it, or keep this one elsewhere")
