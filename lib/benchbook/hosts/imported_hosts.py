"""Hosts that are described elsewhere: in an Ansible inventory, or in an ssh_config by name.

Ansible's own program reads its inventories, whatever their format (INI, YAML, a folder, a script, group_vars beside
them), and OpenSSH its ssh_config. What changes how a host is reached and cannot be taken over is refused.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchbook.errors import HIDDEN, BadInput, installing
from benchbook.hosts.openssh import ssh_settings
from benchbook.paths import resolve
from benchbook.user_input.choices import one_of

Written = dict[str, Any]
_IN_SSH_CONFIG = "say it in an ssh_config, and name that file as `ssh.config` in the inventory"
# Of Ansible's variables, those that change how a host is reached and have no place in an inventory of ours.
_NOT_TAKEN = {
    **dict.fromkeys(("ansible_ssh_common_args", "ansible_ssh_extra_args", "ansible_ssh_args"), _IN_SSH_CONFIG),
    "ansible_paramiko_proxy_command": _IN_SSH_CONFIG,
    **dict.fromkeys(("ansible_password", "ansible_ssh_pass", "ansible_ssh_password"), "let a key log in, as `ssh.key`"),
    "ansible_ssh_private_key_passphrase": "hold the key in an agent, or name a variable as `ssh.passphrase_env`",
}
_SECRET = re.compile("pass")
_CONNECTIONS = (None, "ssh", "smart", "paramiko", "paramiko_ssh", "ansible.builtin.ssh")


def with_ansible(values: Mapping[str, Any], roles: Mapping[str, Sequence[str]], source: Path, file: Path) -> Written:
    """Return the keys of the inventory `file` with the hosts of the Ansible inventory `source` added.

    `roles` has the roles of the hosts of each group; without any, a group's name is the role of its hosts. What the
    inventory says of a host of that name comes last. Raise BadInput.
    """
    found = _listed(source, file)
    # Of Ansible's own groups only what is asked for: their names are no roles.
    named = [name for name in found if name in roles or name not in ("_meta", "all", "ungrouped")]
    groups = {name: _hosts_of(found, name) for name in named}
    for group in roles:
        problem = "Ansible knows no group of this name with a host"
        filled = [name for name, hosts in groups.items() if hosts]
        one_of(group, filled, "group", problem=problem, file=file, key=f"ansible.roles.{group}")
    mine = _mappings(values.get("hosts", {}))
    ssh, keys = dict(values.get("ssh", {})), dict[str, str]()
    for group, names in groups.items():
        for name in names if group in roles or not roles else []:
            known = found["_meta"]["hostvars"].get(name, {})
            if not isinstance(own := mine.get(name, {}), dict):
                continue
            imported = _Imported(name, known, source, via_config="config" in ssh)
            keys.update(imported.key())
            told = own.get("roles", [])
            new = [role for role in roles.get(group, [group]) if role not in told]
            mine[name] = {**imported.host(own), **own, "roles": [*told, *new] if isinstance(told, list) else told}
    if not {"key", "config"} & set(ssh) and keys:
        if len(set(keys.values())) > 1:
            fix = f"name one for all as `ssh.key`, or {_IN_SSH_CONFIG}"
            said = "the hosts log in with different keys"
            raise BadInput(said, file=source, key="ansible_ssh_private_key_file", value=list(keys), fix=fix)
        ssh["key"] = next(iter(keys.values()))
    return {**values, "ssh": ssh, "hosts": mine}


def error_in_ansible(
    problem: BadInput, values: Mapping[str, Any], roles: Mapping[str, Sequence[str]], source: Path
) -> BadInput:
    """Return the error of an inventory with the host and the variable of Ansible's as its place."""
    whole = str(problem.key).removeprefix("hosts.")
    # Names have dots: db and db.example.org may both be hosts.
    name = max((each for each in map(str, values["hosts"]) if f"{whole}.".startswith(f"{each}.")), key=len, default="")
    key, fix = whole[len(name) + 1 :].partition(".")[0], problem.fix
    if not key:
        fix = f"give it another name, and say where it is: `NAME ansible_host={name}`"
    elif key == "roles" and roles:
        return BadInput(problem.problem, file=problem.file, key="ansible.roles", value=problem.value, fix=fix)
    elif key == "roles" and isinstance(problem.value, str):
        fix = f"{fix}, or keep the group's name and give it a role as `ansible.roles.{problem.value}` in the inventory"
    said = {"address": "host", "ssh_address": "host", "ssh_port": "port", "user": "user"}
    key = ".".join(filter(None, [name, f"ansible_{said[key]}" if key in said else key]))
    return BadInput(problem.problem, file=source, line=_line(source, name), key=key, value=problem.value, fix=fix)


def error_in_ssh_config(problem: BadInput, _: Mapping[str, Any], config: str) -> BadInput:
    """Return the error of an inventory with the ssh_config that says where its host is as its place."""
    key = re.sub(r"hosts\.(.+)\.address", r"HostName of Host \1", str(problem.key))
    return BadInput(problem.problem, file=config, key=key, value=problem.value, fix=problem.fix)


class _Imported:
    """One host of an Ansible inventory."""

    def __init__(self, name: str, known: Written, source: Path, *, via_config: bool) -> None:
        self.name, self.known, self.source, self.via_config = name, known, source, via_config
        for key, fix in _NOT_TAKEN.items():
            if self.known.get(key) and not (via_config and fix is _IN_SSH_CONFIG):
                raise self._refused(key, "this is not taken over from Ansible", fix)
        if self.known.get("ansible_connection") not in _CONNECTIONS:
            fix = "remove the host from the groups that `ansible.roles` names, or reach it by SSH"
            raise self._refused("ansible_connection", "hosts are reached by SSH", fix)

    def host(self, own: Written) -> Written:
        """Return what Ansible says of it. Where servers have an address of their own, Ansible's is that of SSH."""
        where = self._said("host")
        place: Written = {"ssh_address" if "address" in own else "address": where or self.name}
        if self.via_config and where is None:
            place = {}  # the ssh_config knows it by its name
        port, user = self._said("port"), self._said("user")
        if isinstance(port, str) and not port.isdigit():
            raise self._refused(self._key("port"), "a port is a number", "write the number")
        return {
            **place,
            **({} if port is None else {"ssh_port": int(port)}),
            **({} if user is None else {"user": str(user)}),
        }

    def key(self) -> dict[str, str]:
        """Return the private key that Ansible logs in with, by the host's name."""
        key = self.known.get("ansible_private_key_file", self._said("private_key_file"))
        return {} if key is None else {self.name: str(key)}

    def _key(self, what: str) -> str:
        # The older of its two names counts less.
        return next((k for k in (f"ansible_{what}", f"ansible_ssh_{what}") if self.known.get(k) is not None), "")

    def _said(self, what: str) -> Any:
        key = self._key(what)
        value = self.known.get(key)
        if isinstance(value, str) and "{{" in value:
            raise self._refused(key, "Benchbook fills in no templates", "write the value itself")
        return value

    def _refused(self, key: str, problem: str, fix: str) -> BadInput:
        # As in `-o ProxyCommand="sshpass -p ..."`.
        value = HIDDEN if _SECRET.search(f"{key} {self.known[key]}") else self.known[key]
        line = _line(self.source, self.name)
        return BadInput(problem, file=self.source, line=line, key=f"{self.name}.{key}", value=value, fix=fix)


def _listed(source: Path, file: Path) -> Written:
    """Return what `ansible-inventory --list` makes of it. Raise BadInput in its words."""
    if not source.exists():
        raise BadInput("there is no such file", file=file, key="ansible.inventory", value=str(source), fix="correct it")
    beside = os.pathsep.join((os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)))
    program = shutil.which("ansible-inventory", path=beside)
    if program is None:
        fix = f"{installing('ansible')}, or put your own Ansible into PATH"
        raise BadInput("Ansible's own program reads its inventories, and it is not here", key="PATH", fix=fix)
    quiet = {
        "ANSIBLE_DEPRECATION_WARNINGS": "0",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "1",
    }
    words = [program, "-i", str(source), "--list"]
    ran = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env={**os.environ, **quiet}
    )
    if ran.returncode:
        raise BadInput(
            f"Ansible cannot read it: {_reason(ran.stderr, source)}",
            file=source,
            line=_line(source, *re.findall(r"'([^']+)' supplied|Section (\[.+?\])", ran.stderr)[:1]),
            key="the inventory",
            fix=f"correct it until `ansible-inventory -i {source} --list` shows your hosts",
        )
    found: Written = json.loads(ran.stdout)
    return found


def _reason(said: str, source: Path) -> str:
    """Return what Ansible has against it, taken for a file of the format that its name tells."""
    causes = dict(
        re.findall(r"Failed to parse inventory with '(\w+)' plugin: (?:Failed to parse inventory: )?(.+)", said)
    )
    told = causes.get("yaml" if source.suffix in (".yaml", ".yml") else "ini")
    return (told or next(iter(said.strip().splitlines()), "no reason is given")).rstrip(".")


def _line(source: Path, *words: str | tuple[str, ...]) -> int | None:
    """Return the first line that has one of these words, where there is one file to look into."""
    flat = [word for each in words for word in ([each] if isinstance(each, str) else each) if word]
    if not source.is_file() or not flat:
        return None
    lines = source.read_text(errors="replace").splitlines()
    whole = re.compile("|".join(rf"(?<![\w.-]){re.escape(word)}(?![\w.-])" for word in flat))
    return next((number for number, line in enumerate(lines, start=1) if whole.search(line)), None)


def _hosts_of(found: Written, group: str) -> list[str]:
    """Return the hosts of a group and of the groups below it, each once."""
    below = [host for child in found.get(group, {}).get("children", []) for host in _hosts_of(found, child)]
    return list(dict.fromkeys([*found.get(group, {}).get("hosts", []), *below]))


def with_addresses(values: Mapping[str, Any], config: str, file: Path) -> Written:
    """Return an inventory whose hosts without an address have that of the ssh_config that knows them by name.

    Servers listen on the HostName that OpenSSH makes of it, and SSH goes by the name, so that its port, user, key and
    jump hosts count as well. Raise BadInput.
    """
    hosts = _mappings(values.get("hosts", {}))
    for name, host in hosts.items():
        if isinstance(host, dict) and "address" not in host and resolve(config).is_file():
            alias = str(host.get("ssh_address", name))
            found = ssh_settings(("-F", str(resolve(config))), alias, file, config)
            host.update(ssh_address=alias, address=found["hostname"][0])
    return {**values, "hosts": hosts}


def _mappings(hosts: Mapping[str, Any]) -> dict[str, Any]:
    """Return copies; what is no mapping stays, for the model to refuse."""
    return {name: dict(host) if isinstance(host, dict) else host for name, host in hosts.items()}
