"""Results files put together: which records are of one model."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from result_records import concept_records

from unseen.errors import UserError
from unseen.exchange import contributions
from unseen.exchange.contributions import beside_published, read_contributions
from unseen.exchange.export import write_results
from unseen.exchange.record import ResultRecord, ResultsFile
from unseen.papers.concept_generalization import DOMAINS
from unseen.probes.protocol import COG_V2_PRUNED
from unseen.report.leaderboard.site import _addresses
from unseen.runs.setup import ProtocolUsed


def written(path: Path, records: list[ResultRecord], **backbone: Any) -> Path:
    changed = [replace(each, backbone=replace(each.backbone, **backbone)) for each in records]
    write_results(ResultsFile("unseen-results", 1, "1", changed), path)
    return path


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({}, ["mine"]),
        ({"digest": "cd" * 32}, ["mine", "mine (second)"]),
        ({"digest": None}, ["mine", "mine (second)"]),  # may be anybody's
        ({"digest": None, "weights": "x.in1k"}, ["mine"]),
        ({"name": "other"}, ["mine", "other"]),
    ],
)
def test_records_of_one_name_and_weights_are_of_one_model(
    tmp_path: Path, more: dict[str, Any], names: list[str]
) -> None:
    records = concept_records()
    first = written(tmp_path / "first.json", records[:3], weights="x.in1k")
    second = written(tmp_path / "second.json", records[3:], **({"weights": None} | more))
    found = read_contributions([first, second])
    assert [each.name for each in found] == names
    assert sum(len(each.records) for each in found) == 6
    assert all(record.backbone.name == each.name for each in found for record in each.records)


def test_the_same_data_twice_are_two_models(tmp_path: Path) -> None:
    first = written(tmp_path / "first.json", concept_records())
    second = written(tmp_path / "second.json", concept_records(0.01))
    assert [each.name for each in read_contributions([first, second])] == ["mine", "mine (second)"]
    third = written(tmp_path / "b" / "second.json", concept_records(0.02))
    assert [each.name for each in read_contributions([first, second, third])][2] == "mine (second 2)"


def test_models_of_one_name_are_told_apart_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contributions, "MOST_OF_A_NAME", 4)
    files = [written(tmp_path / str(n) / "m.json", concept_records(0.01 * n)[:1]) for n in range(5)]
    found = [each.name for each in read_contributions(files[:4])]
    assert found == ["mine", "mine (m)", "mine (m 2)", "mine (m 3)"]
    with pytest.raises(UserError, match=r"4/m\.json: .* 4 "):
        read_contributions(files)


@pytest.mark.parametrize("name", ["模型", "a", "A!"])
def test_every_model_has_a_file_name_of_its_own(name: str) -> None:
    record = concept_records()[0]

    def addresses(count: int) -> list[str]:
        return _addresses([contributions.Contribution(name, ("r.json",), (record,))] * count)

    stem = "model" if name == "模型" else "a"
    assert addresses(3) == [stem, f"{stem}-2", f"{stem}-3"]
    assert len({*addresses(5_000)}) == 5_000


def test_the_papers_own_protocol_is_used_if_a_model_has_several() -> None:
    exact = concept_records()
    settings = {"logistic": ProtocolUsed.of("logistic", COG_V2_PRUNED).settings}
    pruned = [replace(each, protocol="cog-v2-pruned", settings=settings) for each in concept_records(0.01)]
    for records in ([*exact, *pruned], [*pruned, *exact]):
        chosen, why = beside_published(records, DOMAINS)
        assert (chosen, why) == (exact, "")
    assert beside_published([*exact[:5], *pruned], DOMAINS) == (pruned, "")
    assert beside_published([*exact[:5], *pruned[5:]], DOMAINS) == ([], "no results on l5")


def test_a_file_that_is_given_twice_counts_once(tmp_path: Path) -> None:
    first = written(tmp_path / "first.json", concept_records())
    part = written(tmp_path / "part.json", concept_records()[:2])
    [found] = read_contributions([first, part, first])
    assert (found.name, found.places, len(found.records)) == ("mine", ("first.json",), 6)
