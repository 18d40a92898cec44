"""What is chosen for a concept study, by a command or in Python."""

from dataclasses import replace
from pathlib import Path

import pytest

from unseen.errors import UserError
from unseen.ontology.levels import load_levels
from unseen.studies.concepts.chosen import (
    asked_of,
    choose_levels,
    chosen_domains,
    chosen_probes,
    seed_count,
)
from unseen.studies.probing import SHOTS

EXTENDED = ("geometry", "kmeans", "mlp", "pca")
KNOWN = ("in1k", "l1", "l2", "l5")


def test_published_levels_know_the_seen_concepts_however_they_are_given() -> None:
    by_name, themselves = choose_levels("cog-v2"), choose_levels(load_levels("cog-v2"))
    assert by_name == themselves
    assert by_name.names == ("in1k", "l1", "l2", "l3", "l4", "l5")
    assert by_name.seen is not None
    assert len(by_name.seen) == 1000
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


def test_domains_are_chosen_in_the_order_of_the_study() -> None:
    assert chosen_domains(None, KNOWN) == KNOWN
    assert chosen_domains("L5, in1k,l5", KNOWN) == chosen_domains(["l5", "in1k"], KNOWN) == ("in1k", "l5")
    assert chosen_domains("birds,l1", ("Birds", "l1", "l2")) == ("Birds", "l1")
    with pytest.raises(UserError, match="not 'in1l'; did you mean in1k"):
        chosen_domains("in1l", KNOWN)
    for nothing in (",", []):
        with pytest.raises(UserError, match="name at least one"):
            chosen_domains(nothing, KNOWN)


def test_probes_are_chosen_by_name() -> None:
    assert chosen_probes(None) == ()
    assert chosen_probes("all") == chosen_probes(["all"]) == EXTENDED
    assert chosen_probes("ridge, all") == (*EXTENDED, "ridge")
    assert chosen_probes("KMeans, pca") == ("kmeans", "pca")
    with pytest.raises(UserError, match="not 'kmean'; did you mean kmeans"):
        chosen_probes("kmean")


def test_what_is_asked_is_checked() -> None:
    chosen = choose_levels("cog-v2")
    asked = asked_of(chosen, domains="l5,in1k", shots=[1, "all"], seeds=2, protocol="cog-v2-short", extended="pca")
    assert (asked.domains, asked.shots, asked.seeds, asked.extended) == (("in1k", "l5"), (1, None), 2, ("pca",))
    assert set(asked.concepts) == {"in1k", "l5"}
    assert asked_of(chosen).shots == SHOTS
    assert asked_of(chosen, shots="1,all").shots == (1, None)
    for wrong in ({"seeds": 0}, {"seeds": True}, {"seeds": 1000}, {"shots": 0}, {"protocol": "cog"}):
        with pytest.raises(UserError):
            asked_of(chosen, **wrong)  # type: ignore[arg-type]
    assert seed_count(999) == 999
