"""Flaws of the data and of the trainings of a run: records in the run, and sentences for its reader."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

FlawKind = Literal["damaged-images", "unused-labels", "zero-rows", "skipped-steps", "diverged"]
SHOWN = 3
MOST_EXAMPLES = 100


@dataclass(frozen=True)
class Flaw:
    """Damaged images, labels that cannot be used, rows of features that are all zeros, or trainings that went wrong.

    Attributes:
        kind: images that could not be decoded and were skipped; boxes or maps that are invalid or belong to no image;
            rows that are all zeros; training steps whose loss was not finite; or classifiers of a grid whose weights or
            scores were not finite. Probes that scale rows to length 1
            keep a row of zeros, as the code of ImageNet-CoG does; the linear probes and episodes of the task study
            scale nothing.
        backbone: empty if the flaw concerns all.
        place: the part of the domain: `training images` or `test images`, the file or store of the rows, the training,
            or the probe.
        count: number of such images, rows, steps or classifiers, out of `total`.
        examples: the first of them: names of images with the error, or numbers of rows.
    """

    kind: FlawKind
    backbone: str
    domain: str
    place: str
    count: int
    total: int
    examples: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The flaw as a clause, without the domain and the backbone."""
        between = ", " if self.kind == "zero-rows" else "; "
        examples = between.join([*self.examples[:SHOWN], *(["…"] if self.count > SHOWN else [])])
        if self.kind == "damaged-images":
            skipped = "is damaged and was" if self.count == 1 else "are damaged and were"
            return f"{self.count:,} of {self.total:,} {self.place} {skipped} left out ({examples})"
        if self.kind == "unused-labels":
            was = "was" if self.count == 1 else "were"
            return f"{self.count:,} of {self.total:,} labels of {self.place} {was} not used ({examples})"
        if self.kind == "skipped-steps":
            return f"{self.count:,} of {self.total:,} steps of {self.place} had a loss that was not finite"
        if self.kind == "diverged":
            was = "was" if self.count == 1 else "were"
            return f"{self.count:,} of {self.total:,} classifiers of {self.place} diverged and {was} not chosen"
        rows, are = ("row", "is") if self.count == 1 else ("rows", "are")
        return f"{self.count:,} of {self.total:,} rows of {self.place} ({rows} {examples}) {are} all zeros"


def flaw_sentences(
    flaws: Sequence[Flaw], titles: Mapping[str, str] | None = None, among: Iterable[str] = ()
) -> list[str]:
    """One sentence per flaw, once for all backbones that share it.

    Args:
        titles: titles of domains.
        among: all backbones of the page; the sentence names the affected ones if not all are.
    """
    backbones: dict[tuple[str, str, str], list[str]] = {}
    for flaw in flaws:
        of = "" if flaw.kind in {"skipped-steps", "diverged"} else "features of "
        backbones.setdefault((flaw.domain, flaw.text, of), []).append(flaw.backbone)
    every = {*among, *(flaw.backbone for flaw in flaws)} - {""}
    found = []
    for (domain, text, of), names in backbones.items():
        whose = f", {of}{', '.join(names)}" if "" not in names and set(names) != every else ""
        found.append(f"{(titles or {}).get(domain, domain)}{whose}: {text}.")
    return found
