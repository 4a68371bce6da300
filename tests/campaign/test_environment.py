"""environment.json and plan.json as models: what was recorded is read, and written as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kit import FIXTURES

from benchbook.campaign.environment import Environment, RunTimes, SystemDescription
from benchbook.campaign.record import RecordBroken
from benchbook.campaign.store import Campaign
from benchbook.hosts.host_models import HostFacts, Survey

CAMPAIGNS = FIXTURES / "campaigns"
RECORDED = sorted(path.parent for path in CAMPAIGNS.glob("*/*/environment.json"))


def written(value: object) -> str:
    return json.dumps(value, indent=1, default=str)


@pytest.mark.parametrize("folder", RECORDED, ids=lambda folder: folder.name)
def test_recorded_files_are_written_byte_for_byte_as_they_were(folder: Path) -> None:
    # The fixtures stand there with another indentation; keys, their order and the kind of every number are compared.
    environment, plan = (json.loads((folder / name).read_text()) for name in ("environment.json", "plan.json"))
    made = Campaign(folder)
    assert written(made.environment().model_dump()) == written(environment)
    assert written(made.plan.model_dump()) == written(plan)


def test_a_note_replaces_its_keys_and_adds_new_ones_at_the_end(tmp_path: Path) -> None:
    plan = {"version": 1, "report": "r", "seed": 1, "asked": {"inventory": "lab"}, "trials": []}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    made = Campaign(tmp_path)
    surveyed = Survey(hosts={"db1": HostFacts(cores=2)}, findings=[], tuned={})
    made.note(Environment.of(surveyed, load_generator="ab 2.3"))
    made.note(Environment(systems={"x": SystemDescription(name="x", version="1")}))
    made.note(Environment(hosts={"db1": HostFacts(cores=2, kernel="6.1")}, runs=[RunTimes(began=1.0, ended=3.5)]))
    about = json.loads((tmp_path / "environment.json").read_text())
    assert list(about) == ["hosts", "findings", "tuned", "load_generator", "systems", "runs"]
    assert about["hosts"] == {"db1": {"cores": 2, "kernel": "6.1"}}
    assert about["systems"] == {"x": {"name": "x", "version": "1"}}
    assert (made.spent_s, made.inventory, made.profile) == (2.5, "lab", "")


def test_what_is_no_environment_is_said_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(json.dumps({"report": "r", "seed": 1, "asked": {}, "trials": []}))
    (tmp_path / "environment.json").write_text('{"hosts": {"db1": {"cores": "many"}}}')
    with pytest.raises(RecordBroken, match=r"environment\.json: not a campaign's environment: [^$]*hosts\.db1\.cores"):
        Campaign(tmp_path).environment()


def test_which_hosts_are_one_machine() -> None:
    boots = {"a": "b1", "b": "b1", "c": "b2", "d": "", "e": ""}
    about = Survey(hosts={name: HostFacts(boot_id=boot) for name, boot in boots.items()})
    assert {name: about.shares_machine(name) for name in (*boots, "nowhere")} == {
        "a": True, "b": True, "c": False, "d": False, "e": False, "nowhere": False,
    }  # fmt: skip
    assert [about.machine_of(name) for name in (*boots, "nowhere")] == ["b1", "b1", "b2", "d", "e", "nowhere"]
