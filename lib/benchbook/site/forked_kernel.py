"""A notebook's kernel as a copy of this process: ipykernel as ever, without the seconds that its imports take.

The copy is made before this process has threads, and waits; it becomes the kernel when papermill starts one. Then it
has the arguments, the environment, the folder and the session of one that was started: only what is imported is there.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

from ipykernel.kernelapp import IPKernelApp
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

# What a kernel specification of this Python says; any other is started as it says.
_LAUNCHER = "ipykernel_launcher"
_FORK = multiprocessing.get_context("fork")
PATIENCE_S = 5.0


@dataclass(frozen=True)
class Launch:
    """How a kernel is started: its command line, environment and folder, and who ends with it."""

    command: Sequence[str]
    env: Mapping[str, str]
    folder: str


class Seed:
    """The waiting copy; jupyter_client holds it in place of a `subprocess.Popen`, and asks it for the same."""

    stdin = stdout = stderr = None

    def __init__(self) -> None:
        order, self._orders = _FORK.Pipe(duplex=False)
        self._process: ForkProcess = _FORK.Process(target=_grow, args=(order, self._orders))
        self._process.start()
        order.close()

    @property
    def pid(self) -> int:
        return self._process.pid or 0

    def launch(self, how: Launch) -> None:
        self._orders.send(how)
        self._orders.close()

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int | None:
        self._process.join(timeout)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self._process.is_alive():
            os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()

    def terminate(self) -> None:
        self._process.terminate()


@contextmanager
def options(*, forked: bool) -> Iterator[dict[str, Any]]:
    """What papermill has to be told so that its kernel is a copy of this process; nothing without `forked`."""
    if not forked:
        yield {}
        return
    seed = Seed()
    try:
        yield {"kernel_manager_class": manager(seed)}
    finally:
        seed.kill()
        seed.wait(PATIENCE_S)


def manager(seed: Seed) -> type[AsyncKernelManager]:
    """A manager of kernels whose first one is this seed."""

    class SeededManager(AsyncKernelManager):
        async def _async_launch_kernel(self, kernel_cmd: list[str], **how: Any) -> None:
            provisioner = self.provisioner
            if not (isinstance(provisioner, LocalProvisioner) and is_this_python(kernel_cmd)):
                await super()._async_launch_kernel(kernel_cmd, **how)
                return
            env = {**how.get("env", os.environ), "JPY_PARENT_PID": str(os.getpid())}
            seed.launch(Launch(kernel_cmd, env, str(how.get("cwd") or Path.cwd())))
            # As LocalProvisioner.launch_kernel notes it, whose fields have no types; it leads a session of its own.
            for name, value in {"process": seed, "pid": seed.pid, "pgid": seed.pid, "cwd": how.get("cwd")}.items():
                setattr(provisioner, name, value)
            self._reconcile_connection_info(provisioner.connection_info)

    return SeededManager


def is_this_python(command: Sequence[str]) -> bool:
    """Whether a kernel's command line runs ipykernel in this very Python."""
    return os.path.realpath(command[0]) == os.path.realpath(sys.executable) and _LAUNCHER in command


def _grow(order: Connection, orders: Connection) -> None:
    """Wait for how to start, and be the kernel to its end; whoever waits in vain just ends."""
    orders.close()
    # What was imported stays: to look through all of it again and again for garbage takes a twentieth of the figures.
    gc.freeze()
    try:
        how: Launch = order.recv()
    except EOFError:
        return
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(how.env)
    os.chdir(how.folder)
    words = list(how.command[how.command.index(_LAUNCHER) + 1 :])
    sys.argv = [_LAUNCHER, *words]
    # Who started it was looked for when ipykernel was imported.
    kernel: Any = IPKernelApp.instance(parent_handle=int(how.env["JPY_PARENT_PID"]))
    kernel.initialize(words)
    _choose_backend()
    kernel.start()


def _choose_backend() -> None:
    """matplotlib looks for its backend when it is imported: that was before ipykernel said which.

    Inline figures listen to the shell from their import on, if matplotlib names them by then.
    """
    if found := sys.modules.get("matplotlib"):
        found.rcParams["backend"] = os.environ["MPLBACKEND"]
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        # What was left open before the copy is no figure of the notebook's.
        pyplot.close("all")
        pyplot.switch_backend(os.environ["MPLBACKEND"])
