"""The callbacks for Lightning and for the Trainer of transformers: the same weights, and scores in their logs."""

from pathlib import Path
from typing import Any

import pytest
import torch
from small_training import SIDE, Small, pictures, small, study_of
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import unseen
from unseen.api.monitor import Monitor

pytestmark = [pytest.mark.long_suite, pytest.mark.filterwarnings("default")]
"""Their imports take seconds, and they warn about what other libraries have deprecated."""


def samples() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(24, 3, SIDE, SIDE, generator=generator)
    return images, torch.arange(24) % 3


def monitor(folder: Path, **options: Any) -> Monitor:
    study = study_of(pictures(folder / "data"))
    return unseen.Monitor(study, every=2, out=folder / "out", transform=SIDE, **options)


def lightning_weights(folder: Path, callbacks: list[Any]) -> tuple[Tensor, Any]:
    import lightning
    from lightning.pytorch.loggers import CSVLogger

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.network: Small = small()

        def training_step(self, batch: list[Tensor], number: int) -> Tensor:
            assert self.network.training
            return nn.functional.cross_entropy(self.network(batch[0]), batch[1])

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)

    lightning.seed_everything(0, verbose=False)
    module = Module()
    trainer = lightning.Trainer(
        max_epochs=2, accelerator="cpu", logger=CSVLogger(folder, name="", version=""), callbacks=callbacks,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, accumulate_grad_batches=2,
    )  # fmt: skip
    trainer.fit(module, DataLoader(TensorDataset(*samples()), batch_size=4, shuffle=True))
    return torch.cat([each.flatten().double() for each in module.state_dict().values()]), trainer


def test_lightning(tmp_path: Path) -> None:
    import pandas as pd

    watching = monitor(tmp_path, features=lambda module, images: module.network.encoder(images))
    without, _ = lightning_weights(tmp_path / "without", [])
    found, trainer = lightning_weights(tmp_path / "with", [watching.lightning()])
    assert torch.equal(found, without)
    assert [*watching.checks] == [0, 2, 4, 6]
    logged = pd.read_csv(tmp_path / "with/metrics.csv")
    [name] = [each for each in logged.columns if each.endswith("knn_20/top1")]
    expected = {step: check.means[name] for step, check in watching.checks.items()}
    assert logged.set_index("step")[name].dropna().to_dict() == pytest.approx(expected)
    assert trainer.callback_metrics[name].item() == pytest.approx(expected[6])


class Model(nn.Module):
    """As transformers call it."""

    def __init__(self) -> None:
        super().__init__()
        self.network: Small = small()

    def forward(self, pixel_values: Tensor, labels: Tensor | None = None) -> dict[str, Tensor]:
        scores = self.network(pixel_values)
        return {"loss": nn.functional.cross_entropy(scores, labels), "logits": scores} if labels is not None else {}


def trainer_of(folder: Path, callbacks: list[Any]) -> Any:
    from transformers import Trainer, TrainingArguments

    rows = [{"pixel_values": image, "labels": label} for image, label in zip(*samples(), strict=True)]
    arguments = TrainingArguments(
        str(folder), max_steps=6, per_device_train_batch_size=4, report_to="none", save_steps=4, disable_tqdm=True,
        use_cpu=True, seed=0,
    )  # fmt: skip
    return Trainer(Model(), arguments, train_dataset=rows, callbacks=callbacks)


def weights(trainer: Any) -> Tensor:
    return torch.cat([each.flatten().double() for each in trainer.model.state_dict().values()])


def test_trainer_and_its_restart(tmp_path: Path) -> None:
    def features(module: Any, images: Tensor) -> Tensor:
        found: Tensor = module.network.encoder(images)
        return found

    without = trainer_of(tmp_path / "without", [])
    without.train()
    watching = monitor(tmp_path, features=features)
    found = trainer_of(tmp_path / "with", [watching.trainer()])
    found.train()
    assert torch.equal(weights(found), weights(without))
    assert [*watching.checks] == [0, 2, 4, 6]
    [name] = [each for each in watching.checks[0].means if each.endswith("knn_20/top1")]
    history = {each["step"]: each[name] for each in found.state.log_history if name in each}
    assert history == {step: check.means[name] for step, check in watching.checks.items()}

    logged = list[dict[str, float]]()
    again = unseen.Monitor(
        study_of(tmp_path / "data"), every=2, out=tmp_path / "out", transform=SIDE, features=features
    )  # fmt: skip
    continued = trainer_of(tmp_path / "with", [again.trainer(log=logged.append)])
    continued.train(resume_from_checkpoint=str(tmp_path / "with/checkpoint-4"))
    assert again.checks == watching.checks  # all steps were checked before
    assert logged == [watching.checks[step].means for step in (4, 6)]
