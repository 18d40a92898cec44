"""The sentences about which backbone to take and what it costs, for pages and the terminal."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from unseen.analyses.core.costs import Axis, Choice, Machine
from unseen.features.costs import BackboneCost, ForwardSpeed
from unseen.report.core.ranking_words import SAME_IMAGES, code, leaders_sentence, listed
from unseen.text.words import joined

ELSEWHERE = "*"
"""The mark of a time that is not compared with the others."""
LEAST: Mapping[Axis, str] = {
    "parameters": "has the fewest parameters", "multiply-adds": "needs the fewest multiply-adds", "time": "is fastest",
}  # fmt: skip
LEAST_OF_SEVERAL: Mapping[Axis, str] = {
    "parameters": "have the fewest parameters", "multiply-adds": "need the fewest multiply-adds", "time": "are fastest",
}  # fmt: skip


def amount_text(value: float) -> str:
    """A number with three digits and a letter for thousands, millions or billions: `23.5 M`."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "K")):
        if value >= 0.9995 * size:
            return f"{value / size:.3g} {letter}" if value < 999.5 * size else f"{value / size:,.0f} {letter}"
    return f"{value:.3g}"


def value_text(axis: Axis, value: float) -> str:
    """A cost with its unit: `23.5 M parameters`, `4.09 G multiply-adds`, `1.2 ms per image`."""
    return f"{1000 * value:.3g} ms per image" if axis == "time" else f"{amount_text(value)} {axis}"


def cost_texts(choice: Choice, backbone: str) -> list[str]:
    """Parameters, multiply-adds, milliseconds per image and dimensions; a dash for what is not known."""
    known = choice.costs.get(backbone) or BackboneCost()
    time = f"{1000 / known.speed.rate:.3g}{ELSEWHERE * choice.is_elsewhere(backbone)}" if known.speed else "–"
    counts = ["–" if number is None else amount_text(number) for number in (known.parameters, known.multiply_adds)]
    return [*counts, time, "–" if known.dimension is None else f"{known.dimension:,}"]


def elsewhere_sentence(choice: Choice) -> str:
    """What the mark of times means that are not compared; empty if none has it."""
    names = [each.backbone for each in choice.ranking.entries if choice.is_elsewhere(each.backbone)]
    of = {why_unknown(choice.costs.get(name), "time") for name in names}
    here = f"; the others are of {machine_text(choice.machine)}" if choice.machine else ""
    return f"{ELSEWHERE} Not compared: {joined(sorted(of))}{here}." if names else ""


def choice_sentence(choice: Choice, titles: Mapping[str, str]) -> Markup:
    """Who is best or shares the first place, what it costs, and which of those that tie is the cheapest."""
    ranking, names = choice.ranking, [each.backbone for each in choice.first]
    best, costs = code(names[0]), _costs(choice, names[0])
    if ranking.basis == "alone":
        return Markup("{}{}.").format(best, costs)
    sentence = Markup("{}.").format(leaders_sentence(ranking, titles, costs))
    if len(names) > 1:
        sentence = Markup("{} {}.").format(sentence, _cheapest(choice, names))
        other = [name for name in names if choice.value(name, "time") is None]
        if other and "time" in choice.axes:
            why = why_unknown(choice.costs.get(other[0]), "time")
            sentence = Markup("{} Their times are not compared: that of {} is {}.").format(
                sentence, code(other[0]), why
            )
    return Markup("{} {}").format(sentence, SAME_IMAGES) if ranking.of_episodes else sentence


def _cheapest(choice: Choice, names: Sequence[str]) -> Markup:
    """The cheapest of those that tie, by every cost that is known of all of them: a sentence without its full stop."""
    least = {axis: of for axis in choice.axes if (of := choice.cheapest(axis))}
    if not least:
        lacking = [name for name in names if not any(choice.value(name, axis) is not None for axis in choice.axes)]
        return Markup("Which is the cheapest is not known, as costs of {} are not").format(listed(lacking or names))
    if all(len(of) == len(names) for of in least.values()):
        return Markup("They cost the same{}").format(_costs(choice, names[0], [*least]))
    always = [name for name in names if all(name in of for of in least.values())]
    if always:
        return Markup("The cheapest of them is {}{}").format(code(always[0]), _costs(choice, always[0], [*least]))
    parts = [_least(choice, axis, of) for axis, of in least.items()]
    return Markup("Of them, {} and {}").format(Markup(", ").join(parts[:-1]), parts[-1])


def _least(choice: Choice, axis: Axis, names: Sequence[str]) -> Markup:
    value = choice.value(names[0], axis)
    assert value is not None, "the cheapest are those whose cost is known"
    words = LEAST if len(names) == 1 else LEAST_OF_SEVERAL
    amount = value_text(axis, value).removesuffix(f" {axis}")
    return Markup("{} {} ({}{})").format(listed(names), words[axis], amount, _where(choice, axis))


def _costs(choice: Choice, name: str, axes: Sequence[Axis] | None = None) -> str:
    """What a backbone costs: `, with 23.5 M parameters, 4.09 G multiply-adds and 1.2 ms per image (…)`."""
    every = choice.axes if axes is None else axes
    known = [(axis, value) for axis in every if (value := choice.value(name, axis)) is not None]
    if not known:
        return f", with a cost that is not known ({why_unknown(choice.costs.get(name), 'parameters')})"
    return f", with {joined([value_text(axis, value) + _where(choice, axis) for axis, value in known])}"


def _where(choice: Choice, axis: Axis) -> str:
    machine = choice.machine if axis == "time" else None
    return f" on {machine.device}" if machine else ""


def why_unknown(cost: BackboneCost | None, axis: Axis) -> str:
    """Why a cost is not known, or not compared with the others."""
    if cost is None or (cost.parameters is None and cost.multiply_adds is None and cost.speed is None):
        return "its features come from a file, or from a version that did not record costs"
    if axis != "time":
        return cost.uncounted or "not counted"
    if cost.speed is None:
        return "not measured, as no features were extracted from images"
    if cost.speed.together > 1:
        return f"measured together with {cost.speed.together - 1} more, in the same forward passes"
    return f"measured elsewhere ({machine_text(cost.speed)})"


def machine_text(speed: ForwardSpeed | Machine) -> str:
    """Where and how a speed was measured."""
    return f"{speed.device}, {speed.precision} precision, batches of {speed.batch}"
