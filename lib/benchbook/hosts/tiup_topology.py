"""A TiUP topology.yaml as part of an inventory: its PD, TiKV and TiDB hosts, ports, programs and settings.

The other sections (monitoring, TiFlash, ...) are left alone: nothing of theirs is started. What changes how a server
runs and is not taken over is refused, so that a cluster never differs from its topology unnoticed.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from benchbook.errors import BadInput
from benchbook.yamlfile import load_model

# What TiUP takes where the file says nothing.
USER, DEPLOY_DIR = "tidb", "deploy"
Written = dict[str, object]
NO_LIMITS = "limits that systemd keeps (memory, CPU, I/O) are not taken over"
REMOVE = "remove it in a copy of the file, if the cluster is to be measured without"


class _Part(BaseModel):
    """Of the many keys of a topology only these matter here."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


class TiupGlobal(_Part):
    """What holds for all instances."""

    user: str = USER
    ssh_port: int | None = None
    deploy_dir: str = DEPLOY_DIR
    data_dir: str | None = None
    enable_tls: bool = False
    resource_control: Written | None = None
    pd_mode: str = ""

    def folder(self, path: str) -> str:
        """A folder as TiUP places it: a relative one lies in the user's home."""
        return posixpath.join("/home", self.user, path)


class TiupInstance(_Part):
    """One server; `port` is `client_port` for PD."""

    host: str
    ssh_port: int | None = None
    port: int | None = None
    client_port: int | None = None
    peer_port: int | None = None
    status_port: int | None = None
    deploy_dir: str | None = None
    config: Written = {}
    numa_node: str | int | None = None
    numa_cores: str | int | None = None
    resource_control: Written | None = None


class TiupTopology(_Part):
    """The sections that make a cluster."""

    overall: TiupGlobal = Field(TiupGlobal(), alias="global")
    server_configs: dict[str, Written | None] = {}
    pd_servers: list[TiupInstance] = Field(min_length=1)
    tikv_servers: list[TiupInstance] = Field(min_length=1)
    tidb_servers: list[TiupInstance] = Field(min_length=1)


class Section:
    """One kind of server: `component` is what TiUP calls it, `system` what an inventory does."""

    def __init__(self, component: str, system: str, port: int, instances: Sequence[TiupInstance], file: Path) -> None:
        self.component, self.system, self.standard, self.file = component, system, port, file
        self.instances = instances
        for instance in instances:
            self._only_what_is_taken_over(instance)
        addresses = [instance.host for instance in instances]
        if len(set(addresses)) < len(addresses):
            raise self._refused("host", addresses, "two servers of one kind on one host", "leave one on each host")

    def _only_what_is_taken_over(self, instance: TiupInstance) -> None:
        if instance.config:
            fix = f"move it to server_configs.{self.component}"
            raise self._refused("config", sorted(instance.config), "one server with settings of its own", fix)
        fix = "remove it here, and give the host its `cpus` in the inventory"
        for key, value in (("numa_node", instance.numa_node), ("numa_cores", instance.numa_cores)):
            if value is not None:
                raise self._refused(key, value, "NUMA nodes are not taken over", fix)
        if instance.resource_control:
            raise self._refused("resource_control", instance.resource_control, NO_LIMITS, REMOVE)

    def settings(self, overall: TiupGlobal, config: Mapping[str, object]) -> Written:
        """The inventory's section `systems.NAME`."""
        ports = {
            "port": self._common("port", [self._port(one) for one in self.instances]),
            "status_port": self._common("status_port", [one.status_port for one in self.instances]),
            "peer_port": self._common("peer_port", [one.peer_port for one in self.instances]),
        }
        folders = [overall.folder(posixpath.join(overall.deploy_dir, self._folder(one))) for one in self.instances]
        binary = f"{self._common('deploy_dir', folders)}/bin/{self.component}-server"
        given = {key: value for key, value in ports.items() if value is not None}
        return {**given, "binary": binary, "settings": dict(_flat(config))}

    def _port(self, instance: TiupInstance) -> int | None:
        return instance.client_port or instance.port

    def _folder(self, instance: TiupInstance) -> str:
        return instance.deploy_dir or f"{self.component}-{self._port(instance) or self.standard}"

    def _common(self, key: str, values: Sequence[object]) -> object:
        if len(set(values)) > 1:
            fix = "give all servers of this kind the same one"
            raise self._refused(key, values, "one for all servers of a kind is taken over", fix)
        return values[0]

    def _refused(self, key: str, value: object, problem: str, fix: str) -> BadInput:
        return BadInput(problem, file=self.file, key=f"{self.component}_servers.*.{key}", value=value, fix=fix)


def with_topology(values: Mapping[str, object], file: Path) -> Written:
    """The keys of an inventory with the hosts and systems of the TiUP topology in `file` added.

    A host of the inventory that has an address of the topology takes its roles; what the inventory says of a host or a
    system comes last. Raises BadInput.
    """
    if not all(isinstance(values.get(key, {}), dict) for key in ("hosts", "ssh", "systems")):
        return dict(values)  # whoever reads the inventory says what is wrong with it
    topology = load_model(TiupTopology, file)
    _only_what_is_taken_over(topology.overall, file)
    sections = (
        Section("pd", "pd", 2379, topology.pd_servers, file),
        Section("tikv", "tikv", 20160, topology.tikv_servers, file),
        Section("tidb", "tidb_cluster", 4000, topology.tidb_servers, file),
    )
    systems = _mapping(values.get("systems"))
    for section in sections:
        imported = section.settings(topology.overall, topology.server_configs.get(section.component) or {})
        systems[section.system] = {**imported, **_mapping(systems.get(section.system))}
    return {**values, "hosts": _hosts(values, topology.overall, sections), "systems": systems}


def _only_what_is_taken_over(overall: TiupGlobal, file: Path) -> None:
    refused = (
        ("enable_tls", overall.enable_tls, "TLS is not taken over"),
        ("resource_control", overall.resource_control, NO_LIMITS),
        ("pd_mode", overall.pd_mode, "PD as microservices is not taken over"),
    )
    for key, value, problem in refused:
        if value:
            raise BadInput(problem, file=file, key=f"global.{key}", value=value, fix=REMOVE)


def _hosts(values: Mapping[str, object], overall: TiupGlobal, sections: Sequence[Section]) -> Written:
    hosts: dict[str, Written] = {name: _mapping(host) for name, host in _mapping(values.get("hosts")).items()}
    names = {str(host.get("address")): name for name, host in hosts.items()}
    for section in sections:
        for number, instance in enumerate(section.instances, start=1):
            name = names.setdefault(instance.host, _free(f"{section.component}{number}", hosts))
            host = hosts[name] = {**_of_topology(values, overall, instance), **hosts.get(name, {})}
            told = host.get("roles", [])
            # What is no list whoever reads the inventory refuses.
            host["roles"] = [*told, section.component] if isinstance(told, list) else told
    return dict(hosts)


def _free(name: str, hosts: Mapping[str, Written]) -> str:
    """A host of the inventory may have this name, and another address."""
    while name in hosts:
        name = f"tiup-{name}"
    return name


def _of_topology(values: Mapping[str, object], overall: TiupGlobal, instance: TiupInstance) -> Written:
    """What it says of a host; what the inventory says of the same one comes last."""
    door = instance.ssh_port or overall.ssh_port
    return {
        "address": instance.host,
        **({"ssh_port": door} if door else {}),
        **({} if "user" in _mapping(values.get("ssh")) else {"user": overall.user}),
        **({"workdir": f"{overall.folder(overall.data_dir)}/benchbook"} if overall.data_dir else {}),
    }


def _mapping(value: object) -> Written:
    """A copy; of what is no mapping whoever reads the inventory says so."""
    return dict(value) if isinstance(value, dict) else {}


def _flat(config: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    """`{a: {b: 1}}` and `{a.b: 1}` are the same setting."""
    for key, value in config.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value
