"""A probe that is to run on a host: its file, and what its `sample` is called with there."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from benchbook.errors import BadInput
from benchbook.hosts.agent import Command, remote_program
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.host import Host
from benchbook.hosts.reservation import boot_id
from benchbook.probes import probe_file
from benchbook.probes.probe_file import DOCUMENTS, OTHERS, PROCESS, ProbeFile, find

# A probe stands as long as a session; its job still has an end, in case all else fails.
LONGEST_S = 2 * 86_400


@dataclass(frozen=True)
class Probe:
    """One probe to start on `host`; `about` is what the series call it, the host or the server that it watches.

    `given` goes to `sample` by name. One that is not `standing` lives for a trial. `python` runs it, or the host's own;
    `env` are environment variables that are set for it.
    """

    file: ProbeFile
    host: Host
    about: str
    given: Mapping[str, object] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    every_s: float = 1.0
    standing: bool = True
    python: str = ""
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its source in the series."""
        return self.file.name

    @property
    def key(self) -> tuple[str, ...]:
        """Two with the same key would sample the same."""
        return (self.host.name, self.name, self.about, self._given())

    def _given(self) -> str:
        """JSON; a secret is null there, for command lines can be read by anybody on the host."""
        return json.dumps({**self.given, **dict.fromkeys(self.secrets)})

    def command(self) -> Command:
        """Return the command line (see remote/run_probe.py), after pushing what it needs to the host."""
        runner = self.host.push(remote_program("probes", "run_probe.py"))
        program = self.host.push(self.file.path)
        zips = [self.host.push(probe_file.zipped(name, self.file.path)) for name in self.file.needs]
        argv = [self.python or self.host.python, runner, "{job}/samples", self.every_s, program, self._given(), *zips]
        return Command(argv, timeout_s=LONGEST_S, secrets=self.secrets, env=self.env)


def make(name: str, host: Host, endpoint: Endpoint | None = None, *, every_s: float = 1.0) -> Probe:
    """The probe of this name: of the server at `endpoint`, or of the machine. Raise BadInput for an unknown one."""
    return replace(of_file(find(name), host, endpoint), every_s=every_s)


def of_file(file: ProbeFile, host: Host, endpoint: Endpoint | None = None, about: str = "") -> Probe:
    """As `make`, of a file that has been read: for several hosts, or servers, once."""
    if not file.of_server:
        return Probe(file, host, about or host.name, _of_machine(file, host))
    if endpoint is None:
        raise BadInput("this probe watches a server", key="probes", value=file.name, fix="let a system name it")
    known = {"address": endpoint.address, "port": endpoint.port, "user": endpoint.user, "tls": False}
    given = {name: value for name, value in known.items() if name in file.takes}
    # No secret, but longer than a word of a command line may be.
    files = {"password": endpoint.password, **({"tls": endpoint.tls_ca} if endpoint.tls else {})}
    secrets = {name: content for name, content in files.items() if name in file.takes}
    return Probe(file, host, about or host.name, given, secrets)


def _of_machine(file: ProbeFile, host: Host) -> dict[str, object]:
    """Return what a probe of a machine asks for: where its servers listen, and where SSH came to."""
    reached_at = (host.address, host.probe().own_address) if "reached_at" in file.takes else ()
    return {"reached_at": reached_at} if reached_at else {}


def of_profile(
    names: Iterable[str], machines: Iterable[Host], servers: Iterable[tuple[Host, Endpoint, str]]
) -> list[Probe]:
    """The probes that a profile names: each watches every machine, or, if it asks for a server's address, every server.

    A server is (the host that watches it, where it listens, what the series call it).
    """
    watched, seen = list(machines), list(servers)
    files = [find(name) for name in names]
    of_machines = [of_file(file, host) for file in files if not file.of_server for host in watched]
    return [*of_machines, *(of_file(file, *one) for file in files if file.of_server for one in seen)]


def of_jobs(host: Host, jobs: Mapping[str, str], *, every_s: float = 1.0) -> Probe:
    """CPU and memory of a trial's jobs on this host, by label: `jobs` maps it to the name that the job starts under."""
    file = probe_file.read(remote_program("probes", "process_probe.py"), PROCESS, gives=("jobs",))
    patterns = {label: host.path("jobs", f"{name}-*", "pid") for label, name in jobs.items()}
    return Probe(file, host, host.name, {"jobs": patterns}, every_s=every_s, standing=False)


def of_prometheus(host: Host, source: str, url: str, match: str, *, every_s: float = 1.0) -> Probe:
    """The endpoint's series whose beginnings match, for `prometheus.scraped`, by the name `source`; scraped on `host`.

    It lives for a trial, so that its first sample and its last are those of the trial's begin and end. Raise re.error
    for a pattern that is none.
    """
    re.compile(match)
    file = probe_file.read(remote_program("probes", "prometheus_probe.py"), source, gives=("url", "match"))
    return Probe(file, host, host.name, {"url": url, "match": match}, every_s=every_s, standing=False)


def of_documents(
    host: Host, about: str, url: str, database: str, password: str | None, *, python: str, env: Mapping[str, str]
) -> Probe:
    """Documents that the server `about` holds in a database, counted from `host`.

    `python` is one there that has PyMongo, where these environment variables (`env`) are set.
    """
    gives = ("url", "database", "password")
    file = probe_file.read(remote_program("probes", "documents_probe.py"), DOCUMENTS, gives=gives)
    secrets = {"password": password} if password else {}
    return Probe(file, host, about, {"url": url, "database": database}, secrets, python=python, env=env)


def of_others(hosts: Iterable[Host]) -> list[Probe]:
    """CPU of the programs that are no part of the run, on each machine; the hosts of a lab are one."""
    file = probe_file.read(remote_program("probes", "others_probe.py"), OTHERS, gives=("driver",))
    # On its own machine the driver is a part of the run: this process with its children, and what waits for it.
    driver = {"boot": boot_id(), "pids": [os.getpid(), os.getppid()]}
    machines: dict[str, Host] = {}
    for host in hosts:
        # What every program moved to and from the disk is for root to ask.
        machines.setdefault(host.machine, host.by_root)
    return [Probe(file, host, host.name, {"driver": driver}) for host in machines.values()]
