"""Files that are none, and documents that do not say what they seem to."""

from __future__ import annotations

from refused.row import (
    FILES,
    Row,
    changed,
    fifo,
    folder,
    holding,
    in_place_of,
    large,
    latin_1,
    loop,
    nul,
    utf_16,
)

TEXTS = [name for name in FILES if name != "probe"]
KINDS = {
    folder: "is a folder, and not a plain file",
    fifo: "is a FIFO, and not a plain file",
    loop: "is a loop of symbolic links",
    large: "is too large for what it is (got '100.0 MB')",
}
ENCODINGS = {
    utf_16: "is not UTF-8 text (got 'UTF-16')",
    latin_1: "is not UTF-8 text (got 'byte 0xe9')",
    nul: "is not UTF-8 text (got 'a NUL byte')",
}


def leaf(name: str) -> str:
    return FILES[name].rpartition("/")[2]


KINDS_OF_FILE = [
    Row(f"{name} is {make.__name__}", in_place_of(name, make), (leaf(name), said, "Fix: "))
    for name in FILES
    for make, said in KINDS.items()
]
ENCODED = [
    Row(f"{name} in {make.__name__}", in_place_of(name, make), (leaf(name), said))
    for name in TEXTS
    for make, said in ENCODINGS.items()
]

BOMB = "".join(f"k{i}: &k{i} [{', '.join([f'*k{i - 1}'] * 9 if i else ['x'] * 9)}]\n" for i in range(30))
# Each names itself ten-fold: written out, it has more values than there are atoms.
YAML = [
    ("nested lists", "a: " + "[" * 5000, "nested more than 40 deep"),
    ("nested mappings", "a: " + "{a: " * 5000, "nested more than 40 deep"),
    ("nested by aliases", "".join(f"k{i}: &k{i} [{f'*k{i - 1}' if i else 'x'}]\n" for i in range(99)), "nested more"),
    ("a bomb of aliases", BOMB, "more than 100,000 values"),
    ("an alias of itself", "a: &a [*a]\n", "a value holds itself"),
    ("a mapping as a key", "? {a: 1}\n: 2\n", "a key must be a word"),
    ("a list as a key", "? [a]\n: 2\n", "a key must be a word"),
    ("a key twice", "name: 1\nname: 2\n", "the key 'name' stands twice"),
    ("a day that is none", "a: 2020-02-30\n", "not a value"),
    ("a number of 5,000 digits", f"a: {'9' * 5000}\n", "not a value"),
    ("two documents", "a: 1\n---\nb: 2\n", "another document"),
    ("a bell", "a: \x07\n", "a character that YAML does not allow"),
    ("nothing", "", "expected keys and values (got None)"),
    ("a list", "[1]\n", "expected keys and values (got [1])"),
    ("an object of Python", "a: !!python/object/apply:os.system [x]\n", "a tag that is not known"),
]
DOCUMENTS = [
    Row(f"{file} with {name}", holding(file, text), (leaf(file), said, "Fix: "))
    for file in ("inventory", "report.yaml", "claims.yaml", "profile")
    for name, text, said in (YAML if file in ("inventory", "report.yaml") else YAML[::3])
]

JSON = [
    ("a key twice", '{"name": 1, "name": 2}', ("name: the key stands twice", "(got 2)")),
    ("nested lists", "[" * 5000, ("nested too deeply",)),
    ("no number", '{"name": NaN}', ("there is no such number (got 'NaN')",)),
    ("an endless number", '{"name": Infinity}', ("there is no such number",)),
    ("a number of 5,000 digits", f'{{"name": {"9" * 5000}}}', ("write numbers of fewer digits",)),
    ("half of it", '{"name": ', ("line 1, column 10", "is not JSON")),
    ("a list", "[]", ("(got [])",)),
    ("nothing", "", ("line 1, column 1", "is not JSON")),
]
IN_JSON = [
    Row(f"{file} with {name}", holding(file, text), (leaf(file), *said, "Fix: "))
    for file in ("datapackage.json", "notebook")
    for name, text, said in JSON
]

CELL = '"cell_type": "code", "metadata": {"tags": ["parameters"]}'
NB = '"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": {"name": "python3", "language": "python"}}'
NOTEBOOKS = [
    ("no cells", "{}", ("cells: is not a notebook",)),
    ("cells that are none", '{"cells": 5}', ("cells: ", "(got 5)")),
    ("no parameters", f'{{{NB}, "cells": []}}', ("no cell is tagged `parameters`",)),
    (
        "no metadata",
        '{"nbformat": 4, "nbformat_minor": 5, "cells": []}',
        ("the file: is not a notebook: ", "is missing an expected key: metadata. "),
    ),
    ("a format that nobody knows", '{"nbformat": "x", "cells": []}', ("is not a notebook",)),
    ("a source of numbers", f'{{{NB}, "cells": [{{{CELL}, "source": [1]}}]}}', ("is not a notebook",)),
    (
        "a call",
        f'{{{NB}, "cells": [{{{CELL}, "source": "seed = 1\\nrate = open(2)"}}]}}',
        ("rate: ", "open(2)"),
    ),
    (
        "a cell without a source",
        f'{{{NB}, "cells": [{{{CELL}, "source": "seed = 1"}}, {{"cell_type": "code", "metadata": {{}}}}]}}',
        ("the file: is not a notebook",),
    ),
    ("a sum", f'{{{NB}, "cells": [{{{CELL}, "source": "rate = 1 + seed"}}]}}', ("rate: ", "written out")),
]
IN_NOTEBOOK = [
    Row(f"notebook with {name}", holding("notebook", text), (leaf("notebook"), *said, "Fix: "))
    for name, text, said in NOTEBOOKS
]

PROBES = [
    ("no Python", "METRICS = {", ("line 1", "Fix: ")),
    ("Latin-1", 'METRICS = {"é": 1}'.encode("latin-1"), ("line 1", "Fix: ")),
    ("a NUL byte", "METRICS = \0", ("Fix: ",)),
    ("parentheses", "METRICS = " + "(" * 5000, ("Fix: ",)),
    ("no metrics", "def sample(): ...\n", ("METRICS: ",)),
]
IN_PROBE = [Row(f"probe with {name}", holding("probe", text), ("own.py", *said)) for name, text, said in PROBES]

TABLE = "threads,tps,p95_ms\n"
TABLES = [
    ("only a header", TABLE, ("row 2", "the table has no rows")),
    ("nothing", "", ("row 1, threads", "a column is missing")),
    ("Arabic digits", f"{TABLE}١٠٠,15575,8.13\n", ("row 2, threads", "is not of type integer (got '١٠٠')")),
    ("Arabic decimals", f"{TABLE}100,١٥,8.13\n", ("row 2, tps", "is not of type number (got '١٥')")),
    ("thirty digits", f"{TABLE}{'9' * 30},15575,8.13\n", ("row 2, threads", "is not of type integer")),
    ("four hundred digits", f"{TABLE}100,{'9' * 400},8.13\n", ("row 2, tps", "is not of type number")),
    ("another separator", "threads;tps;p95_ms\n100;15575;8.13\n", ("row 1, threads", "a column is missing")),
    ("a cell too many", f"{TABLE}100,15575,8.13,9\n", ("row 2", "wrong number of cells (got 4)")),
    ("a quote left open", f'{TABLE}100,"15575,8.13\n', ("is not CSV",)),
    ("thousands apart", f'{TABLE}100,"15,575",8.13\n', ("row 2, tps", "(got '15,575')")),
    ("a unit", f"{TABLE}100,15575/s,8.13\n", ("row 2, tps", "(got '15575/s')")),
    ("a row twice", f"{TABLE}100,1,8\n100,1,8\n", ("row 3, threads", "a second row with the same key")),
    ("no level", f"{TABLE},1,8\n", ("row 2, threads", "a level is empty")),
    ("a negative rate", f"{TABLE}100,-1,8\n", ("row 2, tps", "is too small (got -1.0)")),
    ("an exponent", f"{TABLE}100,1e5,8\n", ("row 2, tps", "(got '1e5')")),
]
IN_TABLE = [
    Row(f"table with {name}", holding("table", text), ("oltp_insert.csv", *said, "Fix: "))
    for name, text, said in TABLES
]

RENAMED = [
    Row(
        "a table that is missing",
        changed("datapackage.json", '"oltp_insert.csv"', '"gone.csv"'),
        ("gone.csv", "does not exist", "Fix: "),
    ),
    Row("a notebook that is missing", in_place_of("notebook", lambda path: path.unlink()), ("ipynb", "does not exist")),
    Row(
        "a report.yaml that is missing",
        in_place_of("report.yaml", lambda path: path.unlink()),
        ("report.yaml", "does not exist", "Fix: "),
    ),
]

ROWS = [
    *KINDS_OF_FILE,
    *ENCODED,
    *DOCUMENTS,
    *IN_JSON,
    *IN_NOTEBOOK,
    *IN_PROBE,
    *IN_TABLE,
    *RENAMED,
]
