"""Kinds of work on concepts and on features in files."""

from pathlib import Path

from golden_runs import data, surface
from golden_runs.kind import BOTH, FRUITS, MINE, VIT, Kind
from golden_runs.surface import ImageNet, Networks, Step

LEVELS, SPLITS = "../data/levels.csv", "../data/splits.npz"
IMAGES = ImageNet("../data/fall11_whole.tar", "../data/imagenet-1k", SPLITS)
DRAW = surface.splits(IMAGES.images, LEVELS, SPLITS, test=data.TEST, train=data.TRAIN)
BY_NAME = ("knn", "ridge", "pca", "kmeans", "geometry", "centroids")


def levels() -> Kind:
    """Logistic regression on seen concepts and two levels, by two backbones."""
    return Kind(data.imagenet, (surface.concepts(BOTH, IMAGES, levels=LEVELS, shots="1,4,all", seeds=2),), (DRAW,))


def reference() -> Kind:
    """Whole networks trained on the domains of a run, and added to it."""
    probed = surface.concepts(VIT, IMAGES, levels=LEVELS)
    trained = surface.reference(VIT, IMAGES, levels=LEVELS, epochs=3, batch=8, rate=0.1)
    return Kind(data.imagenet, (probed, trained), (DRAW,))


def regrouped() -> Kind:
    """Features of levels, used for other levels of the same concepts."""

    def make(folder: Path) -> None:
        data.imagenet(folder)
        first, second = ([*concepts] for concepts in data.LEVELS.values())
        first[0], second[0] = second[0], first[0]
        data.levels(folder / "other.csv", {1: first, 2: second})

    probed = surface.concepts(VIT, IMAGES, levels=LEVELS, domains="l1,l2")
    other = surface.concepts(
        Networks(VIT.ids, random=False), levels="../data/other.csv", features="run/features", domains="l1,l2",
        shots="2,all", seeds=2, out="other",
    )  # fmt: skip
    return Kind(make, (probed, other), (DRAW,))


def random() -> Kind:
    """Random sets of a thousand concepts each, out of features of the published levels."""

    def make(folder: Path) -> None:
        for level, concepts in surface.published_levels().items():
            for split, count in (("train", 2), ("test", 1)):
                path = folder / f"features/l{level}/{split}.npz"
                data.features(path, sorted(concepts), count, dimension=12, seed=10 * level + count)

    step = surface.concepts(MINE, levels="random", features="../data/features", domains="random1,random2", shots="1")
    return Kind(make, (step,))


def balanced() -> Kind:
    """The same number of training images for every concept: 732 of 790."""

    def make(folder: Path) -> None:
        concepts = [*data.LEVELS[1]][:2]
        data.levels(folder / "levels.csv", {1: concepts})
        data.tar_of_tars(folder / "fall11_whole.tar", concepts, 790)

    images = ImageNet(IMAGES.images)
    return Kind(make, (surface.concepts(VIT, images, levels=LEVELS, balanced=True, domains="l1", shots="1,all"),))


def extended() -> Kind:
    """All probes of the concept study but the MLPs."""
    return Kind(two_levels, (study(probes="pca,kmeans,geometry,knn,ridge,linear,centroids"),))


def mlp() -> Kind:
    """The MLPs, whose 2048 hidden units take long."""
    return Kind(two_levels, (study(probes="mlp", domains="l1"),), parts=False, kills=False)


def unsorted() -> Kind:
    """Features whose classes are in no order, and in another order in the test files."""

    def make(folder: Path) -> None:
        data.features(folder / "train.npz", FRUITS, 20, seed=1)
        data.features(folder / "test.npz", FRUITS[::-1], 15, seed=2)
        task_features(folder, FRUITS)
        concepts = [*data.LEVELS[2], *data.LEVELS[1]]
        data.levels(folder / "levels.csv", {1: concepts})
        data.features(folder / "features/l1/train.npz", concepts, 20, seed=3)
        data.features(folder / "features/l1/test.npz", concepts[::-1], 15, seed=4)

    files = ("../data/train.npz", "../data/test.npz")
    steps = (
        surface.probing(*files, shots="2,all", seeds=2),
        surface.probing(*files, probe="linear", shots="5,all", seeds=2, out="linear"),
        study(domains="l1", shots="2,all", seeds=2),
        surface.tasks(MINE, features="../data/tasks", out="tasks"),
    )
    return Kind(make, steps)


def files() -> Kind:
    """Two pairs of files of features, the first with every probe."""

    def make(folder: Path) -> None:
        for seed, name in enumerate(("first", "second")):
            data.features(folder / f"{name}-train.npz", sorted(FRUITS), 24, dimension=40, seed=10 + seed)
            data.features(folder / f"{name}-test.npz", sorted(FRUITS), 12, dimension=40, seed=20 + seed)

    def probing(name: str, probe: str) -> Step:
        train, test = (f"../data/{name}-{split}.npz" for split in ("train", "test"))
        return surface.probing(train, test, probe=probe, seeds=2, out=f"{name}-{probe}")

    asked = [("first", "logistic"), ("second", "logistic"), *(("first", probe) for probe in BY_NAME), ("second", "knn")]
    return Kind(make, tuple(probing(*each) for each in asked))


def own_code() -> Kind:
    """A probe and a metric of one's own, in the studies of concepts and of tasks."""

    def make(folder: Path) -> None:
        two_levels(folder)
        task_features(folder, sorted(FRUITS))
        data.own_code(folder)

    probe, metric = "../data/probe.py", "../data/metric.py"
    tasks = surface.tasks(MINE, features="../data/tasks", code=probe, metric=metric, out="tasks")
    return Kind(make, (study(code=probe, metric=metric), tasks))


def two_levels(folder: Path) -> None:
    """Features of two levels of five concepts."""
    concepts = {level: [*names, f"n0000000{level}", f"n0000001{level}"] for level, names in data.LEVELS.items()}
    data.levels(folder / "levels.csv", concepts)
    for level, names in concepts.items():
        for split, count in (("train", 24), ("test", 12)):
            path = folder / f"features/l{level}/{split}.npz"
            data.features(path, sorted(names), count, dimension=40, seed=10 * level + count)


def task_features(folder: Path, classes: "list[str] | tuple[str, ...]") -> None:
    """Features of a data set of tasks; only published names are known, and any classes."""
    for split, count in (("train", 20), ("val", 10), ("test", 15)):
        data.features(folder / f"tasks/pets/{split}.npz", classes, count, seed=count)


def study(
    *,
    probes: str | None = None,
    domains: str = "l1,l2",
    shots: str = "all",
    seeds: int = 1,
    code: str | None = None,
    metric: str | None = None,
) -> Step:
    """The concept study on features in files."""
    return surface.concepts(
        MINE, levels=LEVELS, features="../data/features", domains=domains, shots=shots, seeds=seeds, probes=probes,
        code=code, metric=metric, out="concepts",
    )  # fmt: skip
