"""The inventory: hosts, how they are reached, what runs on them. `env/hosts/<name>.yaml`, checked on reading."""

from __future__ import annotations

import ipaddress
import os
import re
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal, Protocol, cast, get_args

from pydantic import Field, StrictBool, model_validator

from benchbook import paths, plugins
from benchbook.errors import HIDDEN, BadInput, HostUnusable
from benchbook.hosts.fields import (
    ONCE,
    Account,
    Address,
    Location,
    Name,
    OwnFolder,
    Port,
    Settings,
    SystemName,
    Variable,
)
from benchbook.hosts.imported_hosts import with_addresses, with_ansible
from benchbook.hosts.tiup_topology import AS_ROLES, DM_S, OF_DM, with_topology
from benchbook.paths import resolve
from benchbook.user_input import user_file
from benchbook.user_input.bounds import matching
from benchbook.user_input.choices import did_you_mean, one_of, typo_of
from benchbook.user_input.yaml_file import Strict, load_yaml, validate

# The name of an environment variable; a password that was written in its place rarely looks like one.
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
MOST_PASSWORD_BYTES = 10_000
# A known_hosts of many years is the largest file that SSH needs.
MOST_KNOWN_HOSTS_BYTES = 20_000_000


def is_public_key(path: Path) -> bool:
    """Return whether a file holds a public key alone, which names one that an agent holds, and may be read."""
    with suppress(OSError):
        return path.is_file() and path.read_bytes().startswith((b"ssh-", b"ecdsa-", b"sk-"))
    return False


def _check_private(path: Path, key: str) -> None:
    """Raise BadInput for a file with a secret that others on this machine may read or write."""
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        fix = f"chmod 600 {path}, and change the secret where somebody may have read it"
        raise BadInput(f"others on this machine may read this secret (mode {mode:o})", file=path, key=key, fix=fix)


# What reports ask an inventory for beside the systems, which are roles as well.
_ROLES = ("client", "mysql", "dm-master", "dm-worker", "business", "source", "target")
# Where servers listen that no class declares: DM's by its own defaults (master-addr, worker-addr), and our service.
UNDECLARED_PORTS = {"dm-master": 8261, "dm-worker": 8262, "business": 8083}
# Without `ab`: of two letters everything near is somebody's own name.
_PROGRAMS = (
    *("sysbench", "pgbench", "go-tpc", "benchmark", "java", "benchbook-python"),
    *("mongod", "mongodump", "mongorestore"),
    *("mariadbd", "mariadb-install-db", "my_print_defaults", "mydumper"),
    *("db_bench", "ldb"),
    *("postgres", "initdb", "pg_ctl", "psql", "pgbouncer"),
    *("redis-benchmark", "redis-check-rdb", "redis-cli"),
)


PortKind = Literal["port", "status_port", "peer_port"]
PORT_KINDS: tuple[PortKind, ...] = get_args(PortKind)


class Declared(Protocol):
    """What an inventory asks of the class of a server (entry point `benchbook.systems`)."""

    default_port: int | None
    default_status_port: int | None
    default_peer_port: int | None

    def role_name(self) -> str:
        """Return the role that its hosts carry."""


class Ssh(Strict):
    """How hosts are reached. Paths are relative to the project folder; `user` defaults to who runs the kit.

    `config` is an ssh_config of yours, with jump hosts (ProxyJump), aliases and keys; without it none is read.
    A `key` that has a passphrase comes from an agent.
    """

    user: Account | None = None
    port: Port = 22
    key: Location | None = None
    known_hosts: Location = "~/.ssh/known_hosts"
    config: Location | None = None
    connect_timeout_s: float = Field(10.0, gt=0, le=600, allow_inf_nan=False)
    lease_s: float = Field(20.0, ge=5, le=3600)

    def check_files(self) -> None:
        """Raise BadInput for what is no file in the place of one: whoever opens a FIFO waits."""
        for path in map(resolve, filter(None, (self.key, self.known_hosts))):
            if user_file.is_there(path):
                user_file.text(path, most=MOST_KNOWN_HOSTS_BYTES)
        if self.key and user_file.is_there(key := resolve(self.key)) and not is_public_key(key):
            _check_private(key, "ssh.key")


class Ansible(Strict):
    """An Ansible inventory whose hosts are added: a file in INI or YAML, a folder, a script.

    `roles` gives the hosts of a group their roles here; without it, a group's name is the role of its hosts.
    """

    inventory: Location
    roles: dict[Name, Name | tuple[Name, ...]] = {}


class Host(Strict):
    """One machine. `address` is what servers bind to and clients connect to; `ssh_*` where SSH differs from it.

    With `ssh.config`, a host without `address` is one that the ssh_config knows by name, and its HostName the address.

    `workdir` is a folder for the kit alone. In a lab it is refused: a lab's hosts work in the project's folder `.lab`.

    `tune` lists what the kit may set on it for the time of a run (hosts/remote/machine.py says to what); it needs root,
    or `sudo -n`. In a lab, which is whatever machine somebody has, it is set where it can be. `cpus` are the processors
    that what the kit starts there is bound to (by affinity); without any, all. It keeps the load and the servers of a
    lab, whose hosts share a machine, apart where there are enough of them.
    """

    address: Address
    roles: Annotated[tuple[Name, ...], ONCE] = Field(min_length=1)
    ssh_address: Address | None = None
    ssh_port: Port | None = None
    user: Account | None = None
    workdir: OwnFolder | None = None
    tune: tuple[Literal["governor", "turbo", "idle", "memory", "thp", "swappiness"], ...] = ()
    cpus: Annotated[tuple[Annotated[int, Field(ge=0, le=65_535, strict=True)], ...], ONCE] = ()


class Login(Strict):
    """A database account; its password is read from an environment variable or a file, never written here."""

    user: Account = "root"
    password_env: Variable | None = None
    password_file: Location | None = None

    @model_validator(mode="after")
    def _one_password(self) -> Login:
        if self.password_env and self.password_file:
            raise ValueError("password_env and password_file name two passwords: remove one of them")
        return self

    def password(self, where: str) -> str:
        """Return the password, or "" where none is named. Raise BadInput when it is named but not there."""
        if self.password_env:
            if self.password_env not in os.environ:
                named = self.password_env if _VARIABLE.fullmatch(self.password_env) else HIDDEN
                fix = "export it before the run; password_env holds its name, never the password"
                raise BadInput("the environment variable with the password is not set", key=where, value=named, fix=fix)
            password, source = os.environ[self.password_env], f"what {self.password_env} holds"
        elif self.password_file:
            path, key = resolve(self.password_file), f"{where}.password_file"
            if not user_file.is_there(path):
                raise BadInput("the password file is missing", key=key, value=str(path), fix="create it with mode 600")
            password, source = user_file.text(path, most=MOST_PASSWORD_BYTES, key=key).strip(), f"what stands in {path}"
            _check_private(path, key)
            # It goes to the programs in files of lines.
            if not password.isprintable():
                fix = "write the password alone into it"
                raise BadInput("a password is one line", file=path, key="password", fix=fix)
        else:
            return ""
        if not password:
            # Somebody's secret that did not arrive: the server would be open to all.
            fix = f"correct {source}; for an account without a password remove password_env and password_file"
            raise BadInput("the password is empty", key=where, value="", fix=fix)
        return password


class SystemSettings(Login):
    """Settings of a system that the kit starts: its ports and account.

    `binary` is the path of its program on the hosts, where the kit is not to bring its own; `settings` are those of
    the server itself, as its own documentation calls them, with dots for tables (`raft-engine.prefill-for-recycle:
    true`), and `host_settings` those in which the server on one host (by its name here) differs. Not every system
    takes these three.

    A section `SYSTEM:NAME` is a system of its own, in which these settings are added to those of SYSTEM: a report that
    names `mariadb` and `mariadb:pool` compares the two.
    """

    port: Port | None = None
    status_port: Port | None = None
    peer_port: Port | None = None
    binary: Location | None = None
    settings: Settings = {}
    host_settings: dict[Name, Settings] = {}


class EndpointSettings(Login):
    """A server that exists already and cannot be reached by SSH, such as a managed cluster.

    With `tls` its certificate must come from an authority in the file `tls_ca` (PEM), or, without one, from one that
    this machine trusts. Loads make and fill databases of their own (sysbench `sbtest`, go-tpc `tpcc`); in `database`
    the kit notes what a load generator of yours has filled that asks for none.
    """

    host: Address
    port: Port
    database: Annotated[
        str, Field(max_length=64), matching(r"[A-Za-z0-9_$][A-Za-z0-9_$-]*", "a name of letters, digits, _, $ and -")
    ] = "sbtest"
    tls: StrictBool = False
    tls_ca: Location | None = None
    product: str = Field("", description="what it is, as it should stand on the page")

    @model_validator(mode="after")
    def _tls_is_meant(self) -> EndpointSettings:
        if self.tls_ca and not self.tls:
            raise ValueError("tls_ca says whom to believe over TLS: set `tls: true` beside it, or remove it")
        return self

    def authority(self, where: str) -> str:
        """Return the certificates in `tls_ca`, "" without one. Raise BadInput for a file that holds none."""
        if not self.tls_ca:
            return ""
        path = resolve(self.tls_ca)
        text = user_file.text(path, key=f"{where}.tls_ca")
        try:
            ssl.create_default_context(cadata=text)
        except (ssl.SSLError, ValueError) as problem:
            said = f"this file holds no certificate ({problem})"
            fix = "name the certificate of the server's authority, in PEM (-----BEGIN CERTIFICATE-----)"
            raise BadInput(said, file=path, key=f"{where}.tls_ca", fix=fix) from problem
        return text


class Inventory(Strict):
    """Hosts and systems by name; `file` is where it was read from, for error messages.

    `ansible` and `topology` (a TiUP topology.yaml) name files of others, whose hosts are added to those here.
    """

    name: Name
    lab: StrictBool = False
    description: str = ""
    ssh: Ssh = Ssh()
    hosts: dict[Name, Host] = Field(min_length=1)
    systems: dict[SystemName, SystemSettings] = {}
    endpoints: dict[Name, EndpointSettings] = {}
    programs: dict[Name, Location] = {}
    ansible: Ansible | None = None
    topology: Location | None = None
    file: str = ""

    @model_validator(mode="after")
    def _consistent(self) -> Inventory:
        self._one_host_per_ssh_port()
        self._no_typo_in_a_name()
        self._every_system_is_known()
        self._every_setting_is_taken()
        self._one_system_per_port()
        self._lab_is_this_machine()
        return self

    def _one_host_per_ssh_port(self) -> None:
        listeners: dict[tuple[str, int], str] = {}
        for name, host in self.hosts.items():
            address, port = listener = host.ssh_address or host.address, host.ssh_port or self.ssh.port
            if listener in listeners:
                said = f"two hosts on one SSH address and port: {listeners[listener]} and {name}"
                fix = "give each host its own address or ssh_port, or merge their roles into one host"
                raise self.unusable(name, said, key="address", value=f"{address}:{port}", fix=fix)
            listeners[listener] = name

    def _no_typo_in_a_name(self) -> None:
        """A host of a misspelt role would do nothing, and a misspelt program would leave another one to be run.

        Packages may bring names of their own: only what is a slip of the pen away from a known one is refused.
        """
        roles, programs = {*_ROLES, *plugins.names("systems"), *map(_bare, self.systems)}, {*_PROGRAMS}
        named = [(f"hosts.{name}.roles", role, roles) for name, host in self.hosts.items() for role in host.roles]
        named += [(f"programs.{name}", name, programs) for name in self.programs]
        for key, name, known in named:
            if name in known or not (meant := typo_of(name, known)):
                continue
            if known is programs or name not in map(role_of, plugins.names("systems")):
                said = "no report and no system uses this name"
                raise BadInput(said, file=self.file, key=key, value=name, fix=f"write {meant}")

    def _every_system_is_known(self) -> None:
        """Its port and password would go to nobody: the server would run with those that it has by itself."""
        roles = {role for host in self.hosts.values() for role in host.roles}
        known = sorted({*plugins.names("systems"), *roles})
        for system in self.systems:
            problem = "no system has this name, nor a host this role"
            one_of(_bare(system), known, "system", problem=problem, file=self.file, key=f"systems.{system}")

    def _every_setting_is_taken(self) -> None:
        """Another configuration than the one that was asked for would be measured, and nobody would know."""
        for system, settings in self.systems.items():
            # A class of somebody else's may declare less.
            taken = getattr(declared(system), "takes", ("binary", "settings"))
            for key in ("binary", "settings", "host_settings"):
                value = getattr(settings, key)
                if value and key not in taken:
                    said = f"{system} takes no `{key}` from an inventory"
                    fix = "remove it; a server that you have set up yourself is measured as one of `endpoints`"
                    named = sorted(value) if isinstance(value, dict) else value
                    raise BadInput(said, file=self.file, key=f"systems.{system}.{key}", value=named, fix=fix)
            for host in settings.host_settings:
                where, own = f"systems.{system}.host_settings", self.with_role(role_of(system))
                one_of(host, own, "host", problem=f"no host of {system} has this name", file=self.file, key=where)

    def _one_system_per_port(self) -> None:
        taken: dict[tuple[str, int], tuple[str, str]] = {}
        for system in self.systems:
            self.check_sshd_apart(system)
            for host, key, port in self._listeners(system):
                other, other_key = taken.setdefault((self.hosts[host].address, port), (system, key))
                # Servers of one role take turns: only one of them runs at a time.
                if role_of(other) != role_of(system):
                    said = f"two systems on one port of host {host}: {other} and {system}"
                    fix = f"give {system} another port, or move role {role_of(system)} to another host"
                    raise BadInput(said, file=self.file, key=key, value=port, fix=fix)
                if other == system and other_key != key:
                    said, fix = f"this is also {other_key}", "give each a port of its own"
                    raise BadInput(said, file=self.file, key=key, value=port, fix=fix)

    def check_sshd_apart(self, system: str) -> None:
        """Raise BadInput where a server of this name, which the file need not name, has the port of its host's sshd."""
        listens = {(h.ssh_address or h.address, h.ssh_port or self.ssh.port) for h in self.hosts.values()}
        for host, key, port in self._listeners(system):
            if (self.hosts[host].address, port) in listens:
                said = f"{system} and the sshd of host {host} on one port"
                fix = f"give {system} another port, or ssh another one"
                raise BadInput(said, file=self.file, key=key, value=port, fix=fix)

    def _listeners(self, system: str) -> list[tuple[str, str, int]]:
        """Return names of the hosts that a server of this name may run on, each with every port of it, and its key."""
        first, above = self.port(system) or 0, getattr(declared(system), "ports_above", 0)
        ports = [("port", port) for port in range(first, first + above + 1)]
        ports += [(kind, self.port(system, kind) or 0) for kind in PORT_KINDS if kind != "port"]
        hosts = self.with_role(role_of(system))
        return [(host, f"systems.{system}.{key}", port) for host in hosts for key, port in ports if port]

    def _lab_is_this_machine(self) -> None:
        for name, host in self.hosts.items() if self.lab else []:
            if host.workdir:
                said, fix = "hosts of a lab work in the folder `.lab` of the project", "remove it, or set `lab: false`"
                raise self.unusable(name, said, key="workdir", value=host.workdir, fix=fix)
            for key, address in (("address", host.address), ("ssh_address", host.ssh_address or host.address)):
                if not _is_loopback(address):
                    said = "a lab host must have a loopback address"
                    fix = "use an address in 127.0.0.0/8, or set `lab: false` for real hosts"
                    raise self.unusable(name, said, key=key, value=address, fix=fix)

    def unusable(self, host: str, problem: str, *, value: object, fix: str, key: str = "") -> HostUnusable:
        """Return the error that a host, or what stands under its `key`, cannot be used."""
        return HostUnusable(problem, file=self.file, key=f"hosts.{host}.{key}".strip("."), value=value, fix=fix)

    def elsewhere(self, host: str, folder: str) -> str:
        """Return the fix that a host works in another `folder`; a lab's is in the project, and named nowhere."""
        return f"move the project to {folder}" if self.lab else f"set hosts.{host}.workdir to {folder}"

    def with_role(self, role: str) -> list[str]:
        """Return names of the hosts with this role, in the order of the file."""
        return [name for name, host in self.hosts.items() if role in host.roles]

    def require(self, role: str) -> list[str]:
        """Like `with_role`, but a role that nobody has is an error."""
        names = self.with_role(role)
        if not names:
            said = "no host has a role that this run needs"
            fix = f"add `{role}` to the roles of the host that should carry it"
            raise BadInput(said, file=self.file, key="hosts.*.roles", value=role, fix=fix)
        return names

    def require_one(self, role: str) -> str:
        """Return the one host of a role that is not shared out: a second would stand idle, and nobody would know."""
        names = self.require(role)
        if len(names) > 1:
            said = "this report has one host of each kind"
            raise BadInput(said, file=self.file, key=f"role {role}", value=names, fix="give the role to one host")
        return names[0]

    def port(self, system: str, kind: PortKind = "port") -> int | None:
        """Return where the server of this name listens: as the inventory says, else as it declares itself.

        `kind`: `port`, or the one where it answers about itself, or where its servers talk to each other.
        """
        known = declared(system)
        undeclared = UNDECLARED_PORTS.get(system) if kind == "port" else None
        return getattr(self.settings(system), kind) or (getattr(known, f"default_{kind}") if known else undeclared)

    def settings(self, system: str) -> SystemSettings:
        """Return those of its section, over those of the system that it is a version or a variant of.

        Without a section of either: ports and account of another server of its role, which takes turns with it on the
        same hosts.
        """
        bare, own = self.systems.get(_bare(system)), self.systems.get(system)
        if bare is None and own is None:
            role = role_of(system)
            other = next((each for name, each in self.systems.items() if role_of(name) == role), SystemSettings())
            return other.model_copy(update={"settings": {}, "host_settings": {}, "binary": None})
        if bare is None or own is None:
            return own or bare or SystemSettings()
        given = {name: getattr(own, name) for name in own.model_fields_set}
        by_host = {
            host: {**bare.host_settings.get(host, {}), **own.host_settings.get(host, {})}
            for host in {**bare.host_settings, **own.host_settings}
        }
        settings = {**bare.settings, **own.settings}
        return bare.model_copy(update={**given, "settings": settings, "host_settings": by_host})

    def program(self, name: str) -> str:
        """Return what to call a program on the hosts: its name, or the path that the inventory gives."""
        return self.programs.get(name, name)

    def workdir(self, host: str) -> str:
        """Return the kit's folder on a host: one per host, in the lab's folder or below the login's home.

        In a home, which machines may share, the name of the machine is added to it there (remote/preflight.sh).
        """
        if self.hosts[host].workdir:
            # A `~/` is the login's home there, where a relative path begins as well.
            return str(self.hosts[host].workdir).removeprefix("~/")
        return str(paths.lab_dir() / self.name / host / "work") if self.lab else f".benchbook/{self.name}/{host}"


def declared(system: str) -> Declared | None:
    """Return what the server of this name declares; None for one that only the inventory knows. Raise BadInput."""
    found: Declared | None = plugins.find("systems", _bare(system), key=f"systems.{system}")
    return found


def _bare(system: str) -> str:
    """A version of a system (`tidb:7.1`) declares what the system does."""
    return system.partition(":")[0]


def role_of(system: str) -> str:
    """Return the role of the hosts of the server of this name: as it declares, else its name."""
    known = declared(system)
    return known.role_name() if known else _bare(system)


def _is_loopback(address: str) -> bool:
    """In 127.0.0.0/8: of IPv6 there is one such address, and a lab needs one for each host."""
    try:
        return ipaddress.IPv4Address(address).is_loopback
    except ValueError:
        return False


def known_inventories() -> list[str]:
    return [path.stem for path in paths.names("env/hosts", "*.yaml")]


def load_inventory(name: str) -> Inventory:
    """Read `env/hosts/<name>.yaml`, or the file itself when `name` is a path. Raise BadInput."""
    path = Path(name) if name.endswith((".yaml", ".yml")) else paths.find("env", "hosts", f"{name}.yaml")
    if not user_file.is_there(path):
        known = known_inventories()
        fix = f"{did_you_mean(name, known)}use one of {', '.join(known)}, or write this file"
        raise BadInput("no such inventory", file=path, key="inventory", value=name, fix=fix)
    given = load_yaml(path)
    named = {"all": ("an Ansible inventory", f"`ansible: {{inventory: {path}, roles: {{GROUP: ROLE}}}}`"),
             "tikv_servers": ("a TiUP topology", f"`topology: {path}`")}  # fmt: skip
    for key, (what, line) in named.items():
        if key in given:
            fix = f"write an inventory that names it: {line}"
            raise BadInput(f"it is {what}, and no inventory", file=path, key=key, fix=fix)
    if own := OF_DM & given.keys():
        raise BadInput(DM_S, file=path, key=min(own), fix=AS_ROLES)
    values, others = _with_hosts_of_others(given, path)
    try:
        return validate(Inventory, {**values, "name": path.stem, "file": str(path)}, path)
    except BadInput as problem:
        if not others or _says(given, str(problem.key)):
            raise
        file, fix = f"{path} with {' and '.join(others)}", problem.fix or ""
        if "ansible" in given and str(problem.key).endswith(".roles"):
            fix = f"{fix} as the role of its group in `ansible.roles`"
        raise BadInput(problem.problem, file=file, key=problem.key, value=problem.value, fix=fix) from problem


def _says(values: object, key: str) -> bool:
    """Return whether there is a value under a key; the name of a host or a setting has dots of its own."""
    if not key or not isinstance(values, dict):
        return not key or isinstance(values, list)
    named = ((str(name), part) for name, part in values.items())
    return any(f"{key}.".startswith(f"{name}.") and _says(part, key[len(name) + 1 :]) for name, part in named)


def _with_hosts_of_others(values: dict[str, object], path: Path) -> tuple[dict[str, object], list[str]]:
    """Return an inventory with the hosts of the files that it names added, and the names of these files.

    What is of another kind than it should be is left as it is, for the model to refuse.
    """
    others: list[str] = []
    if not all(isinstance(values.get(key, {}), dict) for key in ("hosts", "ssh", "systems")):
        return values, others
    if "ansible" in values:
        ansible = validate(Ansible, cast("dict[str, object]", values["ansible"]), path, below="ansible")
        roles = {group: (role,) if isinstance(role, str) else role for group, role in ansible.roles.items()}
        others.append(ansible.inventory)
        values = with_ansible(values, roles, resolve(ansible.inventory), path)
    if isinstance(config := cast("dict[str, object]", values.get("ssh", {})).get("config"), str):
        others.append(config)
        values = with_addresses(values, config, path)
    if isinstance(topology := values.get("topology"), str):
        others.append(topology)
        values = with_topology(values, resolve(topology))
    return values, others
