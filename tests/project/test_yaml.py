"""YAML that a user wrote: what it says is what she sees, and what is refused is said with line, key, value and fix."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pytest
import yaml
from kit import ROOT
from pydantic import Field, StrictBool

from benchbook.errors import BadInput
from benchbook.user_input import yaml_file
from benchbook.user_input.bounds import Count, matching
from benchbook.user_input.strict_yaml import as_yaml, line_of, yaml_text

FILES = sorted(path for part in ("data/published", "env", "lib") for path in (ROOT / part).rglob("*.yaml"))


def test_what_the_kit_ships_says_the_same_to_readers_of_yaml_1_1() -> None:
    assert len(FILES) > 20
    assert all(yaml_text(path.read_text(), file=path) == yaml.safe_load(path.read_text()) for path in FILES)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("a: [0, -0, 5, +5, -12]", {"a": [0, 0, 5, 5, -12]}),
        ("a: [0.5, 1., .5, 1e3, 1e-3, -2.5E+2]", {"a": [0.5, 1.0, 0.5, 1000.0, 0.001, -250.0]}),
        ("a: ['010', \"1:30\", 'yes']\nb: |\n  0x10\n", {"a": ["010", "1:30", "yes"], "b": "0x10\n"}),
        ("a: [127.0.0.1:4000, 1:99, y, a1_0, x#y]", {"a": ["127.0.0.1:4000", "1:99", "y", "a1_0", "x#y"]}),
        ("a: [true, False, ~, null]", {"a": [True, False, None, None]}),
        ("\ufeffa: &x {k: 1}\nb: *x\nc:\n  <<: *x\n  l: 2\n", {"a": {"k": 1}, "b": {"k": 1}, "c": {"k": 1, "l": 2}}),
    ],
)  # fmt: skip
def test_plain_values(text: str, value: object) -> None:
    assert yaml_text(text) == value


@pytest.mark.parametrize(
    ("written", "fix"),
    [
        ("04000", "write 4000, or"),
        ("-010", "write -10, or"),
        ("08", "write 8, or"),
        ("00.5", "write 0.5, or"),
        ("0x10", "write 16, or"),
        ("0o17", "write 15, or"),
        ("0b11", "write 3, or"),
        ("0x_f", "write 15, or"),
        ("0x" + "f" * 200, "write a decimal number, or"),
        ("1_000", "write 1000, or"),
        ("1_0.5", "write 10.5, or"),
        ("-0_1", "write -1, or"),
        ("1:30", "write a decimal number, or"),
        ("12:30:45", "write a decimal number, or"),
        ("yes", "write true, or"),
        ("Off", "write false, or"),
    ],
)
def test_what_readers_of_yaml_do_not_agree_on(written: str, fix: str) -> None:
    for text in (f"a: 1\nport: {written}\n", f"a: 1\nports: [{written}]\n", f"a: 1\n{written}: 1\n"):
        with pytest.raises(BadInput) as caught:
            yaml_text(text, file="lab.yaml")
        assert str(caught.value).startswith("lab.yaml: line 2, column ")
        assert f"`{written}` is " in str(caught.value)
        assert f'{fix} "{written}" in quotes where a text is meant' in str(caught.value.fix)
    secrets = ["password: W\n", "password:\n- 1\n- W\n", "a:\n  token: {b: W}\n", "args: [--password, W]\n"]
    for text in secrets:
        with pytest.raises(BadInput, match=r"not shown: it may be a secret\).* Fix: put it in quotes") as caught:
            yaml_text(text.replace("W", written))
        assert written not in str(caught.value)


@pytest.mark.parametrize("text", ["1" + "_" * 90_000 + "x", "_1", "_", "1:" + "0" * 90_000 + "x"])
def test_what_only_begins_as_a_number_is_a_text(text: str) -> None:
    assert yaml_text(f"a: {text}") == {"a": text}


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (".inf", "`.inf` is no number that can be counted with"),
        ("-.INF", "`-.INF` is no number"),
        (".nan", "`.nan` is no number"),
        ("1e400", "`1e400` is no number"),
        ("=", "malformed YAML: a tag that is not known, or a sign (=)"),
        ("!!python/object:os.system x", "malformed YAML: a tag that is not known"),
    ],
)
def test_what_is_no_value_is_refused_in_plain_words(written: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        yaml_text(f"a: 1\nb: {written}\n", file="lab.yaml")
    assert str(caught.value).startswith("lab.yaml: line 2, column 4")
    assert said in str(caught.value)
    assert "tag:yaml.org" not in str(caught.value)


def test_a_quotation_mark_of_a_page_is_named() -> None:
    """github.com/pingcap/tiflow/issues/11374"""
    with pytest.raises(BadInput, match=r"^line 2: malformed YAML: .*Fix: write straight quotes on both sides"):
        yaml_text('a: 1\nb: "next_”\nc: 2\n')
    with pytest.raises(BadInput, match=r"^line 3, column 1: malformed YAML: found unexpected end of stream"):
        yaml_text('a: “one” in "fast" mode\nb: "without an end\n')


@pytest.mark.parametrize("blank", ["\u00a0", "\u3000", "\u200b"])
def test_a_blank_that_is_no_space_is_refused_where_it_stands(blank: str) -> None:
    for text in (f"a:\n{blank}{blank}user: x\n", f"a:\n  user: {blank}x\n", f"a:\n  - x{blank}\n"):
        with pytest.raises(BadInput, match=r"line 2, column .*: this only looks like a space"):
            yaml_text(text)
    assert yaml_text(f"a: 'x{blank}'\nb: x{blank}y") == {"a": f"x{blank}", "b": f"x{blank}y"}


def test_what_is_written_is_read_again() -> None:
    texts = [
        "010",
        "1:30",
        "yes",
        "Off",
        "0x10",
        "1_000",
        "true",
        "~",
        "1e3",
        "",
        "a: b",
        "# x",
        "- a",
        "x\ny",
        "é",
        "x\u200b",
        "\u00a0x",
        "x" * 200,
    ]
    value = {"z": texts, "a": {"b": [], "c": [True, None, 1, 1.5]}}
    assert yaml_text(as_yaml(value)) == yaml.safe_load(as_yaml(value)) == value
    assert as_yaml({"b": "plain", "a": ["1.2"]}) == "b: plain\na:\n- '1.2'\n"


def test_a_spelling_beside_a_password_is_said_with_its_key_alone() -> None:
    text = "systems:\n  tidb: {password: s3cret, port: 04000, password_file: own}\n"
    with pytest.raises(BadInput) as caught:
        yaml_text(text, file="lab.yaml")
    assert str(caught.value) == (
        "lab.yaml: line 2, column 34, systems.tidb.port: `04000` is a number that begins with 0, which some readers "
        """of YAML take for octal (got '04000'). Fix: write 4000, or "04000" in quotes where a text is meant"""
    )


class Part(yaml_file.Strict):
    port: Count = 1
    tls: StrictBool = False
    name: Annotated[str, matching("[a-z]+", "a name of lower-case letters")] = "x"
    levels: Literal["scaled"] | list[int] = "scaled"
    settings: dict[str, bool | int | float | str | list[str]] = {}


class Whole(yaml_file.Strict):
    """What a file says: some parts, each on lines of its own."""

    title: str = ""
    parts: dict[str, Part] = Field(default_factory=dict)
    needed: int = 0


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("port: 1e3", "line 3, parts.one.port: Input should be a valid integer (got 1000.0). Fix: write 1000"),
        ("port: '22'", "line 3, parts.one.port: Input should be a valid integer (got '22'). Fix: write 22, without"),
        ("port: '0022'", "line 3, parts.one.port: Input should be a valid integer (got '0022'). Fix: write a whole"),
        ("port: true", "line 3, parts.one.port: Input should be a valid integer (got True). Fix: write a whole number"),
        (
            "port: 2000000",
            "line 3, parts.one.port: Input should be less than or equal to 1000000 (got 2000000). "
            "Fix: write 1000000 or less",
        ),
        ("tls: 'yes'", "line 3, parts.one.tls: Input should be a valid boolean (got 'yes'). Fix: write true or false"),
        ("tls: 1", "line 3, parts.one.tls: Input should be a valid boolean (got 1). Fix: write true or false"),
        ("name: A-b", "line 3, parts.one.name: must be a name of lower-case letters (got 'A-b'). Fix: write it w"),
        ("levels: [1,\n      x]", "line 4, parts.one.levels.1: Input should be a valid integer, unable to parse"),
        (
            "tls: true\n    prot: 1",
            "line 4, parts.one.prot: there is no such key (got 1). Fix: did you mean port?",
        ),
        (
            "settings:\n      a: 1\n      b: {c: 1}",
            "line 5, parts.one.settings.b: Input should be true or false, a whole number, a number, a text or a list "
            "(got {'c': 1}). Fix: give one of these",
        ),
        ("- 1", "line 2, parts.one: Input should be keys and values (got [1]). Fix: write `key: value` lines below it"),
        (
            "port: 0\n    tls: 1",
            "line 3, parts.one.port: Input should be greater than or equal to 1 (1 more like it) (got 0)",
        ),
    ],
)  # fmt: skip
def test_a_value_of_another_kind_is_said_with_its_line(tmp_path: Path, lines: str, said: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(f"parts:\n  one:\n    {lines}\n")
    with pytest.raises(BadInput) as caught:
        yaml_file.load_model(Whole, path)
    assert str(caught.value).startswith(f"{path}: {said}")


def test_the_line_of_a_key() -> None:
    text = "a: 1\nb:\n  c: [1,\n   2]\nclaims:\n- id: x\n- id: y\n  at: 3\n"
    assert [line_of(text, keys) for keys in (["b", "c", 1], ["b", "none"], ["claims", "y", "at"], ["none"])] == [
        4,
        2,
        8,
        None,
    ]
