"""A backbone in work that may be sent to other processes, each of which loads it once by its id."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from unseen.backbones.backbone import Backbone, Spec
from unseen.errors import UserError

if TYPE_CHECKING:
    from unseen.backbones.load import OpenedBackbone

Networks = dict[tuple[Any, ...], "OpenedBackbone"]
"""Networks that a process has loaded, by everything that they were loaded with."""


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

    def loaded(self, device: str, networks: Networks | None = None) -> Backbone:
        """The backbone, which other processes load onto a device at the first call.

        Args:
            networks: those that this process has loaded; further representations of one of them share it.
        """
        if self.itself is None:
            assert self.load is not None
            found = self.load(device=device) if networks is None else _from(networks, self.load, device)
            if replace(found.spec, transform=self.spec.transform) != self.spec:
                raise UserError(f"{self.spec.id}: has different weights on this node; use the same file on all nodes")
            # The preprocessing may differ from the backbone's own.
            object.__setattr__(self, "itself", replace(found, spec=self.spec, name=self.name))
        assert self.itself is not None
        return self.itself


def loaded_together(backbones: Iterable[SentBackbone], device: str) -> list[Backbone]:
    """All of them, with one network in memory for those that are representations of the same one."""
    networks: Networks = {}
    return [each.loaded(device, networks) for each in backbones]


def _from(networks: Networks, load: Callable[..., Backbone], device: str) -> Backbone:
    from unseen.backbones.load import load_backbone, open_backbone

    if not isinstance(load, partial) or load.func is not load_backbone:
        return load(device=device)
    options = {**load.keywords}
    form = {name: options.pop(name, None) for name in ("layer", "pool")}
    patches = options.pop("patches", False)
    key = (*load.args, *sorted(options.items(), key=itemgetter(0)))
    if key not in networks:
        networks[key] = open_backbone(*load.args, **options, device=device)
    return networks[key].backbone(**form, patches=patches)


def sent_backbones(backbones: Iterable[Backbone]) -> dict[str, SentBackbone]:
    """Backbones by label."""
    return {each.label: SentBackbone.of(each) for each in backbones}
