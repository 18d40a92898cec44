"""Which concepts the emoji show, the classes they are sorted into, and which of them test.

A name is a concept's where every set draws it and it is a noun of WordNet: 342 of them. Which sense of the word is
drawn was settled by hand, beginning from the first sense that is a physical thing; two drawings show no sense at all
and have none. There is one drawing of a concept in each set, so concepts are sorted into classes, each some synsets and
all below them, and the concepts that test are not those that train.
"""

import hashlib
from functools import lru_cache
from pathlib import Path

from unseen.files import read_table
from unseen.ontology.class_mapping import ClassMapping, map_by_wordnet
from unseen.ontology.wordnet import wordnet

TABLE = Path(__file__).with_name("emoji_concepts.csv")
FOLDS = 3
"""Parts of the concepts: each tests once, on networks that were trained on the others."""

CLASSES: dict[str, tuple[str, ...]] = {
    "person": ("person.n.01",),
    "mammal": ("mammal.n.01",),
    "other animal": ("bird.n.01", "invertebrate.n.01", "reptile.n.01", "fish.n.01"),
    "plant": ("plant.n.02", "flower.n.02", "fungus.n.01", "bouquet.n.01"),
    "food": ("food.n.01", "food.n.02", "edible_fruit.n.01"),
    "road and rail": ("wheeled_vehicle.n.01", "train.n.01", "public_transport.n.01", "railway.n.01", "tramway.n.01"),
    "craft": ("craft.n.02", "rocket.n.01", "satellite.n.01"),
    "structure": ("structure.n.01", "station.n.01"),
    "clothing": ("clothing.n.01", "footwear.n.02", "bag.n.04", "spectacles.n.01", "crown.n.04", "jewelry.n.01"),
    "container": ("vessel.n.03", "envelope.n.01", "package.n.02", "bag.n.01", "case.n.05", "bin.n.01"),
    "body part": ("body_part.n.01",),
    "sky and weather": (
        "celestial_body.n.01", "physical_phenomenon.n.01", "phase_of_the_moon.n.01", "rainbow.n.01", "galaxy.n.03",
        "crystal.n.01", "geological_formation.n.01",
    ),
    "electronics": (
        "electronic_equipment.n.01", "computer.n.01", "telephone.n.01", "photographic_equipment.n.01",
        "memory_device.n.01", "electro-acoustic_transducer.n.01", "peripheral.n.01", "projector.n.02",
        "electrical_device.n.01", "keyboard.n.01",
    ),
    "tool": (
        "implement.n.01", "weapon.n.01", "fastener.n.02", "measuring_instrument.n.01", "magnifier.n.01",
        "medical_instrument.n.01", "lamp.n.01",
    ),
    "document": ("communication.n.02", "creation.n.02"),
}  # fmt: skip
"""The 15 classes: chosen by hand to tell drawings apart, at least six concepts each."""


@lru_cache(maxsize=1)
def named_synsets() -> dict[str, str]:
    """Name → synset of every concept, in order of name; empty where no sense of the name is what is drawn."""
    return {row["name"]: row["synset"] for _, row in read_table(TABLE, ["name", "synset"])}


@lru_cache(maxsize=1)
def classified() -> dict[str, int]:
    """Name → number of its class, for the concepts that are of exactly one, in order of name."""
    net = wordnet()
    of = class_mapping().of
    numbers = {name: number for number, name in enumerate(CLASSES)}
    ids = {name: net.wnid(synset) for name, synset in named_synsets().items() if synset}
    return {name: numbers[of[wnid]] for name, wnid in ids.items() if wnid in of}


def class_mapping() -> ClassMapping:
    """The concepts' synsets in the classes, with those that are of two and so of none."""
    net = wordnet()
    return map_by_wordnet([net.wnid(synset) for synset in named_synsets().values() if synset], CLASSES)


def folds() -> dict[str, int]:
    """Name → fold: the concepts of each class in the order of SHA-256 of their names, dealt out in turn."""
    dealt = dict[str, int]()
    for number in range(len(CLASSES)):
        names = [name for name, of in classified().items() if of == number]
        names.sort(key=lambda name: hashlib.sha256(name.encode()).digest())
        dealt |= {name: (place + number) % FOLDS for place, name in enumerate(names)}
    return {name: dealt[name] for name in classified()}
