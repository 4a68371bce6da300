"""A TiUP topology.yaml as part of an inventory: its PD, TiKV and TiDB hosts, ports, programs and settings.

The other sections (monitoring, TiFlash, ...) are left alone: nothing of theirs is started. What changes how a server
runs and is not taken over is refused, so that a cluster never differs from its topology unnoticed.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, model_validator
from pydantic_core import PydanticCustomError

from benchbook.errors import BadInput
from benchbook.hosts.endpoint import at
from benchbook.hosts.fields import Account, Address, Location, Port, Settings
from benchbook.user_input.choices import typo_of
from benchbook.user_input.yaml_file import load_model

# What TiUP takes where the file says nothing; a relative folder of data lies in that of the deployed server, and one of
# a server's programs in the user's home, whatever `global` says (pkg/cluster/spec: setCustomDefaults, Abs).
USER, DEPLOY_DIR, DATA_DIR = "tidb", "deploy", "data"
PORTS: Mapping[str, Mapping[str, int]] = {
    "pd": {"port": 2379, "peer_port": 2380},
    "tikv": {"port": 20160, "status_port": 20180},
    "tidb": {"port": 4000, "status_port": 10080},
}
ANYWHERE = ("0.0.0.0", "::")
Written = dict[str, object]
REMOVE = "remove it in a copy of the file, if the cluster is to be measured without"
# Keys of what DM reads: its topology, a task, a source (dm/config of tiflow; `dm-` by people).
OF_DM = frozenset(
    "master_servers worker_servers dm-master_servers dm-worker_servers task-mode mysql-instances target-database "
    "source-id routes block-allow-list black-white-list".split()
)
DM_S = "it is a file of DM, from which nothing is taken over"
AS_ROLES = (
    "give the roles client, mysql, tidb, dm-master and dm-worker to hosts of an inventory; what a task sets stands in "
    "the tables of DM's reports (docs/reference/parameters.md: worker_counts, pool_sizes)"
)
IN_A_COPY = "in a copy of the file that `topology` names"
NO_NUMA = ("NUMA nodes are not taken over", f"remove it {IN_A_COPY}, and give the host its `cpus` in the inventory")
# What changes how servers run where it is set, and is refused for that: why, and what to do.
NOT_TAKEN_OVER = {
    "enable_tls": ("TLS is not taken over", REMOVE),
    "pd_mode": ("PD as microservices is not taken over", REMOVE),
    "resource_control": ("limits that systemd keeps (memory, CPU, I/O) are not taken over", REMOVE),
    "numa_node": NO_NUMA,
    "numa_cores": NO_NUMA,
    "offline": (
        "this server is being taken out of the cluster",
        f"let TiUP finish that (`tiup cluster prune`), or remove the server {IN_A_COPY}",
    ),
}


def _no_slips(keys: Iterable[object], known: Iterable[str]) -> None:
    for key in keys:
        if near := typo_of(str(key), known):
            said = {"key": key, "near": near}
            raise PydanticCustomError("slip", "there is no such key: {key}, did you mean {near}?", said)


def _flat(config: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    for key, value in config.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        elif value is not None:
            yield f"{before}{key}", value


def _flattened(config: object) -> object:
    """Return settings by full name: `{a: {b: 1}}` and `{a.b: 1}` are the same; one without a value is left out."""
    return dict(_flat(config)) if isinstance(config, dict) else config


Flat = Annotated[Written, BeforeValidator(_flattened)]
FlatSettings = Annotated[Settings, BeforeValidator(_flattened)]


class _Part(BaseModel):
    """Of the many keys of a topology only these matter here; TiUP (pkg/cluster/spec) has those `beside` them too."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True, coerce_numbers_to_str=True)
    beside: ClassVar[Sequence[str]] = ()

    @model_validator(mode="before")
    @classmethod
    def _as_tiup_reads_it(cls, given: object) -> object:
        """Leave out keys with nothing behind them (all below commented out), and blanks around a text, as TiUP does."""
        if not isinstance(given, dict):
            return given
        known = {field.alias or name for name, field in cls.model_fields.items()}
        _no_slips([key for key in given if key not in cls.beside], {*known, *cls.beside})
        stripped = {key: each.strip() if isinstance(each, str) else each for key, each in given.items()}
        return {key: each for key, each in stripped.items() if each is not None}


class TiupGlobal(_Part):
    """What holds for all instances."""

    beside = ("group", "ssh_type", "log_dir", "os", "arch", "custom", "systemd_mode")
    user: Account = USER
    ssh_port: Port | None = None
    deploy_dir: Location = DEPLOY_DIR
    data_dir: Location | None = None
    enable_tls: StrictBool = False
    resource_control: Flat = {}
    listen_host: str = ""
    pd_mode: str = ""

    def folder(self, path: str) -> str:
        """Return a folder as TiUP places it: a relative one lies in the user's home."""
        return posixpath.normpath(posixpath.join("/home", self.user, path))


class TiupInstance(_Part):
    """One server; `port` is `client_port` for PD."""

    beside = ("name", "log_dir", "os", "arch", "source", "patched", "ignore_exporter", "imported", "attributes")
    host: Address
    ssh_port: Port | None = None
    port: Port | None = None
    client_port: Port | None = None
    peer_port: Port | None = None
    status_port: Port | None = None
    deploy_dir: Location | None = None
    data_dir: Location | None = None
    listen_host: str = ""
    manage_host: str = ""
    advertise_addr: str = ""
    advertise_address: str = ""  # what `advertise_addr` is called for TiDB
    advertise_status_addr: str = ""
    advertise_client_addr: str = ""
    advertise_peer_addr: str = ""
    offline: StrictBool = False
    config: FlatSettings = {}
    numa_node: str = ""
    numa_cores: str = ""
    resource_control: Flat = {}


class TiupConfigs(_Part):
    """Settings of all servers of a kind; those of other kinds are not read."""

    beside = (
        "tso scheduling resource_manager router tidb_dashboard tiflash tiflash-learner tiproxy pump drainer cdc kvcdc "
        "grafana ng_monitoring"
    ).split()
    pd: FlatSettings = {}
    tikv: FlatSettings = {}
    tidb: FlatSettings = {}


class TiupTopology(_Part):
    """The sections that make a cluster."""

    beside = (
        "monitored component_versions component_sources tiflash_servers tiproxy_servers tso_servers scheduling_servers "
        "resource_manager_servers router_servers tidb_dashboard_servers pump_servers drainer_servers cdc_servers "
        "kvcdc_servers tispark_masters tispark_workers monitoring_servers grafana_servers alertmanager_servers"
    ).split()
    overall: TiupGlobal = Field(TiupGlobal(), alias="global")
    server_configs: TiupConfigs = TiupConfigs()
    pd_servers: list[TiupInstance] = Field(min_length=1)
    tikv_servers: list[TiupInstance] = Field(min_length=1)
    tidb_servers: list[TiupInstance] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _as_indented(cls, given: object) -> object:
        """Documents lose their indentation, and then `global` is empty. TiUP's own meta.yaml has it all below a key."""
        if not isinstance(given, dict):
            return given
        if isinstance(given.get("topology"), dict):
            return given["topology"]
        if out := sorted({*TiupGlobal.model_fields} & given.keys()):
            raise PydanticCustomError("indent", "keys of `global` stand beside it: {keys}", {"keys": ", ".join(out)})
        sections = [f"{component}_servers" for component in PORTS]
        if missing := [each for each in sections if each not in given]:
            if OF_DM & given.keys():
                raise PydanticCustomError("part", f"{DM_S}. Fix: {AS_ROLES}")
            _no_slips(given.keys() - {*cls.beside}, sections)
            # It is of servers that are to be added to a cluster.
            whole = "Fix: name that of the whole cluster (`tiup cluster edit-config NAME` shows it)"
            raise PydanticCustomError("part", f"it has no {', '.join(missing)}, which a TiDB cluster has. {whole}")
        return given


class Section:
    """One kind of server: `component` is what TiUP calls it, `system` what an inventory does."""

    def __init__(self, component: str, system: str, instances: Sequence[TiupInstance], file: Path) -> None:
        self.component, self.system, self.file, self.instances = component, system, file, instances
        for instance in instances:
            _only_what_is_taken_over(instance, file, f"{component}_servers.*")
            self._only_at_its_host(instance)
        addresses = [instance.host for instance in instances]
        if len(set(addresses)) < len(addresses):
            raise self.refused("host", addresses, "two servers of one kind on one host", "leave one on each host")

    def _only_at_its_host(self, instance: TiupInstance) -> None:
        """Servers listen at `host` here, and say so to the others: what names another address is refused."""
        if "%" in instance.host:
            fix = f"write an address or a name without %, {IN_A_COPY}"
            raise self.refused("host", instance.host, "the URLs of PD have no place for a zone", fix)
        fix = f"set it to {instance.host}, or remove it, {IN_A_COPY}"
        if instance.listen_host not in {"", instance.host, *ANYWHERE}:
            raise self.refused("listen_host", instance.listen_host, "servers listen at their `host` here", fix)
        if instance.manage_host not in {"", instance.host}:
            way = f"let ssh_config lead there (Host {instance.host}, HostName {instance.manage_host}), and remove it"
            raise self.refused("manage_host", instance.manage_host, "SSH goes to `host`, too", f"{way} {IN_A_COPY}")
        kinds = {
            "advertise_addr": "port",
            "advertise_address": "port",
            "advertise_client_addr": "port",
            "advertise_peer_addr": "peer_port",
            "advertise_status_addr": "status_port",
        }
        for key, kind in kinds.items():
            said = getattr(instance, key).rpartition("//")[2]
            if said not in {"", instance.host, at(instance.host, self.port_of(instance, kind))}:
                raise self.refused(key, said, "servers are known to each other by their `host` here", fix)

    def settings(self, overall: TiupGlobal, config: Mapping[str, object], names: Mapping[str, str]) -> Written:
        """Return the inventory's section `systems.NAME`; `names` has the name of the host of each address."""
        ports = {
            kind: self._common(kind, [self.port_of(one, kind) for one in self.instances])
            for kind in PORTS[self.component]
        }
        folders = [self.deployed(overall, one) for one in self.instances]
        binary = f"{self._common('deploy_dir', folders)}/bin/{self.component}-server"
        # What a server says itself comes last, as for TiUP.
        by_host = {names[one.host]: {**config, **one.config} for one in self.instances}
        first, *others = by_host.values()
        common = {key: value for key, value in first.items() if all(key in o and o[key] == value for o in others)}
        own = {name: {k: v for k, v in said.items() if k not in common} for name, said in by_host.items()}
        host_settings = {name: said for name, said in own.items() if said}
        return {**ports, "binary": binary, "settings": common, "host_settings": host_settings}

    def port_of(self, instance: TiupInstance, kind: str) -> int:
        """Return the port that TiUP gives it; `client_port` is what PD's own is called."""
        said = instance.client_port if kind == "port" and self.component == "pd" else getattr(instance, kind)
        return said or PORTS[self.component].get(kind, 0)

    def deployed(self, overall: TiupGlobal, instance: TiupInstance) -> str:
        """Return the folder of its programs."""
        own = f"{self.component}-{self.port_of(instance, 'port')}"
        return overall.folder(instance.deploy_dir or posixpath.join(overall.deploy_dir, own))

    def workdir(self, overall: TiupGlobal, instance: TiupInstance) -> str | None:
        """Return a folder of ours on the disk of its data; a tidb-server, which has none, is on that of the others."""
        shared = posixpath.normpath(overall.data_dir or DATA_DIR)
        if self.component == "tidb" or not instance.data_dir:
            if shared.startswith("/"):
                return f"{shared}/benchbook"
            if self.component == "tidb":
                return None
        # Of several folders, which TiFlash alone uses, TiUP hands on the first.
        own = (instance.data_dir or shared).partition(",")[0]
        return posixpath.normpath(posixpath.join(self.deployed(overall, instance), own, "benchbook"))

    def _common(self, key: str, values: Sequence[object]) -> object:
        if len(set(values)) > 1:
            fix = "give all servers of this kind the same one"
            raise self.refused(key, values, "one for all servers of a kind is taken over", fix)
        return values[0]

    def refused(self, key: str, value: object, problem: str, fix: str) -> BadInput:
        """Say that a key of this kind of server cannot be taken over."""
        return BadInput(problem, file=self.file, key=f"{self.component}_servers.*.{key}", value=value, fix=fix)


def with_topology(values: Mapping[str, object], file: Path) -> Written:
    """Return the keys of an inventory with the hosts and systems of the TiUP topology in `file` added.

    A host of the inventory that has an address of the topology takes its roles; what the inventory says of a host or a
    system comes last. Raise BadInput.
    """
    topology = load_model(TiupTopology, file)
    _only_what_is_taken_over(topology.overall, file, "global")
    if (elsewhere := topology.overall.listen_host) not in {"", *ANYWHERE}:
        problem = "servers listen at their `host` here"
        raise BadInput(problem, file=file, key="global.listen_host", value=elsewhere, fix=REMOVE)
    sections = _sections(topology, file)
    systems, hosts = _mapping(values.get("systems")), _hosts(values, topology.overall, sections)
    names = {str(host["address"]): name for name, host in hosts.items() if "address" in host}
    for section in sections:
        config = getattr(topology.server_configs, section.component)
        imported, own = section.settings(topology.overall, config, names), _mapping(systems.get(section.system))
        if "settings" in own:
            # They take the place of all that the topology sets, on one host as well.
            del imported["host_settings"]
        systems[section.system] = {**imported, **own}
    return {**values, "hosts": hosts, "systems": systems}


def _sections(topology: TiupTopology, file: Path) -> Sequence[Section]:
    return (
        Section("pd", "pd", topology.pd_servers, file),
        Section("tikv", "tikv", topology.tikv_servers, file),
        Section("tidb", "tidb_cluster", topology.tidb_servers, file),
    )


def _only_what_is_taken_over(part: TiupGlobal | TiupInstance, file: Path, where: str) -> None:
    for key, (problem, fix) in NOT_TAKEN_OVER.items():
        if value := getattr(part, key, None):
            raise BadInput(problem, file=file, key=f"{where}.{key}", value=value, fix=fix)


def _hosts(values: Mapping[str, object], overall: TiupGlobal, sections: Sequence[Section]) -> dict[str, Written]:
    hosts: dict[str, Written] = {name: _mapping(host) for name, host in _mapping(values.get("hosts")).items()}
    names = {str(host.get("address")): name for name, host in hosts.items()}
    own, folders = dict(hosts), dict[str, str]()
    for section in sections:
        for number, instance in enumerate(section.instances, start=1):
            name = names.setdefault(instance.host, _free(f"{section.component}{number}", hosts))
            said = _of_topology(values, overall, instance)
            # A lab's hosts work in `.lab`, wherever TiUP's servers have their data.
            folder = None if values.get("lab") else section.workdir(overall, instance)
            if folder and folders.setdefault(name, folder) != folder and "workdir" not in own.get(name, {}):
                problem = f"the servers of {instance.host} have data in several folders, and the kit has one on a host"
                fix = f"name it: hosts.{name}.workdir in the inventory (address {instance.host})"
                raise section.refused("data_dir", [folders[name], folder], problem, fix)
            host = hosts[name] = {**said, **({"workdir": folder} if folder else {}), **hosts.get(name, {})}
            told = host.get("roles", [])
            # What is no list whoever reads the inventory refuses.
            if isinstance(told, list) and section.component not in told:
                told = [*told, section.component]
            host["roles"] = told
    return hosts


def _free(name: str, hosts: Mapping[str, Written]) -> str:
    """A host of the inventory may have this name, and another address."""
    while name in hosts:
        name = f"tiup-{name}"
    return name


def _of_topology(values: Mapping[str, object], overall: TiupGlobal, instance: TiupInstance) -> Written:
    """Return what it says of a host; what the inventory says of the same one comes last."""
    ssh_port = instance.ssh_port or overall.ssh_port
    return {
        "address": instance.host,
        **({"ssh_port": ssh_port} if ssh_port else {}),
        **({} if "user" in _mapping(values.get("ssh")) else {"user": overall.user}),
    }


def _mapping(value: object) -> Written:
    """Return a copy; an empty one of what is no mapping, which the inventory's model refuses."""
    return dict(value) if isinstance(value, dict) else {}
