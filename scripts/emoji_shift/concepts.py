"""The classes: drawn categories that are also emoji, and which emoji and icons show each of them.

A name is a category's if it is the category with hyphens for spaces, that name before `-face`, or one of `OTHER_NAMES`,
which were chosen by hand. A class is kept if every test set has a picture of it, so that all are on the same classes.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from emoji_pool.glyphs import read_icons
from unseen.data.concepts.drawings import concepts

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "noto": ("noto", "noto-v1"),
    "fluent": ("fluent-emoji", "fluent-emoji-flat"),
    "emojione": ("emojione", "emojione-v1"),
    "flat": ("twemoji", "fxemoji"),
    "outlined": ("openmoji", "streamline-emojis"),
    "ink": ("fluent-emoji-high-contrast", "emojione-monotone"),
    "icons": ("lucide", "tabler", "ph", "mdi", "game-icons", "mingcute", "icon-park", "fa6-solid", "hugeicons"),
}
"""Family → packages `@iconify-json/…`. The first three train; the others only test."""
NEEDED = ("noto", "fluent-emoji", "twemoji", "openmoji")
"""Packages that have a picture of every class."""
ICON_SUFFIXES = ("", "-fill", "-filled", "-line", "-outline", "-01")
VAGUE = ("line", "squiggle", "zigzag", "face", "arm", "toe", "elbow", "knee", "pool", "garden", "cake", "passport")
"""Categories whose drawings and emoji show different things; the only cake of all sets is a birthday cake."""
OTHER_SENSES = ("apple", "mouse", "table", "marker", "pool", "fan", "cooler", "face", "hand", "map", "square", "circle")
"""Words that mean something else as the name of an icon: a company, a device, a control of a program."""

OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "angel": ("baby-angel",), "apple": ("red-apple", "green-apple"), "bandage": ("adhesive-bandage",),
    "beach": ("beach-with-umbrella",), "bee": ("honeybee",),
    "book": ("closed-book", "open-book", "green-book", "blue-book", "orange-book", "books"),
    "bridge": ("bridge-at-night", "foggy"), "bus": ("oncoming-bus",),
    "calculator": ("pocket-calculator",), "camera": ("camera-with-flash",),
    "car": ("automobile", "oncoming-automobile"),
    "castle": ("japanese-castle",), "cat": ("grinning-cat", "black-cat", "pouting-cat", "crying-cat"),
    "cell phone": ("mobile-phone", "mobile-phone-with-arrow"), "clock": (
        "mantelpiece-clock", "one-oclock", "three-oclock", "six-oclock", "nine-oclock", "eight-thirty"),
    "cloud": ("sun-behind-cloud",), "coffee cup": ("hot-beverage",), "computer": ("desktop-computer",),
    "couch": ("couch-and-lamp",), "cruise ship": ("passenger-ship", "ship"),
    "cup": ("teacup-without-handle", "cup-with-straw"), "diamond": ("gem-stone",), "dog": ("poodle", "guide-dog"),
    "donut": ("doughnut",), "drums": ("drum",), "eye": ("eyes",), "eyeglasses": ("glasses",),
    "envelope": ("incoming-envelope", "envelope-with-arrow"), "finger": (
        "index-pointing-up", "backhand-index-pointing-up", "backhand-index-pointing-right"),
    "firetruck": ("fire-engine",), "fish": ("tropical-fish",), "flip flops": ("thong-sandal",),
    "flower": ("blossom", "hibiscus", "tulip", "rose", "sunflower", "cherry-blossom"),
    "fork": ("fork-and-knife",), "hand": ("raised-hand", "hand-with-fingers-splayed"),
    "hat": ("top-hat", "womans-hat"), "headphones": ("headphone",), "helmet": ("rescue-workers-helmet",),
    "house": ("house-with-garden",), "house plant": ("potted-plant",), "hurricane": ("cyclone",),
    "ice cream": ("soft-ice-cream",), "jacket": ("coat",), "knife": ("kitchen-knife",),
    "lantern": ("red-paper-lantern",), "leaf": ("leaf-fluttering-in-wind", "fallen-leaf", "maple-leaf"),
    "lightning": ("high-voltage", "cloud-with-lightning"), "mailbox": (
        "closed-mailbox-with-raised-flag", "closed-mailbox-with-lowered-flag", "open-mailbox-with-raised-flag"),
    "map": ("world-map",), "moon": ("crescent-moon", "last-quarter-moon-face", "first-quarter-moon-face"),
    "motorbike": ("motorcycle", "motor-scooter"), "mountain": ("mount-fuji", "snow-capped-mountain"),
    "mug": ("beer-mug",), "ocean": ("water-wave",), "pants": ("jeans",), "paper clip": ("paperclip",),
    "peanut": ("peanuts",), "piano": ("musical-keyboard",),
    "picture frame": ("framed-picture",), "pig": ("pig-nose",), "rain": ("cloud-with-rain",),
    "rollerskates": ("roller-skate",), "saw": ("carpentry-saw",), "sea turtle": ("turtle",), "sheep": ("ewe",),
    "shoe": ("mans-shoe", "running-shoe"), "smiley face": (
        "slightly-smiling-face", "grinning-face", "smiling-face-with-smiling-eyes", "smiling-face"),
    "snowman": ("snowman-without-snow",), "sock": ("socks",), "square": ("white-large-square", "blue-square"),
    "circle": ("red-circle", "blue-circle"), "squirrel": ("chipmunk",), "star": ("glowing-star",),
    "steak": ("cut-of-meat",), "suitcase": ("luggage", "briefcase"), "sword": ("crossed-swords", "dagger"),
    "telephone": ("telephone-receiver",), "tennis racquet": ("tennis",),
    "traffic light": ("horizontal-traffic-light", "vertical-traffic-light"),
    "train": ("locomotive", "high-speed-train", "bullet-train"),
    "tree": ("deciduous-tree", "evergreen-tree"), "triangle": ("red-triangle-pointed-up",),
    "truck": ("delivery-truck", "articulated-lorry"), "umbrella": ("umbrella-with-rain-drops", "umbrella-on-ground"),
    "underwear": ("briefs",), "van": ("minibus",), "whale": ("spouting-whale",),
    "wine bottle": ("bottle-with-popping-cork",), "wristwatch": ("watch",),
    "yoga": ("person-in-lotus-position",),
}  # fmt: skip


@cache
def names_of(category: str) -> tuple[str, ...]:
    """Names of the emoji that show a category."""
    own = re.sub("[ ']", "-", category.lower())
    return (own, f"{own}-face", *OTHER_NAMES.get(category, ()))


@cache
def pictured(package: str) -> dict[str, tuple[str, ...]]:
    """Category → the pictures of a package that show it, by name; categories without any are left out."""
    known = drawn_names(read_icons(package))
    icons = package in FAMILIES["icons"]
    found = {}
    for category in concepts().values():
        if category in VAGUE or (icons and category in OTHER_SENSES):
            continue
        names = _variants(names_of(category), icons=icons)
        here = tuple(dict.fromkeys(known[name] for name in names if name in known))
        if here:
            found[category] = here
    return found


def drawn_names(icons: Mapping[str, Any]) -> dict[str, str]:
    """Every way to write a name → the name of its drawing; fxemoji writes `redapple`, streamline `cloud-1`."""
    return {name.replace("-", ""): name for name in icons["icons"]} | {name: name for name in icons["icons"]}


def _variants(names: Iterable[str], *, icons: bool) -> Iterable[str]:
    for name in names:
        for suffix in ICON_SUFFIXES if icons else ("", "-1", "-2"):
            yield name + suffix
        if not icons:
            yield name.replace("-", "")


@cache
def classes() -> dict[str, str]:
    """Synset id → category of the classes, sorted by id."""
    kept = set.intersection(*(set(pictured(package)) for package in NEEDED))
    kept &= set().union(*(pictured(package) for package in FAMILIES["icons"]))
    return {wnid: category for wnid, category in concepts().items() if category in kept}
