"""What was found out about hosts, as models that a campaign keeps and analyses read. Opens no connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

# A JSON object whose keys are somebody else's: a proof of a load, an answer of a system.
Json = Mapping[str, Any]
# One knob of a host: `was` before the run, `now` while it ran; and all knobs that were set on a host, by name.
Knob = dict[str, str]
Tuned = dict[str, Knob]


class OpenModel(BaseModel):
    """Something kept as JSON: keys beyond the fields are kept too, and only what was given is written."""

    model_config = ConfigDict(extra="allow", frozen=True)

    @model_serializer(mode="wrap")
    def _as_given(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        return {key: value for key, value in handler(self).items() if key in self.model_fields_set}


# What processes of other drivers hold meanwhile (`idle`, `page_reporting`) is not among them.
_POOLED = "cpu_model cores memory_bytes kernel governor turbo thp".split()
# Of its memory a kernel keeps some for itself, and not as much after every boot.
_KEPT_SHARE = 0.01


class HostFacts(OpenModel):
    """What a host is (`remote/machine.py` says it); sizes in bytes, times in seconds, text where it is a setting.

    "not exposed" stands for what a host does not tell. `clock_offset_s` is host minus driver, good to `clock_error_s`.
    """

    hostname: str = ""
    os: str = ""
    kernel: str = ""
    machine: str = ""
    boot_id: str = ""
    open_files_limit: int = 0
    load_1min: int | float = 0
    python: str = ""
    cpu_model: str = ""
    cores: int = 0
    cores_allowed: int = 0
    numa_nodes: int = 1
    governor: str = "not exposed"
    idle: str = "not exposed"
    turbo: str = "not exposed"
    virtual: bool = False
    memory_bytes: int | None = None
    memory_available_bytes: int | None = None
    swap_bytes: int | None = None
    page_reporting: str = "not exposed"
    thp: str = "not exposed"
    swappiness: str = ""
    disk_device: str = ""
    disk_kind: str = "not exposed"
    filesystem: str = "unknown"
    disk_free_bytes: int = 0
    disk_total_bytes: int = 0
    ntp_synchronized: str = "unknown"
    now: int | float = 0
    address: str = ""
    roles: list[str] = Field(default_factory=list)
    asked_at: int | float = 0
    clock_offset_s: int | float = 0
    clock_error_s: int | float = 0

    def identity(self) -> dict[str, object]:
        """What must be the same where trials of two runs are pooled: what it is and how it is set, as far as told."""
        return {name: getattr(self, name) for name in _POOLED if name in self.model_fields_set}

    def differing(self, before: HostFacts) -> list[str]:
        """The names of what is told of both, and is not the same as it was; memory may differ as from boot to boot."""
        now, was = self.identity(), before.identity()
        return [name for name in was if name in now and now[name] != was[name] and not self._a_boot_apart(name, before)]

    def _a_boot_apart(self, name: str, before: HostFacts) -> bool:
        was = before.memory_bytes or 0
        return name == "memory_bytes" and abs((self.memory_bytes or 0) - was) <= _KEPT_SHARE * was


class HostFinding(OpenModel):
    """What is not as a benchmark wants it about a host; `waived` = measured all the same, else put right before."""

    host: str
    what: str
    found: str
    wanted: str
    waived: bool = True


class Survey(OpenModel):
    """What every experiment finds out first: facts per host, what is off about them, and what was set for the run."""

    hosts: dict[str, HostFacts] = Field(default_factory=dict)
    findings: list[HostFinding] = Field(default_factory=list)
    tuned: dict[str, Tuned] = Field(default_factory=dict)

    def shares_machine(self, name: str) -> bool:
        """Do other hosts of the inventory run on this one's machine (same boot)? Not for a host without a boot id."""
        mine = self.hosts[name].boot_id if name in self.hosts else ""
        return bool(mine) and any(other != name and facts.boot_id == mine for other, facts in self.hosts.items())

    def machine_of(self, name: str) -> str:
        """Return what tells machines apart: the boot id, or the host's own name where it has none."""
        return (self.hosts[name].boot_id if name in self.hosts else "") or name

    @property
    def machines(self) -> dict[str, str]:
        """Of each host, what its machine is told by."""
        return {name: self.machine_of(name) for name in self.hosts}
