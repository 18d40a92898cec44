"""A backbone in work that may be sent to other processes, each of which loads it once by its id."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from unseen.backbones.backbone import Backbone, Spec
from unseen.errors import UserError


@dataclass(frozen=True, eq=False)
class SentBackbone:
    """A backbone that is pickled as its id and options, or as itself if it cannot be loaded by an id."""

    spec: Spec
    name: str
    load: Callable[..., Backbone] | None
    itself: Backbone | None

    @classmethod
    def of(cls, backbone: Backbone) -> "SentBackbone":
        return cls(backbone.spec, backbone.name, backbone.load, backbone)

    def __getstate__(self) -> dict[str, Any]:
        """The state without the network if it can be loaded by its id."""
        return self.__dict__ | ({"itself": None} if self.load is not None else {})

    def loaded(self, device: str) -> Backbone:
        """The backbone, which other processes load onto a device at the first call."""
        if self.itself is None:
            assert self.load is not None
            found = self.load(device=device)
            if replace(found.spec, transform=self.spec.transform) != self.spec:
                raise UserError(f"{self.spec.id}: has different weights on this node; use the same file on all nodes")
            # The preprocessing may differ from the backbone's own.
            object.__setattr__(self, "itself", replace(found, spec=self.spec, name=self.name))
        assert self.itself is not None
        return self.itself


def sent_backbones(backbones: Iterable[Backbone]) -> dict[str, SentBackbone]:
    """Backbones by label."""
    return {each.label: SentBackbone.of(each) for each in backbones}
