"""`unseen probe --probe NAME`: every probe except logistic regression, which runs as jobs."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.cli.output import console, note, print_json, print_table
from unseen.errors import UserError
from unseen.files import check_writable
from unseen.metrics.catalogue import METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence


def probe_by_name(
    name: str,
    files: tuple[Path, Path],
    protocol: str | None,
    shots: "Sequence[str] | None",
    seeds: int,
    called: tuple[str, str],
    out: Path,
    metrics: "Sequence[str]",
    as_json: bool,
) -> None:
    """Fit a probe to the features in files as `unseen.probe` does; write and print its scores.

    Args:
        files: of training and of test features.
        called: the names of the backbone and the domain in tables.
        metrics: Python files with the user's own metrics.
    """
    import numpy as np

    from unseen.exchange.export import as_told
    from unseen.features.features import align
    from unseen.features.readers import read_features
    from unseen.probes.by_name import get_probe
    from unseen.runs.score import shots_name
    from unseen.runs.shots import parse_shots
    from unseen.runs.tables import write_table
    from unseen.studies.array_probing import probe_arrays
    from unseen.studies.own_code import chosen_code
    from unseen.studies.own_features import features_title
    from unseen.studies.progress_bars import bars

    settings = parse_shots(shots) if shots else None
    names, code = chosen_code([name], [], note)
    chosen = code.probes[0].probe if code.probes else get_probe(names[0])
    check_writable(out)
    read = [read_features(path, tell=note) for path in files]
    train, test = align(read[0], read[1], " and ".join(map(str, files)))
    X_train, X_test = train.X[:], test.X[:]
    if np.array_equal(X_train, X_test):
        raise UserError("training and test features are the same; give a test set that was not trained on")
    with bars() as watch:
        arrays = (X_train, train.y, X_test, test.y)
        result = probe_arrays(arrays, chosen, metrics, protocol, settings, seeds, None, watch, note)
    backbone, domain = called
    tables = {"scores": result.to_frame(), "summary": result.summary()}
    out.mkdir(parents=True, exist_ok=True)
    for kind, table in tables.items():
        table.insert(0, "backbone", backbone)
        table.insert(1, "domain", domain)
        write_table(table, out / f"{chosen.name}-{kind}.csv")
    if as_json:
        scores = [replace(score, backbone=backbone, domain=domain).as_dict() for score in result.scores]
        print_json({"scores": scores, "notices": [asdict(as_told(each)) for each in result.told]})
        return
    samples = {shots_name(fit.shots): str(fit.samples or "") for fit in result.fits}
    shown = tables["summary"].assign(**{"samples per class": tables["summary"]["shots"].map(samples)})
    columns = ["probe", "shots", "samples per class", "metric", "mean", "deviation", "seeds"]
    rows = (
        [_printed(cell, str(row[3])) if isinstance(cell, float) else cell for cell in row]
        for row in shown[columns].replace(float("nan"), "").itertuples(index=False)
    )
    print_table(f"{features_title(backbone, domain)}: {chosen.title}", columns, rows, columns[4:])
    console().print(f"\nScores: {out / f'{chosen.name}-scores.csv'}")


def _printed(value: float, metric: str) -> str:
    """A share in percent, as in the table of the logistic probe; another value with four decimals."""
    return f"{100 * value:.1f}%" if metric in METRICS and METRICS[metric].unit == "share" else f"{value:.4f}"


def refuse_logistic_options(name: str, **options: bool) -> None:
    """Refuse options that only the logistic probe has."""
    for option, given in options.items():
        if given:
            raise UserError(f"--{option} needs --probe logistic, not {name}")
