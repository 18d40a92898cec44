"""Studies as files: every key is written and read alike, in TOML, by `--set` and from Python."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from coloured_images import small_network
from hypothesis import given
from hypothesis import strategies as st

from studies import study_of
from unseen.data.core.dataset import Dataset
from unseen.errors import UserError
from unseen.probes.by_name.fine_tuned import FineTuned
from unseen.probes.image_cell import ImageInputs
from unseen.reading.keys import Key, keys_of, toml_key, toml_value
from unseen.studies.differences import study_differences
from unseen.studies.keys import BackboneKeys, ProbeKeys, StudyKeys
from unseen.studies.study import Study, probe_keys, probe_of, with_value
from unseen.studies.toml import find_study, shipped_studies, study_keys
from unseen.studies.toml import study_of as read

SEEN = "probes = ['knn']\n"
STRUCTURAL = {"probes", "based-on"}
"""Keys whose values decide which other keys there are; the examples of this file set them."""
RULED = {"saliency.grid": st.sampled_from(["10/1", "8/4", "6/6"])}
"""Keys with a rule that their type does not say."""
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
WORDS = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=8)


def values(each: Key) -> st.SearchStrategy[Any]:
    """Values that a key takes, as Python holds them after reading."""
    single = st.one_of(*(_single(each, kind) for kind in each.kinds))
    if not each.listed:
        return single
    return st.lists(single, min_size=1, max_size=3, unique=not each.repeats).map(tuple)


def _single(each: Key, kind: Any) -> st.SearchStrategy[Any]:
    if isinstance(kind, str):
        return st.just(kind)
    if kind is bool:
        return st.booleans()
    least = each.least if each.least is not None else -1000 if each.above is None else each.above
    most = each.most if each.most is not None else least + 10_000
    if kind is int:
        return st.integers(int(least), int(most))
    if kind is float:
        return st.floats(least, most, exclude_min=each.above is not None)
    return st.sampled_from(each.choices) if each.choices else TEXTS


def places() -> Iterator[tuple[str, Key]]:
    for place, each in study_keys():
        if place == "backbone.id":
            yield "backbone.mine.id", each
        elif place not in STRUCTURAL:
            yield place, each


def study_with(place: str) -> Study:
    """A study that has the table of a key."""
    table = place.partition(".")[0]
    return study_of(probes=["knn" if "." not in place or table == "backbone" else table])


def value_at(study: Study, place: str, each: Key) -> Any:
    table, *inner = place.split(".")[:-1] or [""]
    if not table:
        return getattr(study, each.field)
    settings = study.settings[table] if table != "backbone" else study.backbone[inner[0]] if inner else study.backbone
    return settings.get(each.field, settings.get(each.name))


@given(st.data())
@pytest.mark.parametrize(("place", "each"), [pytest.param(*pair, id=pair[0]) for pair in places()])
def test_every_key_is_set_written_and_read_alike(place: str, each: Key, data: st.DataObject) -> None:
    value = data.draw(RULED.get(place, values(each)))
    study = with_value(study_with(place), place, toml_value(value))
    assert value_at(study, place, each) == value
    again = read(study.to_toml(), "again", "again")
    assert value_at(again, place, each) == value
    assert study_differences(study, again) == []
    assert again.to_toml() == study.to_toml()
    assert read(study.to_toml(comments=True), "again", "again").to_toml() == study.to_toml()


@given(st.lists(WORDS, min_size=1, max_size=4, unique=True))
def test_lists_are_read_with_commas_too(words: list[str]) -> None:
    study = with_value(study_of(probes=["knn"]), "datasets", ",".join(words))
    assert study.datasets == tuple(words)
    assert with_value(study, "knn.k", "5,20").settings["knn"] == {"k": (5, 20)}


@pytest.mark.parametrize("name", shipped_studies())
def test_a_shipped_study_is_the_same_after_writing_and_reading(name: str, tmp_path: Path) -> None:
    study = find_study(name)
    (tmp_path / "mine.toml").write_text(study.to_toml(comments=True), "utf-8")
    assert find_study(str(tmp_path / "mine.toml")).to_toml() == study.to_toml()
    written = tomllib.loads(study.to_toml())
    for key in keys_of(StudyKeys).values():  # every setting is written out, or is known to be unset
        assert key.name in written or getattr(study, key.field) is None
    for probe in study.probes:
        from unseen.studies.study import probe_class

        absent = {key.name for key in probe_keys(probe_class(probe)).values()} - written.get(probe, {}).keys()
        assert not {name for name in absent if probe_keys(probe_class(probe))[name].default is not None}


def test_tables_of_data_and_backbones_survive(tmp_path: Path) -> None:
    text = """
        datasets = ["plants", "dtd"]
        backbones = ["small", "timm:resnet18"]
        probes = ["knn", "linear", "mine.py"]
        knn.k = [5, 20]
        mine.depth = 3
        [data.plants]
        train = "photos"
        test = { images = "more", root = "x" }
        [backbone]
        size = 64
        [backbone.small]
        id = "timm:vit_small"
        layers = ["blocks.8", "blocks.11"]
        pool = ["cls", "avg"]
    """
    study = read(text, "own", "own.toml")
    again = read(study.to_toml(), "own", "own.toml")
    assert again.to_toml() == study.to_toml()
    assert again.data["plants"]["test"] == {"images": "more", "root": "x"}
    assert again.backbone_keys("small").layers == ("blocks.8", "blocks.11")
    assert (again.backbone_keys("small").size, again.backbone_keys("timm:resnet18").size) == (64, 64)
    assert again.probe_settings("mine.py") == {"depth": 3}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("probes = 'knn'\nshotz = 3", "did you mean shots"),
        ("probes = 'knn'\nknn.kk = 3", "did you mean k"),
        ("probes = 'knn'\nseeds = 'many'", "seeds"),
        ("probes = 'knn'\nseeds = 0", "at least 1"),
        ("probes = 'knn'\nmissing-classes = 'skipp'", "skip"),
        ("probes = 'knn'\nlinear.seeds = 3", "linear"),
        ("probes = 'knnn'", "did you mean knn"),
        ("probes = 'knn'\n[backbone]\nsise = 3", "size"),
        ("probes = 'knn'\nbased-on = 'cog-v3'", "cog-v2"),
        ("probes = 'knn'\nprobes = 'ridge'\n", "line 2"),
        ("probes = 'knn'\n[knn\nk = 3", "line 2"),
        ("probes = 'knn'\n[knn]\nk = 3\n[knn]\nk = 5", "line 4: [knn] is there twice"),
        ("probes = 'knn'\nknn.temperature = inf", "finite"),
        ("probes = 'knn'\nknn.temperature = 0", "greater than 0"),
        ("probes = 'fine-tuned'\nfine-tuned.rate = nan", "finite"),
        ("probes = 'saliency'\nsaliency.grid = '1/0'", "[saliency]"),
        ("probes = 'knn'\ndatasets = ''", "empty word"),
        ("probes = 'knn'\ndatasets = ['digits', '']", "empty word"),
        ("probes = 'knn'\nshots = [1, 1]", "1 twice"),
        ("probes = 'knn'\ndata = 3", "data"),
        ("probes = 'knn'\nbackbone.id = 'timm:resnet18'", "[backbone.NAME]"),
    ],
)
def test_wrong_keys_and_values_are_one_sentence_with_the_nearest_ones(text: str, named: str, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(text, "utf-8")
    with pytest.raises(UserError) as refused:
        find_study(str(tmp_path / "own.toml")).to_toml()
    assert named in str(refused.value)
    assert "own.toml" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("path", "text", "named"),
    [
        ("based-on", "zzz", "cog-v2"),
        ("knnn", "3", "knn.k"),
        ("temperature", "3", "knn.temperature"),
        ("knn.kk", "3", "did you mean k?"),
        ("qwertz", "3", "unseen ls keys"),
        ("data.x", "1", "data.NAME.x"),
        ("backbone.x.y.z", "1", "'z'"),
        ("files.a", "b", "a run writes"),
        ("knn.k", "[3", "not closed"),
        ("title", '"a', "not closed"),
        ("shots", "all,all", "twice"),
        ("datasets", '["digits", ""]', "empty word"),
        ("knn.temperature", "inf", "finite"),
        ("probes", "kn", "did you mean knn?"),
    ],
)
def test_wrong_settings_are_one_sentence_with_the_nearest_ones(path: str, text: str, named: str) -> None:
    with pytest.raises(UserError) as refused:
        with_value(study_of(probes=["knn"]), path, text)
    assert named in str(refused.value)
    assert len(str(refused.value)) < 240
    assert "\n" not in str(refused.value)


def test_what_a_run_writes_for_unset_keys_is_no_difference() -> None:
    study = find_study("ericsson-2021")
    assert not study_differences(study, study.replace(shots="all", precision="half", linear={"converge": "chosen"}))
    assert not study_differences(study.replace(precision="single", decode="cpu"), study)
    [other] = study_differences(study, study.replace(shots=1))
    assert (other.key, other.first, other.second) == ("shots", "unset", "[1]")
    [other] = study_differences(study, study.replace(linear={"converge": "all"}))
    assert (other.key, other.first, other.second) == ("linear.converge", '"chosen"', '"all"')


def test_a_probe_of_one_study_is_compared_with_its_defaults() -> None:
    study = study_of(probes=["knn"])
    probes, other = study_differences(study, study_of(probes=["knn", "ridge", "fine-tuned"], ridge={"seeds": 3}))
    assert probes.key == "probes"
    assert (other.key, other.first, other.second) == ("ridge.seeds", "not in this study", "3")


def test_wrong_names_are_refused_at_once_in_python() -> None:
    for keys, named in (({"probes": ["kn"]}, "knn"), ({"based_on": "cog-v3"}, "cog-v2")):
        with pytest.raises(UserError, match=named):
            find_study("cog-v2").replace(**keys)


def test_a_study_is_planned_without_a_folder(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    (tmp_path / "features/cats").mkdir(parents=True)
    for split in ("train", "test"):
        np.savez(tmp_path / f"features/cats/{split}.npz", X=rng.normal(size=(40, 3)), y=np.arange(40) % 2)
    study = study_of(datasets=["cats"], probes=["knn", "ridge"], shots=[1, "all"], seeds=1)
    assert study.plan(features=tmp_path / "features").jobs_left == 4
    assert {each.name for each in tmp_path.iterdir()} == {"features"}
    with pytest.raises(UserError, match="not both"):
        study.plan(features=tmp_path, data=tmp_path)
    with pytest.raises(UserError, match=r"features: \{'a': 'F1'\}"):
        study.plan(features={"a": "F1"})  # type: ignore[arg-type]
    plan = study.replace(datasets="digits", limit=6).plan("drawings:untrained")
    assert [part["data set"] for part in plan.parts] == ["digits"]


def test_a_backbone_with_a_dot_in_its_name_is_set_by_its_table() -> None:
    study = study_of(probes=["knn"], backbones=["a.b"], backbone={"a.b": {"id": "timm:resnet18", "pool": "avg"}})
    assert with_value(study, "backbone.a.b.pool", "none").backbone_keys("a.b").pool == ("none",)
    with pytest.raises(UserError, match=r"backbone\.a\.b\.pool"):
        with_value(study, "backbone.pool", "none")


@given(st.binary(max_size=200) | TEXTS.map(str.encode))
def test_a_file_that_is_no_study_is_one_sentence(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("hostile") / "own.toml"
    path.write_bytes(content)
    try:
        find_study(str(path))
    except UserError as error:
        assert "\n" not in str(error)


def test_comments_fit_a_line_and_help_texts_are_short() -> None:
    assert {place: each.help for place, each in study_keys() if not 0 < len(each.help) <= 60} == {}
    for name in shipped_studies():
        assert max(map(len, find_study(name).to_toml(comments=True).splitlines())) <= 120


def test_no_two_keys_have_one_name() -> None:
    every = [place for place, _ in study_keys()]
    assert len(every) == len({*every})
    assert not {*keys_of(StudyKeys)} & {"backbone", "data", "files"}
    for cls in (StudyKeys, BackboneKeys, ProbeKeys):
        for name, each in keys_of(cls).items():
            assert each.help, name
            assert toml_key(name) == name


@pytest.mark.parametrize(
    ("word", "values"),
    [
        ("fine-tuned", {}), ("fine-tuned", {"protocol": "reference"}), ("linear", {}),
        ("linear", {"protocol": "ericsson-2021-exact"}), ("inversion", {}), ("upernet", {"scale": 0.5}),
    ],
)  # fmt: skip
def test_values_written_for_unset_keys_ask_for_the_same_job(word: str, values: dict[str, Any]) -> None:
    unset = probe_of(word, values)
    written = probe_of(word, {**unset.usual(), **values})
    assert unset.usual().items() <= vars(written).items()
    images = ImageInputs(small_network(), Dataset("a", "A", 2), "", {"train": 100}, "float32")
    pairs = [(each.on(images) if isinstance(each, FineTuned) else each.resolved) for each in (unset, written)]
    assert pairs[0].described == pairs[1].described
    assert unset.protocol_name == written.protocol_name
