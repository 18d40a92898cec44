"""The probe `spectrum`: which images it measures, what it leaves out, and what it says of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import unseen as package
from unseen.errors import UserError
from unseen.features.store import read_store, write_store
from unseen.metrics.intrinsic_dimension import two_nn
from unseen.metrics.spectrum import alpha_req, eigenvalues, participation_ratio, rankme
from unseen.probes.by_name import all_probes
from unseen.probes.by_name.spectrum import Spectrum
from unseen.probes.probe import ProbeData, Size
from unseen.probes.protocol import Setting
from unseen.probes.vectors import Vectors

GENERATOR = torch.Generator().manual_seed(0)
X, X_TEST = torch.randn(150, 24, generator=GENERATOR), torch.randn(40, 24, generator=GENERATOR)


def data(X_train: torch.Tensor = X, X_test: torch.Tensor = X_TEST) -> ProbeData:
    y, y_test = (torch.arange(len(each)) % 2 for each in (X_train, X_test))
    return ProbeData(X_train, y, X_test, y_test, 2)


def test_values_are_those_of_the_functions() -> None:
    [fit] = Spectrum().fit(data(), [Setting()])
    spectrum, exponent = eigenvalues(X, centred=True), alpha_req(eigenvalues(X, centred=True), 150)
    assert exponent is not None
    assert dict(fit.values) == {
        "rankme": rankme(eigenvalues(X, centred=False)), "alpha-req": exponent.value,
        "participation-ratio": participation_ratio(spectrum), "two-nn-dimension": two_nn(X).dimension,
    }  # fmt: skip
    assert fit.details == {
        "samples": 150, "of": 150, "features": "train", "dimensions": 24, "duplicates": 0,
        "alpha_indices": [11, 24], "left_out": [],
    }  # fmt: skip
    assert (fit.units, fit.interval, fit.samples) == (None, None, None)


def test_labels_change_nothing_and_test_images_can_be_chosen() -> None:
    [fit], [other] = Spectrum().fit(data(), [Setting()]), Spectrum(features="test").fit(data(), [Setting()])
    assert (other.details["samples"], other.details["features"]) == (40, "test")
    whole = data(X, X[:0])  # a data set without splits
    [all_of_them] = Spectrum(features="test").fit(whole, [Setting()])
    assert all_of_them.values == fit.values


def test_at_most_so_many_are_drawn_by_the_seed_wherever_they_are(tmp_path: Path) -> None:
    probe = Spectrum(images=50)
    [fit] = probe.fit(data(), [Setting(seed=3)])
    assert (fit.details["samples"], fit.details["of"]) == (50, 150)
    y = np.arange(150) % 2
    write_store(tmp_path, [(X.numpy(), y)], ["a", "b"], provenance={}, shard_rows=40)
    stored = ProbeData(read_store(tmp_path).X, torch.from_numpy(y), X_TEST, torch.arange(40) % 2, 2)
    [from_disk], [again], [otherwise] = (
        probe.fit(of, [Setting(seed=seed)]) for of, seed in ((stored, 3), (data(), 3), (data(), 4))
    )
    assert from_disk.values == fit.values == again.values != otherwise.values


def test_what_has_no_meaning_is_left_out_and_named() -> None:
    [fit] = Spectrum().fit(data(torch.eye(15)), [Setting()])  # all distances are equal, and there are 14 eigenvalues
    assert dict(fit.values).keys() == {"rankme", "participation-ratio"}
    assert fit.details["left_out"] == ["alpha-req", "two-nn-dimension"]
    twice = torch.cat([X, X[:7]])
    [fit] = Spectrum().fit(data(twice), [Setting()])
    assert (fit.details["samples"], fit.details["duplicates"]) == (157, 7)


@pytest.mark.parametrize("bad", [X[:2], torch.zeros(5, 3), torch.ones(5, 3), torch.full((5, 3), torch.nan)])
def test_features_that_cannot_be_measured_are_refused(bad: torch.Tensor) -> None:
    with pytest.raises(UserError):
        list(Spectrum().fit(data(bad), [Setting()]))


def test_shots_are_refused() -> None:
    with pytest.raises(UserError):
        list(Spectrum().fit(data(), [Setting(shots=3)]))
    assert not Spectrum().takes_shots(3)


def test_fewer_images_than_dimensions_are_announced() -> None:
    def announced(rows: dict[str, int], probe: Spectrum) -> list[dict[str, Any]]:
        return [about for _, about in probe.data_notices(Vectors("b", "d", rows, 2, 100), "d")]

    on = {"domain": "d", "on": " on d"}
    assert announced({"train": 101, "test": 5}, Spectrum()) == []
    assert announced({"train": 60, "val": 41, "test": 5}, Spectrum()) == []
    assert announced({"train": 100, "test": 5}, Spectrum()) == [on | {"images": 100}]
    assert announced({"train": 500, "test": 5}, Spectrum(features="test")) == [on | {"images": 5}]
    assert announced({"all": 500}, Spectrum(features="test", images=80)) == [on | {"images": 80}]


def test_its_cost_is_that_of_what_is_drawn() -> None:
    size = Size(1_000_000, 50_000, 1000, (768,))
    assert Spectrum().flops(size, Setting()) == Spectrum().flops(Size(5000, 5000, 2, (768,)), Setting())
    assert Spectrum(images=100).memory(size) < Spectrum().memory(size)


def test_every_probe_says_what_it_is_for() -> None:
    for name, probe in all_probes().items():
        assert 0 < len(probe.purpose) <= 52, name


def test_every_seed_is_a_fit_if_images_are_drawn() -> None:
    rows = {"train": 60, "val": 40, "test": 30}

    def seeds(probe: Spectrum, counts: dict[str, int] = rows) -> list[int]:
        return [job.seed for job in probe.jobs(Vectors("b", "d", counts, 2, 8), [4, 5, 6])]

    assert seeds(Spectrum(images=99)) == [4, 5, 6]
    assert seeds(Spectrum(images=100)) == seeds(Spectrum(images=30, features="test")) == [4]
    assert seeds(Spectrum(images=29, features="test")) == [4, 5, 6]
    assert seeds(Spectrum(images=99), {"all": 100}) == [4, 5, 6]
    arrays = X.numpy(), np.arange(150) % 2, X_TEST.numpy(), np.arange(40) % 2
    table = package.probe(*arrays, probe=Spectrum(images=50), seeds=3).summary()
    assert set(table.seeds) == {3}
    assert (table.deviation > 0).all()
    assert set(package.probe(*arrays, probe=Spectrum(), seeds=3).summary().seeds) == {1}
