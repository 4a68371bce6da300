"""A probe's one file, as the driver reads it: parsed, never run, for it is written for the hosts.

METRICS = {"used_memory": ("level", "B"), "commands": ("counter", "1/s"), "cpu.*": ("counter", "cores")}
NEEDS = ["pymysql"]                        # if it imports pure-Python packages that hosts lack

def sample(address, port): ...             # -> {metric: number}
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from benchbook.errors import BadInput
from benchbook.given import user_file
from benchbook.probes.metric import Metric, counter, level

# What `sample` is given of the server that it watches, by the names of its parameters. `tls` is False for one that is
# spoken to in the open, else the certificates of who may vouch for it, "" for those that the machine trusts.
SERVER = ("address", "port", "user", "password", "tls")
# What it is given of the machine that it runs on: the addresses by which others know that.
MACHINE = ("reached_at",)
_EXAMPLE = 'METRICS = {"used_memory": ("level", "B"), "commands": ("counter", "1/s")}'


@dataclass(frozen=True)
class ProbeFile:
    """What a probe says of itself.

    `metrics` says what each number is, where a name that ends in `*` stands for all that begin like it; `takes` are the
    parameters that its `sample` is called with; `needs` the packages that are sent along.
    """

    name: str
    path: Path
    metrics: Mapping[str, Metric]
    takes: tuple[str, ...]
    needs: tuple[str, ...]

    @property
    def of_server(self) -> bool:
        """Does it watch a server? One that is given nothing of a server watches the machine."""
        return not set(SERVER).isdisjoint(self.takes)


def read(path: Path, name: str, gives: Sequence[str] = (*SERVER, *MACHINE)) -> ProbeFile:
    """The probe in this file; `gives` are the parameters that it may ask for. Raises BadInput for what is wrong.

    A file is parsed once as long as it does not change: every trial asks for its probes.
    """
    try:
        about = path.stat()
    except OSError:
        return _read(path, name, tuple(gives), 0, 0)  # which says why it cannot be read
    return _read(path, name, tuple(gives), about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=64)
def _read(path: Path, name: str, gives: tuple[str, ...], changed: int, size: int) -> ProbeFile:
    tree = _parsed(path)
    _refuse_the_kit(tree, path)
    return ProbeFile(name, path, _metrics(tree, path), _takes(tree, path, gives), _needs(tree, path))


def _parsed(path: Path) -> ast.Module:
    source = user_file.content(path)
    try:
        return ast.parse(source, str(path))
    except SyntaxError as problem:
        raise BadInput(
            f"not Python: {problem.msg}",
            file=path,
            key=f"line {problem.lineno}" if problem.lineno else "the file",
            value=(problem.text or "").rstrip(),
            fix="mend the syntax at this place",
        ) from problem
    except (ValueError, RecursionError, MemoryError) as problem:
        said = str(problem) or type(problem).__name__
        raise BadInput(
            "cannot be read", file=path, key="the file", value=said, fix="mend or remove the file"
        ) from problem


def _refuse_the_kit(tree: ast.Module, path: Path) -> None:
    """Hosts have no benchbook."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if isinstance(node, ast.stmt) and "benchbook" in [name.partition(".")[0] for name in names]:
            raise BadInput(
                "a probe runs on a host, which has no benchbook",
                file=path,
                key=f"line {node.lineno}",
                value=ast.unparse(node),
                fix="use plain Python; clock, file and errors are the kit's part already",
            )


def _assigned(tree: ast.Module, name: str) -> ast.expr | None:
    """What stands behind `name = ` at the top of the file."""
    found = None
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and name in _targets(node):
            found = node.value
    return found


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _literal(node: ast.expr, path: Path, key: str, fix: str) -> object:
    try:
        value: object = ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError) as problem:
        raise BadInput(
            "must be written out: the driver reads it without running the file",
            file=path,
            key=key,
            value=f"something else on line {node.lineno}",
            fix=fix,
        ) from problem
    return value


# -- what it must have ----------------------------------------------------------------------------------------------


def _metrics(tree: ast.Module, path: Path) -> dict[str, Metric]:
    node = _assigned(tree, "METRICS")
    if node is None:
        raise BadInput("says nothing of its numbers", file=path, key="METRICS", fix=f"add {_EXAMPLE}")
    said = _literal(node, path, "METRICS", f"write it like {_EXAMPLE}")
    if not isinstance(said, dict) or not said:
        raise BadInput("not a dict of metrics", file=path, key="METRICS", value=said, fix=f"write it like {_EXAMPLE}")
    return {str(name): _metric(path, name, value) for name, value in said.items()}


def _metric(path: Path, name: object, said: object) -> Metric:
    """`said` is (kind, unit)."""
    match said:
        case ("level", str(unit)) if unit and isinstance(name, str):
            return level(unit)
        case ("counter", str(unit)) if unit and isinstance(name, str):
            return counter(unit)
    raise BadInput(
        "not a kind and a unit",
        file=path,
        key=f"METRICS.{name}",
        value=said,
        fix='write ("level", unit), or ("counter", unit of its rate per second)',
    )


def _takes(tree: ast.Module, path: Path, gives: Sequence[str]) -> tuple[str, ...]:
    """The parameters of `sample` that are given; one that has a default may be any."""
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "sample"]
    if not found:
        raise BadInput(
            "has no function that samples",
            file=path,
            key="sample",
            fix="add `def sample():` that returns {metric: number}; "
            f"of a server it may ask for {', '.join(gives)}, by these names",
        )
    asked = found[-1].args
    plain = [each.arg for each in (*asked.posonlyargs, *asked.args)]
    optional = {*plain[len(plain) - len(asked.defaults) :]} if asked.defaults else set()
    optional |= {each.arg for each, default in zip(asked.kwonlyargs, asked.kw_defaults, strict=True) if default}
    names = [*plain, *(each.arg for each in asked.kwonlyargs)]
    for name in names:
        if name not in gives and name not in optional:
            raise BadInput(
                "sample asks for what nobody gives it",
                file=path,
                key="sample",
                value=name,
                fix=f"ask for some of {', '.join(gives)}, or give it a default",
            )
    return tuple(name for name in names if name in gives)


def _needs(tree: ast.Module, path: Path) -> tuple[str, ...]:
    node = _assigned(tree, "NEEDS")
    if node is None:
        return ()
    fix = 'name packages, like NEEDS = ["pymysql"]'
    said = _literal(node, path, "NEEDS", fix)
    if not isinstance(said, list | tuple) or not all(isinstance(name, str) for name in said):
        raise BadInput("not a list of packages", file=path, key="NEEDS", value=said, fix=fix)
    return tuple(said)
