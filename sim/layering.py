"""Puts boxes into layers from left to right and orders each layer, so that few wires cross.

The first two steps of Sugiyama: wires that would close a cycle run backwards, longest paths give
layers; barycentres give the order. The same input always gives the same result.

**Source**: K. Sugiyama, S. Tagawa, M. Toda, Methods for visual understanding of hierarchical system
structures, IEEE Trans. SMC 11(2), 1981.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["FRAME", "Item", "Layered", "Link", "Side", "arrange", "layer"]

FRAME = ""
"""Name of the frame around the boxes, as an end of a link."""

Side = Literal["left", "right"]

_SWEEPS = 12


@dataclass(frozen=True)
class Link:
    """A wire from (box, port) to (box, port).

    Parameters
    ----------
    source, target : (str, str)
    weight : int
        The heavier, the less likely the wire runs backwards.
    frame_side : side, optional
        Where the wire ends if one of its ends is the frame.
    """

    source: tuple[str, str]
    target: tuple[str, str]
    weight: int
    frame_side: Side | None = None


@dataclass(frozen=True)
class Item:
    """A box, a port of the frame (side and name), or, if neither, a wire that passes a layer."""

    layer: int
    box: str | None = None
    port: tuple[Side, str] | None = None


@dataclass(frozen=True)
class Layered:
    """Items, their order in each layer, and the items that each link visits from left to right."""

    items: list[Item]
    layers: list[list[int]]
    chains: dict[Link, list[int]]

    def ports(self, box: str, side: Side) -> list[str]:
        """Return the ports of a box that have a wire on that side, so that no two wires cross."""
        rank = {item: at for members in self.layers for at, item in enumerate(members)}
        found: dict[str, tuple[float, int]] = {}
        for number, (link, chain) in enumerate(self.chains.items()):
            for name, at in self._ends(link, chain):
                item = self.items[chain[at]]
                on = "right" if at == 0 else "left"
                if item.box == box and on == side:
                    neighbour = chain[1] if at == 0 else chain[-2]
                    found.setdefault(name, (rank[neighbour], number))
        return sorted(found, key=lambda name: found[name])

    def _ends(self, link: Link, chain: list[int]) -> list[tuple[str, int]]:
        """Return the port's name at the left end and at the right end of a link."""
        first = self.items[chain[0]]
        owner = first.box if first.box is not None else FRAME
        left, right = link.source[1], link.target[1]
        if link.source[0] != owner:
            left, right = right, left
        return [(left, 0), (right, -1)]


def layer(boxes: Sequence[str], links: Sequence[Link]) -> dict[str, int]:
    """Return the layer of each box, from 1 on.

    Examples
    --------
    >>> forth = [Link(("x", "o"), ("y", "i"), 8), Link(("y", "o"), ("z", "i"), 8)]
    >>> layer(["z", "y", "x"], [*forth, Link(("z", "o"), ("x", "i"), 1)])
    {'z': 3, 'y': 2, 'x': 1}
    """
    after: dict[str, set[str]] = {name: set() for name in boxes}
    inner = [link for link in links if FRAME not in (link.source[0], link.target[0])]
    for link in sorted(inner, key=lambda link: -link.weight):
        begin, end = link.source[0], link.target[0]
        if not _reaches(after, end, begin):
            after[begin].add(end)
    layers = dict.fromkeys(boxes, 1)
    for _ in boxes:
        for begin in boxes:
            for end in after[begin]:
                layers[end] = max(layers[end], layers[begin] + 1)
    _pull(layers, after, links)
    return layers


def _pull(layers: dict[str, int], after: Mapping[str, set[str]], links: Sequence[Link]) -> None:
    """Move boxes that nothing feeds to just before the first box that they feed."""
    fed = {end for ends in after.values() for end in ends}
    framed = {end[0] for link in links if link.frame_side for end in (link.source, link.target)}
    for name in sorted(layers, key=lambda name: -layers[name]):
        if name not in fed and name not in framed and after[name]:
            layers[name] = min(layers[end] for end in after[name]) - 1


def _reaches(after: Mapping[str, set[str]], begin: str, end: str) -> bool:
    waiting, seen = [begin], {begin}
    while waiting:
        at = waiting.pop()
        if at == end:
            return True
        waiting += sorted(after[at] - seen)
        seen |= after[at]
    return False


def arrange(
    boxes: Sequence[str],
    links: Sequence[Link],
    layers: Mapping[str, int],
    frame: Sequence[tuple[Side, str]],
) -> Layered:
    """Return the order of boxes and wires in each layer.

    Parameters
    ----------
    boxes, links
        What is drawn.
    layers : mapping of str to int
        From `layer`.
    frame : sequence of (side, name)
        Ports of the frame, which keep their order from top to bottom.
    """
    last = max(layers.values(), default=0) + 1
    result = Layered([], [[] for _ in range(last + 1)], {})

    def add(item: Item) -> int:
        result.items.append(item)
        result.layers[item.layer].append(len(result.items) - 1)
        return len(result.items) - 1

    ports = {port: add(Item(0 if port[0] == "left" else last, port=port)) for port in frame}
    placed = {name: add(Item(layers[name], box=name)) for name in boxes}
    for link in links:
        ends = [
            ports[link.frame_side or "left", name] if box == FRAME else placed[box]
            for box, name in (link.source, link.target)
        ]
        left, right = sorted(ends, key=lambda end: result.items[end].layer)
        between = range(result.items[left].layer + 1, result.items[right].layer)
        result.chains[link] = [left, *(add(Item(at)) for at in between), right]
    _order(result)
    return result


def _order(result: Layered) -> None:
    """Sort each layer by the barycentres of its neighbours; keep the order that crosses least."""
    near: dict[int, list[int]] = {item: [] for item in range(len(result.items))}
    for chain in result.chains.values():
        for left, right in zip(chain, chain[1:], strict=False):
            near[left].append(right)
            near[right].append(left)
    best = [list(members) for members in result.layers]
    fewest = _crossings(result)
    for sweep in range(_SWEEPS):
        for members in result.layers if sweep % 2 == 0 else reversed(result.layers):
            _sort(result, members, near)
        crossings = _crossings(result)
        if crossings < fewest:
            fewest, best = crossings, [list(members) for members in result.layers]
    result.layers[:] = best


def _sort(result: Layered, members: list[int], near: Mapping[int, Sequence[int]]) -> None:
    if any(result.items[item].port for item in members):
        return
    rank = {
        item: (at + 0.5) / len(layer) for layer in result.layers for at, item in enumerate(layer)
    }
    want = {item: _mean([rank[n] for n in near[item]], rank[item]) for item in members}
    members.sort(key=lambda item: (want[item], rank[item]))


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _crossings(result: Layered) -> int:
    rank = {item: at for members in result.layers for at, item in enumerate(members)}
    channels: dict[int, list[tuple[int, int]]] = {}
    for chain in result.chains.values():
        for left, right in zip(chain, chain[1:], strict=False):
            channels.setdefault(result.items[left].layer, []).append((rank[left], rank[right]))
    return sum(
        (a[0] - b[0]) * (a[1] - b[1]) < 0
        for steps in channels.values()
        for at, a in enumerate(steps)
        for b in steps[:at]
    )
