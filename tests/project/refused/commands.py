"""Words of a command line, and a notebook's parameters among them."""

from __future__ import annotations

import os
from pathlib import Path

from kit import REPORT, Home

from refused.row import SECRET, Row, command, parameter

LONG = "x" * 5000

PARAMETERS = [
    ("a list that holds itself", ["threads=&a [*a]"], ("-p threads: ", "a value holds itself (got '&a [*a]')")),
    ("twenty digits", ["threads=[99999999999999999999]"], ("threads.0: ", "less than or equal to 100000")),
    ("a zero in a list", ["threads=[50, 0]"], ("threads.1: ", "greater than or equal to 1 (got 0)")),
    ("5,000 digits", [f"threads=[{'9' * 5000}]"], ("-p threads: ",)),
    ("nested lists", ["threads=" + "[" * 5000], ("-p threads: ", "nested more than 40 deep")),
    ("a list as a key", ["threads={[1]: 2}"], ("-p threads: ", "a key must be a word")),
    ("a mapping", ["threads={a: 1}"], ("threads: Input should be a valid list (got {'a': 1})",)),
    ("100,000,000 repetitions", ["repetitions=100000000"], ("repetitions: ", "(got 100000000)")),
    ("no name", ["=5"], ("-p: a parameter needs a name", "(got '=5')")),
    ("a name of two words", ["a b=5"], ("-p: a parameter needs a name",)),
    ("no value", ["threads"], ("-p: a parameter needs", "(got 'threads')")),
    ("one twice", ["seed=1", "seed=2"], ("-p seed: it is given twice (got '2')",)),
    ("no number", ["rate=.nan"], ("-p rate: ", "(got '.nan')")),
    ("an endless number", ["rate=.inf"], ("-p rate: ", "(got '.inf')")),
    ("a fraction", ["rate=1.5"], ("rate: ", "(got 1.5)")),
    ("a day", ["seed=2020-01-01"], ("-p seed: ", "(got '2020-01-01')")),
    ("a day that is none", ["seed=2020-02-30"], ("-p seed: ", "(got '2020-02-30')")),
    (
        "an unknown name",
        ["thraeds=[1]"],
        ("parameter: there is no such parameter (got 'thraeds')", "did you mean threads?"),
    ),
    ("a seed below 0", ["seed=-1"], ("seed: ", "(got -1)")),
    ("a seed of 40 bits", [f"seed={2**40}"], ("seed: ", "2147483647")),
    ("maybe", ["replay=maybe"], ("replay: ", "(got 'maybe')")),
    ("no system", ['systems=[""]'], ("systems: unknown system (got '')",)),
    ("an unknown system", ["systems=[../x]"], ("systems: unknown system (got '../x')",)),
    ("an unknown workload", ["workloads=[gone]"], ("workloads: ", "(got 'gone')")),
    ("a newline", ['profile="a\\nb"'], ("profile: ",)),
    ("a NUL byte", ['inventory="a\\0b"'], ("inventory: ",)),
    ("a profile that is a number", ["profile=5"], ("profile: ", "(got 5)")),
    ("a long value", [f"campaign={LONG}"], ("campaign: ", "...")),
    ("a password", [f"password={SECRET}"], ("there is no such parameter (got 'password')",)),
    ("a token in no YAML", [f"token=[{SECRET}"], ("-p token: ", "not shown")),
    ("an object of Python", ["seed=!!python/name:os.system"], ("-p seed: ", "a tag that is not known")),
    ("a surrogate", ['system="\\uD800"'], ("system",)),
    ("levels nobody has", ["levels=some"], ("levels: ", "(got 'some')")),
]
GIVEN = [Row(f"parameter: {name}", parameter(*pairs), (*said, "Fix: ")) for name, pairs, said in PARAMETERS]

WORDS = [
    (("report", "gone"), ("report: unknown report (got 'gone')",)),
    (("report", "../../etc"), ("report: unknown report (got '../../etc')",)),
    (("report", LONG), ("report: unknown report", "...")),
    (("report", "a\nb"), ("report: unknown report (got 'a\\nb')",)),
    (("report", REPORT, "--profile", "gone"), ("gone.yaml: profile: no such profile (got 'gone')",)),
    (("report", REPORT, "--profile", "smok"), ("(got 'smok'). Fix: did you mean smoke? use one of lab, paper, smoke",)),
    (("report", REPORT, "--profile", LONG), ("profile: ", "at most 1000 characters")),
    (("report", REPORT, "--inventory", "gone"), ("gone.yaml: inventory: no such inventory (got 'gone')",)),
    (("report", REPORT, "--inventory", f"{LONG[:900]}.yaml"), ("inventory: no such inventory",)),
    (("report", REPORT, "--inventory", "/dev/null/x.yaml"), ("inventory: no such inventory",)),
    (("check", "gone"), ("report: unknown report (got 'gone')",)),
    (("audit", "gone"), ("report: unknown report (got 'gone')",)),
    (("audit", "a/../b"), ("a/../b: the file: does not exist",)),
    (("site",), ("data/runs: ", "nothing has been recorded yet")),
    (("site", "**"), ("report: unknown report (got '**')",)),
    (("claims", "a**b"), ("report: unknown report (got 'a**b')",)),
    (
        ("build", "gone"),
        ("nothing of this name is built or fetched (got 'gone')", "Fix: there are: dm, ", "mysql57, mysql8, "),
    ),
    (("new", "Ünique"), ("name: not a name for a report (got 'Ünique')",)),
    (("new", ""), ("name: not a name for a report (got '')",)),
    (("new", "../x"), ("name: not a name for a report (got '../x')",)),
    (("new", "a\n"), ("name: not a name for a report (got 'a\\n')",)),
    (("new", "lambda"), ("name: not a name for a report (got 'lambda')",)),
    (("new", REPORT), ("name: there is something of this name already",)),
    (("lab", "up", "gone"), ("inventory: no such inventory (got 'gone')",)),
    (("compare", "gone"), ("a: nothing has been recorded yet (got 'gone')",)),
    (("compare", "gone", "a**b"), ("a: nothing has been recorded yet (got 'gone')",)),
    (("compare", LONG, "b"), ("a: nothing has been recorded yet",)),
    (("compare", "gone~99999999999999999999", "b"), ("a: nothing has been recorded yet",)),
    (("compare", REPORT), (f"a: nothing has been recorded of {REPORT}. ", f"benchbook report {REPORT}")),
    (("archive", REPORT), (f"campaign: nothing has been recorded of {REPORT}. ", f"benchbook report {REPORT}")),
    (("archive", "gone"), ("campaign: nothing has been recorded yet (got 'gone')",)),
    (("claims", REPORT), (f"nothing has been recorded of {REPORT}. ", f"benchbook report {REPORT}")),
    (("claims", "gone~1"), ("campaign: nothing has been recorded yet (got 'gone~1')",)),
    (("site", "gone~1"), ("campaign: nothing has been recorded yet (got 'gone~1')",)),
    (("history", "gone"), ("report: there is no such report (got 'gone')",)),
    (("publish", REPORT), (f"campaign: nothing has been recorded of {REPORT}. ", f"benchbook report {REPORT}")),
    (("compare", "a", "b", "--margin", "nan"), ("margin: must lie between 0 and 1 (got nan)",)),
    (("compare", "a", "b", "--margin", "1"), ("margin: must lie between 0 and 1 (got 1.0)",)),
]
SPOKEN = [Row(" ".join(words)[:60], command(*words), (*said, "Fix: ")) for words, said in WORDS]


def _empty(home: Home) -> list[str]:
    (home.path / "documents").mkdir()
    return ["audit", str(home.path / "documents")]


SERVERS = ["--source-url", "mongodb://127.0.90.1/", "--target-url", "mongodb://127.0.90.2/"]


def secret_in(make: str) -> Row:
    """A password file that is none."""

    def plant(home: Home) -> list[str]:
        path = Path(home.path / "password")
        {"a FIFO": os.mkfifo, "a folder": os.mkdir, "Latin-1": lambda p: p.write_bytes(b"caf\xe9")}[make](path)
        return [*SERVERS, "--source-password-file", str(path)]

    said = "is not UTF-8 text" if make == "Latin-1" else f"is {make}, and not a plain file"
    return Row(f"transfer with a password in {make}", plant, ("password: ", said, "Fix: "), transfer=True)


TRANSFERS = [
    (["--source-url", "http://a/", "--target-url", "mongodb://b/"], ("url: not a MongoDB URL (got 'http://a/')",)),
    (["--source-url", "mongodb://[::1/", "--target-url", "mongodb://b/"], ("url: not a MongoDB URL",)),
    (["--source-url", "mongodb:///", "--target-url", "mongodb://b/"], ("url: not a MongoDB URL",)),
    (["--source-url", f"mongodb://u:{SECRET}@a/", "--target-url", "mongodb://b/"], ("a: a URL with a password",)),
    (["--source-url", f"mongodb://u:{SECRET}@[a/", "--target-url", "mongodb://b/"], ("url: not a MongoDB URL",)),
    ([*SERVERS, "--source-threads", "0"], ("source-threads: must be at least 1 (got 0)",)),
    ([*SERVERS, "--target-threads", "99999999999999999999"], ("target-threads: must be at most",)),
    ([*SERVERS, "--batch-size", "1000000"], ("batch-size: a server takes at most",)),
    ([*SERVERS, "--retry-seconds", "nan"], ("retry-seconds: must be more than 0 (got nan)",)),
    ([*SERVERS, "--retry-seconds", "inf"], ("retry-seconds: must be at most", "(got inf)")),
    ([*SERVERS, "--databases", "("], ("databases: not a regular expression", "(got '(')")),
    ([*SERVERS, "--collections", "a{99999999999}"], ("collections: not a regular expression",)),
    ([*SERVERS, "--collections", "(" * 5000], ("collections: not a regular expression",)),
    ([*SERVERS, "--report", "/nowhere/report.json"], ("--report: cannot be written",)),
]
TRANSFERRED = [
    Row(f"transfer {' '.join(words)[-50:]}", command(*words), (*said, "Fix: "), transfer=True)
    for words, said in TRANSFERS
]

ROWS = [
    *GIVEN,
    *SPOKEN,
    Row(
        "audit of an empty folder",
        _empty,
        ("documents: there is no document", "Fix: "),
    ),
    *(secret_in(make) for make in ("a FIFO", "a folder", "Latin-1")),
    *TRANSFERRED,
]
