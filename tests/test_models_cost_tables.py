"""The energy table: what is missing is an error with a message, never zero."""

import re

import pytest

from models.cost.tables import Band, TableError, band, load, parse, row

HEAD = "name,low,nominal,high,unit,node_nm,voltage_v,source"


def test_every_row_has_value_unit_and_source():
    rows = load()
    assert len(rows) > 30
    for name, entry in rows.items():
        assert entry.name == name
        assert entry.unit
        assert entry.source
        assert all(value >= 0 for value in entry.band)


def test_rows_of_silicon_name_node_and_voltage():
    bare = [r.name for r in load().values() if not (r.node_nm and r.voltage_v)]
    assert bare
    assert all(name.startswith("dram_") for name in bare)


def test_a_row_is_read():
    entry = parse([HEAD, "adder,1,2,4,fJ/bit,28,0.9,a book"])["adder"]
    assert entry.band == Band(1.0, 2.0, 4.0)
    assert (entry.unit, entry.node_nm, entry.voltage_v) == ("fJ/bit", "28", "0.9")
    assert entry.source == "a book"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("adder,1,2,3,,28,0.9,a book", "row 'adder' must have a unit"),
        ("adder,1,2,3,pJ,28,0.9,", "row 'adder' must have a source"),
        ("adder,,2,3,pJ,28,0.9,a book", "row 'adder' must have a low"),
        ("adder,1,,3,pJ,28,0.9,a book", "row 'adder' must have a nominal"),
        ("adder,1,2,,pJ,28,0.9,a book", "row 'adder' must have a high"),
        (
            "adder,3,2,3,pJ,28,0.9,a book",
            "row 'adder' must have low <= nominal <= high, not (3.0, 2.0, 3.0)",
        ),
        (
            "adder,1,2,1.5,pJ,28,0.9,a book",
            "row 'adder' must have low <= nominal <= high, not (1.0, 2.0, 1.5)",
        ),
    ],
)
def test_a_bad_row_is_refused(line: str, message: str):
    with pytest.raises(TableError, match=f"^{re.escape(message)}$"):
        parse([HEAD, line])


def test_a_name_stands_once():
    line = "adder,1,2,3,pJ,28,0.9,a book"
    with pytest.raises(TableError, match="^row 'adder' must stand once$"):
        parse([HEAD, line, line])


def test_foreign_columns_are_refused():
    message = (
        "columns must be name, low, nominal, high, unit, node_nm, voltage_v, source, "
        "not ['name', 'value']"
    )
    with pytest.raises(TableError, match=f"^{re.escape(message)}$"):
        parse(["name,value", "adder,1"])


def test_exponents_need_no_order():
    entry = parse([HEAD, "size_exponent,0.5,0.6,0.4,1,28,0.9,a fit"])["size_exponent"]
    assert entry.band == Band(0.5, 0.6, 0.4)


def test_a_missing_row_is_an_error():
    with pytest.raises(TableError, match="^no row 'divider' in the energy table$"):
        row("divider")
    with pytest.raises(TableError, match="^no row 'divider' in the energy table$"):
        band("divider")


def test_bands_add_and_scale_column_by_column():
    assert Band(1, 2, 3).plus(Band(10, 20, 30)) == Band(11, 22, 33)
    assert Band(1, 2, 3).times(2) == Band(2, 4, 6)
    assert Band(1, 2, 3).times(Band(1, 10, 100)) == Band(1, 20, 300)
