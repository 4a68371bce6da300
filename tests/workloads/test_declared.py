"""A load generator in one file of a project: its command lines, its proof, and what is refused in it."""

from __future__ import annotations

from typing import Any, cast

import pytest
from kit import Home

from benchbook import workloads
from benchbook.errors import BadInput
from benchbook.generators.generator_file import Answer
from benchbook.hosts.agent import Command
from benchbook.hosts.endpoint import Endpoint
from benchbook.workloads import generator_output
from benchbook.workloads.base import Load, LoadGenerator
from benchbook.workloads.declared import DeclaredLoad

RUN: dict[str, Any] = {
    "program": "bench", "protocols": ["mysql"], "workloads": ["read"], "levels": {"bytes": 8}, "size": ["rows"],
    "environment": {"PASS": "{password}"}, "rate": ["--rate={rate}"], "options": ["ssl"],
    "command": ["{program}", "-h", "{address}", "-c", "{threads}", "-b", "{bytes}", "-t", "{time_s}", "{options}"],
    "prepare": [{"command": ["{program}", "fill", "{rows}"]}],
    "ask": {"n": {"command": ["ask"], "pattern": r"n=(\d+)"}},
    "answers": [{"of": "n", "grows_by": "events", "more": 2}],
}  # fmt: skip
FORM = {"begins": "^bench", "figures": {"tps": {"unit": "1/s", "pattern": r"(\d+)/s"}}}
END = Endpoint("127.0.78.1", 3306, "ann", "pass's word")


class Client:
    name = "client"


def generator(home: Home, **changes: Any) -> type[LoadGenerator[Any]]:
    home.write("env/workloads/mine.yaml", {"title": "mine", "forms": [FORM], "run": {**RUN, **changes}})
    return workloads.generator("mine")


def made(home: Home, **changes: Any) -> DeclaredLoad:
    load = generator(home, **changes)
    found = load(load.Size.model_validate({"rows": 50, "time_s": 2}), ["--ssl=off"], 7)
    found.programs["client"] = "/opt/bench"
    assert isinstance(found, DeclaredLoad)
    return found


def command(load: DeclaredLoad, rate: int = 0, **levels: int) -> Command:
    return load.command(cast("Any", Client()), [END], Load({"workload": "read", **levels}, 4, 2, rate))


def test_a_file_of_the_project_is_a_load_generator_and_read_by_import(home: Home) -> None:
    load = generator(home)
    assert "mine" in workloads.names()
    assert (load.name, load.program, load.timed, load.keeps_rate, load.open_loop) == (
        "mine",
        "bench",
        True,
        True,
        False,
    )
    assert (load.workloads, load.levels, load.known_options) == ({"read"}, {"bytes"}, {"ssl"})
    assert load.asked(load.Size.model_validate({"rows": 50, "time_s": 2})) == {"rows": 50}
    (run,) = generator_output.runs("bench 1\n120/s\n")
    assert (run.program, run.figures["tps"].value) == ("mine", 120)


def test_places_are_filled_in_and_the_password_is_in_a_file_alone(home: Home) -> None:
    load = made(home)
    plain = command(load)
    assert plain.typed.endswith(" /opt/bench -h 127.0.78.1 -c 4 -b 8 -t 2 --ssl=off")
    assert command(load, rate=100, bytes=64).typed.endswith(" -b 64 -t 2 --ssl=off --rate=100")
    assert plain.secrets == {"environment": "export PASS='pass'\"'\"'s word'\n"}
    assert END.password not in plain.typed
    assert vars(load.dataset) == {"generator": "mine", "sizes": {"rows": 50}}
    assert made(home, prepare=[]).dataset is None


@pytest.mark.parametrize(
    ("answer", "found", "wrong"),
    [
        ({"of": "n", "grows_by": "events", "more": 2}, 110, False),
        ({"of": "n", "grows_by": "events", "more": 2}, 112, False),
        ({"of": "n", "grows_by": "events", "more": 2}, 113, True),
        ({"of": "n", "grows_by": "events", "more": 2}, 109, True),
        ({"of": "n", "is": 7}, 7, False),
        ({"of": "n", "is": "rows"}, 49, True),
    ],
)
def test_an_answer_holds_or_says_what_was_found(home: Home, answer: dict[str, Any], found: float, wrong: bool) -> None:
    load = made(home)
    load._asked = {"n": 10.0}
    words, is_wrong = load._held(Answer.model_validate(answer), {"n": found, "events": 100.0, "rows": 50})
    assert is_wrong is wrong
    assert (", not " in words) is wrong


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"command": ["{program}", "{adress}"]}, "command: {adress} is not known here; there is address, "),
        ({"command": ["-p{password}"]}, "{password} is not known here; there is the password, in `environment` and"),
        ({"prepare": [{"command": ["{workload}"]}]}, "prepare: {workload} is not known here"),
        ({"loop": "open", "rate": []}, "an open loop needs the words of its `rate`"),
        ({"answers": [{"of": "events", "grows_by": 1}]}, "answers: events is to grow, and `ask` does not ask it"),
        ({"answers": [{"of": "n", "is": 1, "workloads": ["write"]}]}, "answers: `workloads` has no write"),
        ({"answers": [{"of": "n"}]}, "an answer says one of `is` and `grows_by`"),
        ({"ask": {"n": {"command": ["x"], "pattern": "("}}}, "missing )"),
        ({"comand": []}, "comand"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_name(home: Home, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput) as problem:
        generator(home, **changes)
    assert said in str(problem.value)
    assert "env/workloads/mine.yaml" in str(problem.value)


def test_it_is_not_called_as_a_probe_is(home: Home) -> None:
    home.write("env/workloads/redis.yaml", {"title": "mine", "forms": [FORM], "run": RUN})
    with pytest.raises(BadInput, match="a probe has this name already"):
        workloads.generator("redis")
