"""`unseen concepts`, also with --check, from end to end, on a tiny ImageNet in the true formats."""

import csv
import io
import json
import re
import shutil
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiny_imagenet import LEVELS, TRAIN, TinyImageNet, make_tiny_imagenet, write_tar_of_tars
from unseen.backbones.load import load_backbone
from unseen.features.settings import Settings
from unseen.images.domains import level_domains, seen_domain
from unseen.images.imagenet_1k import imagenet_1k
from unseen.images.open_source import open_images
from unseen.images.splits import Splits
from unseen.ontology.levels import load_levels
from unseen.papers import comparability
from unseen.probes.by_name.logistic import Logistic
from unseen.probes.job import Fit, Job, fits_kept
from unseen.probes.protocol import COG_V2
from unseen.runs.executors.here import run_here
from unseen.runs.merge import merge_runs
from unseen.runs.record import read_run
from unseen.studies.concepts.features import extract_domains, feature_pairs, find_features
from unseen.studies.concepts.study import as_published
from unseen.studies.concepts.verify import BACKBONE
from unseen.studies.probing import plan

pytestmark = pytest.mark.gpu_too
Unseen = Callable[..., tuple[int, str, str]]
CHECK = ("concepts", "--check", "--features")
QUICK = ("--protocol", "cog-v2-short", "--seeds", 2, "--workers", 1)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyImageNet:
    return make_tiny_imagenet(tmp_path_factory.mktemp("imagenet"))


def place(tiny: TinyImageNet) -> tuple[object, ...]:
    images = ("--images", tiny.imagenet_21k, "--imagenet-1k", tiny.imagenet_1k)
    return (*images, "--levels", tiny.levels, "--splits", tiny.splits)


def options(tiny: TinyImageNet) -> tuple[object, ...]:
    return ("--backbone", tiny.backbone, *place(tiny), *QUICK)


@pytest.fixture(scope="module")
def features(tiny: TinyImageNet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Features of all domains by one backbone, where `unseen extract` would leave them."""
    folder = tmp_path_factory.mktemp("features")
    source = open_images(tiny.imagenet_21k)
    seen = [imagenet_1k(tiny.imagenet_1k, split=word) for word in ("train", "val")]
    levels = {f"l{level}": tuple(concepts) for level, concepts in LEVELS.items()}
    unseen, _ = level_domains(source, levels, "tiny", splits=Splits.read(tiny.splits))
    domains = [seen_domain(seen[0], seen[1], None, "tiny"), *unseen]
    backbones = [as_published(load_backbone(tiny.backbone))]
    list(extract_domains(domains, backbones, folder, Settings(workers=0), lambda *_: lambda _: None))
    return folder


def spoil_image(tiny: TinyImageNet, concept: str) -> None:
    """Cut the pixels off the first training image of a concept, in the tar file that it is in."""
    name = Splits.read(tiny.splits).classes[concept].train[0]
    with tarfile.open(tiny.imagenet_21k) as outer:
        members = {member.name: outer.extractfile(member).read() for member in outer}  # type: ignore[union-attr]
    [inner] = [file for file in members if concept in file]
    with tarfile.open(fileobj=io.BytesIO(members[inner])) as archive:
        images = {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]
    [image] = [file for file in images if file.rpartition("/")[2] == name]
    images[image] = images[image][: len(images[image]) // 2]
    members[inner] = packed(images)
    tiny.imagenet_21k.write_bytes(packed(members))


def packed(files: Mapping[str, bytes]) -> bytes:
    """A tar file."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def scores(run: Path) -> dict[tuple[object, ...], float]:
    return {(s.backbone, s.domain, s.probe, s.shots, s.seed, s.metric): s.value for s in read_run(run).scores}


def table_rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def files(folder: Path) -> dict[str, int]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in found}


def test_the_whole_study_and_a_second_run(tiny: TinyImageNet, tmp_path: Path, unseen: Unseen) -> None:
    run = tmp_path / "run"
    words = ("concepts", *options(tiny), "--shots", "1,all", "--out", run)
    first = unseen(*words)
    assert first.code == 0, first.err
    assert "3 domains × 2 settings of shots × 2 seeds = 12 regressions" in first.out
    found = scores(run)
    assert len(found) == 3 * 2 * 2 * 2  # domains, shots, seeds, and two metrics
    assert {key[1] for key in found} == {"in1k", "l1", "l2"}
    # Three colours under noise: a linear classifier cannot miss them with all samples.
    assert np.mean([value for key, value in found.items() if key[3] is None and key[5] == "top1"]) > 0.8
    data = read_run(run)
    assert [domain.name for domain in data.domains] == ["in1k", "l1", "l2"]
    assert [domain.seen for domain in data.domains] == [True, False, False]
    assert data.published == ""  # own levels may not be set beside ImageNet-CoG's
    counts = {each.domain: (each.classes, each.images["test"], each.draw) for each in data.scored}
    assert counts["l1"] == counts["l2"] == (3, 9, "ours")  # in a file, but drawn by our rule
    assert {each.images["train"] for each in data.scored if each.domain != "in1k"} == {3 * TRAIN}
    # Accuracy over all concepts of a domain is that over its images.
    items = [item for item in data.concept_accuracy if item.domain == "l1"]
    assert sum(item.images for item in items) == 2 * 9
    mean = np.mean([value for key, value in found.items() if key[1] == "l1" and key[3] is None and key[5] == "top1"])
    assert sum(item.correct for item in items) / 18 == pytest.approx(mean)
    assert {item.concept: item.similarity for item in items}["n02121808"] == pytest.approx(0.6)
    assert (run / "report.html").stat().st_size > 10_000
    results, stores = files(run / "results"), files(run / "features")
    second = unseen(*words)
    assert second.code == 0, second.err
    assert "jobs to do" not in second.err
    assert (files(run / "results"), files(run / "features")) == (results, stores)


def test_a_dry_run_shows_the_plan_and_writes_nothing(tiny: TinyImageNet, tmp_path: Path, unseen: Unseen) -> None:
    run = tmp_path / "run"
    answer = unseen("concepts", *options(tiny), "--extended", "--dry-run", "--out", run)
    assert answer.code == 0, answer.err
    assert f"{3 * TRAIN} " in answer.out
    counted = "3 domains × 9 settings of shots × 2 seeds = 54 regressions, of which 24 are skipped, and 18 jobs"
    assert counted in answer.out  # concepts have 8 training images, not 16 to 128
    assert answer.err.count("16, 32, 64 and 128 shots are skipped") == 3
    assert "free" in answer.out
    assert not run.exists()


def test_extract_leaves_the_same_features(tiny: TinyImageNet, features: Path, tmp_path: Path, unseen: Unseen) -> None:
    words = ("extract", "--backbone", tiny.backbone, *place(tiny), "--domains", "in1k,l2", "--workers", 0)
    answer = unseen(*words, "--device", "cpu", "--out", tmp_path / "made")
    assert answer.code == 0, answer.err
    made, wanted = files(tmp_path / "made"), files(features)
    assert set(made) == {name for name in wanted if not name.startswith("l1/")}
    for name in made:
        if name.endswith(".npy"):
            assert (tmp_path / "made" / name).read_bytes() == (features / name).read_bytes()
    assert "needs --levels" in unseen("extract", "--backbone", "x", "--domains", "l1", "--out", tmp_path).err


@pytest.mark.long_suite
def test_parts_add_up_to_the_whole(tiny: TinyImageNet, features: Path, tmp_path: Path, unseen: Unseen) -> None:
    common = ("concepts", "--features", features, "--levels", tiny.levels, *QUICK)
    assert unseen(*common, "--shots", "1,2", "--out", tmp_path / "whole").code == 0
    for domains, shots in (("l2", "2"), ("l1,in1k", "1,2"), ("l2", "1")):
        answer = unseen(*common, "--domains", domains, "--shots", shots, "--out", tmp_path / "parts")
        assert answer.code == 0, answer.err
    assert scores(tmp_path / "parts") == scores(tmp_path / "whole")
    assert [domain.name for domain in read_run(tmp_path / "parts").domains] == ["in1k", "l1", "l2"]


@pytest.mark.long_suite
def test_runs_of_two_machines_are_one(tiny: TinyImageNet, features: Path, tmp_path: Path, unseen: Unseen) -> None:
    common = ("concepts", "--features", features, "--levels", tiny.levels, *QUICK, "--shots", "1")
    for domains, name in (("l2", "there"), ("in1k,l1", "here"), ("in1k,l1,l2", "both")):
        assert unseen(*common, "--domains", domains, "--out", tmp_path / name).code == 0
    table = tmp_path / "merged.csv"
    merged = unseen("report", tmp_path / "there", tmp_path / "here", "--out", tmp_path / "r.html", "--table", table)
    assert merged.code == 0, merged.err
    rows = table_rows(table)
    assert {row["backbone"] for row in rows} == {tiny.backbone}
    assert [row["domain"] for row in rows if row["metric"] == "top1"] == ["in1k", "l1", "l2"]
    assert unseen("report", tmp_path / "both", "--out", tmp_path / "b.html", "--table", tmp_path / "both.csv").code == 0
    assert table.read_text() == (tmp_path / "both.csv").read_text()


def test_two_backbones_are_compared(tiny: TinyImageNet, features: Path, tmp_path: Path, unseen: Unseen) -> None:
    other = f"{tiny.folder / 'tiny.py'}:other"
    words = ("--levels", tiny.levels, *QUICK, "--shots", "1", "--domains", "l1")
    first = unseen("concepts", "--features", features, *words, "--out", tmp_path / "a")
    second = unseen(
        "concepts",
        "--backbone",
        other,
        "--images",
        tiny.imagenet_21k,
        "--splits",
        tiny.splits,
        *words,
        "--out",
        tmp_path / "b",
    )
    assert (first.code, second.code) == (0, 0), first.err + second.err
    answer = unseen(
        "report", tmp_path / "a", tmp_path / "b", "--out", tmp_path / "r.html", "--table", tmp_path / "t.csv"
    )
    assert answer.code == 0, answer.err
    rows = table_rows(tmp_path / "t.csv")
    assert {(row["backbone"], row["domain"]) for row in rows} == {(tiny.backbone, "l1"), (other, "l1")}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no backbone was given"),
        (("--backbone", "x.py:y", "--domains", "l9"), "domains must be among in1k, l1, l2"),
        (("--features", "nowhere", "--images", "x"), "give images or features .*, not both: --images"),
        (("--features", "nowhere", "--imagenet-1k", "x"), "not both: --imagenet-1k"),
        (("--features", "nowhere", "--on-missing", "fail"), "not both: --on-missing"),
        (("--features", "nowhere", "--variant", "balanced"), "--variant must be one of plain, class-balanced"),
        (("--features", "nowhere", "--variant", "class-balanced"), "regroup them \\(--regroup\\)"),
        (("--features", "nowhere"), "nowhere: no such folder"),
        (("--features", "nowhere", "--seeds", "0"), "seeds must be from 1"),
    ],
)
def test_mistakes(words: tuple[str, ...], message: str, tiny: TinyImageNet, tmp_path: Path, unseen: Unseen) -> None:
    answer = unseen("concepts", "--levels", tiny.levels, "--out", tmp_path / "run", *words)
    assert answer.code == 2
    assert re.search(message, answer.err), answer.err
    assert not (tmp_path / "run").exists()


def test_images_that_are_not_given_are_asked_for(tiny: TinyImageNet, tmp_path: Path, unseen: Unseen) -> None:
    words = ("concepts", "--backbone", tiny.backbone, "--levels", tiny.levels, "--out", tmp_path / "run")
    assert "--imagenet-1k" in unseen(*words, "--images", tiny.imagenet_21k).err
    assert "give the images of the levels (--images)" in unseen(*words, "--imagenet-1k", tiny.imagenet_1k).err
    # Without somebody's splits the protocol's own draw needs 782 images a concept.
    few = unseen(*words, "--images", tiny.imagenet_21k, "--domains", "l1").err
    assert "fewer than 782 images of 3 of 3 concepts (n02121808 has 12" in few


def spoil_other_backbone(folder: Path, tiny: TinyImageNet) -> None:
    [test] = (folder / "l2").glob("*-test-*")
    manifest = json.loads((test / "manifest.json").read_text())
    manifest["provenance"]["backbone"]["digest"] = "0" * 64
    (test / "manifest.json").write_text(json.dumps(manifest))


def spoil_domain(folder: Path, tiny: TinyImageNet) -> None:
    shutil.rmtree(folder / "l2")


def spoil_unfinished(folder: Path, tiny: TinyImageNet) -> None:
    [test] = (folder / "l2").glob("*-test-*")
    (test / "manifest.json").unlink()


def spoil_swapped(folder: Path, tiny: TinyImageNet) -> None:
    (folder / "l1").rename(folder / "l0")
    (folder / "l2").rename(folder / "l1")
    (folder / "l0").rename(folder / "l2")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_domain, "no features of the domain l2"),
        (spoil_other_backbone, "extracted by another backbone than"),
        (spoil_unfinished, "its extraction is unfinished"),
        (spoil_swapped, "n03930630 is not a concept of l1"),
    ],
)
def test_features_that_do_not_belong_are_refused_and_nothing_is_lost(
    spoil: Callable[[Path, TinyImageNet], None],
    message: str,
    tiny: TinyImageNet,
    features: Path,
    tmp_path: Path,
    unseen: Unseen,
) -> None:
    words = ("concepts", "--levels", tiny.levels, *QUICK, "--shots", "1", "--out", tmp_path / "run")
    assert unseen(*words, "--features", features, "--domains", "l1").code == 0
    shutil.copytree(features, tmp_path / "spoilt")
    spoil(tmp_path / "spoilt", tiny)
    before = files(tmp_path)
    answer = unseen(*words, "--features", tmp_path / "spoilt")
    assert answer.code == 2
    assert message in answer.err
    assert files(tmp_path) == before


def test_a_folder_keeps_to_one_study(tiny: TinyImageNet, features: Path, tmp_path: Path, unseen: Unseen) -> None:
    words = ("concepts", "--features", features, "--levels", tiny.levels, "--domains", "l1", "--shots", "1")
    assert unseen(*words, *QUICK, "--out", tmp_path / "run").code == 0
    before = files(tmp_path)
    answer = unseen(*words, "--seeds", 1, "--workers", 1, "--out", tmp_path / "run")
    assert answer.code == 2
    assert "a run that differs in the protocol of the logistic probe (cog-v2-short, " in answer.err
    # Nor are features extracted that could not be used.
    words = ("concepts", *options(tiny), "--domains", "l2", "--out", tmp_path / "run")
    assert "a run that differs in the " in unseen(*words, "--preprocessing", "own", "--fast").err
    assert files(tmp_path) == before


def test_seen_concepts_may_be_called_anything(
    tiny: TinyImageNet, features: Path, tmp_path: Path, unseen: Unseen
) -> None:
    shutil.copytree(features, tmp_path / "features")
    (tmp_path / "features/in1k").rename(tmp_path / "features/Fishes")
    words = ("concepts", "--features", tmp_path / "features", "--levels", tiny.levels, "--seen", "Fishes", *QUICK)
    answer = unseen(*words, "--domains", "fishes,l1", "--shots", "1", "--out", tmp_path / "run")
    assert answer.code == 0, answer.err
    domains = [(domain.name, domain.title, domain.seen) for domain in read_run(tmp_path / "run").domains]
    assert domains == [("Fishes", "Fishes", True), ("l1", "L1", False)]
    for name in ("l1", "a/b", "random3"):
        assert "--seen" in unseen(*words, "--seen", name, "--out", tmp_path / "other").err
    assert "--seen is for levels of your own" in unseen(*words[:3], "--seen", "x", "--out", tmp_path / "other").err


def test_seen_images_may_be_called_anything(tiny: TinyImageNet, tmp_path: Path, unseen: Unseen) -> None:
    answer = unseen(
        "concepts", *options(tiny), "--seen", "fishes", "--domains", "fishes", "--shots", "1", "--out", tmp_path / "run"
    )
    assert answer.code == 0, answer.err
    data = read_run(tmp_path / "run")
    assert [domain.title for domain in data.domains] == ["fishes"]
    assert {(each.domain, each.split) for each in data.images} == {("fishes", "train"), ("fishes", "test")}


def test_images_that_were_left_out_are_told_on_the_page(tmp_path: Path, unseen: Unseen) -> None:
    tiny = make_tiny_imagenet(tmp_path / "imagenet")
    spoil_image(tiny, "n02121808")
    words = ("concepts", *options(tiny), "--domains", "l1", "--shots", "1", "--out", tmp_path / "run")
    failed = unseen(*words)
    assert failed.code == 2
    assert "--on-error report" in failed.err
    answer = unseen(*words, "--on-error", "report")
    assert answer.code == 0, answer.err
    [flaw] = read_run(tmp_path / "run").flaws
    assert (flaw.kind, flaw.domain, flaw.place, flaw.count) == ("damaged-images", "l1", "training images", 1)
    assert flaw.total == 3 * TRAIN
    assert "n02121808" in flaw.examples[0]
    [told] = [line for line in answer.out.splitlines() if "left out" in line]
    assert told.startswith("L1: 1 of 24 training images is damaged")
    page = (tmp_path / "run/report.html").read_text()
    assert "1 of 24 training images is damaged" in page
    # Nor is it forgotten where the same features are used again.
    again = ("concepts", "--features", tmp_path / "run/features", "--levels", tiny.levels, "--domains", "l1", *QUICK)
    assert unseen(*again, "--shots", "1", "--out", tmp_path / "again").code == 0
    merged = merge_runs([(name, read_run(tmp_path / name)) for name in ("run", "again")])
    assert list(merged.flaws) == [flaw]


def test_own_features_in_files(tiny: TinyImageNet, tmp_path: Path, unseen: Unseen) -> None:
    rng = np.random.default_rng(0)
    for domain, classes in (("l1", sorted(LEVELS[1])), ("l2", ["0", "1", "2"])):
        (tmp_path / "mine" / domain).mkdir(parents=True)
        for split in ("train", "test"):
            y = np.arange(30) % 3
            X = np.eye(3)[y] + 0.1 * rng.random((30, 3))
            np.savez(tmp_path / "mine" / domain / f"{split}.npz", X=X, y=np.array(classes)[y])
    words = ("concepts", "--features", tmp_path / "mine", "--backbone", "mine", "--levels", tiny.levels, *QUICK)
    answer = unseen(*words, "--domains", "l1,l2", "--shots", "all", "--out", tmp_path / "run")
    assert answer.code == 0, answer.err
    assert {(key[0], key[1], value) for key, value in scores(tmp_path / "run").items()} == {
        ("mine", "l1", 1.0),
        ("mine", "l2", 1.0),
    }


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [(3, 2, "class 2 has no test sample"), (2, 3, "class 2 has test samples but no"), (4, 4, "4 classes, but l1")],
)
def test_another_number_of_classes_is_refused(
    train: int, test: int, message: str, tiny: TinyImageNet, tmp_path: Path, unseen: Unseen
) -> None:
    (tmp_path / "mine/l1").mkdir(parents=True)
    for split, classes in (("train", train), ("test", test)):
        X = np.random.default_rng(classes).random((12, 5))
        np.savez(tmp_path / f"mine/l1/{split}.npz", X=X + (split == "test"), y=np.arange(12) % classes)
    words = ("concepts", "--features", tmp_path / "mine", "--levels", tiny.levels, *QUICK, "--domains", "l1")
    answer = unseen(*words, "--out", tmp_path / "run")
    assert answer.code == 2
    assert message in answer.err
    assert not (tmp_path / "run").exists()


def test_the_class_balanced_variant_draws_732(tiny: TinyImageNet, tmp_path: Path, unseen: Unseen) -> None:
    concepts = list(LEVELS[1])[:2]
    write_tar_of_tars(tmp_path / "more.tar", concepts, 800)
    header, *lines = tiny.levels.read_text().splitlines()
    (tmp_path / "two.csv").write_text("\n".join([header, *(line for line in lines if line.split(",")[2] in concepts)]))
    words = (
        "concepts",
        "--backbone",
        tiny.backbone,
        "--images",
        tmp_path / "more.tar",
        "--levels",
        tmp_path / "two.csv",
    )
    words += ("--domains", "l1", "--out", tmp_path / "run", "--dry-run", *QUICK)
    assert "1,500 " in unseen(*words).out  # 800 − 50 of each
    assert "1,464 " in unseen(*words, "--variant", "class-balanced").out  # 2 · 732
    assert "leave out --splits" in unseen(*words, "--variant", "class-balanced", "--splits", tiny.splits).err
    assert "--variant must be one of plain, class-balanced" in unseen(*words, "--variant", "balanced").err


def test_other_levels_of_the_same_concepts_need_no_images(
    tiny: TinyImageNet, features: Path, tmp_path: Path, unseen: Unseen
) -> None:
    header, *lines = tiny.levels.read_text().splitlines()
    swapped = [line.replace("1,", "2,", 1) if "n02121808" in line else line for line in lines]
    swapped = [line.replace("2,", "1,", 1) if "n03930630" in line else line for line in swapped]
    (tmp_path / "other.csv").write_text("\n".join([header, *swapped]))
    words = ("concepts", "--features", features, "--levels", tmp_path / "other.csv", "--domains", "l1,l2", *QUICK)
    words += ("--shots", "1", "--out", tmp_path / "run")
    assert "is not a concept of l1" in unseen(*words).err
    assert "(--backbone)" in unseen(*words, "--regroup").err
    answer = unseen(*words, "--regroup", "--backbone", tiny.backbone)
    assert answer.code == 0, answer.err
    assert {key[1] for key in scores(tmp_path / "run")} == {"l1", "l2"}
    named = {domain.name: "".join(domain.concepts) for domain in read_run(tmp_path / "run").domains}
    assert "n03930630" in named["l1"]
    assert "n02121808" in named["l2"]


@pytest.mark.long_suite
def test_levels_by_another_measure_and_at_random(tmp_path: Path, unseen: Unseen) -> None:
    (tmp_path / "features").mkdir()
    words = ("concepts", "--features", tmp_path / "features", "--out", tmp_path / "run", "--levels")
    # No features are there: the error lists the domains that were looked for.
    assert "no features of the domain in1k" in unseen(*words, "lin").err
    assert "no features of the domain random7" in unseen(*words, "random", "--domains", "random7").err
    assert "domains must be among in1k, random1" in unseen(*words, "random", "--domains", "l1").err
    assert "--vectors needs --levels cosine" in unseen(*words, "random", "--vectors", "x").err
    assert "--levels cosine compares text" in unseen(*words, "cosine").err
    assert "--vectors needs --levels cosine" in unseen(*words, "lin", "--vectors", "x").err


def scored_level(folder: Path, run: Path, level: int, accuracies: Mapping[int | None, float]) -> None:
    """Features of a whole level of cog-v2, and results of its jobs as if they had been run."""
    ids = np.array(load_levels("cog-v2").ids(level))
    (folder / f"l{level}").mkdir(parents=True)
    for number, split in enumerate(("train", "test")):
        y = np.arange(2 * len(ids)) % len(ids)
        X = np.random.default_rng(number).normal(size=(len(y), 4))
        np.savez(folder / f"l{level}" / f"{split}.npz", X=X, y=ids[y])
    [(name, places)] = find_features(folder, [f"l{level}"], [BACKBONE]).items()
    jobs = plan(Logistic(COG_V2), feature_pairs(name, places, {}), tuple(accuracies), range(1))

    def values(job: Job) -> dict[str, Any]:
        pairs = [("top1", accuracies[job.shots] / 100), ("top5", 1.0)]
        return fits_kept([Fit("logistic", job.shots, job.seed, pairs)])

    assert len(list(run_here(jobs, run / "results", values))) == len(jobs)


@pytest.fixture
def small_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Published levels of two training and two test images per concept."""
    monkeypatch.setitem(comparability.LEVEL_IMAGES, "cog-v2", (4000,) * 5)
    monkeypatch.setattr(comparability, "TEST_IMAGES", 2000)


@pytest.mark.usefixtures("small_levels")
@pytest.mark.parametrize(
    ("measured", "code", "sentence"),
    [
        (52.4, 0, "All 2 accuracies agree"),
        (45.0, 1, "1 of 2 accuracies differ too much, most of all l5 with all samples"),
    ],
)
def test_check_compares_and_says_so(measured: float, code: int, sentence: str, tmp_path: Path, unseen: Unseen) -> None:
    scored_level(tmp_path / "features", tmp_path / "run", 5, {1: 12.5, None: measured})
    words = (*CHECK, tmp_path / "features", "--domains", "l5", "--shots", "1,all", "--seeds", 1)
    answer = unseen(*words, "--workers", 1, "--out", tmp_path / "run")
    assert answer.code == code, answer.err
    one, every = [line.split() for line in answer.out.splitlines() if line.startswith("l5 ")]
    assert (one[1], one[2], one[-1]) == ("1", "12.5", "agrees")
    assert every[:5] == ["l5", "all", f"{measured:.1f}", "52.0", f"{measured - 52.0:+.1f}"]
    assert every[-1] == ("agrees" if code == 0 else "differs")
    assert sentence in answer.out
    assert "the images behind the features of L5 are not known" in " ".join(answer.out.split())
    assert "not both: --truth" in unseen(*words, "--out", tmp_path / "run", "--truth", "x").err


def test_check_refuses_other_data_before_probing_them(tmp_path: Path, unseen: Unseen) -> None:
    scored_level(tmp_path / "features", tmp_path / "made", 5, {})
    words = (*CHECK, tmp_path / "features", "--domains", "l5", "--shots", "1", "--seeds", 1)
    answer = unseen(*words, "--out", tmp_path / "run")
    assert answer.code == 2
    assert "L5 has 2,000 training images, not 1,091,662; L5 has 2,000 test images, not 50,000" in answer.err
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("small_levels")
def test_check_goes_by_the_domains_asked_for_in_a_folder_that_has_others(tmp_path: Path, unseen: Unseen) -> None:
    words = (*CHECK, tmp_path / "features", "--shots", "all", "--seeds", 1, "--workers", 1)
    for level, accuracy in ((5, 52.0), (4, 58.1)):
        scored_level(tmp_path / "features", tmp_path / "run", level, {None: accuracy})
        answer = unseen(*words, "--domains", f"l{level}", "--out", tmp_path / "run")
        assert answer.code == 0, answer.err
        assert "All 1 accuracies agree" in answer.out


def test_check_suggests_no_option_that_it_lacks(
    tiny: TinyImageNet, tmp_path: Path, unseen: Unseen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unseen.cli.option_groups.load_backbones", lambda *_: [load_backbone(tiny.backbone)])
    words = ("--images", tiny.imagenet_21k, "--domains", "l1", "--out", tmp_path / "run")
    for more, expected in ((("--check",), set[str]()), (("--backbone", tiny.backbone), {"--on-missing"})):
        answer = unseen("concepts", *words, *more)
        assert answer.code == 2
        assert "no images of" in answer.err
        assert set(re.findall(r"--[a-z0-9-]+", answer.err)) == expected


def test_check_is_of_one_backbone(tiny: TinyImageNet, features: Path, tmp_path: Path, unseen: Unseen) -> None:
    answer = unseen("concepts", "--check", "--features", features, "--domains", "l1", "--out", tmp_path / "run")
    assert answer.code == 2
    assert "no train features of torchvision:resnet50.IMAGENET1K_V1" in answer.err


def test_check_loads_the_published_backbone_from_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import torch
    from torchvision.models import resnet50

    from unseen.cli.loading import load_backbones

    torch.save(resnet50(weights=None).state_dict(), tmp_path / "resnet50-0676ba61.pth")
    [loaded] = load_backbones([BACKBONE], "published", "cpu", tmp_path / "resnet50-0676ba61.pth")
    assert "not used: fc (2)" in capsys.readouterr().err
    transform = loaded.spec.transform
    # Not torchvision's own 256, bilinear: ImageNet-CoG resizes the shortest side to the crop's size, bicubic.
    assert (transform.resize, transform.size, transform.interpolation) == (224, 224, "bicubic")
    assert loaded.spec.dimension == 2048


def test_parts_of_a_job_array_make_the_run_that_one_command_makes(
    tiny: TinyImageNet, features: Path, tmp_path: Path, unseen: Unseen
) -> None:
    """In one folder or in several, which the report puts together; each job is done by one part."""
    words = ("concepts", "--features", features, "--levels", tiny.levels, *QUICK, "--shots", "1", "--out")
    assert unseen(*words, tmp_path / "whole").code == 0
    counts = []
    for part in ("1/2", "2/2"):
        for folder in (tmp_path / "shared", tmp_path / part[0]):
            found = unseen(*words, folder, "--part", part)
            assert found.code == 0, found.err
        counts.append(len(scores(folder)))
    assert scores(tmp_path / "shared") == scores(tmp_path / "whole")
    assert sum(counts) == len(scores(tmp_path / "whole"))
    assert min(counts) > 0
    assert read_run(tmp_path / "1").notices != read_run(tmp_path / "shared").notices  # unfinished by itself
    merged = unseen(
        "report", tmp_path / "1", tmp_path / "2", "--out", tmp_path / "page.html", "--table", tmp_path / "t.csv"
    )
    assert merged.code == 0, merged.err
    assert (tmp_path / "t.csv").read_text() == (tmp_path / "whole" / "scores.csv").read_text()
    assert "not finished" not in merged.out
    for wrong in ("0/4", "5/4", "²/2"):
        assert unseen(*words, tmp_path / "no", "--part", wrong).code == 2
    assert not (tmp_path / "no").exists()


def test_a_part_waits_for_the_features_that_others_extract(tiny: TinyImageNet, tmp_path: Path, unseen: Unseen) -> None:
    """All images are one shard, which the first part extracts; a part with nothing to wait for is no mistake."""
    words = ("concepts", *options(tiny), "--shots", "1", "--domains", "l1", "--out", tmp_path / "run", "--part")
    waiting = unseen(*words, "2/2")
    assert waiting.code == 0
    assert "part 2 of 2" in waiting.err
    assert not (tmp_path / "run" / "run.json").exists()
    assert unseen(*words, "1/2").code == 0
    assert unseen(*words, "2/2").code == 0
    assert len(scores(tmp_path / "run")) == 2 * 2
