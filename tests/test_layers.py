"""Who may import whom: the table of the design, read from the import statements."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("hw", "models", "quant", "sim")
MAY_IMPORT = {
    "quant": {"quant"},
    "hw": {"hw", "quant"},
    "models": {"hw", "models", "quant"},
    "sim": set(PACKAGES),
}
ENGINES = ("gnn", "resnet", "nerf")
DATA_MODULES = ("config", "counters", "format", "program")
"""Modules of an engine that state facts and never load Amaranth: all that models may see of it."""


@dataclass(frozen=True)
class Import:
    """One import: the module that has it, what it names, and whether loading the module runs it."""

    module: str
    target: str
    at_load: bool

    def __str__(self) -> str:
        return f"{self.module} imports {self.target}"


def modules() -> dict[str, Path]:
    """Return every module of the four packages by its dotted name."""
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
        for file in files
    }


def imports(module: str, file: Path) -> Iterator[Import]:
    """Yield the imports of a module, relative ones resolved, those inside functions too."""
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node, at_load in statements(ast.parse(file.read_text()).body, True):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield Import(module, name.name, at_load)
        if isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, base]).rstrip(".")
            for name in node.names:
                full = f"{base}.{name.name}"
                yield Import(module, full if full in MODULES else base, at_load)


def statements(body: list[ast.stmt], at_load: bool) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield all statements, and whether they run when the module is loaded."""
    for node in body:
        yield node, at_load
        function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        types_only = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            children = getattr(node, field, [])
            yield from statements(children, at_load and not function and not types_only)


MODULES = modules()
IMPORTS = [found for module, file in MODULES.items() for found in imports(module, file)]


def offenders(broken) -> list[str]:
    """Return the imports for which `broken` is true, as text."""
    return [str(found) for found in IMPORTS if broken(found)]


def test_imports_are_found():
    assert len(IMPORTS) > 100
    assert Import("hw.gnn.program", "hw.gnn.config", True) in IMPORTS


def test_packages_import_only_what_lies_below():
    def broken(found: Import) -> bool:
        target = found.target.split(".")[0]
        return target in PACKAGES and target not in MAY_IMPORT[found.module.split(".")[0]]

    assert offenders(broken) == []


def test_models_see_only_the_facts_of_an_engine():
    allowed = {f"hw.{engine}.{name}" for engine in ENGINES for name in DATA_MODULES}

    def broken(found: Import) -> bool:
        return (
            found.module.startswith("models.")
            and found.target.split(".")[0] == "hw"
            and found.target not in allowed
        )

    assert offenders(broken) == []


def test_engines_do_not_import_each_other():
    def engine(name: str) -> str | None:
        found = re.match(rf"(?:hw|quant|models\.\w+)\.({'|'.join(ENGINES)})\b", name)
        return found[1] if found else None

    def broken(found: Import) -> bool:
        pair = engine(found.module), engine(found.target)
        return None not in pair and pair[0] != pair[1]

    assert offenders(broken) == []


def test_golden_and_cost_do_not_import_each_other():
    def broken(found: Import) -> bool:
        kinds = [name.split(".")[:2] for name in (found.module, found.target)]
        return sorted(kinds) == [["models", "cost"], ["models", "golden"]]

    assert offenders(broken) == []


def is_training(module: str) -> bool:
    """Whether a module may load torch."""
    return re.fullmatch(r"quant\.\w+\.train(_\w+)?", module) is not None


def test_torch_is_loaded_by_training_modules_only():
    def broken(found: Import) -> bool:
        return found.target.split(".")[0] == "torch" and not is_training(found.module)

    assert offenders(broken) == []


def test_training_modules_are_loaded_lazily():
    def broken(found: Import) -> bool:
        return is_training(found.target) and found.at_load and not is_training(found.module)

    assert offenders(broken) == []


def test_amaranth_stays_in_hardware_and_its_benches():
    def broken(found: Import) -> bool:
        package = found.module.split(".")[0]
        return found.target.split(".")[0] == "amaranth" and package in ("quant", "models")

    assert offenders(broken) == []


@pytest.mark.parametrize("module", [m for m, file in MODULES.items() if file.stem == "__init__"])
def test_package_file_holds_a_docstring_and_nothing_else(module):
    body = ast.parse(MODULES[module].read_text()).body
    assert [type(node) for node in body] == [ast.Expr]
    assert ast.get_docstring(ast.Module(body, []))


def test_tests_are_flat():
    assert not list((ROOT / "tests").rglob("__init__.py"))
    assert [folder.name for folder in (ROOT / "tests").iterdir() if folder.name in PACKAGES] == []


def loads(names: list[str], heavy: str) -> str:
    """Return whether a fresh interpreter has `heavy` after importing `names`."""
    code = f"import sys, {', '.join(names)}; print({heavy!r} in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_quant_models_and_facts_never_load_amaranth_or_torch():
    light = [
        module
        for module in MODULES
        if (module.split(".")[0] in ("quant", "models") and not is_training(module))
        or re.fullmatch(rf"hw\.\w+\.({'|'.join(DATA_MODULES)})", module)
    ]
    assert loads(light, "amaranth") == "False"
    assert loads(light, "torch") == "False"


def test_the_probe_sees_amaranth():
    assert loads(["hw.bit_unpacker"], "amaranth") == "True"
