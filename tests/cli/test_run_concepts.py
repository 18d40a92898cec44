"""`unseen run` of a study of concepts, from end to end, on a tiny ImageNet in the true formats."""

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
from unseen.cli.main import app
from unseen.data.core.splits import Splits
from unseen.runs.merge import merge_runs
from unseen.runs.record import read_run

pytestmark = pytest.mark.gpu_too
Unseen = Callable[..., Any]
CONCEPTS = ("run", "cog-v2")
SHORT = ("--set", "logistic.protocol=cog-v2-short")
QUICK = (*SHORT, "--seeds", 2, "--workers", 1)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyImageNet:
    return make_tiny_imagenet(tmp_path_factory.mktemp("imagenet"))


def levels(tiny: TinyImageNet) -> tuple[object, ...]:
    return ("--set", f"levels={tiny.levels}")


def place(tiny: TinyImageNet) -> tuple[object, ...]:
    images = ("--data", f"imagenet-21k={tiny.imagenet_21k}", "--data", f"imagenet-1k={tiny.imagenet_1k}")
    return (*images, *levels(tiny), "--set", f"splits={tiny.splits}")


def options(tiny: TinyImageNet) -> tuple[object, ...]:
    return ("--backbone", tiny.backbone, *place(tiny), *QUICK)


@pytest.fixture(scope="module")
def features(tiny: TinyImageNet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Features of all domains by one backbone, as `unseen extract` leaves them."""
    folder = tmp_path_factory.mktemp("features")
    words = ("extract", "--backbone", tiny.backbone, *place(tiny), "--workers", 0, "--out", folder)
    app([str(word) for word in words], standalone_mode=False)
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
    words = (*CONCEPTS, *options(tiny), "--shots", "1,all", "--out", run)
    first = unseen(*words)
    assert first.code == 0, first.err
    assert "Jobs: 12 of 12 to do" in first.out  # domains, shots, seeds
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
    answer = unseen("run", "cog-v1", *options(tiny), "--dry-run", "--out", run)
    assert answer.code == 0, answer.err
    assert f"{3 * TRAIN} " in answer.out
    # Regressions with 1, 2, 4, 8 and all samples: concepts have 8 training images, not 16 to 128. Each seed has further
    # fits on all: components, two perceptrons and clusters, and geometry once.
    assert "Jobs: 48 of 48 to do" in answer.out
    assert "16, 32, 64 and 128 shots are skipped on in1k, l1 and l2" in answer.err
    assert "free" in answer.out
    assert not run.exists()


def test_extract_leaves_the_same_features(tiny: TinyImageNet, features: Path, tmp_path: Path, unseen: Unseen) -> None:
    answer = unseen(*CONCEPTS, *options(tiny), "--datasets", "in1k,l2", "--shots", "1", "--out", tmp_path / "run")
    assert answer.code == 0, answer.err
    made, wanted = files(tmp_path / "run/features"), files(features)
    assert set(made) == {name for name in wanted if not name.startswith("l1/")}
    for name in made:
        if name.endswith(".npy"):
            assert (tmp_path / "run/features" / name).read_bytes() == (features / name).read_bytes()


@pytest.mark.long_suite
def test_parts_add_up_to_the_whole(tiny: TinyImageNet, features: Path, tmp_path: Path, unseen: Unseen) -> None:
    common = (*CONCEPTS, "--features", features, *levels(tiny), *QUICK)
    assert unseen(*common, "--shots", "1,2", "--out", tmp_path / "whole").code == 0
    for domains, shots in (("l2", "2"), ("l1,in1k", "1,2"), ("l2", "1")):
        answer = unseen(*common, "--datasets", domains, "--shots", shots, "--out", tmp_path / "parts")
        assert answer.code == 0, answer.err
    assert scores(tmp_path / "parts") == scores(tmp_path / "whole")
    assert [domain.name for domain in read_run(tmp_path / "parts").domains] == ["in1k", "l1", "l2"]


@pytest.mark.long_suite
def test_runs_of_two_machines_are_one(tiny: TinyImageNet, features: Path, tmp_path: Path, unseen: Unseen) -> None:
    common = (*CONCEPTS, "--features", features, *levels(tiny), *QUICK, "--shots", "1")
    for domains, name in (("l2", "there"), ("in1k,l1", "here"), ("in1k,l1,l2", "both")):
        assert unseen(*common, "--datasets", domains, "--out", tmp_path / name).code == 0
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
    words = (*levels(tiny), *QUICK, "--shots", "1", "--datasets", "l1")
    first = unseen(*CONCEPTS, "--features", features, *words, "--out", tmp_path / "a")
    second = unseen(
        *CONCEPTS,
        "--backbone",
        other,
        "--data",
        f"imagenet-21k={tiny.imagenet_21k}",
        "--set",
        f"splits={tiny.splits}",
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
        (("--backbone", "x.py:y", "--datasets", "l9"), "no data set 'l9'"),
        (("--backbone", "x.py:y", "--datasets", "in1"), "did you mean in1k"),
        (("--features", "nowhere", "--data", "x"), "give images .* or features .*, not both"),
        (("--features", "nowhere", "--set", "missing-classes=fail"), 'missing-classes must be "stop" or "skip"'),
        (("--features", "nowhere", "--set", "class-balanced=maybe"), "class-balanced must be true or false"),
        (("--features", "nowhere"), "nowhere: no such folder"),
        (("--features", "nowhere", "--seeds", "0"), "seeds must be at least 1"),
    ],
)
def test_mistakes(words: tuple[str, ...], message: str, tiny: TinyImageNet, tmp_path: Path, unseen: Unseen) -> None:
    answer = unseen(*CONCEPTS, *levels(tiny), "--out", tmp_path / "run", *words)
    assert answer.code == 2
    assert re.search(message, answer.err), answer.err
    assert answer.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_images_that_are_not_given_are_asked_for(tiny: TinyImageNet, tmp_path: Path, unseen: Unseen) -> None:
    words = (*CONCEPTS, "--backbone", tiny.backbone, *levels(tiny), "--out", tmp_path / "run")
    both = [("--data", f"imagenet-21k={tiny.imagenet_21k}"), ("--data", f"imagenet-1k={tiny.imagenet_1k}")]
    assert "--data imagenet-1k=" in unseen(*words, *both[0]).err
    assert "--data imagenet-21k=" in unseen(*words, *both[1]).err
    # Without somebody's splits the protocol's own draw needs 782 images a concept.
    few = unseen(*words, *both[0], "--datasets", "l1").err
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


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_domain, "no features of l2; it has in1k, l1"),
        (spoil_other_backbone, "extracted by another backbone than"),
        (spoil_unfinished, "its extraction is unfinished"),
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
    words = (*CONCEPTS, *levels(tiny), *QUICK, "--shots", "1", "--out", tmp_path / "run")
    assert unseen(*words, "--features", features, "--datasets", "l1").code == 0
    shutil.copytree(features, tmp_path / "spoilt")
    spoil(tmp_path / "spoilt", tiny)
    before = files(tmp_path)
    answer = unseen(*words, "--features", tmp_path / "spoilt")
    assert answer.code == 2
    assert message in answer.err
    assert files(tmp_path) == before


def test_features_are_found_by_their_concepts_where_folders_are_called_otherwise(
    tiny: TinyImageNet, features: Path, tmp_path: Path, unseen: Unseen
) -> None:
    shutil.copytree(features, tmp_path / "swapped")
    for before, after in (("l1", "l0"), ("l2", "l1"), ("l0", "l2")):
        (tmp_path / "swapped" / before).rename(tmp_path / "swapped" / after)
    words = (*CONCEPTS, *levels(tiny), *QUICK, "--shots", "1")
    for folder in (features, tmp_path / "swapped"):
        answer = unseen(*words, "--features", folder, "--out", tmp_path / "run" / folder.name)
        assert answer.code == 0, answer.err
    assert scores(tmp_path / "run/swapped") == scores(tmp_path / "run" / features.name)


def test_a_folder_keeps_to_one_study(tiny: TinyImageNet, features: Path, tmp_path: Path, unseen: Unseen) -> None:
    words = (*CONCEPTS, "--features", features, *levels(tiny), "--datasets", "l1", "--shots", "1")
    assert unseen(*words, *QUICK, "--out", tmp_path / "run").code == 0
    before = files(tmp_path)
    answer = unseen(*words, "--seeds", 1, "--workers", 1, "--out", tmp_path / "run")
    assert answer.code == 2
    assert "a run that differs in the key logistic.protocol (cog-v2-short, " in answer.err
    # Nor are features extracted that could not be used.
    words = (*CONCEPTS, *options(tiny), "--datasets", "l2", "--out", tmp_path / "run")
    assert "a run that differs in the " in unseen(*words, "--set", "preprocessing=own", "--set", "fast=true").err
    assert files(tmp_path) == before


def test_seen_concepts_may_be_called_anything(
    tiny: TinyImageNet, features: Path, tmp_path: Path, unseen: Unseen
) -> None:
    shutil.copytree(features, tmp_path / "features")
    (tmp_path / "features/in1k").rename(tmp_path / "features/Fishes")
    words = (*CONCEPTS, "--features", tmp_path / "features", *levels(tiny), "--set", "seen=Fishes", *QUICK)
    answer = unseen(*words, "--datasets", "fishes,l1", "--shots", "1", "--out", tmp_path / "run")
    assert answer.code == 0, answer.err
    domains = [(domain.name, domain.title, domain.seen) for domain in read_run(tmp_path / "run").domains]
    assert domains == [("Fishes", "Fishes", True), ("l1", "L1", False)]
    for name in ("l1", "a/b", "random3"):
        wrong = unseen(*words[: -len(QUICK)], "--set", f"seen={name}", "--out", tmp_path / "other")
        assert (wrong.code, "seen" in wrong.err) == (2, True)
    wrong = unseen(*words[:4], "--set", "seen=x", "--out", tmp_path / "other")
    assert (wrong.code, "seen is for levels of your own" in wrong.err) == (2, True)
    assert not (tmp_path / "other").exists()


def test_seen_images_may_be_called_anything(tiny: TinyImageNet, tmp_path: Path, unseen: Unseen) -> None:
    answer = unseen(
        *CONCEPTS,
        *options(tiny),
        "--set",
        "seen=fishes",
        "--datasets",
        "fishes",
        "--shots",
        "1",
        "--out",
        tmp_path / "run",
    )
    assert answer.code == 0, answer.err
    data = read_run(tmp_path / "run")
    assert [domain.title for domain in data.domains] == ["fishes"]
    assert {(each.domain, each.split) for each in data.images} == {("fishes", "train"), ("fishes", "test")}


def test_images_that_were_left_out_are_told_on_the_page(tmp_path: Path, unseen: Unseen) -> None:
    tiny = make_tiny_imagenet(tmp_path / "imagenet")
    spoil_image(tiny, "n02121808")
    words = (*CONCEPTS, *options(tiny), "--datasets", "l1", "--shots", "1", "--out", tmp_path / "run")
    failed = unseen(*words)
    assert failed.code == 2
    assert "--set on-error=skip" in failed.err
    answer = unseen(*words, "--set", "on-error=skip")
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
    again = (*CONCEPTS, "--features", tmp_path / "run/features", *levels(tiny), "--datasets", "l1", *QUICK)
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
    words = (*CONCEPTS, "--features", tmp_path / "mine", "--backbone", "mine", *levels(tiny), *QUICK)
    answer = unseen(*words, "--datasets", "l1,l2", "--shots", "all", "--out", tmp_path / "run")
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
    words = (*CONCEPTS, "--features", tmp_path / "mine", *levels(tiny), *QUICK, "--datasets", "l1")
    answer = unseen(*words, "--out", tmp_path / "run")
    assert answer.code == 2
    assert message in answer.err
    assert not (tmp_path / "run").exists()


def test_the_class_balanced_variant_draws_732(tiny: TinyImageNet, tmp_path: Path, unseen: Unseen) -> None:
    concepts = list(LEVELS[1])[:2]
    write_tar_of_tars(tmp_path / "more.tar", concepts, 800)
    header, *lines = tiny.levels.read_text().splitlines()
    (tmp_path / "two.csv").write_text("\n".join([header, *(line for line in lines if line.split(",")[2] in concepts)]))
    images = ("--data", f"imagenet-21k={tmp_path / 'more.tar'}", "--set", f"levels={tmp_path / 'two.csv'}")
    words = (*CONCEPTS, "--backbone", tiny.backbone, *images, "--datasets", "l1", "--out", tmp_path / "run", *QUICK)
    balanced = ("--set", "class-balanced=true", "--dry-run")
    assert "1,500 " in unseen(*words, "--dry-run").out  # 800 − 50 of each
    assert "1,464 " in unseen(*words, *balanced).out  # 2 · 732
    wrong = unseen(*words, *balanced, "--set", f"splits={tiny.splits}")
    assert (wrong.code, "leave out splits" in wrong.err) == (2, True)


def test_other_levels_of_the_same_concepts_need_no_images(
    tiny: TinyImageNet, features: Path, tmp_path: Path, unseen: Unseen
) -> None:
    header, *lines = tiny.levels.read_text().splitlines()
    swapped = [line.replace("1,", "2,", 1) if "n02121808" in line else line for line in lines]
    swapped = [line.replace("2,", "1,", 1) if "n03930630" in line else line for line in swapped]
    (tmp_path / "other.csv").write_text("\n".join([header, *swapped]))
    other = ("--set", f"levels={tmp_path / 'other.csv'}", "--datasets", "l1,l2", *QUICK, "--shots", "1")
    answer = unseen(*CONCEPTS, "--features", features, *other, "--out", tmp_path / "run")
    assert answer.code == 0, answer.err
    assert {key[1] for key in scores(tmp_path / "run")} == {"l1", "l2"}
    named = {domain.name: "".join(domain.concepts) for domain in read_run(tmp_path / "run").domains}
    assert "n03930630" in named["l1"]
    assert "n02121808" in named["l2"]


@pytest.mark.long_suite
def test_levels_by_another_measure_and_at_random(tmp_path: Path, unseen: Unseen) -> None:
    (tmp_path / "features").mkdir()
    words = (*CONCEPTS, "--features", tmp_path / "features", "--out", tmp_path / "run", "--set")
    # No features are there: the error lists the domains that were looked for.
    assert "no features of in1k" in unseen(*words, "levels=lin").err
    assert "no features of random7" in unseen(*words, "levels=random", "--datasets", "random7").err
    assert "no features of l1" in unseen(*words, "levels=random", "--datasets", "l1").err
    assert "word-vectors" in unseen(*words, "levels=random", "--set", "word-vectors=x").err
    assert "compares text: give a word-vector file" in unseen(*words, "levels=cosine").err
    assert "word-vectors" in unseen(*words, "levels=lin", "--set", "word-vectors=x").err
    assert not (tmp_path / "run").exists()


def test_parts_of_a_job_array_make_the_run_that_one_command_makes(
    tiny: TinyImageNet, features: Path, tmp_path: Path, unseen: Unseen
) -> None:
    """In one folder or in several, which the report puts together; each job is done by one part."""
    words = (*CONCEPTS, "--features", features, *levels(tiny), *QUICK, "--shots", "1", "--out")
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
    words = (*CONCEPTS, *options(tiny), "--shots", "1", "--datasets", "l1", "--out", tmp_path / "run", "--part")
    waiting = unseen(*words, "2/2")
    assert waiting.code == 0
    assert "part 2 of 2" in waiting.err
    assert not (tmp_path / "run" / "run.json").exists()
    assert unseen(*words, "1/2").code == 0
    assert unseen(*words, "2/2").code == 0
    assert len(scores(tmp_path / "run")) == 2 * 2
