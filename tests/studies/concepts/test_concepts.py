"""The concept study: what may be compared, what is pooled, what runs become together."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studies import plan_of, study_of
from unseen.backbones.backbone import Backbone, Spec
from unseen.data.concepts.domains import DRAWN_BY, SOMEBODY_ELSE, US, open_domain
from unseen.data.core.dataset import Dataset
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.features.about import BackboneAbout
from unseen.features.disk import feature_bytes
from unseen.features.store import write_store
from unseen.ontology.levels import Levels, load_levels
from unseen.ontology.levels_hash import levels_hash
from unseen.papers.comparability import Draw, published_domain
from unseen.probes.job import Job
from unseen.probes.protocol import COG_V2
from unseen.probes.samples import ClassCounts, SamplesPerClass
from unseen.runs.cautions import caution
from unseen.runs.data import Backbone as ReportBackbone
from unseen.runs.data import ConceptAccuracy, Domain, RunData
from unseen.runs.means import ALONE, Means
from unseen.runs.merge import merge_runs
from unseen.runs.notices import left_out, told
from unseen.runs.provenance import extraction_text, provenance
from unseen.runs.random_draws import pooled_draws
from unseen.runs.record import extend_run, read_run
from unseen.runs.score import Score
from unseen.runs.setup import Extraction, FeatureKey, LevelsUsed, SplitsUsed, extraction_differences
from unseen.runs.tables import score_table, summarise
from unseen.studies.backbones import as_published
from unseen.studies.concepts.domains import split_rule
from unseen.studies.concepts.levels import choose_levels, random_sets
from unseen.studies.inputs import vectors
from unseen.studies.inputs.stage import Prepared
from unseen.studies.inputs.vector_features import FeatureSource, FoundFeatures, existing_features
from unseen.studies.inputs.vectors import VectorStage
from unseen.studies.opened import OpenedData, StudyData
from unseen.studies.probed_features import ProbedFeatures
from unseen.studies.probes import study_probes
from unseen.studies.rates import RegressionSpeed
from unseen.studies.record import extraction_of, image_notices, images_used
from unseen.studies.stored_features import DOMAIN_SPLITS, Place, find_features
from unseen.studies.watch import Silent, Watch

EXTENDED = ("geometry", "kmeans", "mlp", "pca")
FEW = load_levels("cog-v2").ids(1)[:3]


@dataclass(frozen=True)
class Given(FeatureSource):
    """Features that exist."""

    features: Sequence[ProbedFeatures]

    def planned(self, out: Path, means: Means) -> FoundFeatures:
        return FoundFeatures(self.features)

    def found(self, out: Path, means: Means, watch: Watch) -> FoundFeatures:
        return FoundFeatures(self.features)


def stage_of(features: Sequence[ProbedFeatures], levels: Levels | None = None, **keys: Any) -> VectorStage:
    """A study of levels, by default the published ones, with other values of keys."""
    splits = keys.pop("splits_used", None)
    study = study_of("cog-v2", **{"shots": [1, "all"]} | keys)
    names = dict.fromkeys(each.dataset for each in features)
    data = [StudyData(Dataset(name, name, 3), is_domain=True) for name in names]
    opened = OpenedData(data, choose_levels(levels or "cog-v2"), splits)
    return VectorStage(study_probes(study, print), Given(features), study=study, opened=opened)


def prepared(stage: VectorStage) -> Prepared:
    return stage.prepare(Path("nowhere"), ALONE, Silent())


def features_in(folder: Path, domain: str, concepts: Sequence[str] = FEW, draw: Draw = "unknown") -> ProbedFeatures:
    """The only features of a domain in a folder, as a study of them finds them."""
    [(backbone, places)] = find_features(folder, domain, DOMAIN_SPLITS, []).items()
    data = StudyData(Dataset(domain, domain, 3), is_domain=True)
    return existing_features(backbone, data, places, concepts, seen="in1k", draw=draw)


def test_levels_are_known_by_their_concepts() -> None:
    v2, v1 = load_levels("cog-v2"), load_levels("cog-v1")
    assert choose_levels(v2).published == "cog-v2"
    assert choose_levels(v1).published == "cog-v1"
    assert choose_levels(replace(v1, name="cog-v2")).published == "cog-v1"
    assert choose_levels(replace(v2, concepts=v2.concepts[:-1])).published == ""


def test_a_model_takes_28_gb_of_training_features() -> None:
    """2048 numbers of 16 bits for every training image of the seven figures that the papers print."""
    from unseen.features.settings import Settings

    levels = 1_168_804 + 1_165_790 + 1_145_206 + 1_157_129 + 1_141_662 - 5 * 50_000
    rows = 1_281_167 + levels
    half = Settings(device="cuda", precision="half")
    assert feature_bytes(rows, 2048, half) == pytest.approx(28e9, rel=0.01)
    assert feature_bytes(rows, 2048, Settings()) == pytest.approx(56e9, rel=0.01)


def test_random_sets_are_fifteen_of_the_published_concepts() -> None:
    sets = random_sets()
    everything = {concept.wnid for concept in load_levels("cog-v2").concepts}
    assert len(sets) == 15
    assert all(len(set(sets.ids(number))) == 1000 and set(sets.ids(number)) <= everything for number in sets.numbers)
    assert len({sets.ids(number) for number in sets.numbers}) == 15


def test_random_sets_are_reported_as_their_mean() -> None:
    values = {(draw, seed): 0.5 + 0.01 * draw + 0.001 * seed for draw in (1, 2, 15) for seed in range(2)}
    own = Score("concepts", "cog-v2", "r50", "l1", "logistic", None, 0, "top1", 0.9)
    drawn = [replace(own, domain=f"random{draw}", seed=seed, value=value) for (draw, seed), value in values.items()]
    pooled = list(pooled_draws([own, *drawn]))
    assert pooled[0] == own
    table = summarise(score_table(pooled)).set_index("domain")
    assert table.loc["random", "seeds"] == 6
    assert table.loc["random", "mean"] == pytest.approx(np.mean(list(values.values())))
    assert table.loc["l1", "mean"] == 0.9


def test_the_class_balanced_variant_has_732_images() -> None:
    study = study_of("cog-v2")
    assert (split_rule(study).max_train, split_rule(study.replace(class_balanced=True)).max_train) == (1300, 732)
    with pytest.raises(UserError, match="did you mean class-balanced"):
        study.replace(clas_balanced=True)


def test_the_published_preprocessing_resizes_to_the_crop() -> None:
    import torch

    torchvision = Transform(size=384, resize=438, interpolation="bilinear", mean=(0.5, 0.5, 0.5), squash=True)
    spec = Spec("x", "w", "penultimate", "avg", 8, 1, torchvision)
    found = as_published(Backbone(spec, torch.nn.Identity())).spec.transform
    assert (found.resize, found.size, found.interpolation, found.squash) == (384, 384, "bicubic", False)
    assert found.mean == (0.5, 0.5, 0.5)


class Release:
    def __init__(self, release: str) -> None:
        self.about = {"release": release}
        self.entries = ()


def test_blurred_faces_are_said() -> None:
    names = ("ImageNet-1K with blurred faces, training", "ImageNet-1K with blurred faces, validation")
    train, test = ((Release(name), None) for name in names)
    domain = open_domain("in1k", (), train, tests=test)  # type: ignore[arg-type]
    data = [StudyData(domain.dataset, domain, is_domain=True)]
    images = images_used(OpenedData(data, choose_levels("cog-v2")), data)
    assert [each.release for each in images] == ["imagenet-1k-blurred-train", "imagenet-1k-blurred-val"]
    assert [each.code for each in image_notices(images, data)] == ["blurred-faces"]
    assert image_notices([replace(each, blurred=False) for each in images], data) == []
    shown = provenance(replace(run_of("in1k", 0.5), images=images))
    assert (shown["train images of in1k"], shown["test images of in1k"]) == names


def write_features(folder: Path, domain: str, ids: Sequence[str], **about: Any) -> None:
    """A domain's features as an extraction leaves them, a hundred rows a split."""
    spec = {"id": "b", "weights": "w", "layer": "l", "pool": "avg", "dimension": 4, "parameters": 1, "digest": "d" * 64}
    spec["transform"] = {"size": 384, "resize": 384, "interpolation": "bicubic"}
    way = {"backbone": spec, "precision": "half", "fast": False, "exif": False, "revision": 1}
    for number, split in enumerate(("train", "test")):
        y = np.arange(100) % len(ids)
        X = np.random.default_rng([number, len(domain)]).normal(size=(100, 4)).astype(np.float32)
        said = {**way, "split": split, "key": f"{domain}{split}", **about}
        write_store(folder / domain / f"b-{split}", [(X, y)], ids, provenance=said)


def test_what_is_written_of_a_run(tmp_path: Path) -> None:
    levels = load_levels("cog-v2")
    write_features(tmp_path, "l1", FEW)
    stage = stage_of([features_in(tmp_path, "l1")], splits_used=SplitsUsed(0, 50, 1300))
    data = prepared(replace(stage, opened=replace(stage.opened, notices=[told("Mind this.")]))).run
    assert data.notice == "Mind this."
    assert data.splits == SplitsUsed(0, 50, 1300)
    # Of 1,000 concepts there are three, a hundred rows a split; the stores do not say who drew them.
    assert [(s.classes, s.images, s.draw) for s in data.scored] == [(3, {"train": 100, "test": 100}, "unknown")]
    assert data.backbones[0].category == "yours"
    assert data.features == [FeatureKey("b", "l1", {"train": "l1train", "test": "l1test"})]
    assert data.levels == LevelsUsed("cog-v2", levels_hash(levels))
    assert data.domains[0].similarity == pytest.approx(0.844867, abs=1e-6)  # as the paper's levels have it
    assert data.domains[0].concepts[0].endswith(f"({levels.ids(1)[0]})")


@pytest.mark.parametrize(
    ("domain", "source", "draw", "codes"),
    [
        ("l1", {DRAWN_BY: US}, "unknown", ["own-draw"]),
        ("l1", {DRAWN_BY: SOMEBODY_ELSE}, "unknown", []),
        ("l1", {}, "ours", ["own-draw"]),  # stores of an earlier version, made by this command
        ("l1", None, "unknown", ["unknown-images"]),  # a user's own files
        ("l1", None, "given", []),  # of which the splits say whose draw they are
        ("in1k", {}, "ours", []),  # there is no draw, and no level, to speak of
        ("in1k", None, "unknown", ["unknown-images"]),
    ],
)
def test_who_drew_the_images_follows_from_what_was_run(
    domain: str, source: dict[str, str] | None, draw: Draw, codes: list[str], tmp_path: Path
) -> None:
    write_features(tmp_path, domain, FEW, **({} if source is None else {"source": source}))
    images = {part.splits[0]: part.images for part in published_domain("cog-v2", domain).parts}  # type: ignore[union-attr]
    rows = {"train": images["train"], "test": images["test"]}
    here = features_in(tmp_path, domain, draw=draw)
    whole = replace(here, rows=rows, classes=1000, samples=SamplesPerClass.same(700), counts=None)
    data = prepared(stage_of([whole])).run
    assert [reason.code for reason in data.comparisons["b", domain].reasons] == codes


USUAL = {
    "id": "timm:resnet50.a1_in1k", "weights": "resnet50.a1_in1k", "layer": "penultimate", "pool": "avg",
    "dimension": 4, "parameters": 23_508_032, "digest": "d" * 64,
    "transform": {"size": 224, "resize": 224, "interpolation": "bicubic", "squash": False},
}  # fmt: skip
DEIT = {
    "id": "timm:deit_small_patch16_224.fb_in1k", "weights": "deit_small_patch16_224.fb_in1k", "pool": "cls",
    "parameters": 21_665_664,
}  # fmt: skip
IN_21K = "vit_base_patch16_224.augreg_in21k"


def test_the_normalisation_tells_features_apart() -> None:
    about = {"precision": "single", "fast": False, "exif": False}
    spec = {**USUAL, "transform": asdict(Transform())}
    none = {**USUAL, "transform": asdict(replace(Transform(), mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0)))}
    usual, other, early = (
        extraction_of(Place(Path(), about | {"backbone": each}).known) for each in (spec, none, USUAL)
    )
    assert extraction_differences(usual, early) == []
    assert [each.field for each in extraction_differences(usual, other)] == ["mean", "std"]
    assert other
    assert "normalization none" in extraction_text(other)


@pytest.mark.parametrize(
    ("changes", "category", "cautions"),
    [
        ({}, "yours", []),
        (
            {"id": f"timm:{IN_21K}", "weights": IN_21K, "parameters": 85_798_656},
            "yours",
            [
                "trained with ImageNet-21K, which contains the concepts of the levels",
                "a network of another size than ResNet50",
            ],
        ),
        (
            {"weights": f"sha256:{'0' * 64}"},
            "yours",
            ["trained with unknown data: check that it saw only IN-1K"],
        ),
        ({"parameters": 29_000_000}, "yours", []),
        ({"parameters": 30_000_000}, "yours", ["a network of another size than ResNet50"]),
        ({"parameters": 17_000_000}, "yours", ["a network of another size than ResNet50"]),
        (
            {"transform": {"size": 224, "resize": 256, "interpolation": "bilinear"}},
            "yours",
            ["preprocessing other than the paper's (shortest side to 256, bilinear)"],
        ),
        (
            {"transform": {"size": 224, "resize": 224, "interpolation": "bicubic", "squash": True}},
            "yours",
            ["preprocessing other than the paper's (both sides to 224, bicubic)"],
        ),
        (
            {"transform": {"size": 384, "resize": 384, "interpolation": "bicubic"}, "layer": "layer3"},
            "yours",
            ["images of 384 pixels", "features of the layer layer3"],
        ),
        (DEIT, "architecture", []),
        ({**DEIT, "pool": "avg"}, "architecture", ["pooling avg, not the class token"]),
        (
            {"id": "timm:resnet50.fb_ssl_yfcc100m_ft_in1k", "weights": "resnet50.fb_ssl_yfcc100m_ft_in1k"},
            "web data",
            ["trained with YFCC-100M, about 100 times IN-1K"],
        ),
        # Somebody else's weights in the architecture of a published model are not that model.
        (
            {"id": "torchvision:resnet50.IMAGENET1K_V1", "weights": f"sha256:{'0' * 64}"},
            "yours",
            ["trained with unknown data: check that it saw only IN-1K"],
        ),
    ],
)
def test_what_is_not_a_fair_comparison_is_said(
    tmp_path: Path, changes: dict[str, Any], category: str, cautions: list[str]
) -> None:
    write_features(tmp_path, "l1", FEW, backbone={**USUAL, **changes})
    data = prepared(stage_of([features_in(tmp_path, "l1")])).run
    assert [(each.category, [c.text for c in each.cautions]) for each in data.backbones] == [(category, cautions)]


def test_of_features_from_files_the_training_data_are_not_known(tmp_path: Path) -> None:
    (tmp_path / "l1").mkdir()
    for split, rows in (("train", 30), ("test", 9)):
        X = np.random.default_rng(rows).normal(size=(rows, 4))
        np.savez(tmp_path / "l1" / f"{split}.npz", X=X, y=np.array(FEW)[np.arange(rows) % 3])
    data = prepared(stage_of([features_in(tmp_path, "l1")])).run
    assert data.backbones[0].cautions == [caution("trained-with-unknown")]


def test_shots_that_no_concept_of_a_level_has_are_skipped_there() -> None:
    """The largest concept of l1 has 90 training images, that of l2 has 40; two backbones share the images."""
    sizes = {"l1": ClassCounts((70, 80, 90), (5, 5, 5)), "l2": ClassCounts((20, 30, 40), (5, 5, 5))}
    pairs = [
        ProbedFeatures(
            name,
            domain,
            {"train": sum(counts.train), "test": 15},
            3,
            4,
            {"train": f"{name}-{domain}", "test": "test"},
            samples=counts.samples,
            counts=counts,
        )
        for name in ("a", "b")
        for domain, counts in sizes.items()
    ]
    found = prepared(stage_of(pairs, shots=[8, 32, 64, "all"], seeds=2))
    everywhere = {(domain, shots) for domain in sizes for shots in (8, 32, None)}
    assert {(job.dataset, job.shots) for job in found.cells.jobs} == {*everywhere, ("l1", 64)}
    assert len(found.cells.jobs) == 28  # two backbones, and two seeds each
    assert [(each.code, each.domain, dict(each.arguments)) for each in found.run.told] == [
        ("few-for-search", "l1", {"shots": "64", "fewest": 70, "left": 56, "on": " on l1"}),
        ("skipped-shots", "l2", {"shots": "64", "most": 40, "on": " on l2"}),
        ("fewer-samples", "l2", {"shots": "32", "fewest": 20, "on": " on l2"}),
    ]
    with pytest.raises(UserError, match="100 shots are skipped on l1: no class has more than 90 training samples"):
        prepared(stage_of(pairs, shots=[100]))


def test_memory_is_that_of_the_largest_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """ResNet-50's features of ImageNet-1K: what each kind of probe holds, counted by hand."""
    rows = {"train": 1_000_000, "test": 0}
    small = ProbedFeatures("b", "l5", rows, 1000, 2048, samples=SamplesPerClass.same(682))
    pair = replace(small, dataset="in1k", rows=rows | {"train": 1_281_167})
    pairs = [small, pair]

    def memory(features: Sequence[ProbedFeatures], *more: str) -> int:
        return stage_of(features, probes=["logistic", *more]).plan(Path("nowhere"), ALONE).memory

    # A CPU: one copy of 1,281,167 × 2049 numbers of 4 bytes; ten classifiers of 2049 × 1000 numbers, three times; and
    # 1024 × 10 × 1000 scores twice.
    monkeypatch.setattr(vectors, "on_gpu", lambda: False)
    monkeypatch.setattr("unseen.studies.probing.regression_speed", lambda *_: RegressionSpeed(1e9))
    assert COG_V2.round_size == 10
    logistic = 10_500_444_732 + 245_880_000 + 81_920_000
    assert memory(pairs) == logistic
    # Three of 1,281,167 × 2048 for k-means; of perceptrons two, and ten of 10.44 million weights twice: less.
    assert memory(pairs, *EXTENDED) == 3 * 1_281_167 * 2048 * 4 == 31_485_960_192
    # With few samples perceptrons are what counts: 2049 × 2048 twice and 2049 × 1000 weights.
    few = replace(pair, rows=rows | {"train": 1000})
    assert memory([few], *EXTENDED) == 4 * (2 * 1000 * 2048 + 20 * 10_441_704)
    # A GPU has one copy in 16 bits, rows padded to 2056 numbers; ten times 1008 columns of weights, padded to 10,112,
    # at 14 bytes for training and 16 for results; their scores for a batch; and 32 batches of samples. Perceptrons and
    # k-means are in 32 bits there too.
    monkeypatch.setattr(vectors, "on_gpu", lambda: True)
    sweep = 10_112 * 2048 * (14 + 16) + 1024 * 10_112 * 2 + 32 * 1024 * 2048 * 2
    assert memory(pairs) == 1_281_167 * 2056 * 2 + sweep
    assert memory(pairs, *EXTENDED) == 31_485_960_192


def test_features_made_in_another_way_are_refused(tmp_path: Path) -> None:
    features, levels = tmp_path / "features", tmp_path / "levels.csv"
    levels.write_text("level,rank,wnid,name\n1,0,a,a\n1,1,b,b\n2,0,c,c\n2,1,d,d\n")
    write_features(features, "l1", ("a", "b"))
    write_features(features, "l2", ("c", "d"), precision="single")
    study = study_of("cog-v2", levels=str(levels), datasets=["l1", "l2"])
    with pytest.raises(UserError, match="extracted with another precision than"):
        plan_of(study, tmp_path / "run", features=features)
    with pytest.raises(UserError, match="no train features of c; it has those of b"):
        plan_of(study, tmp_path / "run", ["c"], features=features)


def test_features_that_say_no_decoder_are_the_cpus() -> None:
    assert Place(Path(), {"fast": False}).way["decode"] == "cpu"
    assert Place(Path(), {"fast": False, "decode": "gpu"}).way["decode"] == "gpu"
    assert Place(Path(), {}).way == {}


def run_of(domain: str, value: float, *, weights: str | None = "w", name: str = "b") -> RunData:
    made = Extraction(BackboneAbout(weights=weights)) if weights else None
    return RunData(
        title="Concept generalization",
        scores=[Score("concepts", "cog-v2", name, domain, "logistic", None, 0, "top1", value)],
        domains=[Domain(domain, domain.upper(), seen=domain == "in1k", concepts=[f"{domain} concept"])],
        backbones=[ReportBackbone(name, "yours", features=made)],
        baseline=name,
        features=[FeatureKey(name, domain, {"train": "k"})] if weights else [],
        published="cog-v2",
        concept_accuracy=[ConceptAccuracy(name, domain, "n1", 0.5, 1, 2)],
    )


def test_parts_of_one_study_become_one() -> None:
    merged = merge_runs([("there", run_of("l1", 0.5)), ("here", run_of("in1k", 0.7))])
    assert [(s.backbone, s.domain, s.value) for s in merged.scores] == [("b", "in1k", 0.7), ("b", "l1", 0.5)]
    assert [domain.name for domain in merged.domains] == ["in1k", "l1"]
    assert {(item.backbone, item.domain) for item in merged.concept_accuracy} == {("b", "l1"), ("b", "in1k")}
    assert merged.published == "cog-v2"


def test_what_two_machines_both_measured_counts_once() -> None:
    merged = merge_runs([("one", run_of("l1", 0.500)), ("two", run_of("l1", 0.501))])
    assert [(s.backbone, s.value) for s in merged.scores] == [("b", 0.500)]


@pytest.mark.parametrize("weights", ["other", None])
def test_backbones_that_only_share_a_name_stay_apart(weights: str | None) -> None:
    first = run_of("l1", 0.5, weights=None) if weights is None else run_of("l1", 0.5)
    merged = merge_runs([("one", first), ("two", run_of("l1", 0.6, weights=weights))])
    assert [(s.backbone, s.value) for s in merged.scores] == [("b", 0.5), ("b (two)", 0.6)]
    assert {item.backbone for item in merged.concept_accuracy} == {"b", "b (two)"}


def jobs(*names: str) -> list[Job]:
    return [Job("logistic", 1, "b", name) for name in names]


def extended(folder: Path, part: RunData, *names: str) -> RunData:
    """The run in a folder after a part with jobs on data sets was added."""
    extend_run(folder, part, jobs(*names))
    return read_run(folder)


def test_a_run_grows_by_parts_but_not_by_another_backbone(tmp_path: Path) -> None:
    extended(tmp_path, run_of("l1", 0.5), "l1")
    data = extended(tmp_path, run_of("in1k", 0.7), "in1k", "l1")
    assert [domain.name for domain in data.domains] == ["in1k", "l1"]
    with pytest.raises(UserError, match=r"a run that differs in the weights of b \(w, not v\); choose another folder"):
        extended(tmp_path, run_of("l2", 0.5, weights="v"), "l2")
    read = read_run(tmp_path)
    assert [domain.name for domain in read.domains] == ["in1k", "l1"]
    assert "2 of 2 jobs have no result yet" in read.notice


def test_a_run_says_what_any_of_its_parts_says(tmp_path: Path) -> None:
    def sentences(run: RunData) -> list[str]:
        return [each.sentence for each in run.told if each.code != "unfinished"]

    notices = [told("One is so."), told("Two is so."), left_out("in1k", "not there")]
    first = replace(run_of("l1", 0.5), told=notices, published="cog-v2")
    extended(tmp_path, first, "l1")
    second = replace(run_of("in1k", 0.7), told=[told("Three is so."), told("One is so.")], published="cog-v2")
    for _ in range(2):
        data = extended(tmp_path, second, "in1k")
        assert sentences(data) == ["One is so.", "Two is so.", "Three is so."]
        assert data.published == "cog-v2"
    assert extended(tmp_path, of_tasks(), "dtd").published == "cog-v2"
    assert extended(tmp_path, replace(second, published=""), "in1k").published == ""
    assert extended(tmp_path, second, "in1k").published == ""


def of_tasks() -> RunData:
    """A part of a run without levels, such as a data set of another study."""
    return replace(run_of("dtd", 0.6), domains=[Domain("dtd", "DTD", axis="tasks")], published="")


def test_levels_that_are_added_to_a_run_of_tasks_are_the_published_ones(tmp_path: Path) -> None:
    extended(tmp_path, of_tasks(), "dtd")
    assert extended(tmp_path, run_of("l1", 0.5), "l1").published == "cog-v2"


def test_a_wrong_accuracy_on_imagenet_can_be_corrected(tmp_path: Path) -> None:
    for share in (0.0758, 0.758):
        part = replace(run_of("l1", 0.5), backbones=[ReportBackbone("b", "yours", imagenet_top1=share)])
        data = extended(tmp_path, part, "l1")
        assert data.backbones[0].imagenet_top1 == share


def test_a_run_of_random_sets_has_one_domain_of_them(tmp_path: Path) -> None:
    sets = random_sets()
    few = {f"random{number}": sets.ids(number)[:3] for number in (1, 2)}
    for domain, ids in few.items():
        write_features(tmp_path, domain, ids)
    stage = stage_of([features_in(tmp_path, domain, ids) for domain, ids in few.items()], levels=sets)
    stage = replace(stage, opened=replace(stage.opened, levels=choose_levels("random")))
    data = prepared(stage).run
    assert [(domain.name, domain.title) for domain in data.domains] == [("random", "mean of 15 random sets")]
    assert data.published == ""
