"""The house stands as drawn: imports point down, kernel needs nothing, and the map names every room."""

import ast
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

TOP = Path(__file__).parent.parent
ROOMS = ("compose", "interceptors", "exporters", "lag_monitor", "dashboards", "spark_reports")
MAY_IMPORT = {
    "kernel": {"kernel"},
    **{room: {room, "kernel"} for room in ROOMS},
    "chaos": {"chaos", "compose", "interceptors", "kernel"},
    "kafka_trial": {"kafka_trial", "chaos", "kernel", *ROOMS},
}
HOUSE = tuple(MAY_IMPORT)
# Too heavy to load before they are needed: only inside the function that does the I/O.
HEAVY = {
    "confluent_kafka",
    "kafka",
    "testcontainers",
    "docker",
    "py4j",
    "pyspark",
    "toxiproxy",
    "requests",
    "trustme",
    "cryptography",
    "jmxquery",
    "prometheus_client",
    "starlette",
    "uvicorn",
}


def modules(package: str) -> list[Path]:
    return sorted((TOP / package).rglob("*.py"))


@cache
def parsed(file: Path) -> ast.Module:
    """Once for all that is asked of it: the house has eight hundred files."""
    return ast.parse(file.read_text())


def imports(file: Path, *, top_level_only: bool = False) -> set[str]:
    tree = parsed(file)
    nodes = tree.body if top_level_only else list(ast.walk(tree))
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports relatively: say the whole name"
            found.add((node.module or "").partition(".")[0])
    return found


@pytest.mark.parametrize("package", HOUSE)
def test_imports_point_down(package: str):
    trespassers = {
        f"{file.relative_to(TOP)} imports {name}"
        for file in modules(package)
        for name in imports(file) & set(HOUSE) - MAY_IMPORT[package]
    }

    assert trespassers == set()


def test_the_rule_would_catch_a_trespasser(tmp_path: Path):
    file = tmp_path / "module.py"
    file.write_text("from chaos.run import run\nimport compose.cluster")

    assert imports(file) & set(HOUSE) - MAY_IMPORT["lag_monitor"] == {"chaos", "compose"}


def test_kernel_needs_the_standard_library_alone():
    outside = {name for file in modules("kernel") for name in imports(file)} - set(sys.stdlib_module_names) - {"kernel"}

    assert outside == set()


def test_kernel_opens_no_socket_and_no_file():
    doors = {"socket", "pathlib", "subprocess", "urllib", "http", "io", "shutil", "tempfile"}
    opened = {name for file in modules("kernel") for name in imports(file)} & doors
    calls = [file.name for file in modules("kernel") if "open(" in file.read_text()]

    assert (opened, calls) == (set(), [])


def test_heavy_libraries_are_imported_where_the_work_is_done():
    # Made of the library's own classes, or of nothing but calls to it; and themselves loaded late.
    frames = TOP / "spark_reports"
    wrapped = {"confluent_kafka": TOP / "interceptors" / "clients", "py4j": frames, "pyspark": frames}
    early = {
        f"{file.relative_to(TOP)} imports {name} at the top"
        for package in HOUSE
        for file in modules(package)
        for name in imports(file, top_level_only=True) & HEAVY
        if not (name in wrapped and file.is_relative_to(wrapped[name]))
    }

    assert early == set()


def test_the_house_imports_without_its_heavy_libraries():
    heavy = HEAVY | {
        "jinja2",
        "numpy",
        "opentelemetry",
        "pyarrow",
        "pydantic",
        "xxhash",
    }  # these may stand at the top of what uses them, but no higher
    house = "kafka_trial, kafka_trial.cli, lag_monitor, exporters, interceptors, spark_reports"
    code = f"import sys, {house}; print(sorted(set(sys.modules) & {heavy!r}))"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_only_the_reports_bring_spark():
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    bringing = [name for name, needs in project["optional-dependencies"].items() if any("pyspark" in need for need in needs)]

    assert bringing == ["reports"]
    assert not any("pyspark" in need for need in project["dependencies"])


def test_the_map_names_every_module_and_nothing_else():
    page = (TOP / "docs" / "map.md").read_text()
    named = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    there = {
        str(file.relative_to(TOP))
        for package in (*HOUSE, "benchmarks", "examples")
        for file in modules(package)
        if file.name != "__init__.py" or len(file.read_text().splitlines()) > 12
    }

    assert named == there


def test_every_module_says_why_it_exists():
    silent = [
        str(file.relative_to(TOP))
        for package in (*HOUSE, "benchmarks", "examples", "tests")
        for file in modules(package)
        if file.read_text().strip() and not ast.get_docstring(parsed(file))
    ]

    assert silent == []


def test_everything_is_shipped_in_the_wheel():
    wheel = tomllib.loads((TOP / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]

    assert sorted(wheel) == sorted(HOUSE)
