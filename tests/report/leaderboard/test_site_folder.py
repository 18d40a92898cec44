"""The folder of a site: nothing is written or removed outside of it, and nothing is left of a former site."""

from dataclasses import replace
from pathlib import Path

import pytest
from result_records import concept_records

from unseen.errors import UserError
from unseen.exchange.contributions import Contribution, read_contributions
from unseen.exchange.export import write_results
from unseen.exchange.record import ResultsFile
from unseen.papers.leaderboard import leaderboard
from unseen.report.leaderboard.site import write_site


def models(folder: Path, names: list[str]) -> list[Contribution]:
    for name in names:
        records = [replace(each, backbone=replace(each.backbone, name=name)) for each in concept_records()[:1]]
        write_results(ResultsFile("unseen-results", 1, "1", records), folder / f"{name}.json")
    return read_contributions([folder / f"{name}.json" for name in names])


def test_links_in_a_site_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    elsewhere, board = tmp_path / "elsewhere", leaderboard()
    (elsewhere / "inner").mkdir(parents=True)
    (elsewhere / "mine.txt").write_text("mine")
    given = models(tmp_path, ["a"])
    for name, target in (
        ("index.html", elsewhere / "mine.txt"), ("models", elsewhere / "inner"), ("results", elsewhere / "inner"),
        ("models/a.html", elsewhere / "mine.txt"), ("results.csv", elsewhere / "nothing"),
    ):  # fmt: skip
        site = tmp_path / f"site-{name.replace('/', '-')}"
        (site / name).parent.mkdir(parents=True)
        (site / name).symlink_to(target)
        with pytest.raises(UserError, match="is a link"):
            write_site(board, given, site)
        assert [each.name for each in site.rglob("*") if each.is_file() and not each.is_symlink()] == []
    assert (elsewhere / "mine.txt").read_text() == "mine"
    assert sorted(each.name for each in elsewhere.rglob("*")) == ["inner", "mine.txt"]


def test_pages_of_models_that_are_no_longer_given_are_removed(tmp_path: Path) -> None:
    site, board = tmp_path / "site", leaderboard()
    (tmp_path / "linked").symlink_to(site)  # the folder itself may be a link
    site.mkdir()
    write_site(board, models(tmp_path, ["a", "b"]), tmp_path / "linked")
    (site / "models/notes.html").write_text("<p>mine</p>")
    write_site(board, models(tmp_path, ["b"]), site)
    assert sorted(each.name for each in (site / "models").iterdir()) == ["b.html", "notes.html"]
    assert [each.name for each in (site / "results").iterdir()] == ["b.json"]
