"""Which test images are classified correctly, in results files: written if asked for, read back as those of a run."""

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError, option
from unseen.exchange.record import FitHits, Hits, ResultRecord
from unseen.probes.units import CORRECT, ScoredImages
from unseen.runs.data import RunData
from unseen.runs.kept_units import KeptUnits, kept_units, result_behind, unit_scores
from unseen.runs.score import Score

LABEL = np.dtype("<u4")


def exported_hits(run: RunData, scores: Sequence[Score]) -> list[Hits]:
    """The hits behind the scores of a record, by test set; scores without hits are left out."""
    groups, found = list[tuple[ScoredImages, list[FitHits]]](), set[tuple[str, str]]()
    for score in scores:
        place = None if (score.key, score.probe) in found else result_behind(run, score)
        found.add((score.key, score.probe))
        for each in kept_units(*place) if place else ():
            if each.kind != "images" or each.variant != score.probe or each.images is None:
                continue
            bits = np.packbits(each.arrays[CORRECT]).tobytes()
            fit = FitHits(score.probe, score.shots, score.seed, urlsafe_b64encode(bits).decode())
            own = next((fits for images, fits in groups if not images.difference(each.images)), None)
            if own is None:
                groups.append((each.images, [fit]))
            else:
                own.append(fit)
    return [_written(images, fits) for images, fits in groups]


def _written(images: ScoredImages, fits: Sequence[FitHits]) -> Hits:
    labels = zlib.compress(images.labels.astype(LABEL).tobytes(), 9)
    return Hits(images.count, images.ids, list(images.classes), urlsafe_b64encode(labels).decode(), fits)


def hits_size(records: Sequence[ResultRecord]) -> int:
    """Bytes of the hits and the labels of records in their file."""
    of = [each for record in records for each in record.hits]
    return sum(len(each.labels) + sum(len(fit.correct) for fit in each.fits) for each in of)


def record_hits(record: ResultRecord) -> list[KeptUnits]:
    """What a record has of each test image, as `unseen.runs.kept_units.kept_units` gives it of a result.

    Records without hits have none (`why_no_hits`); hits that do not give the scores of the record are refused.
    """
    return [each for hits in record.hits for each in _of_test_set(record, hits)]


def why_no_hits(record: ResultRecord) -> str:
    """Why a record cannot be compared image by image, in one sentence that says what to do."""
    name, data = record.backbone.name, record.data.name
    return (
        f"the results of {name} on {data} were exported without the test images that are classified correctly, which "
        f"this comparison needs; export the run again with them ({option('hits', True)})"
    )


def _of_test_set(record: ResultRecord, hits: Hits) -> Iterator[KeptUnits]:
    where = f"{record.backbone.name} on {record.data.name}"
    try:
        images = _images(hits)
        for fit in hits.fits:
            arrays = {CORRECT: _bits(fit.correct, hits.images)}
            determined, scores = unit_scores("images", arrays, images), dict[str, float]()
            for score in record.scores:
                if (score.probe, score.shots) == (fit.probe, fit.shots) and score.metric in determined:
                    scores[score.metric] = dict(zip(score.seeds, score.values, strict=True))[fit.seed]
                    if not abs(scores[score.metric] - determined[score.metric]) <= _most_apart(fit, hits.images):
                        raise ValueError(f"the {score.metric} of {fit.probe} differs from that of its own images")
            yield KeptUnits(fit.probe, fit.shots, fit.seed, "images", arrays, images, images.ids, scores)
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        raise UserError(f"the hits of {where} are damaged ({error}); export the run again") from None


def _most_apart(fit: FitHits, images: int) -> float:
    """How far an accuracy may be from that of its hits; see `unseen.runs.kept_labels`."""
    return max(1 / images, 0.01) if fit.probe == "logistic" else 0.5 / images


def _images(hits: Hits) -> ScoredImages:
    if hits.images < 1 or any(len(fit.correct) * 6 < hits.images for fit in hits.fits):
        raise ValueError("the number of images differs")
    unpacking = zlib.decompressobj()
    content = unpacking.decompress(urlsafe_b64decode(hits.labels), LABEL.itemsize * hits.images + 1)
    y = np.frombuffer(content, dtype=LABEL).astype(np.int64)
    if len(y) != hits.images or y.max() >= len(hits.classes):
        raise ValueError("labels and classes do not match")
    return ScoredImages(tuple(hits.classes), y, hits.ids, hits.images)


def _bits(text: str, count: int) -> NDArray[np.bool_]:
    bits = np.frombuffer(urlsafe_b64decode(text), dtype=np.uint8)
    if len(bits) != -(-count // 8):
        raise ValueError("the number of images differs")
    return np.unpackbits(bits, count=count).astype(bool)
