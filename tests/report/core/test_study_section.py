"""A page links to the study of its run, and says how it differs and how it is run again."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Unseen = Callable[..., Any]


def test_a_page_links_to_its_study_and_says_how_to_run_it_again(unseen: Unseen, tmp_path: Path) -> None:
    rng, folder = np.random.default_rng(0), tmp_path / "features/plants"
    folder.mkdir(parents=True)
    for split, images in (("train", 20), ("test", 10)):
        np.savez(folder / f"{split}.npz", X=rng.normal(size=(images, 4)), y=np.arange(images) % 2)
    run = tmp_path / "a run"
    words = ("run", "ericsson-2021", "--features", tmp_path / "features", "--datasets", "plants", "--probes", "knn")
    assert unseen(*words, "--set", "knn.k=1", "--workers", 1, "--out", run).code == 0
    assert unseen("report", run, "--out", tmp_path / "page.html").code == 0
    for page in (run / "report.html", tmp_path / "page.html"):
        text = page.read_text()
        [place] = re.findall(r'<a href="([^"]*study\.toml)">', text)
        assert (page.parent / place.replace("%20", " ")).samefile(run / "study.toml")
        section = text.partition('<section id="study"')[2].partition("</section>")[0]
        assert "ericsson-2021" in section
        assert all(f"<td>{key}" in section or key in section for key in ("knn.k", "datasets", "probes"))
        [command] = re.findall(r"<code>unseen (run study\.toml [^<]*)</code>", section)
        assert command == "run study.toml --features FOLDER --out ANOTHER"


def test_a_page_survives_a_study_that_cannot_be_read(unseen: Unseen, tmp_path: Path) -> None:
    rng, folder = np.random.default_rng(0), tmp_path / "features/plants"
    folder.mkdir(parents=True)
    for split in ("train", "test"):
        np.savez(folder / f"{split}.npz", X=rng.normal(size=(20, 4)), y=np.arange(20) % 2)
    words = ("--features", tmp_path / "features", "--datasets", "plants", "--probes", "ridge", "--workers", 1)
    assert unseen("run", "ericsson-2021", *words, "--out", tmp_path / "run").code == 0
    kept = tmp_path / "run/study.toml"
    kept.write_text(kept.read_text().replace('based-on = "ericsson-2021"', 'based-on = "zzz"'))
    assert unseen("report", tmp_path / "run", "--out", tmp_path / "page.html").code == 0
    section = (tmp_path / "page.html").read_text().partition('<section id="study"')[2].partition("</section>")[0]
    assert "zzz" in section
