"""The block diagram: layers, places and wires of known and of random graphs, and the pages."""

import re
from itertools import combinations
from random import Random
from xml.etree import ElementTree

import pytest

from hw.hierarchy import Block, Connection, End, StoredMemory
from sim.diagram import block_svg
from sim.diagram_text import block_text
from sim.layering import FRAME, Layered, Link, arrange, layer
from sim.layout import Drawing, Place, coordinates


def _link(source: str, target: str, weight: int = 8) -> Link:
    (a, i), (b, j) = source.split("."), target.split(".")
    side = ("left" if not a else "right") if "" in (a, b) else None
    return Link((a, i), (b, j), weight, side)


def _drawn(
    boxes: list[str], links: list[Link], seed: int = 0
) -> tuple[Layered, dict[str, Place], Drawing]:
    random = Random(seed)
    layers = layer(boxes, links)
    ends = [
        (link.frame_side, e[1]) for link in links for e in (link.source, link.target) if not e[0]
    ]
    frame = list(dict.fromkeys(port for port in ends if port[0]))
    layered = arrange(boxes, links, layers, frame)
    places = {}
    for box in boxes:
        ports = {
            (side, name): 30.0 + 16 * at
            for side in ("left", "right")
            for at, name in enumerate(layered.ports(box, side))
        }
        places[box] = Place(random.randint(40, 120), 60.0 + 16 * len(ports), ports)
    return layered, places, coordinates(layered, places, lambda name: 40.0)


def test_the_lighter_wire_of_a_cycle_runs_backwards() -> None:
    forth = [_link("a.o", "b.i"), _link("b.o", "c.i")]
    assert layer(["a", "b", "c"], [_link("c.q", "a.p", 1), *forth]) == {"a": 1, "b": 2, "c": 3}
    assert layer(["a", "b", "c"], [_link("c.q", "a.p", 99), *forth])["c"] == 1


def test_what_nothing_feeds_stands_before_what_it_feeds() -> None:
    links = [_link("a.o", "b.i"), _link("b.o", "c.i"), _link("d.o", "c.j")]
    assert layer(["a", "b", "c", "d"], links)["d"] == 2


def test_order_takes_away_a_crossing() -> None:
    links = [_link("a.o", "y.i"), _link("b.o", "x.i")]
    layered, _, drawing = _drawn(["a", "b", "x", "y"], links)
    names = [[layered.items[item].box for item in members] for members in layered.layers[1:3]]
    assert names[0].index("a") == names[1].index("y")
    assert all(len({y for _, y in points}) == 1 for points in drawing.wires.values())


@pytest.mark.parametrize("seed", range(6))
def test_boxes_do_not_overlap_and_wires_join_ports_at_right_angles(seed: int) -> None:
    random = Random(seed)
    boxes = [f"b{i}" for i in range(9)]
    links = [
        _link(f"{a}.o{k}", f"{b}.i{k}", random.choice([1, 8, 64]))
        for k, (a, b) in enumerate(random.sample(boxes, 2) for _ in range(18))
    ]
    links += [_link(".i", f"{boxes[0]}.i"), _link(f"{boxes[5]}.o", ".o")]
    _, places, drawing = _drawn(boxes, links, seed)
    for a, b in combinations(boxes, 2):
        (ax, ay), (bx, by) = drawing.corners[a], drawing.corners[b]
        apart_x = ax + places[a].width <= bx or bx + places[b].width <= ax
        assert apart_x or ay + places[a].height <= by or by + places[b].height <= ay
    for link, points in drawing.wires.items():
        for (ax, ay), (bx, by) in zip(points, points[1:], strict=False):
            assert ax == bx or ay == by
        for (box, name), (x, y) in ((link.source, points[0]), (link.target, points[-1])):
            if box == FRAME:
                continue
            left, top = drawing.corners[box]
            side = "left" if x == left else "right"
            assert x == (left if side == "left" else left + places[box].width)
            assert y == pytest.approx(top + places[box].ports[side, name], abs=1.0)


@pytest.mark.parametrize("seed", range(6))
def test_no_wire_runs_through_a_box(seed: int) -> None:
    random = Random(100 + seed)
    boxes = [f"b{i}" for i in range(8)]
    links = [_link(f"b{i}.o", f"b{i + 1}.i") for i in range(7)]
    links += [
        _link(f"{a}.p{k}", f"{b}.q{k}", 1)
        for k, (a, b) in enumerate(random.sample(boxes, 2) for _ in range(8))
    ]
    _, places, drawing = _drawn(boxes, links, seed)
    for points in drawing.wires.values():
        for (ax, ay), (bx, by) in zip(points, points[1:], strict=False):
            for box, (x, y) in drawing.corners.items():
                right, bottom = x + places[box].width, y + places[box].height
                inside_x = min(ax, bx) < right - 0.1 and max(ax, bx) > x + 0.1
                inside_y = min(ay, by) < bottom - 0.1 and max(ay, by) > y + 0.1
                assert not (inside_x and inside_y)


LEAVES = tuple(
    Block(name, kind, (), (StoredMemory("m", 8, 1024),) if name == "b" else (), ())
    for name, kind in (("a", "Reader"), ("b", "Buffer"), ("c", "Writer<T>"))
)
INNER = Block(
    "engine",
    "Engine",
    LEAVES,
    (),
    (
        Connection(End("", "i"), End("a", "i"), 64, False),
        Connection(End("a", "o"), End("b", "i"), 17, False),
        Connection(End("b", "o"), End("c", "i"), 18, False),
        Connection(End("c", "o"), End("", "o"), 64, False),
        Connection(End("a", "o_request"), End("", "o_request"), 32, False),
    ),
)
TOP = Block(
    "top",
    "Top",
    (Block("dma", "Dma", (), (), ()), INNER),
    (),
    (
        Connection(End("dma", "o"), End("engine", "i"), 64, False),
        Connection(End("engine", "o_request"), End("dma", "i_request"), 32, False),
        Connection(End("dma", "axi"), End("", "m_axi0"), 64, True),
    ),
)


def test_picture_shows_every_block_port_and_width() -> None:
    svg = block_svg(TOP, "a heading & more")
    root = ElementTree.fromstring(svg)
    texts = [
        "".join(element.itertext()) for element in root.iter() if element.tag.endswith("}text")
    ]
    for text in (
        "a heading & more",
        "dma",
        "Reader",
        "Writer<T>",
        "1,024 x 8 b",
        "17",
        "18",
        "m_axi0",
    ):
        assert text in texts
    assert len([t for t in texts if t.startswith("engine")]) == 2, "closed, and as its own panel"
    classes = [element.get("class") for element in root.iter() if element.tag.endswith("}path")]
    assert classes.count("bus") == 2
    assert classes.count("request") == 3


def test_picture_is_the_same_each_time() -> None:
    assert block_svg(TOP, "x") == block_svg(TOP, "x")


def test_text_lists_blocks_and_streams() -> None:
    text = block_text(TOP, "top, config tiny", "blocks.svg")
    assert "![Block diagram](blocks.svg)" in text
    assert "  - engine (Engine)\n    - a (Reader)\n    - b (Buffer): m 1,024 x 8 b\n" in text
    rows = re.findall(r"^\| (top\S+) \| (top\S+) \| (\d+) \| (\w+) \|$", text, re.M)
    assert ("top.engine.a.o", "top.engine.b.i", "17", "stream") in rows
    assert ("top.dma.axi", "top.m_axi0", "64", "AXI") in rows
    assert len(rows) == len(TOP.connections) + len(INNER.connections)
