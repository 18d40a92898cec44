"""Scores of a network in training: the same as those of a run, kept and continued, with whatever goes wrong named."""

import json
import shutil
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from small_training import SIDE, pictures, small, study_of
from torch import Tensor, nn

import unseen
from unseen.api.monitor import Monitor
from unseen.backbones.backbone import Backbone, Spec
from unseen.backbones.load import tensor_digest
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.monitoring.check import PIXELS
from unseen.monitoring.network import modules_of, watched
from unseen.monitoring.records import SCORES, Records
from unseen.studies.study import Study

PROBES = ("knn", "ridge", "retrieval", "centroids")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pictures(tmp_path_factory.mktemp("pictures"))


def made(study: Study, out: Path, **options: object) -> Monitor:
    return unseen.Monitor(study, **{"every": 1, "out": out, "transform": SIDE, **options})  # type: ignore[arg-type]


def frozen(network: nn.Module, transform: Transform) -> Backbone:
    """A network as a backbone for a run."""
    module = network.encoder.eval()
    assert isinstance(module, nn.Module)
    spec = Spec("mine", "of a step", "output", "none", 32, 0, transform, tensor_digest(module))
    return Backbone(spec, module)


@pytest.mark.parametrize(
    ("probes", "keys"),
    [
        (PROBES, {"shots": [2, "all"], "seeds": 2, "batch": 7}),
        pytest.param(("linear", "logistic", "kmeans", "retrieval", "geometry"), {}, marks=pytest.mark.long_suite),
    ],
)
def test_scores_are_those_of_a_run(
    tmp_path: Path, data: Path, probes: tuple[str, ...], keys: dict[str, object]
) -> None:
    study = study_of(data, *probes, **keys)
    transform = Transform(SIDE, SIDE + 4, "bilinear", mean=(0.5, 0.4, 0.3), std=(0.2, 0.3, 0.4))
    monitor = made(study, tmp_path / "monitor", transform=transform, features="encoder")
    check = monitor(0, small())
    assert check is not None
    assert not check.failures
    run = unseen.run(study, frozen(small(), transform), out=tmp_path / "run", progress=False)
    assert isinstance(run, unseen.api.run.Run)
    key = ["probe", "shots", "seed", "metric"]
    expected = run.scores().sort_values(key).reset_index(drop=True)
    found = monitor.scores().sort_values(key).reset_index(drop=True)
    assert found[key].to_numpy().tolist() == expected[key].to_numpy().tolist()
    assert expected.query("metric == 'top1'")["value"].between(0.2, 0.95).all()
    assert found["value"].to_numpy() == pytest.approx(expected["value"].to_numpy(), abs=1e-6)
    assert {*expected["probe"].str.partition("-")[0]} == {name.partition("-")[0] for name in probes}
    of_knn = [each for each in check.scores if each.probe == "knn-20" and each.first]
    for each in of_knn:
        assert each.hits is not None
        assert each.hits.mean() == pytest.approx(each.value)
        assert each.low is not None
        assert each.high is not None
        assert each.low < each.value < each.high or each.value in {0, 1}


def test_network_in_its_forms(tmp_path: Path, data: Path) -> None:
    network = small()

    def features(images: Tensor) -> Tensor:
        found: Tensor = network.encoder(images)
        return found

    study = study_of(data)
    given: list[tuple[object, object]] = [
        (network, "encoder"),
        (network, lambda net, images: net.encoder(images)),
        (network.encoder, None),
        (features, None),
        (network.encoder.forward, None),
        (partial(torch.func.functional_call, network.encoder, {}), None),
        (nn.DataParallel(network), "encoder"),
    ]
    monitors = [made(study, tmp_path / f"{n}", features=what) for n, (_, what) in enumerate(given)]
    checks = [monitor(0, net) for monitor, (net, _) in zip(monitors, given, strict=True)]
    means = [check.means for check in checks if check is not None and not check.failures]
    assert means == [means[0]] * len(given)
    assert network.training
    assert network.encoder.training
    assert all(each.numel() == 0 or each.sum() == 0 for name, each in network.named_buffers() if "mean" in name)
    assert [*modules_of(features)] == [network]
    assert [*modules_of(network.encoder.forward)] == [network.encoder]
    compiled = nn.Module()
    compiled._orig_mod = nn.DataParallel(network)  # as torch.compile makes it, whose import takes seconds
    assert watched(compiled).modules == [network]


@pytest.mark.long_suite
def test_compiled_network(tmp_path: Path, data: Path) -> None:
    network = small()
    compiled = torch.compile(network, backend="eager")
    plain, found = (made(study_of(data), tmp_path / f"{n}")(0, each) for n, each in enumerate((network, compiled)))
    assert plain is not None
    assert found is not None
    assert found.means == plain.means


def test_half_precision_weights(tmp_path: Path, data: Path) -> None:
    check = made(study_of(data), tmp_path / "out", features="encoder")(0, small().to(torch.bfloat16))
    assert check is not None
    assert not check.failures


def test_restart_continues(tmp_path: Path, data: Path, caplog: pytest.LogCaptureFixture) -> None:
    study, out = study_of(data), tmp_path / "out"
    first = made(study, out, every=5)
    assert first(3, small()) is None
    assert first(0, small()) is not None
    assert first(5, small()) is not None
    size = (out / SCORES).stat().st_size
    assert first(5, small()) is first.checks[5]
    with (out / SCORES).open("a") as file:  # killed in a check: a score of it, and half of another
        file.write((out / SCORES).read_text().splitlines()[0].replace('"step": 0', '"step": 10') + "\n")
        file.write('{"step": 10, "dataset"')
    assert "2 checks" not in caplog.text
    again = made(study, out, every=5)
    assert "2 checks, up to step 5" in caplog.text
    assert again.checks == first.checks

    def refuse(images: Tensor) -> Tensor:
        raise AssertionError("this step was checked")

    assert again(5, refuse) == first.checks[5]
    assert again(10, small()) is not None
    third = made(study, out, every=5)
    assert [*third.checks] == [0, 5, 10]
    assert third.checks == again.checks
    assert len(third.scores()) == 3 * len(first.checks[0].scores)
    assert (out / SCORES).read_bytes()[:size].count(b"\n") == 2 * (len(first.checks[0].scores) + 1)
    with pytest.raises(UserError, match="study"):
        made(study.replace(probes="ridge"), out)
    with pytest.raises(UserError, match="transform"):
        made(study, out, transform=SIDE + 1)
    assert made(study, out, transform=SIDE + 1, replace=True).checks == {}


def test_changed_images_are_refused(tmp_path: Path) -> None:
    images = pictures(tmp_path / "data")
    assert made(study_of(images), tmp_path / "out", features="encoder")(0, small()) is not None
    (images / "test/a/0.png").write_bytes((images / "test/a/1.png").read_bytes())
    with pytest.raises(UserError, match="images"):
        made(study_of(images), tmp_path / "out", features="encoder")


class Pair(nn.Module):
    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        return images, images


class Other(nn.Module):
    """Gives what a function makes of images."""

    def __init__(self, of: object) -> None:
        super().__init__()
        self.of = of

    def forward(self, images: Tensor) -> Tensor:
        return self.of(images)  # type: ignore[operator, no-any-return]


@pytest.mark.parametrize(
    ("network", "words"),
    [
        (Pair(), "type tuple, not a tensor"),
        (Other(lambda images: images), "3 × 16 × 16"),
        (Other(lambda images: images.mean((2, 3)).long()), "int64"),
        (Other(lambda images: images.mean((2, 3)) / 0), "not finite"),
        (Other(lambda images: images.mean((2, 3)).to("meta")), "features on meta for images on cpu"),
        (nn.Sequential(nn.BatchNorm2d(3), nn.Conv2d(3, 2, 3, device="meta")), "device meta"),
        (Other(lambda images: 1 / 0), "ZeroDivisionError"),
        (Other(lambda images: images.mean()), "a single number for 1 image,"),
        (nn.Sequential(nn.Flatten(), nn.LazyLinear(3), nn.LazyBatchNorm1d()), "run one batch"),
        (3, "not a torch.nn.Module"),
    ],
)
def test_bad_network_does_not_stop_the_training(tmp_path: Path, data: Path, network: object, words: str) -> None:
    monitor = made(study_of(data), tmp_path / "out")
    state = torch.get_rng_state()
    with pytest.warns(RuntimeWarning, match="the training goes on") as told:
        check = monitor(0, network)
    assert len(told) == 1
    assert words in str(told[0].message)
    assert check is not None
    assert not check.scores
    [failure] = check.failures
    assert words in failure.failed
    assert torch.equal(state, torch.get_rng_state())
    record = json.loads((tmp_path / "out" / SCORES).read_text().splitlines()[0])
    assert words in record["failed"]
    assert monitor.best() is None
    good = made(study_of(data), tmp_path / "out", features="encoder")
    check = good(0, small())  # what failed is done again
    assert check is not None
    assert check.scores
    assert not good.checks[0].failures


def test_full_disk_does_not_stop_the_training(tmp_path: Path, data: Path) -> None:
    out = tmp_path / "out"
    monitor = made(study_of(data), out, features="encoder")
    assert monitor(0, small()) is not None
    (out / SCORES).rename(out / "kept")
    (out / SCORES).symlink_to("/dev/full")
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        check = monitor(1, small())
    assert check is not None
    assert check.scores
    assert [*monitor.checks] == [0, 1]
    assert monitor(1, small()) is monitor.checks[1]  # its scores are there
    (out / SCORES).unlink()
    (out / "kept").rename(out / SCORES)
    assert monitor(2, small()) is not None
    read = Records.read(out)
    assert [*read.checks] == [0, 1, 2]
    assert "No space left" in read.checks[1].failures[0].failed
    assert read.is_done(1)


def test_damaged_image_fails_its_data_set(tmp_path: Path, data: Path) -> None:
    wrong = pictures(tmp_path / "wrong")
    study = study_of(data).replace(datasets=[str(data), str(wrong)])
    (wrong / "train/a/3.png").write_bytes(b"no picture")
    monitor = made(study, tmp_path / "out", features="encoder")
    with pytest.raises(UserError, match="3.png"):
        monitor.prepare()
    with pytest.warns(RuntimeWarning, match=r"3\.png"):
        check = monitor(0, small())
    assert check is not None
    assert {each.dataset for each in check.scores} == {data.name}
    assert [each.dataset for each in check.failures] == ["wrong"]


def test_probe_that_fails_leaves_the_others(tmp_path: Path, data: Path) -> None:
    (tmp_path / "broken.py").write_text(
        "from dataclasses import dataclass\nfrom typing import ClassVar\n"
        "from unseen.probes.scored import ScoredProbe\n\n\n"
        "@dataclass(frozen=True)\nclass PROBE(ScoredProbe):\n"
        "    name: ClassVar[str] = 'broken'\n    title: ClassVar[str] = 'a broken probe'\n\n"
        "    def scores(self, X_train, y_train, X_test, classes, *, seed=0):\n        raise ValueError('no')\n"
    )
    study = replace(study_of(data, "knn", str(tmp_path / "broken.py")), allow_code=True)
    monitor = made(study, tmp_path / "out", features="encoder")
    with pytest.warns(RuntimeWarning, match="broken"):
        check = monitor(0, small())
    assert check is not None
    assert {each.probe for each in check.scores} == {"knn-20"}
    assert [each.probe for each in check.failures] == ["broken"]


def test_mistakes_before_the_training(tmp_path: Path, data: Path, caplog: pytest.LogCaptureFixture) -> None:
    out = tmp_path / "out"
    for wrong in (
        {"every": 0},
        {"every": "10"},
        {"transform": 0},
        {"transform": "imagenet"},
        {"progress": ["no-such-tracker"]},
        {"data": tmp_path / "nowhere"},
        {"features": 3},
        {"features": small()},
    ):
        with pytest.raises(UserError):
            made(study_of(data), out, **wrong)
    for study in ("dense", None, 3, study_of(data, "fine-tuned"), study_of(tmp_path / "none")):
        with pytest.raises(UserError):
            made(study, out)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="skip"):
        made(study_of(data, on_error="skip"), out)
    assert not out.exists()
    made(study_of(data, "knn", "fine-tuned"), out)
    assert "fine-tuned needs a training of its own" in caplog.text
    made(study_of(data, "knn", "patch-linear", "patch-context"), out)
    assert "patch-linear and patch-context need patch features, " in caplog.text


def test_unknown_module_is_named(tmp_path: Path, data: Path) -> None:
    monitor = made(study_of(data), tmp_path, features="nope")
    with pytest.warns(RuntimeWarning, match=r"features='nope': Small has no module .* encoder, head"):
        monitor(0, small())
    assert made(study_of(data), tmp_path, features="encoder")(0, small()).scores  # type: ignore[union-attr]


def test_unknown_modules_are_said(tmp_path: Path, data: Path) -> None:
    hidden = [small().encoder.eval()]

    def features(images: Tensor) -> Tensor:
        found: Tensor = hidden[0](images)
        return found

    with pytest.warns(RuntimeWarning, match="no module was found"):
        check = made(study_of(data), tmp_path / "out")(0, features)
    assert check is not None
    assert check.scores


def test_decoded_images_are_read_again(tmp_path: Path, data: Path) -> None:
    """The second check, and a restart, read no image of the data set."""
    own = pictures(tmp_path / "data")
    monitor = made(study_of(own), tmp_path / "out", features="encoder")
    first = monitor(0, small())
    assert first is not None
    again = made(study_of(own), tmp_path / "out", features="encoder")
    for path in own.rglob("*.png"):
        path.write_bytes(b"gone")
    second = monitor(1, small())
    assert second is not None
    assert second.means == first.means
    again._measurements.checks._images.update(monitor._measurements.checks._images)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        third = again(1, small())
    assert third is not None
    assert np.allclose([*third.means.values()], [*first.means.values()])


def test_decoded_images_may_be_deleted(tmp_path: Path, data: Path) -> None:
    monitor = made(study_of(data), tmp_path / "out", features="encoder")
    checks = []
    for step in range(3):
        checks.append(monitor(step, small()))
        blocks = sorted((tmp_path / "out" / PIXELS).rglob("*.npy"))
        assert blocks
        if step == 0:
            shutil.rmtree(tmp_path / "out" / PIXELS)
        else:
            blocks[0].unlink()
    assert all(check is not None and not check.failures for check in checks)
    assert checks[0].means == checks[1].means == checks[2].means  # type: ignore[union-attr]


def test_warnings_that_are_errors_do_not_stop_the_training(
    tmp_path: Path, data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monitor = made(study_of(data), tmp_path / "out", features="encoder")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert monitor(0, Pair()) is not None
        assert monitor(1, small()) is not None
        (tmp_path / "out" / SCORES).rename(tmp_path / "kept")
        (tmp_path / "out" / SCORES).symlink_to("/dev/full")
        assert monitor(2, small()) is not None
    (tmp_path / "out" / SCORES).unlink()
    (tmp_path / "kept").rename(tmp_path / "out" / SCORES)
    monitor.close()
    assert caplog.text.count("the training goes on") == 2
    read = Records.read(tmp_path / "out").checks
    assert [bool(check.scores) for check in read.values()] == [False, True, True]


@pytest.mark.long_suite
def test_metric_of_class_names(tmp_path: Path) -> None:
    """The names of the classes reach metrics that need them; without mistakes, there is no value."""
    concepts = unseen.study(
        "drawings", datasets=["l5"], probes=["logistic"], metrics=["lca-information"], shots="all", seeds=1, limit=4
    )
    monitor = made(concepts, tmp_path / "out", transform=8)
    check = monitor(0, nn.Flatten())
    assert check is not None
    assert not check.failures
    run = unseen.run(concepts, flat(), out=tmp_path / "run", progress=False)
    expected = {each.metric: each.value for each in run.scores().itertuples()}  # type: ignore[union-attr]
    assert {each.metric: each.value for each in check.scores} == pytest.approx(expected, abs=1e-6)
    assert expected["lca-information"] > 0


def flat() -> Backbone:
    module = nn.Flatten()
    spec = Spec("pixels", "flat", "output", "none", 3 * 8 * 8, 0, Transform(8, 8), tensor_digest(module))
    return Backbone(spec, module)
