"""Real sshd of a test's own: each with its own configuration, on a loopback address of the test's network."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from kit import PATIENCE_S, TESTS, until

from benchbook.errors import BadInput
from benchbook.hosts.host import Host
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.session import Session

SFTP_SERVER = next((p for p in ("/usr/lib/openssh/sftp-server", "/usr/libexec/sftp-server") if Path(p).exists()), "")
PORT = 2222
# Words that some shell reads as something else.
HARD = [
    "it's", '"quoted"', "$(echo no)", "`echo no`", "$HOME", "a b", "two\nlines", "*", "--", "; exit 3", "\\", "\\'",
    "é", "", "!ls", "a!", "\\!", "~", "{a,b}", "(x)", "<", "|", "%", "#", "\t", "'\\''",
]  # fmt: skip

CONFIG = """\
ListenAddress {address}:{port}
HostKey {folder}/host_key
AuthorizedKeysFile {keys}/client.pub
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
PermitRootLogin yes
AllowUsers {user}
PermitUserRC no
PrintMotd no
LogLevel VERBOSE
"""


@dataclass(frozen=True)
class Variant:
    """What differs from an ordinary sshd. `shell` is a command that stands in for the login shell: it finds "$1"."""

    lines: Sequence[str] = ("Subsystem sftp internal-sftp",)
    shell: str = ""
    # Commands that prepare what only this sshd and its children see (mounts, a name of the machine), run before it in
    # namespaces of its own.
    mounts: str = ""
    environment: dict[str, str] = field(default_factory=dict)


@dataclass
class Server:
    """An sshd that runs."""

    address: str
    folder: Path
    keys: Path
    process: subprocess.Popen[bytes]

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    @property
    def where(self) -> str:
        return f"[{self.address}]:{PORT}"

    @property
    def known(self) -> str:
        """Its line of known_hosts."""
        kind, key = (self.folder / "host_key.pub").read_text().split()[:2]
        return f"{self.where} {kind} {key}\n"

    def inventory(self, *, workdir: str | None = "", known: str | None = None, **ssh: object) -> Inventory:
        """A host `db`, this one; `known` are the lines of known_hosts, `workdir` a folder of the test unless given."""
        (self.folder / "known_hosts").write_text(self.known if known is None else known)
        reached = {"port": PORT, "key": str(self.keys / "client"), "known_hosts": str(self.folder / "known_hosts")}
        host = {"address": self.address, "roles": ["client"]}
        ssh = {**reached, "lease_s": 10, "connect_timeout_s": 5, **ssh}
        # A lab, so that other labs on this machine stand in nobody's way: the tests of another worker, say. Only real
        # hosts work in the login's home; there it is asked for before anything is reserved.
        lab = workdir is not None
        whole = {"name": "variant", "lab": lab, "ssh": ssh, "hosts": {"db": host}, "file": "variant.yaml"}
        inventory = Inventory.model_validate(whole)
        if not lab:
            return inventory
        db = inventory.hosts["db"].model_copy(update={"workdir": workdir or str(self.folder / "work")})
        return inventory.model_copy(update={"hosts": {"db": db}})


def new_key(path: Path, passphrase: str = "", *kind: str) -> Path:
    words = ["ssh-keygen", "-q", "-N", passphrase, "-C", "a test's", "-f", str(path), *(kind or ("-t", "ed25519"))]
    subprocess.run([*words, *(["-a", "1"] if passphrase else [])], check=True, capture_output=True)
    return path


@contextmanager
def full_agent(folder: Path) -> Iterator[Path]:
    """The socket of an ssh-agent that holds seven keys which nobody knows: more than sshd lets anybody try."""
    path = folder / "agent"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.DEVNULL)
    try:
        until(path.exists, "the agent listens")
        add_keys(path, *(new_key(folder / f"other{number}") for number in range(7)))
        yield path
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_S)


def add_keys(agent: Path, *keys: Path) -> None:
    environment = {**os.environ, "SSH_AUTH_SOCK": str(agent)}
    subprocess.run(["ssh-add", "-q", *map(str, keys)], check=True, capture_output=True, env=environment)


@contextmanager
def serving(folder: Path, address: str, keys: Path, variant: Variant) -> Iterator[Server]:
    """An sshd for as long as the context lasts; it lets in who has `keys`/client."""
    folder.mkdir(parents=True)
    new_key(folder / "host_key")
    words = [str(program()), "-D", "-e", "-f", str(_configured(folder, address, keys, variant))]
    if variant.mounts:
        words = ["unshare", "--mount", "--uts", "sh", "-c", f'{variant.mounts} && exec "$@"', "sh", *words]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=log, env={"PATH": os.environ["PATH"]})
    server = Server(address, folder, keys, process)
    try:
        until(lambda: "Server listening" in server.log or process.poll() is not None, "sshd listens")
        assert process.poll() is None, server.log
        yield server
    finally:
        _end(process)


def _configured(folder: Path, address: str, keys: Path, variant: Variant) -> Path:
    config = folder / "sshd_config"
    text = CONFIG.format(address=address, port=PORT, folder=folder, keys=keys, user=getpass.getuser())
    forced = [f"ForceCommand {_as_login_shell(folder, variant.shell)}"] if variant.shell else []
    settings = [f"SetEnv {name}={value}" for name, value in variant.environment.items()]
    # Of each setting sshd takes the first that it reads.
    config.write_text("\n".join([*variant.lines, *forced, *settings]) + f"\n{text}")
    return config


def _as_login_shell(folder: Path, shell: str) -> Path:
    """sshd hands every command to the login shell with -c, those of subsystems too, but not its own internal-sftp."""
    file = folder / "login_shell"
    file.write_text(
        '#!/bin/sh\nset -- "$SSH_ORIGINAL_COMMAND"\nunset SSH_ORIGINAL_COMMAND\n'
        f'[ "$1" = internal-sftp ] && exec {SFTP_SERVER}\n{shell}\n'
    )
    file.chmod(0o700)
    return file


def other_shell(kind: str) -> str:
    """A login shell that reads as csh or fish does: the real one where it is installed."""
    real = shutil.which("tcsh" if kind == "csh" else kind)
    stand_in = f"{sys.executable} {TESTS / 'helpers' / 'shells' / 'other_shell.py'} {kind}"
    return f'exec {real or stand_in} -c "$1"'


def program() -> Path:
    found = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    assert found, "sudo apt-get install openssh-server"
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    return Path(found)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        family = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        family = []
    process.terminate()
    process.wait(timeout=PATIENCE_S)
    for one in family:
        try:
            one.kill()
        except psutil.NoSuchProcess:
            continue


def hello(inventory: Inventory) -> str:
    """What a first command on the host `db` prints."""
    host = Host(inventory, "db")
    try:
        return str(host.run(["echo", "hello"]).stdout)
    finally:
        host.close()


def refused(inventory: Inventory) -> str:
    """The one sentence, with its fix, that the host `db` is refused with before anything is started."""
    with pytest.raises(BadInput) as caught, Session(inventory, ["db"]):
        pytest.fail("the session began")
    assert caught.value.exit_status == 2
    assert caught.value.fix
    assert caught.value.file
    return str(caught.value)
