"""Severity of mistakes of networks that a study has run: stored predictions and logits, in parts and resumed."""

from pathlib import Path

import numpy as np
import pytest
from shift_places import evaluate, make_sets, opened, seeded

from unseen.analyses.robustness.predictors_of_runs import severity_of_folder
from unseen.errors import UserError


@pytest.mark.long_suite  # runs networks
def test_severity_of_networks(tmp_path: Path) -> None:
    root, models = make_sets(tmp_path / "sets"), seeded(tmp_path, 1, 2)
    folder, sets = tmp_path / "run", opened(root, "val", "imagenet-r")
    keys = {"classes": ["own", "imagenet-r"]}
    evaluate(models[:1], sets, folder, **keys)
    assert [*severity_of_folder(folder, "val").values] == ["net-1"]
    evaluate(models, sets, folder, **keys)
    for column, classes in (("val", 6), ("val-on-imagenet-r-classes", 3)):
        found = severity_of_folder(folder, column)
        assert [*found.values] == ["net-1", "net-2"]
        assert found.images == 4 * classes
        latent = severity_of_folder(folder, column, "k-means:net-2")
        assert latent.source == "k-means on the class means of the logits of net-2"
        for model in found.values:
            assert (np.isnan(latent.values[model]["depth"]) == np.isnan(found.values[model]["depth"])).all()
    (folder / "logits").rename(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="logits"):
        severity_of_folder(folder, "val", "k-means:net-2")
