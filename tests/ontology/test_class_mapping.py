"""Classes of ImageNet to those of CIFAR-10, against NLTK's walk through WordNet, and mapping files."""

from pathlib import Path
from typing import Any

import pytest

from unseen.errors import UserError
from unseen.ontology.class_mapping import (
    CIFAR_10_SYNSETS,
    imagenet_to_cifar10,
    map_by_wordnet,
    mapping_rows,
    read_mapping,
)
from unseen.ontology.wordnet import wordnet


def test_known_classes() -> None:
    mapping = imagenet_to_cifar10()
    expected = {
        "n02690373": "airplane",  # airliner
        "n04285008": "automobile",  # sports car
        "n01514668": "bird",  # cock
        "n02123045": "cat",  # tabby
        "n02085620": "dog",  # Chihuahua
        "n01641577": "frog",  # bullfrog
        "n02389026": "horse",  # sorrel
        "n03095699": "ship",  # container ship
        "n04467665": "truck",  # trailer truck
    }
    assert {wnid: mapping.of[wnid] for wnid in expected} == expected
    assert "n02129604" not in mapping.of  # a tiger is a big cat, which WordNet does not call a cat
    assert "n01440764" not in mapping.of  # tench


def test_classes_and_counts() -> None:
    mapping = imagenet_to_cifar10()
    counts = {target: len(mapping.members(target)) for target in mapping.targets}
    assert list(counts) == list(CIFAR_10_SYNSETS)
    assert counts["dog"] == 118  # the breeds of ImageNet-1K, without dhole, dingo, wolves and foxes
    assert counts["deer"] == 0
    assert sum(counts.values()) == len(mapping.of)
    assert mapping.ambiguous == {"n03770679": ("automobile", "truck")}  # minivan
    assert "n03770679" not in mapping.of


@pytest.mark.long_suite
def test_agrees_with_nltk(nltk_wordnet: Any) -> None:
    mapping = imagenet_to_cifar10()
    targets = {name: {nltk_wordnet.synset(key) for key in keys} for name, keys in CIFAR_10_SYNSETS.items()}
    for wnid in wordnet().members("imagenet-1k"):
        synset = nltk_wordnet.synset_from_pos_and_offset("n", int(wnid[1:]))
        above = {ancestor for path in synset.hypernym_paths() for ancestor in path}
        found = tuple(name for name, keys in targets.items() if above & keys)
        if len(found) == 1:
            assert mapping.of[wnid] == found[0]
        else:
            assert wnid not in mapping.of
            assert mapping.ambiguous.get(wnid, ()) == found


def test_several_synsets_and_ids_make_a_class() -> None:
    concepts = ["n02123045", "n02085620", "n01440764"]
    pets = map_by_wordnet(concepts, {"pet": ["dog.n.01", "n02121808"], "fish": ["fish.n.01"]})
    assert dict(pets.of) == {"n02123045": "pet", "n02085620": "pet", "n01440764": "fish"}


def test_rows_name_the_concepts() -> None:
    rows = {target: (number, names) for target, number, names in mapping_rows(imagenet_to_cifar10())}
    assert rows["frog"] == (3, "bullfrog, tree frog, tailed frog")
    assert rows["deer"] == (0, "")


def test_written_and_read_again(tmp_path: Path) -> None:
    mapping = imagenet_to_cifar10()
    mapping.write(tmp_path / "map.csv")
    assert (tmp_path / "map.csv").read_text().startswith("wnid,class\n")
    assert read_mapping(tmp_path / "map.csv").of == mapping.of


def test_concepts_of_a_mapping_are_given_by_id_or_name(tmp_path: Path) -> None:
    (tmp_path / "map.csv").write_text("wnid,class\ntabby.n.01,cat\nn02085620,dog\n")
    assert read_mapping(tmp_path / "map.csv").of == {"n02123045": "cat", "n02085620": "dog"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("wnid,class\ntabbby.n.01,cat\n", "line 2: tabbby.n.01 is not in WordNet"),
        ("wnid,class\nn1,a\nn1,b\n", "line 3: n1 occurs twice"),
        ("wnid,class\nn1,\n", "line 2: n1 occurs twice, or a field is empty"),
        ("wnid,clas\nn1,a\n", "no column 'class'.*did you mean clas"),
        ("wnid,class\n", "contains no concepts"),
    ],
)
def test_bad_files_are_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "map.csv").write_text(text)
    with pytest.raises(UserError, match=message):
        read_mapping(tmp_path / "map.csv")


def test_unknown_concepts_and_synsets_are_refused() -> None:
    with pytest.raises(UserError, match="n99999999 is not in WordNet 3.0"):
        map_by_wordnet(["n99999999"], {"cat": ["cat.n.01"]})
    with pytest.raises(UserError, match="cat is a word, not a concept"):
        map_by_wordnet(["n02123045"], {"cat": ["cat"]})
