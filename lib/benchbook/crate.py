"""A campaign packed for a deposit: one zip, described as an RO-Crate of the profile Workflow Run Crate.

The notebook is the workflow, the campaign the action that ran it, and each trial an action of the load generator
(https://w3id.org/ro/wfrun/workflow/0.5).
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console
from rocrate.model.computerlanguage import ComputerLanguage
from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from benchbook import paths, published
from benchbook.campaign import max_rate
from benchbook.campaign.max_rate import FOLDER
from benchbook.campaign.record import Record, RecordBroken, load_series
from benchbook.campaign.store import Campaign
from benchbook.compare import address
from benchbook.errors import BadInput, writing
from benchbook.user_input import notebook_file

PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
_PARAMETER = "https://bioschemas.org/profiles/FormalParameter/1.0-RELEASE"
_TYPES = {bool: "Boolean", int: "Integer", float: "Float", str: "Text"}
_DONE, _FAILED = "http://schema.org/CompletedActionStatus", "http://schema.org/FailedActionStatus"
# What the campaign's run left, beside its records: name -> what it is.
_OUTPUTS = {
    paths.RESULTS: "verdicts and tables, published beside measured",
    paths.EXECUTED: "the notebook as it ran, with its figures",
    "environment.json": "hosts, systems with versions and settings, and what was waived",
}
_FORMATS = {".json": "application/json", ".ipynb": "application/x-ipynb+json"}
Entity = Any


class CampaignCrate:
    """One campaign and what is said of it; `license` is the address of the one that its data are given under."""

    def __init__(self, campaign: Campaign, license: str) -> None:
        self.campaign = campaign
        self.report = published.load(campaign.report).report
        self._executed = _executed(campaign)
        self._environment, self._records = campaign.environment(), campaign.records()
        # The version that the profiles build on.
        self._crate = ROCrate(version="1.1")
        self._describe(license)
        self._actions: list[Entity] = []
        self._tools = self._versions()
        self._workflow = self._notebook()
        # In the place of what the library says by itself.
        profiles = [self._entity(at, "CreativeWork", name=name) for at, name in PROFILES.items()]
        self._crate.root_dataset["conformsTo"] = profiles
        self._run()

    def write(self, path: Path) -> None:
        """Write all of it as one zip; its folders are in it by name, as they are in what is said of it."""
        with tempfile.TemporaryDirectory(prefix="crate-", dir=path.parent) as folder:
            self._crate.write(folder)
            shutil.make_archive(str(path.with_suffix("")), "zip", folder)

    def _describe(self, license: str) -> None:
        done, planned = len(self._records), len(self.campaign.trials)
        self._crate.name = f"{self.report.title}: measured anew, campaign {self.campaign.id}"
        self._crate.description = (
            f"Records of {done} of {planned} trials that restage {self.report.title}, with their seconds, the plan, "
            f"the environment, the published tables{' and the executed notebook' if self._executed else ''}. "
            "Failed attempts and measurements that something interfered with are there with their reasons."
        )
        self._crate.license = self._entity(license, "CreativeWork", name=license.rpartition("/")[2], url=license)

    def _entity(self, identifier: str, kind: str | Sequence[str], **more: object) -> Entity:
        return self._crate.add(ContextEntity(self._crate, identifier, {"@type": kind, **more}))

    def _versions(self) -> dict[str, Entity]:
        """Return the programs that took part, the load generator under the name "load"."""
        known = {"benchbook": ("Benchbook", "; then ".join(self._environment.measured_by))}
        known |= {name: (one.title or name, one.version) for name, one in self._environment.systems.items()}
        name, _, version = (self._environment.load_generator or "").partition(" ")
        known |= {"load": (name, version)} if name else {}
        return {
            key: self._entity(
                f"#program-{key}", "SoftwareApplication", name=title, softwareVersion=version or "unknown"
            )
            for key, (title, version) in known.items()
        }

    def _notebook(self) -> Entity:
        file = paths.notebook(self.campaign.report)
        language = {"name": "Jupyter Notebook", "url": {"@id": "https://jupyter.org/"}}
        jupyter = self._crate.add(ComputerLanguage(self._crate, "https://jupyter.org/", language))
        said = {
            "name": self.report.title,
            "encodingFormat": _FORMATS[file.suffix],
            "softwareRequirements": list(self._tools.values()),
        }
        return self._crate.add_workflow(file, file.name, main=True, lang=jupyter, properties=said)

    def _run(self) -> None:
        """The action that ran the notebook, with all that it used and left."""
        plan = self._file("plan.json", name="the plan of all trials")
        tables = paths.published_dir(self.campaign.report)
        printed = self._crate.add_dataset(tables, "published/", properties={"name": "the published tables"})
        given = [(self._formal(name, value), name, value) for name, value in self._parameters.items()]
        values = [
            self._entity(f"#value-{name}", "PropertyValue", name=name, value=value, exampleOfWork=parameter)
            for parameter, name, value in given
        ]
        self._workflow["input"] = [parameter for parameter, _, _ in given]
        left = [*self._outputs(), *self._searches()]
        trials = self._attempts(self.campaign, plan)
        began, ended = self._span
        about = {"name": f"campaign {self.campaign.id}", "startTime": began, "endTime": ended, "actionStatus": _DONE}
        used, result = [plan, printed, *values], [*left, *trials]
        run = self._crate.add_action(self._workflow, "#campaign", object=used, result=result, properties=about)
        self._crate.root_dataset["mentions"] = [run, *self._actions]
        self._crate.root_dataset["keywords"] = f"benchmark, {', '.join(self._environment.systems)}"

    @cached_property
    def _parameters(self) -> dict[str, str | int | float | bool]:
        """What the notebook was given, as it notes it itself; else what the plan asked for."""
        noted = self._executed.get("metadata", {}).get("papermill") or {}
        given: Mapping[str, object] = noted.get("parameters") or self.campaign.asked
        return {name: value for name, value in given.items() if isinstance(value, str | int | float | bool)}

    def _formal(self, name: str, value: object) -> Entity:
        said = {"name": name, "additionalType": _TYPES[type(value)], "conformsTo": {"@id": _PARAMETER}}
        return self._entity(f"#parameter-{name}", "FormalParameter", **said)

    def _outputs(self) -> list[Entity]:
        there = {name: what for name, what in _OUTPUTS.items() if (self.campaign.folder / name).is_file()}
        said = {"additionalType": "File", "conformsTo": {"@id": _PARAMETER}}
        formal = {name: self._entity(f"#output-{name}", "FormalParameter", name=name, **said) for name in there}
        self._workflow["output"] = list(formal.values())
        return [self._file(name, name=what, exampleOfWork=formal[name]) for name, what in there.items()]

    def _searches(self) -> list[Entity]:
        """Return the searches for the knee: the plan and the environment of each, and the folders of its loads."""
        begun = [search for search in max_rate.of(self.campaign) if search.records()]
        return [entity for search in begun for entity in self._search(search)]

    def _search(self, search: Campaign) -> list[Entity]:
        below = f"{FOLDER}/{search.id}"
        keeps = f"the search for the highest rate with a p99 of {search.asked['slo']['p99_ms']:g} ms"
        plan = self._file(f"{below}/plan.json", name=f"{keeps}: all its loads, in their order")
        about = [self._file(f"{below}/environment.json", name=f"{keeps}: hosts and systems")]
        return [plan, *about, *self._attempts(search, plan, f"{below}/")]

    def _file(self, file: str, **said: object) -> Entity:
        """One of the campaign's own."""
        path = self.campaign.folder / file
        return self._crate.add_file(path, file, properties={"encodingFormat": _FORMATS[path.suffix], **said})

    def _attempts(self, campaign: Campaign, plan: Entity, below: str = "") -> list[Entity]:
        """Add an action for each attempt at a trial, and return the folders of those that count.

        A failed one, and a measurement that does not count, is there with its reason, and is no result.
        """
        for record in campaign.attempts():
            self._attempt(record, plan, f"{below}failed", record.failure.message if record.failure else "")
        for record in campaign.disturbed():
            self._attempt(record, plan, f"{below}disturbed", "; ".join(record.disturbed))
        return [self._attempt(record, plan, f"{below}trials") for record in campaign.records()]

    def _attempt(self, record: Record, plan: Entity, below: str, why: str | None = None) -> Entity:
        """Add the folder of an attempt, and the action that filled it; return the folder."""
        where = f"{below}/{record.id}"
        name = f"trial {record.id}" if why is None else f"attempt {record.id}"
        said = {"name": name, "description": "record.json, series.parquet (a row per sample), output.txt"}
        _refuse_broken(self.campaign.folder / where)
        folder = self._crate.add_dataset(self.campaign.folder / where, f"{where}/", properties=said)
        about = {
            "name": name,
            **({"startTime": _moment(record.started), "endTime": _moment(record.ended)} if record.started else {}),
            **({"actionStatus": _DONE} if why is None else {"actionStatus": _FAILED, "error": why}),
            **({"description": record.command} if record.command else {}),
        }
        tool = self._tools.get("load", self._tools["benchbook"])
        # By its name, so that the same campaign has the same identifiers in every crate.
        name = f"#action-{below.replace('/', '-')}-{record.id}"
        self._actions.append(self._crate.add_action(tool, name, object=plan, result=folder, properties=about))
        return folder

    @property
    def _span(self) -> tuple[str, str]:
        """When the campaign's runs began and ended; where nobody noted it, its first and its last load."""
        runs = [(run.began, run.ended) for run in self._environment.runs]
        began, ended = zip(*(runs or [(record.started, record.ended) for record in self._records]), strict=True)
        return _moment(min(began)), _moment(max(ended))


def _executed(campaign: Campaign) -> Mapping[str, Any]:
    """Return the executed notebook; empty where there is none. Raise BadInput for a file that is no notebook."""
    path = campaign.folder / paths.EXECUTED
    if not path.is_file():
        return {}
    return notebook_file.read(path, fix=f"draw it anew: benchbook site {campaign.id}")


def _refuse_broken(trial: Path) -> None:
    """Raise BadInput for a series that nobody could read: a deposit is what is left when the records are gone."""
    try:
        load_series(trial)
    except RecordBroken as problem:
        fix = "bring the file back, or move the trial's folder elsewhere: the crate says how many trials it holds"
        said = f"{problem.file}: {problem.problem}"
        raise BadInput(said, key="campaign", value=trial.name, fix=fix) from problem


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


# The kit's own; data of yours may need another one.
LICENSE = "https://spdx.org/licenses/Apache-2.0"
CRATE = "crate.zip"
_ADDRESS = re.compile(r"https?://[^\s/]\S*")


def archive(campaign: str, out: str, license: str, console: Console) -> Path:
    """Pack the campaign at this address (see `compare.address`) and say where it is; returns its path.

    Without `out` it stands in the site, beside the campaign's page. `license` is an address on the web. Raise
    BadInput, also for a folder of `out` that is not there, and where `out` is one; NotWritten.
    """
    _check(out, license)
    found = address.find(campaign)
    target = Path(out) if out else paths.site_dir() / found.report / found.id / CRATE
    # Another process may pack the same at the same time.
    partial = target.with_name(f"{target.stem}.{os.getpid()}.partial.zip")
    crate = CampaignCrate(found, license)
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            crate.write(partial)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    console.print(f"{target} ({target.stat().st_size / 1e6:.1f} MB)", markup=False)
    done, planned = len(found.done()), len(found.trials)
    if done < planned:
        said = f"not finished: {found.id} has {done} of {planned} trials; `benchbook runs` lists the others"
        console.print(said, style="yellow", markup=False)
    return target


def _check(out: str, license: str) -> None:
    def refused(said: str, fix: str) -> BadInput:
        return BadInput(said, key="out", value=out, fix=fix)

    if not _ADDRESS.fullmatch(license):
        fix = f"give its address, such as {LICENSE}"
        raise BadInput("is no address of a licence", key="license", value=license, fix=fix)
    if out and Path(out).is_dir():
        raise refused("is a folder", f"name the zip that is to stand there: {shlex.quote(str(Path(out) / CRATE))}")
    if out and Path(out).exists() and not Path(out).is_file():
        raise refused("is no file", "name a file: the zip would replace this device or pipe")
    if out and not Path(out).parent.is_dir():
        fix = f"make the folder first: mkdir -p {shlex.quote(str(Path(out).parent))}"
        raise refused("the folder that the zip is to stand in is not there", fix)
