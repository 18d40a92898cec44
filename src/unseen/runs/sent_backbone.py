"""A backbone in work that may be sent elsewhere: other processes load it by its id, once each."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from unseen.backbones.backbone import Backbone, Spec
from unseen.errors import UserError


@dataclass(frozen=True, eq=False)
class SentBackbone:
    """A backbone here, and elsewhere how to load it, or itself where that is not known."""

    spec: Spec
    name: str
    load: Callable[..., Backbone] | None
    itself: Backbone | None

    @classmethod
    def of(cls, backbone: Backbone) -> "SentBackbone":
        return cls(backbone.spec, backbone.name, backbone.load, backbone)

    def __getstate__(self) -> dict[str, Any]:
        """Without the network where it can be loaded."""
        return self.__dict__ | ({"itself": None} if self.load is not None else {})

    def loaded(self, device: str) -> Backbone:
        """The backbone; who has not made it here loads it when it is first asked for, on a device."""
        if self.itself is None:
            assert self.load is not None
            found = self.load(device=device)
            if replace(found.spec, transform=self.spec.transform) != self.spec:
                raise UserError(f"{self.spec.id}: has other weights on this node; give all nodes the same file")
            # With the preprocessing that was asked for.
            object.__setattr__(self, "itself", replace(found, spec=self.spec, name=self.name))
        assert self.itself is not None
        return self.itself


def sent_backbones(backbones: Iterable[Backbone]) -> dict[str, SentBackbone]:
    """Backbones by their labels."""
    return {each.label: SentBackbone.of(each) for each in backbones}
