"""GroupAssembler against the packing rule in Python."""

from random import Random

import pytest

from hw.gnn.config import CombinationConfig, GnnConfig
from hw.gnn.group_assembler import GroupAssembler
from sim.bench import GRID, run
from sim.streams import Sink, Source, Strobes

LANES = [1, 2, 4]


def _config(lanes: int) -> GnnConfig:
    return GnnConfig(combination=CombinationConfig(lanes=lanes, weight_buffer_bytes=512))


def _token(index: int, rng: Random, row: dict[str, int]) -> dict:
    magnitude, sign = rng.randint(1, 255), rng.getrandbits(1)
    return {
        "value": 1, "last": 0, "index": index, "magnitude": magnitude, "sign": sign, "row": row,
    }  # fmt: skip


def _rows(lanes: int, seed: int) -> list[list[dict]]:
    """Rows of tokens: empty, one value, one lane only, full groups, a late end, random."""
    rng = Random(seed)
    shapes = [[], [0], [5], [lanes * n for n in range(5)], list(range(3 * lanes)), [], [1, 0], [7]]
    shapes += [rng.sample(range(64), rng.randint(0, 12)) for _ in range(30)]
    rows = []
    for indices in shapes:
        row = {"width": rng.randint(0, 8), "m": rng.getrandbits(12), "e": rng.getrandbits(6)}
        tokens = [_token(index, rng, row) for index in indices]
        if not tokens or rng.random() < 0.3:  # a bitmap may end without a value
            tokens.append({"value": 0, "last": 1, "row": row})
        tokens[-1]["last"] = 1
        rows.append(tokens)
    return rows


def _groups(tokens: list[dict], lanes: int) -> tuple[list[list[int]], int]:
    """Return the token numbers of each group of a row, and its conflicts."""
    groups: list[list[int]] = [[]]
    conflicts = 0
    for n, token in enumerate(tokens):
        if not token["value"]:
            continue
        taken = [tokens[other]["index"] % lanes for other in groups[-1]]
        if token["index"] % lanes in taken:
            conflicts += len(groups[-1]) < lanes
            groups.append([])
        groups[-1].append(n)
    return groups, conflicts


def _payload(tokens: list[dict], members: list[int], lanes: int, last: bool) -> dict:
    values: list[dict | None] = [None] * lanes
    for token in (tokens[n] for n in members):
        values[token["index"] % lanes] = {
            "valid": 1,
            "address": token["index"] // lanes,
            "magnitude": token["magnitude"],
            "sign": token["sign"],
        }
    return {"values": values, "last": int(last), "row": tokens[0]["row"]}


class Groups:
    """Compare groups, free lanes by their valid bit only; note the cycles."""

    name = "o"

    def __init__(self, dut: GroupAssembler, expected: list[dict]) -> None:
        self._port, self._expected = dut.o, expected
        self._values = [
            signal
            for value in dut.o.payload.values
            for signal in (value.valid, value.address, value.magnitude, value.sign)
        ]
        self.cycles: list[int] = []

    @property
    def finished(self) -> bool:
        """Whether all have come."""
        return len(self.cycles) == len(self._expected)

    def signals(self):
        """Return handshake, end, row and values."""
        payload = self._port.payload
        return (
            self._port.valid, self._port.ready, payload.last,
            payload.row.width, payload.row.m, payload.row.e, *self._values,
        )  # fmt: skip

    def start(self, ctx) -> None:
        """Do nothing: a sink beside this one sets ready."""

    def step(self, ctx, cycle, values) -> bool:
        """Compare a group when it is handed over."""
        valid, ready, last, width, m, e, *fields = values
        if not (valid and ready):
            return False
        lanes = [tuple(fields[n : n + 4]) for n in range(0, len(fields), 4)]
        got = {
            "values": [
                dict(zip(("valid", "address", "magnitude", "sign"), lane, strict=True))
                if lane[0]
                else None
                for lane in lanes
            ],
            "last": last,
            "row": {"width": width, "m": m, "e": e},
        }
        assert got == self._expected[len(self.cycles)], f"group {len(self.cycles)}, cycle {cycle}"
        self.cycles.append(cycle)
        return True


def _run(lanes: int, seed: int, idle: float = 0.0, stall: float = 0.0):
    rows = _rows(lanes, seed)
    packed = [_groups(tokens, lanes) for tokens in rows]
    expected = [
        _payload(tokens, members, lanes, members is groups[-1])
        for tokens, (groups, _) in zip(rows, packed, strict=True)
        for members in groups
    ]
    dut = GroupAssembler(_config(lanes))
    groups = Groups(dut, expected)
    conflict = Strobes("conflict", dut.conflict, sum(count for _, count in packed))
    tokens = [token for row in rows for token in row]
    sink = Sink("sink", dut.o, None, stall, seed)
    source = Source("i", dut.i, tokens, idle, seed)
    run(dut, [source, groups, sink, conflict])
    assert len(sink.values) == len(expected)
    return rows, packed, source.cycles, groups.cycles


@pytest.mark.parametrize(("idle", "stall"), GRID)
@pytest.mark.parametrize("lanes", LANES)
def test_packs_by_lane(lanes, idle, stall):
    _run(lanes, 5, idle, stall)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("idle", [0.0, 0.5])
def test_when_groups_leave(lanes, idle):
    rows, packed, taken, left = _run(lanes, 6, idle)
    if not idle:
        assert taken == list(range(len(taken)))
    rule, at = [], 0
    for tokens, (groups, _) in zip(rows, packed, strict=True):
        rule += [taken[at + group[0]] for group in groups[1:]]
        at += len(tokens)
        rule.append(taken[at - 1] + 1)
    assert left == rule
