"""Sentences of notices: one for all backbones that share a notice."""

from string import Formatter

from unseen.runs.notices import (
    OF_DATASETS,
    SENTENCES,
    SEVERAL,
    Notice,
    not_found,
    notice,
    notice_sentences,
    notice_text,
    told,
)

LAYERS = [f"vit/blocks.{number}" for number in range(3)]


def test_backbones_with_the_same_notice_share_a_sentence() -> None:
    random = [notice("random-weights", backbone=name) for name in LAYERS]
    sizes = [notice("other-size", backbone=name, size=size, published=224)
             for name, size in zip(LAYERS, (28, 28, 64), strict=True)]  # fmt: skip
    named, few, alone = notice_sentences([*random, *sizes])
    assert named.startswith("vit/blocks.0, vit/blocks.1 and vit/blocks.2 have ")
    assert few.startswith("vit/blocks.0 and vit/blocks.1 ")
    assert alone == sizes[2].sentence
    assert notice_text([*random, *sizes]) == f"{named} {few} {alone}"


def test_other_notices_stay_apart() -> None:
    apart = [
        told("One."),
        told("Two."),
        notice("few-samples", samples=1, shots=2),
        notice("random-weights", backbone="a"),
    ]
    other = Notice("random-weights", (("backbone", "b"),), runs=("one",))
    assert notice_sentences([*apart, other]) == [each.sentence for each in [*apart, other]]
    assert notice_text([other, *apart]).startswith(f"one: {other.sentence} One. Two.")


def test_missing_data_sets_are_in_one_sentence_and_large_numbers_have_separators() -> None:
    lost = [not_found(name) for name in ("dtd", "pets", "cars")]
    [sentence] = notice_sentences(lost)
    assert "dtd, pets and cars" in sentence
    assert notice_sentences(lost[:1]) == [lost[0].sentence]
    assert [each.domain for each in lost] == ["dtd", "pets", "cars"]
    gaps = notice("classes-only-tested", "x", title="X", classes="7", images=40, of=1880)
    assert "40 of 1,880" in gaps.sentence


def test_every_notice_about_a_backbone_has_a_sentence_about_several() -> None:
    def fields(text: str) -> set[str | None]:
        return {name for _, name, _, _ in Formatter().parse(text)}

    about = {code for code, text in SENTENCES.items() if "backbone" in fields(text)}
    assert about == {*SEVERAL}
    assert all(fields(SENTENCES[code]) == fields(SEVERAL[code]) for code in about)


def test_data_sets_with_the_same_notice_share_a_sentence() -> None:
    skipped = [
        notice(
            "skipped-episodes", name, on=f" on {name}", shots=shots, ways=5, needed=int(shots) + 15, enough=n, classes=9
        )
        for n, name in enumerate(("dtd", "pets", "cars"))
        for shots in ("5", "20")
    ]
    few, many = notice_sentences(skipped)
    assert few.startswith("5-shot episodes are skipped on dtd, pets and cars: they need 5 classes of 20 samples")
    assert "20-shot" in many
    assert notice_sentences(skipped[:2]) == [each.sentence for each in skipped[:2]]
    alone = notice("skipped-shots", shots="8", most=4, on="")
    assert notice_sentences([alone, alone]) == [alone.sentence]


def test_sentences_about_several_data_sets_have_no_other_numbers() -> None:
    def fields(text: str) -> set[str | None]:
        return {name for _, name, _, _ in Formatter().parse(text)}

    assert all("on" in fields(text) and fields(text) <= fields(SENTENCES[code]) for code, text in OF_DATASETS.items())
