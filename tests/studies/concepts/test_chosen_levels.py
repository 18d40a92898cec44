"""The levels of a study, and which of their domains it is of."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from studies import study_of
from unseen.errors import UserError
from unseen.ontology.levels import load_levels
from unseen.studies.concepts.levels import choose_levels
from unseen.studies.opened import OpenedData, open_data
from unseen.studies.places import Places
from unseen.studies.probes import study_probes
from unseen.studies.watch import Silent


def test_published_levels_know_the_seen_concepts_however_they_are_given(tmp_path: Path) -> None:
    by_name, themselves = choose_levels("cog-v2"), choose_levels(load_levels("cog-v2"))
    assert by_name == themselves
    assert by_name.names == ("in1k", "l1", "l2", "l3", "l4", "l5")
    assert by_name.seen is not None
    assert len(by_name.seen) == 1000
    load_levels("cog-v2").write(tmp_path / "renamed.csv")
    from_file = choose_levels(tmp_path / "renamed.csv")
    assert (from_file.levels.name, len(from_file.seen or ())) == ("cog-v2", 1000)
    with pytest.raises(UserError, match="levels of your own"):
        choose_levels("cog-v2", seen="mine")


def test_levels_of_ones_own_may_call_their_seen_concepts_anything(tmp_path: Path) -> None:
    levels = load_levels("cog-v2")
    own = replace(levels, name="own", concepts=levels.concepts[:-1])
    assert choose_levels(own).seen is None
    assert choose_levels(own, seen="Fishes").names[:2] == ("Fishes", "l1")
    own.write(tmp_path / "own.csv")
    assert choose_levels(tmp_path / "own.csv", seen="Fishes").names[0] == "Fishes"
    for wrong in ("l1", "a/b", "random3"):
        with pytest.raises(UserError, match="seen"):
            choose_levels(own, seen=wrong)
    with pytest.raises(UserError, match="vectors"):
        choose_levels(own, vectors=tmp_path / "words")


def test_levels_by_a_measure_and_at_random() -> None:
    assert choose_levels("random").names[1:3] == ("random1", "random2")
    assert set(choose_levels("path").levels.ids(1)) != set(choose_levels("cog-v2").levels.ids(1))


def opened(features: Path | None, **keys: Any) -> OpenedData:
    study = study_of("cog-v2", **keys)
    wanted = study_probes(study, lambda _: None).wanted
    return open_data(study, Places(), wanted, Silent(), features=features)


def test_domains_are_opened_in_the_order_of_the_levels(tmp_path: Path) -> None:
    assert [each.name for each in opened(tmp_path).data] == ["in1k", "l1", "l2", "l3", "l4", "l5"]
    some = opened(tmp_path, datasets=["L5", "in1k", "l5"])
    assert [(each.name, each.is_domain) for each in some.data] == [("in1k", True), ("l5", True)]
    own = tmp_path / "own.csv"
    levels = load_levels("cog-v2")
    replace(levels, name="own", concepts=levels.concepts[:-1]).write(own)
    some = opened(tmp_path, levels=str(own), seen="Birds", datasets=["l1", "birds"])
    assert [each.name for each in some.data] == ["Birds", "l1"]
    assert some.seen == "Birds"
    with pytest.raises(UserError, match="no data set 'in1l'; did you mean in1k"):
        opened(None, datasets=["in1l"])


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"seeds": 0}, "seeds"),
        ({"seeds": True}, "seeds"),
        ({"shots": [0]}, "shots"),
        ({"logistic": {"protocol": "cog"}}, "cog"),
        ({"probes": ["kmean"]}, "did you mean kmeans"),
        ({"datasets": []}, "datasets"),
    ],
)
def test_what_is_asked_is_checked(keys: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        opened(tmp_path, **keys)
