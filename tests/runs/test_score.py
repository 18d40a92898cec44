from unseen.runs.score import MEASURED, Score, shots_name


def test_a_score_knows_where_it_is_from_and_how_wide_its_interval_is() -> None:
    own = Score("tasks", "ericsson-2021", "mine", "dtd", "linear", None, 0, "mean-per-class", 0.75)
    assert (own.source, own.published, own.half_width) == (MEASURED, False, None)
    printed = Score(
        "shifts", "shi-2023", "rn50", "imagenet-a", "own-head", None, 0, "top1", 0.5, 0.25, 0.625, "shi-2023"
    )
    assert (printed.published, printed.half_width) == (True, 0.1875)
    assert Score(**printed.as_dict()) == printed


def test_shots_are_written_as_numbers_or_all() -> None:
    assert [shots_name(shots) for shots in (None, 1, 50)] == ["all", "1", "50"]
