"""The Python of the client host that has this kit: it runs our own transfer, loads the data set and proves the copy."""

from __future__ import annotations

import json
import os
import sys
import sysconfig
from pathlib import Path

from benchbook import paths
from benchbook.errors import HostUnusable, SystemFailed, TrialFailed
from benchbook.hosts.agent import Command
from benchbook.hosts.fanout import in_parallel
from benchbook.hosts.host import Host
from benchbook.hosts.host_models import Json
from benchbook.hosts.lab_host import has_account
from benchbook.hosts.session import Session
from benchbook.systems.mongo import MongoServer
from mongo_transfer.settings import MongoEndpoint

PROGRAM = "benchbook-python"
# Of the data set, on both servers.
DATABASE = "ddt"
# What a tool does to the documents takes seconds for a million; what hangs must not hang the campaign.
_LEAST_S, _PER_DOCUMENT_S = 600.0, 0.002


def python(host: Host) -> str:
    """Its path there: named by the inventory, or in a lab the driver's own. Raise HostUnusable if it lacks the kit."""
    inventory = host.inventory
    program = python_path(host)
    words = [f"{key}={value}" for key, value in environment(host).items()]
    asked = host.run(["env", *words, program, "-c", "import mongo_transfer.command"], check=False)
    if asked.exited != 0:
        raise HostUnusable(
            f"this Python on host {host.name} cannot run the transfer",
            file=inventory.file,
            key=f"programs.{PROGRAM}",
            value=program,
            fix="on that host make a virtual environment, `pip install` this project into it, and name "
            f"its python under `programs: {{{PROGRAM}: ...}}`",
        )
    return program


def environment(host: Host) -> dict[str, str]:
    """A lab's hosts are this machine: they take the kit, and its packages, from where the driver has them."""
    places = [str(Path(paths.__file__).parents[1]), sysconfig.get_path("purelib")]
    return {"PYTHONPATH": os.pathsep.join(places)} if host.inventory.lab else {}


def longest_s(documents: int) -> float:
    """Return how long a tool may take over so many documents."""
    return _LEAST_S + _PER_DOCUMENT_S * documents


def tool(session: Session, host: Host, name: str, server: MongoEndpoint, *options: object, within_s: float) -> Json:
    """Run `python -m mongo_transfer.tools NAME` on the host, for the data set's database on this server.

    Return the JSON it prints, {} without any. Raise SystemFailed with its last words.
    """
    secrets = {"password": server.password} if server.password else {}
    files = ["--password-file", "{job}/password"] if secrets else []
    where = ["--url", server.url, "--database", DATABASE]
    argv = [python_path(host), "-m", "mongo_transfer.tools", name, *where, *options, *files]
    command = Command(argv, timeout_s=within_s, env=environment(host), secrets=secrets)
    with session.following(host, f"tool-{name}", command) as job:
        ended = job.wait(every_s=0.1)
        if outside := ended.from_outside(f"{name} of the data set on {host.name}"):
            raise SystemFailed(outside)
        if ended.exit != 0:
            said = job.stderr().strip()[-500:] or f"ended with {ended.exit}"
            raise SystemFailed(f"{name} of the data set: {said}")
        stdout = job.stdout().decode(errors="replace")
    found: Json = json.loads(stdout) if stdout.strip() else {}
    return found


def python_path(host: Host) -> str:
    """As `python`, without asking the host again."""
    # Root's own Python may lie where the account that runs root's labs cannot reach it.
    own = host.inventory.lab and not has_account()
    return host.inventory.programs.get(PROGRAM, sys.executable if own else "python3")


def prove_copy(
    session: Session, client: Host, source: MongoServer, target: MongoServer, *, documents: int, output: str
) -> Json:
    """Return the evidence, for a record, that both sides hold the same `documents`: each is read back whole.

    Raise TrialFailed with the engine's `output` on any difference, SystemFailed where a side cannot be read.
    """

    def read(server: MongoServer) -> dict[str, Json]:
        found = tool(session, client, "digest", server.endpoint, within_s=longest_s(documents))
        return {each["namespace"]: each for each in found["collections"]}

    ours, theirs = in_parallel(lambda: read(source), lambda: read(target))
    names = sorted({*ours, *theirs})
    found = [{"namespace": name, "source": ours.get(name), "target": theirs.get(name)} for name in names]
    wrong = [str(each["namespace"]) for each in found if each["source"] != each["target"]]
    held = sum(int(each["documents"]) for each in ours.values())
    if wrong or held != documents:
        raise TrialFailed(
            f"source and target differ after the transfer ({', '.join(wrong) or 'in number'}); the source holds "
            f"{held} of {documents} documents",
            output=output + json.dumps(found),
        )
    return {"agrees": True, "documents": held, "collections": found}
