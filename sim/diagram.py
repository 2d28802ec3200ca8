"""Block diagram of a design as SVG, from the blocks that its gates have."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from hw.hierarchy import Block, Connection, StoredMemory
from sim.layering import FRAME, Link, Side, arrange, layer
from sim.layout import PITCH, Drawing, Place, coordinates

__all__ = ["block_svg"]

_SIDES: tuple[Side, Side] = ("left", "right")

_CHARACTER = 6.0
"""Width of a character of 10.5 px."""

_HEADER = 24.0
_PAD = 14.0
_LINE = 14.0
_MEMORY_LINES = 3

_STYLE = """\
text { font: 10.5px "DejaVu Sans", "Helvetica Neue", Arial, sans-serif; fill: #1f2937; }
.title { font-size: 12px; font-weight: bold; }
.kind, .note { fill: #6b7280; }
.head { font-size: 15px; font-weight: bold; }
.width { font-size: 9px; fill: #6b7280; }
.box { fill: #ffffff; stroke: #374151; stroke-width: 1.2; }
.open0 { fill: #f8fafc; stroke: #94a3b8; }
.open1 { fill: #eef4fb; stroke: #94a3b8; }
.open2 { fill: #e2ecf8; stroke: #94a3b8; }
.wire { fill: none; stroke: #1f5fa8; stroke-width: 1.2; }
.request { fill: none; stroke: #9a6b16; stroke-width: 1.1; stroke-dasharray: 4 3; }
.bus { fill: none; stroke: #111827; stroke-width: 2.6; }
.wire-head { fill: #1f5fa8; }
.request-head { fill: #9a6b16; }
.bus-head { fill: #111827; }
"""


@dataclass(frozen=True)
class _Picture:
    """A drawn block: what it needs, and its SVG elements counted from its top left corner."""

    place: Place
    elements: str


def block_svg(block: Block, heading: str) -> str:
    """Return a block diagram: all blocks closed, and below it each one that is worth opening.

    Parameters
    ----------
    block : Block
    heading : str
        One line above the picture.
    """
    panels = [_open(block, None, 0, nested=False)]
    panels += [_open(inner, None, 1, nested=True) for inner in block.blocks if _is_open(inner)]
    width = max(panel.place.width for panel in panels) + 2 * _PAD
    parts, y = [], 38.0
    for panel in panels:
        parts.append(f'<g transform="translate({_PAD} {y:.1f})">\n{panel.elements}</g>\n')
        y += panel.place.height + _PAD
    height = y + 22
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">\n'
        f"<style>\n{_STYLE}</style>\n<defs>\n{_markers()}</defs>\n"
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>\n'
        f'<text class="head" x="{_PAD}" y="24">{escape(heading)}</text>\n'
        f"{''.join(parts)}{_legend(height - 12)}</svg>\n"
    )


def _markers() -> str:
    return "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
        f'markerHeight="7" markerUnits="userSpaceOnUse" orient="auto-start-reverse">'
        f'<path class="{name}-head" d="M0 0 L8 4 L0 8 z"/></marker>\n'
        for name in ("wire", "request", "bus")
    )


def _legend(y: float) -> str:
    parts, x = [], _PAD
    for name, text in (
        ("wire", "stream, with the bits of its payload"),
        ("request", "requests to memory"),
        ("bus", "AXI"),
    ):
        path = f"M{x:.1f} {y - 4:.1f} h28"
        parts.append(f'<path class="{name}" d="{path}" marker-end="url(#{name})"/>\n')
        parts.append(f'<text class="note" x="{x + 34:.1f}" y="{y:.1f}">{text}</text>\n')
        x += 60 + len(text) * _CHARACTER
    return "".join(parts)


def _is_open(block: Block) -> bool:
    """Whether at least two streams run between blocks inside."""
    inner = [c for c in block.connections if c.source.instance and c.target.instance]
    return len(inner) > 1


def _inside(block: Block, ports: Sequence[tuple[Side, str]], depth: int, nested: bool) -> _Picture:
    if nested and _is_open(block):
        return _open(block, ports, depth, nested=True)
    left, right = ([name for at, name in ports if at == side] for side in ("left", "right"))
    return _closed(block, left, right)


def _closed(block: Block, left: Sequence[str], right: Sequence[str]) -> _Picture:
    """Draw a box with its name, its class, its memories, and its ports at both sides."""
    notes = [block.kind, *_memory_lines(block)]
    labels = [max((len(name) for name in side), default=0) for side in (left, right)]
    inside = max(len(block.name) * 1.25, *(len(note) for note in notes)) * _CHARACTER
    width = max(inside, sum(labels) * _CHARACTER + 18) + 16
    top = 20 + _LINE * len(notes)
    rows = max(len(left), len(right))
    height = top + PITCH * rows + (6 if rows else 0)
    lines = [
        f'<rect class="box" width="{width:.1f}" height="{height:.1f}" rx="3"/>\n',
        _text("title", width / 2, 15, block.name, "middle"),
    ]
    for at, note in enumerate(notes):
        lines.append(_text("kind", width / 2, 28 + _LINE * at, note, "middle"))
    ports: dict[tuple[Side, str], float] = {}
    for at, name in enumerate(left):
        ports["left", name] = top + PITCH * (at + 0.5)
        lines.append(_text("port", 5, top + PITCH * (at + 0.5) + 4, name, "start"))
    for at, name in enumerate(right):
        ports["right", name] = top + PITCH * (at + 0.5)
        lines.append(_text("port", width - 5, top + PITCH * (at + 0.5) + 4, name, "end"))
    return _Picture(Place(width, height, ports), "".join(lines))


def _text(kind: str, x: float, y: float, text: str, anchor: str) -> str:
    at = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {at}>{escape(text)}</text>\n'


def _memory_lines(block: Block) -> list[str]:
    """Return the memories inside a closed box, equal ones counted; many only as their sum."""
    counts: dict[tuple[int, int], int] = {}
    for memory in _all_memories(block):
        shape = memory.depth, memory.width
        counts[shape] = counts.get(shape, 0) + 1
    if len(counts) > _MEMORY_LINES:
        total = sum(count * depth * width for (depth, width), count in counts.items())
        return [f"{sum(counts.values())} memories, {total / 8192:,.1f} KiB"]
    return [
        (f"{count} x " if count > 1 else "") + f"{depth:,} x {width} b"
        for (depth, width), count in counts.items()
    ]


def _all_memories(block: Block) -> Iterator[StoredMemory]:
    yield from block.memories
    for inner in block.blocks:
        yield from _all_memories(inner)


def _open(
    block: Block, frame: Sequence[tuple[Side, str]] | None, depth: int, *, nested: bool
) -> _Picture:
    """Draw a frame with the blocks inside.

    Parameters
    ----------
    block : Block
    frame : sequence of (side, name), optional
        Ports from top to bottom; if not given, each goes to the side that is nearer.
    depth : int
        Of this frame.
    nested : bool
        Whether blocks inside may be drawn open.
    """
    inner = block.connected() if depth else block.blocks
    boxes = [box.name for box in inner]
    layers = layer(boxes, [_link(c, None) for c in block.connections])
    links = _links(block.connections, layers, frame)
    if frame is None:
        frame = list(dict.fromkeys(_frame_port(link) for link in links.values() if link.frame_side))
    layered = arrange(boxes, list(links.values()), layers, frame)
    pictures = {
        box.name: _inside(
            box,
            [(side, port) for side in _SIDES for port in layered.ports(box.name, side)],
            depth + 1,
            nested,
        )
        for box in inner
    }
    places = {name: picture.place for name, picture in pictures.items()}
    drawing = coordinates(layered, places, lambda name: len(name) * _CHARACTER + 8)
    return _framed(block, links, drawing, pictures, depth)


def _link(connection: Connection, side: Side | None) -> Link:
    ends = connection.source, connection.target
    is_framed = any(end.instance == FRAME for end in ends)
    return Link(
        (ends[0].instance, ends[0].port),
        (ends[1].instance, ends[1].port),
        0 if _is_request(connection) else connection.width,
        (side or "left") if is_framed else None,
    )


def _links(
    connections: Sequence[Connection],
    layers: dict[str, int],
    frame: Sequence[tuple[Side, str]] | None,
) -> dict[Connection, Link]:
    """Return the links that are drawn; a port that nothing outside uses has none."""
    links: dict[Connection, Link] = {}
    middle = (max(layers.values(), default=1) + 1) / 2
    for connection in connections:
        inner, outer = connection.source, connection.target
        if inner.instance == FRAME:
            inner, outer = outer, inner
        sides: list[Side | None] = [None]
        if outer.instance == FRAME and frame is not None:
            sides = [side for side, port in frame if port == outer.port]
        elif outer.instance == FRAME:
            forward = outer is connection.target
            near = layers[inner.instance] <= middle
            straight = not connection.is_bus and not _is_request(connection)
            sides = ["left" if (not forward if straight else near) else "right"]
        if sides:
            links[connection] = _link(connection, sides[0])
    return links


def _is_request(connection: Connection) -> bool:
    return any("request" in end.port for end in (connection.source, connection.target))


def _frame_port(link: Link) -> tuple[Side, str]:
    name = link.source[1] if link.source[0] == FRAME else link.target[1]
    return link.frame_side or "left", name


def _framed(
    block: Block,
    links: dict[Connection, Link],
    drawing: Drawing,
    pictures: dict[str, _Picture],
    depth: int,
) -> _Picture:
    width = max(drawing.width, (len(block.name) + len(block.kind) + 6) * 7.0)
    top = _HEADER + _PAD
    height = drawing.height + top + _PAD
    title = f'{escape(block.name)} <tspan class="kind">{escape(block.kind)}</tspan>'
    lines = [
        f'<rect class="open{min(depth, 2)}" width="{width:.1f}" height="{height:.1f}" rx="5"/>\n',
        f'<text class="title" x="8" y="16">{title}</text>\n',
        f'<g transform="translate(0 {top})">\n',
    ]
    for (side, name), y in drawing.ports.items():
        at_left = side == "left"
        lines.append(
            _text("port", 4 if at_left else width - 4, y - 3, name, "start" if at_left else "end")
        )
    for connection, link in links.items():
        lines.append(_wire(connection, link, drawing, width, depth))
    for name, (x, y) in drawing.corners.items():
        lines.append(f'<g transform="translate({x:.1f} {y:.1f})">\n{pictures[name].elements}</g>\n')
    lines.append("</g>\n")
    ports = {port: y + top for port, y in drawing.ports.items()}
    return _Picture(Place(width, height, ports), "".join(lines))


def _wire(connection: Connection, link: Link, drawing: Drawing, width: float, depth: int) -> str:
    """Draw a wire, on to the edge of the frame where it leaves, with an arrow where it ends."""
    kind = "bus" if connection.is_bus else "wire" if link.weight else "request"
    points = list(drawing.wires[link])
    edge = 0.0 if link.frame_side == "left" else width
    ends_at_frame = link.target[0] == FRAME
    if link.source[0] == FRAME:
        points.insert(0, (edge, points[0][1]))
    if ends_at_frame:
        points.append((edge, points[-1][1]))
    path = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    head = f' marker-end="url(#{kind})"' if depth == 0 or not ends_at_frame else ""
    text = ""
    if link.source[0] != FRAME:
        (x, y), (towards, _) = points[0], points[1]
        anchor = "start" if towards >= x else "end"
        text = _text(
            "width", x + (3 if towards >= x else -3), y - 2.5, str(connection.width), anchor
        )
    return f'<path class="{kind}" d="{path}"{head}/>\n{text}'
