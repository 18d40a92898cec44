"""The API reference, from the source of `unseen.__all__`: signatures as they are written, and docstrings.

Files are parsed, not imported, so names that `unseen` imports lazily need none of the packages behind them.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from pathlib import Path

from unseen.probes.by_name import all_probes
from unseen.reading.keys import Key, keys_of
from unseen.version import __version__

SRC = Path(__file__).parents[2] / "src"
WIDTH = 72
"""Characters of a line of code on the site; longer ones scroll."""
HEADINGS = ("Args", "Attributes", "Returns", "Example", "Raises", "Yields")
LISTS = ("Args", "Attributes")
Definition = ast.FunctionDef | ast.ClassDef

RESULTS = {
    "ProbeResult": ["unseen.api.probe_result", "unseen.studies.array_probing.ArrayScores"],
    "Run": ["unseen.api.run"],
    "Check": ["unseen.monitoring.scores"],
    "StepScore": ["unseen.monitoring.scores"],
    "Best": ["unseen.monitoring.best"],
    "Study": ["unseen.studies.study"],
    "Plan": ["unseen.studies.plan"],
    "Plans": ["unseen.analyses.power.plans"],
    "ConceptLevels": ["unseen.api.levels", "unseen.ontology.levels.Levels"],
    "Concept": ["unseen.ontology.levels"],
    "Robustness": ["unseen.api.shifts", "unseen.analyses.robustness.fits.ShiftStudy"],
    "PredictorStudy": ["unseen.analyses.robustness.predictors"],
    "Leaderboard": ["unseen.papers.leaderboard"],
    "Duplicates": ["unseen.analyses.duplicates.pairs"],
    "Panels": ["unseen.analyses.panels.of_runs"],
    "StudyLeaderboard": ["unseen.analyses.core.study_leaderboard"],
    "Backbone": ["unseen.backbones.backbone"],
    "OpenDataset": ["unseen.data.core.open_dataset"],
    "Features": ["unseen.features.features"],
    "PatchFeatures": ["unseen.features.patches"],
    "Figure": ["unseen.report.core.model"],
    "Example": ["unseen.api.example"],
}
"""Classes that the functions return → the module of each, and the class that it inherits methods from."""

BASES = {"unseen.probes.scored": ["ScoredProbe"], "unseen.probes.probe": ["DrawnProbe", "Probe"]}
"""What probes of one's own are made from."""


@dataclass(frozen=True)
class Module:
    """A parsed file of the package."""

    name: str
    tree: ast.Module

    @classmethod
    def parse(cls, name: str) -> "Module":
        path = SRC / name.replace(".", "/")
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        return cls(name, ast.parse(path.read_text(encoding="utf-8")))

    def definition(self, name: str) -> Definition:
        """The last definition of a name: of an overloaded function, the implementation."""
        found = [node for node in self.tree.body if isinstance(node, Definition) and node.name == name]
        if not found:
            raise LookupError(f"{self.name} does not define {name}")
        return found[-1]


def api_reference() -> str:
    origins = _origins()
    lines = [
        "# API reference",
        "",
        f"Everything that `import unseen` offers (version {__version__}). "
        "[Python](../python.md) is the guide with runnable examples.",
    ]
    for name, module in origins.items():
        if module is None:
            lines += ["", f"## unseen.{name} {{ #{name} }}", "", _prose(Module.parse(f"unseen.{name}").tree)]
            for file in sorted((SRC / "unseen/probes/by_name").glob("*.py")):
                lines += _probe(Module.parse(f"unseen.probes.by_name.{file.stem}")) if file.stem != "__init__" else []
            for origin, classes in BASES.items():
                for each in classes:
                    lines += ["", *_class(Module.parse(origin).definition(each), f"unseen.probes.{each}", each, 3)]
        else:
            found = Module.parse(module).definition(name)
            made = _made if isinstance(found, ast.ClassDef) else _function
            lines += ["", *made(found, f"unseen.{name}", name, 2)]
    lines += ["", "## Results"]
    for name, (origin, *bases) in RESULTS.items():
        inherited = [Module.parse(base.rpartition(".")[0]).definition(base.rpartition(".")[2]) for base in bases]
        lines += ["", *_class(Module.parse(origin).definition(name), name, name, 3, inherited)]
    return "\n".join(lines) + "\n"


def _origins() -> dict[str, str | None]:
    """Public name → the module that defines it, or None for a module of the package itself."""
    package = Module.parse("unseen")
    imports = {
        alias.name: None if node.module == "unseen" else node.module
        for node in ast.walk(package.tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for node in package.tree.body:
        if isinstance(node, ast.Assign) and _target(node) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return {name: imports[name] for name in names if not name.startswith("__")}
    raise LookupError("unseen has no __all__")


def _function(node: Definition, name: str, anchor: str, depth: int) -> Iterator[str]:
    if not isinstance(node, ast.FunctionDef):
        raise TypeError(f"{name} is not a function")
    yield from (f"{'#' * depth} {name} {{ #{anchor} }}", "", "```python", _signature(node, name), "```", "")
    yield _prose(node)


def _made(node: Definition, name: str, anchor: str, depth: int) -> Iterator[str]:
    """A class that users make objects of: how one is made, and its methods; the object itself may be called."""
    special = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef) and each.name[:2] == "__"}
    init = special["__init__"]
    yield from (f"{'#' * depth} {name} {{ #{anchor} }}", "", "```python", _signature(init, name), "```", "")
    yield from (_prose(node), "", _prose(init))
    if "__call__" in special:
        yield from ("", *_function(special["__call__"], anchor.lower(), f"{anchor}.call", depth + 1))
    for each in [each for each in node.body if isinstance(each, ast.FunctionDef) and not each.name.startswith("_")]:
        yield from ("", *_function(each, each.name, f"{anchor}.{each.name}", depth + 1))


def _class(node: Definition, name: str, anchor: str, depth: int, bases: Sequence[Definition] = ()) -> Iterator[str]:
    yield f"{'#' * depth} {name} {{ #{anchor} }}"
    for definition in (node, *bases):
        yield from ("", _prose(definition))
    for each in [each for definition in (node, *bases) for each in definition.body]:
        if isinstance(each, ast.FunctionDef) and not each.name.startswith("_") and ast.get_docstring(each):
            yield from ("", *_function(each, each.name, f"{anchor}.{each.name}", depth + 1))


def _probe(module: Module) -> Iterator[str]:
    """A probe by name with its settings, where the module has one for feature vectors."""
    kind = next((each for each in all_probes().values() if each.__module__ == module.name), None)
    if kind is None or kind.input != "vectors":
        return
    name, keys = kind.__name__, {each.field: each for each in keys_of(kind).values()}
    node = module.definition(name)
    fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
    settings = [each for each in fields if not _annotation(each.annotation).startswith("ClassVar")]
    parts = [_field(each, keys.get(ast.unparse(each.target))) for each in settings]
    yield from ("", f"### unseen.probes.{name} {{ #{name} }}", "", "```python")
    yield from (_call(f"unseen.probes.{name}", parts), "```", "", _prose(node))
    if keys:
        yield from ("", "**Arguments**", "", *(f"- `{field}`: {each.help}" for field, each in keys.items()))


def _field(node: ast.AnnAssign, setting: Key | None) -> str:
    """A field as a parameter; that of a setting has its default."""
    default = node.value if setting is None else ast.Constant(setting.default)
    return _parameter(ast.arg(ast.unparse(node.target), node.annotation), default)


def _target(node: ast.Assign) -> str:
    return ast.unparse(node.targets[0])


def _signature(node: ast.FunctionDef, name: str) -> str:
    """The signature as in the source, with one parameter per line if it is long; annotations lose their quotes."""
    if node.returns and [ast.unparse(each) for each in node.decorator_list] in (["property"], ["cached_property"]):
        return f"{name}: {_annotation(node.returns)}"
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    parts = [_parameter(*pair) for pair in zip(positional, defaults, strict=True) if pair[0].arg not in {"self", "cls"}]
    if arguments.kwonlyargs:
        parts += ["*", *map(_parameter, arguments.kwonlyargs, arguments.kw_defaults)]
    returns = f" -> {_annotation(node.returns)}" if node.returns else ""
    return _call(name, parts, returns)


def _call(name: str, parts: list[str], returns: str = "") -> str:
    line = f"{name}({', '.join(parts)}){returns}"
    return line if len(line) <= WIDTH else "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){returns}"])


def _parameter(argument: ast.arg, default: ast.expr | None) -> str:
    kind = f": {_annotation(argument.annotation)}" if argument.annotation else ""
    equals = " = " if kind else "="
    return f"{argument.arg}{kind}{equals + ast.unparse(default) if default else ''}"


def _annotation(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)


def _prose(node: ast.Module | Definition) -> str:
    """A docstring as Markdown: arguments as a list, examples as code."""
    lines: list[str] = []
    section = ""
    for line in cleandoc(ast.get_docstring(node) or "").splitlines():
        heading = line.removesuffix(":")
        if line.endswith(":") and heading in HEADINGS:
            section = heading
            if lines and lines[-1] == "":
                lines.pop()
            lines += [*_closed(lines), "", f"**{'Arguments' if heading == 'Args' else heading}**", ""]
            lines += ["```pycon"] if heading == "Example" else []
        elif section in LISTS and re.match(r" {4}\S", line):
            names, _, text = line.strip().partition(": ")
            lines.append(f"- `{names}`: {text}" if text else f"    {line.strip()}")
        elif section in LISTS and line:
            lines.append(f"    {line.strip()}")
        else:
            lines.append(line.removeprefix("    ") if section else line)
    return "\n".join(lines + _closed(lines))


def _closed(lines: list[str]) -> list[str]:
    """The end of a block of code, where one is open."""
    return ["```"] if sum(line.startswith("```") for line in lines) % 2 else []
