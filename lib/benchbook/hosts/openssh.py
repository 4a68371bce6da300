"""OpenSSH's own reading of its configuration (`ssh -G`), and the tokens of ssh_config(5) that this does not expand."""

from __future__ import annotations

import os
import re
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchbook.errors import BadInput
from benchbook.paths import resolve
from benchbook.user_input import user_file

# By key in lower case; a key may stand several times.
Settings = dict[str, list[str]]


def config_file(config: str, file: object) -> Path:
    """Return the ssh_config that the inventory `file` names. Raise BadInput where it is missing, or none."""
    path = resolve(config)
    if not user_file.is_there(path):
        missing = "the ssh config is missing"
        raise BadInput(missing, file=str(file), key="ssh.config", value=str(path), fix="correct the path")
    # OpenSSH would wait for ever for a FIFO, and says nothing of a folder or of another encoding.
    user_file.text(path)
    return path


def ssh_settings(options: Sequence[str], destination: str, file: object, config: str) -> Settings:
    """Return what `ssh -G` says, by key in lower case. Raise BadInput with the words of ssh where it refuses."""
    words = ["ssh", "-G", *options, "--", destination]
    try:
        said = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except FileNotFoundError as problem:
        fix = "install OpenSSH's client on this machine: sudo apt-get install openssh-client"
        raise BadInput("ssh is not installed on this machine", key="PATH", fix=fix) from problem
    if said.returncode:
        what = f"ssh refuses this configuration ({_complaint(said.stderr)})"
        fix = f"correct it; `ssh -G -F {config} {destination}` checks it"
        raise BadInput(what, file=str(file), key="ssh.config", value=config, fix=fix)
    settings: Settings = {}
    for line in said.stdout.splitlines():
        key, _, value = line.partition(" ")
        settings.setdefault(key, []).append(value)
    return settings


def _complaint(stderr: str) -> str:
    """Return why ssh refuses a configuration, without its lines about ending and about terminals."""
    lines = [line for line in stderr.splitlines() if "terminating," not in line and not line.startswith("Pseudo-term")]
    return "; ".join(lines[:3])


def proxy_command(settings: Settings) -> str:
    """Return the ProxyCommand with its tokens expanded, "" where there is none."""
    command = settings.get("proxycommand", ["none"])[0]
    return "" if command == "none" else _expanded(command, settings)


def key_file(text: str, settings: Settings) -> Path:
    """Return the file that an IdentityFile names: with tokens, and variables of the environment."""
    said = re.sub(r"\$\{(\w+)\}", lambda name: os.environ.get(name[1], name[0]), _expanded(text, settings))
    return Path(said).expanduser()


def agent_socket(settings: Settings) -> str:
    """Return the socket of the agent that is asked for keys, "" for none: of IdentityAgent, else of SSH_AUTH_SOCK."""
    said = settings.get("identityagent", ["SSH_AUTH_SOCK"])[0]
    if said == "none":
        return ""
    if variable := re.fullmatch(r"(SSH_AUTH_SOCK)|\$(\w+)", said):
        return os.environ.get(variable[1] or variable[2], "")
    return str(key_file(said, settings))


def _expanded(text: str, settings: Settings) -> str:
    """Return a value with its tokens (%h, %p, ...) expanded; see TOKENS in ssh_config(5)."""
    called = settings.get("host", settings["hostname"])[0]
    values = {
        "%": "%",
        "h": settings["hostname"][0],
        "p": settings["port"][0],
        "r": settings["user"][0],
        "n": called,
        "k": settings.get("hostkeyalias", [called])[0],
        "j": settings.get("proxyjump", [""])[0],
        "i": str(os.getuid()),
        "l": socket.gethostname(),
        "L": socket.gethostname().partition(".")[0],
        "d": str(Path.home()),
        "u": os.environ.get("USER", settings["user"][0]),
    }
    return re.sub(r"%(.)", lambda token: values.get(token[1], token[0]), text)
