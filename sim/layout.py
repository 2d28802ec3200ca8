"""Gives ordered layers of boxes their coordinates, and routes wires at right angles."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sim.layering import Layered, Link, Side

__all__ = ["PITCH", "Drawing", "Place", "coordinates"]

PITCH = 16.0
"""Distance of two ports, and of two wires side by side."""

GAP = 24.0
"""Distance of two boxes above one another."""

TRACK = 8.0
"""Distance of two vertical pieces of wires."""

MARGIN = 24.0
"""Distance of a vertical piece from a box."""

_TURNS = 60

Point = tuple[float, float]


@dataclass(frozen=True)
class Place:
    """What a box needs: width, height, and how far below its top each port is."""

    width: float
    height: float
    ports: Mapping[tuple[Side, str], float]


@dataclass(frozen=True)
class Drawing:
    """Where everything is, counted from the top left.

    Parameters
    ----------
    width, height : float
    corners : dict of str to (float, float)
        Top left corner of each box.
    wires : dict of Link to list of (float, float)
        Points of each wire from its source to its target.
    ports : dict of (side, str) to float
        Height of each port of the frame.
    """

    width: float
    height: float
    corners: dict[str, Point]
    wires: dict[Link, list[Point]]
    ports: dict[tuple[Side, str], float]


def coordinates(
    layered: Layered, places: Mapping[str, Place], port_width: Callable[[str], float]
) -> Drawing:
    """Return where boxes, wires and ports of the frame lie.

    Parameters
    ----------
    layered : Layered
    places : mapping of str to Place
    port_width : function
        Room that a port of the frame needs beside its edge, by the port's name.
    """
    return _Geometry(layered, places, port_width).drawing()


@dataclass(frozen=True)
class _Step:
    """A piece of a wire between neighbouring layers: two items, and offsets below their tops."""

    left: int
    right: int
    left_offset: float
    right_offset: float


class _Geometry:
    """The work of `coordinates`."""

    def __init__(
        self,
        layered: Layered,
        places: Mapping[str, Place],
        port_width: Callable[[str], float],
    ) -> None:
        self._layered, self._places = layered, places
        sizes = [places[i.box] if i.box is not None else None for i in layered.items]
        self._height = [size.height if size else 0.0 for size in sizes]
        self._width = [size.width if size else 0.0 for size in sizes]
        for index, item in enumerate(layered.items):
            if item.port is not None:
                self._width[index] = port_width(item.port[1])
        self._gap = [GAP if size else PITCH for size in sizes]
        self._top = [0.0] * len(sizes)
        self._steps = {link: self._pieces(link) for link in layered.chains}
        self._all = [step for steps in self._steps.values() for step in steps]

    def drawing(self) -> Drawing:
        """Return the result."""
        self._stack()
        for turn in range(_TURNS):
            layers = self._layered.layers
            for members in layers if turn % 2 == 0 else reversed(layers):
                self._settle(members)
        highest = min(self._top, default=0.0)
        self._top = [top - highest for top in self._top]
        begins, tracks, width = self._columns()
        items = enumerate(self._layered.items)
        boxes = {item.box: index for index, item in items if item.box is not None}
        ports = {i.port: self._top[n] for n, i in enumerate(self._layered.items) if i.port}
        bottoms = (top + height for top, height in zip(self._top, self._height, strict=True))
        return Drawing(
            width=width,
            height=max(bottoms, default=0.0),
            corners={
                name: (begins[self._layered.items[item].layer], self._top[item])
                for name, item in boxes.items()
            },
            wires={link: self._points(link, begins, tracks) for link in self._steps},
            ports=ports,
        )

    def _pieces(self, link: Link) -> list[_Step]:
        chain = self._layered.chains[link]
        last = len(chain) - 2
        return [
            _Step(
                a,
                b,
                self._offset(link, chain[0], "right") if at == 0 else 0.0,
                self._offset(link, chain[-1], "left") if at == last else 0.0,
            )
            for at, (a, b) in enumerate(zip(chain, chain[1:], strict=False))
        ]

    def _offset(self, link: Link, item: int, side: Side) -> float:
        box = self._layered.items[item].box
        if box is None:
            return 0.0
        name = link.source[1] if link.source[0] == box else link.target[1]
        return self._places[box].ports[side, name]

    def _stack(self) -> None:
        for members in self._layered.layers:
            top = 0.0
            for item in members:
                self._top[item] = top
                top += self._height[item] + self._gap[item]

    def _settle(self, members: Sequence[int]) -> None:
        """Make wires straight by least squares; the order is kept by isotonic regression."""
        want: dict[int, list[tuple[float, float]]] = {item: [] for item in members}
        for step in self._all:
            shift = step.left_offset - step.right_offset
            weight = self._stiffness(step)
            if step.left in want:
                want[step.left].append((self._top[step.right] - shift, weight))
            if step.right in want:
                want[step.right].append((self._top[step.left] + shift, weight))
        pools: list[tuple[float, float, int]] = []
        offsets: list[float] = []
        offset = 0.0
        for item in members:
            offsets.append(offset)
            # A box without wires goes up until it meets its neighbour.
            wishes = want[item] or [(0.0, 1e-3)]
            mass = sum(weight for _, weight in wishes)
            total, count = sum((top - offset) * weight for top, weight in wishes), 1
            while pools and pools[-1][0] / pools[-1][1] > total / mass:
                other = pools.pop()
                total, mass, count = total + other[0], mass + other[1], count + other[2]
            pools.append((total, mass, count))
            offset += self._height[item] + self._gap[item]
        tops = [total / mass for total, mass, count in pools for _ in range(count)]
        for item, shift, top in zip(members, offsets, tops, strict=True):
            self._top[item] = shift + top

    def _stiffness(self, step: _Step) -> float:
        """Return how much it matters that a piece is straight: most in the middle of a wire."""
        bends = sum(self._height[item] == 0.0 for item in (step.left, step.right))
        return (1.0, 2.0, 16.0)[bends]

    def _ends(self, step: _Step) -> tuple[float, float]:
        left = self._top[step.left] + step.left_offset
        right = self._top[step.right] + step.right_offset
        # What would be a jog of a hair is drawn straight.
        return (left, left) if abs(left - right) < 1.0 else (left, right)

    def _columns(self) -> tuple[list[float], dict[_Step, float], float]:
        """Return where each layer begins, the track of each wire that bends, and the width."""
        layered = self._layered
        begins: list[float] = []
        tracks: dict[_Step, float] = {}
        x = 0.0
        for at, members in enumerate(layered.layers):
            begins.append(x)
            x += max((self._width[item] for item in members), default=0.0)
            steps = [step for step in self._all if layered.items[step.left].layer == at]
            if steps:
                x += MARGIN
                for step in sorted(steps, key=self._rank):
                    begin, end = self._ends(step)
                    if begin != end:
                        tracks[step] = x
                        x += TRACK
                x += MARGIN
        return begins, tracks, x

    def _rank(self, step: _Step) -> tuple[float, float]:
        """Sort so that wires that run side by side do not cross: down from below, up from above."""
        begin, end = self._ends(step)
        return (-begin, -end) if end > begin else (begin, end)

    def _points(
        self, link: Link, begins: Sequence[float], tracks: Mapping[_Step, float]
    ) -> list[Point]:
        points: list[Point] = []
        for step in self._steps[link]:
            begin, end = self._ends(step)
            layer = self._layered.items[step.left].layer
            points.append((begins[layer] + self._width[step.left], begin))
            if step in tracks:
                points += [(tracks[step], begin), (tracks[step], end)]
            points.append((begins[self._layered.items[step.right].layer], end))
        first = self._layered.items[self._layered.chains[link][0]]
        starts_left = link.source[0] == (first.box if first.box is not None else "")
        return points if starts_left else points[::-1]
