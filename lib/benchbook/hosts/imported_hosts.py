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
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from benchbook.errors import HIDDEN, BadInput, installing
from benchbook.hosts.fields import Account, Address, Location
from benchbook.hosts.openssh import config_file, ssh_settings
from benchbook.user_input.choices import one_of
from benchbook.user_input.yaml_file import validate

Written = dict[str, Any]
_IN_SSH_CONFIG = "say it in an ssh_config, and name that file as `ssh.config` in the inventory"
# Of Ansible's variables, those that change how a host is reached and have no place in an inventory of ours.
_NOT_TAKEN = {
    **dict.fromkeys(("ansible_ssh_common_args", "ansible_ssh_extra_args", "ansible_ssh_args"), _IN_SSH_CONFIG),
    "ansible_paramiko_proxy_command": _IN_SSH_CONFIG,
    **dict.fromkeys(("ansible_password", "ansible_ssh_pass", "ansible_ssh_password"), "let a key log in, as `ssh.key`"),
    "ansible_ssh_private_key_passphrase": "hold the key in an agent (ssh-add)",
}
_SECRET = re.compile("pass")
_CONNECTIONS = ("ssh", "smart", "paramiko", "paramiko_ssh", "ansible.builtin.ssh")


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
            said = _variables(name, known, source, via_config="config" in ssh)
            if key := said.ansible_private_key_file or said.ansible_ssh_private_key_file:
                keys[name] = key
            imported, told = said.host(name, own, via_config="config" in ssh), own.get("roles", [])
            new = [role for role in roles.get(group, [group]) if role not in told]
            mine[name] = {**imported, **own, "roles": [*told, *new] if isinstance(told, list) else told}
    if not {"key", "config"} & set(ssh) and keys:
        if len(set(keys.values())) > 1:
            fix = f"name one for all as `ssh.key`, or {_IN_SSH_CONFIG}"
            problem = "the hosts log in with different keys"
            raise BadInput(problem, file=source, key="ansible_ssh_private_key_file", value=list(keys), fix=fix)
        ssh["key"] = next(iter(keys.values()))
    return {**values, "ssh": ssh, "hosts": mine}


def _no_template(value: object) -> object:
    if isinstance(value, str) and "{{" in value:
        raise ValueError("Benchbook fills in no templates. Fix: write the value itself")
    return value


def _by_ssh(connection: str) -> str:
    if connection not in _CONNECTIONS:
        fix = "Fix: remove the host from the groups that `ansible.roles` names, or reach it by SSH"
        raise ValueError(f"hosts are reached by SSH. {fix}")
    return connection


# The program hands on numbers as the texts that stand in the file.
_Port = Annotated[int, Field(ge=1, le=65535), BeforeValidator(_no_template)]
_Address = Annotated[Address, BeforeValidator(_no_template)]
_Account = Annotated[Account, BeforeValidator(_no_template)]
_Key = Annotated[Location, BeforeValidator(_no_template)]


class _Variables(BaseModel):
    """What Ansible says of a host, of the variables that are taken over; of two names the older one counts less."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True, coerce_numbers_to_str=True)
    ansible_host: _Address | None = None
    ansible_ssh_host: _Address | None = None
    ansible_port: _Port | None = None
    ansible_ssh_port: _Port | None = None
    ansible_user: _Account | None = None
    ansible_ssh_user: _Account | None = None
    ansible_private_key_file: _Key | None = None
    ansible_ssh_private_key_file: _Key | None = None
    ansible_connection: Annotated[str, AfterValidator(_by_ssh)] | None = None

    def host(self, name: str, own: Written, *, via_config: bool) -> Written:
        """Return it as an inventory does. Where servers have an address of their own, Ansible's is that of SSH."""
        where, port, user = (
            self.ansible_host or self.ansible_ssh_host,
            self.ansible_port or self.ansible_ssh_port,
            self.ansible_user or self.ansible_ssh_user,
        )
        # The ssh_config knows by its name a host of which no more is said.
        place = {} if via_config and not where else {"ssh_address" if "address" in own else "address": where or name}
        return {**place, **({"ssh_port": port} if port else {}), **({"user": user} if user else {})}


def _variables(name: str, known: Written, source: Path, *, via_config: bool) -> _Variables:
    line = _line(source, name)
    if ":" in name:
        fix = f"give it another name, and say where it is: `NAME ansible_host={name}`"
        raise BadInput("an address of IPv6 is no name of a host", file=source, line=line, key=name, fix=fix)
    for key, fix in _NOT_TAKEN.items():
        if known.get(key) and not (via_config and fix is _IN_SSH_CONFIG):
            # As in `-o ProxyCommand="sshpass -p ..."`.
            value = HIDDEN if _SECRET.search(f"{key} {known[key]}") else known[key]
            problem = "this is not taken over from Ansible"
            raise BadInput(problem, file=source, line=line, key=f"{name}.{key}", value=value, fix=fix)
    try:
        return validate(_Variables, known, source, below=name)
    except BadInput as problem:
        raise BadInput(
            problem.problem, file=source, line=line, key=problem.key, value=problem.value, fix=problem.fix
        ) from problem


def _listed(source: Path, file: Path) -> Written:
    """Return what `ansible-inventory --list` makes of it. Raise BadInput in its words."""
    if not source.exists():
        raise BadInput("there is no such file", file=file, key="ansible.inventory", value=str(source), fix="correct it")
    beside = os.pathsep.join((os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)))
    program = shutil.which("ansible-inventory", path=beside)
    if program is None:
        fix = f"{installing('ansible')}, or put your own Ansible into PATH"
        raise BadInput("ansible-inventory, which reads this file, is not installed", key="PATH", fix=fix)
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
            line=_line(
                source, *re.findall(r"'([^']+)' supplied|Section (\[.+?\])|, got: (\S+)$", ran.stderr, re.MULTILINE)[:1]
            ),
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
        if isinstance(host, dict) and "address" not in host:
            alias = str(host.get("ssh_address", name))
            found = ssh_settings(("-F", str(config_file(config, file))), alias, file, config)
            host.update(ssh_address=alias, address=found["hostname"][0])
    return {**values, "hosts": hosts}


def _mappings(hosts: Mapping[str, Any]) -> dict[str, Any]:
    """Return copies; what is no mapping stays, for the model to refuse."""
    return {name: dict(host) if isinstance(host, dict) else host for name, host in hosts.items()}
