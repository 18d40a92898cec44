"""The definition of a similarity measure, and the data it may use."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from unseen.errors import UserError, option
from unseen.ontology.common_ancestors import lowest_common_ancestors, order_by_depth, order_by_information
from unseen.ontology.information import Floats, information_content
from unseen.ontology.taxonomy import Ints, Taxonomy

LcsRule = Literal["depth", "information"]


@dataclass(frozen=True, eq=False)
class Space:
    """A taxonomy with additional data for measures.

    Attributes:
        given_information: (n,) information content per node; by default computed over the taxonomy's own nodes.
        lcs: which common ancestor is the lowest: that of greatest depth (longest path to the root; the rule behind the
            published ImageNet-CoG levels) or of greatest information content (NLTK's rule). Ties go to the
            alphabetically first name.
        given_vectors: (n, d) one vector per node, for measures that compare text.
    """

    taxonomy: Taxonomy
    given_information: Floats | None = None
    lcs: LcsRule = "depth"
    given_vectors: Floats | None = None

    @cached_property
    def information(self) -> Floats:
        return information_content(self.taxonomy) if self.given_information is None else self.given_information

    @property
    def vectors(self) -> Floats:
        if self.given_vectors is None:
            raise UserError(f"this measure compares vectors: give a word-vector file ({option('vectors', 'FILE')})")
        return self.given_vectors

    def lowest_common(self, rows: Ints, columns: Ints) -> Ints:
        """(len(rows), len(columns)) lowest common ancestor of each pair, by this space's rule."""
        if self.lcs == "depth":
            order = order_by_depth(self.taxonomy)
        else:
            order = order_by_information(self.taxonomy, self.information)
        return lowest_common_ancestors(self.taxonomy, rows, columns, order)


@dataclass(frozen=True)
class Measure:
    """A semantic similarity between concepts: larger is closer.

    Attributes:
        matrix: (space, rows, columns) → (len(rows), len(columns)) similarities, for node numbers of the space.
        uses: the data it uses besides the taxonomy.
    """

    name: str
    title: str
    formula: str
    citation: str
    uses: Literal["information", "paths", "vectors"]
    matrix: Callable[[Space, Ints, Ints], Floats]
