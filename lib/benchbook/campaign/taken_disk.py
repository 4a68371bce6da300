"""The disk that a trial's machines did not have for its load, because other programs used it.

Where others keep a disk busy, what waits for each commit to reach it runs several times slower, without any CPU taken:
while a search through all files of the machine read 700 times a second, the disk was busy for 95% of the time, and
sagas over MySQL had a fifth to three fifths of their throughput. What other machines do to a disk that they share is
not seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchbook.campaign.load_window import Sampled, means
from benchbook.campaign.taken import most_used
from benchbook.hosts.about import Json

# From this share of the disk's time on a load is disturbed.
BY_OTHERS = 0.05
MOVED = ("disk.read_bytes", "disk.written_bytes")


@dataclass(frozen=True)
class TakenDisk:
    """Shares, 0 to 1: of the time in which the disks were `busy`, of the bytes that `others` moved; `program`: most."""

    busy: float = 0.0
    others: float = 0.0
    program: str = ""

    @property
    def lost(self) -> float:
        """The share of the time in which the disks worked for others."""
        return self.busy * self.others

    @property
    def proof(self) -> Json:
        """What a record keeps of it; nothing where others moved nothing."""
        if not self.others:
            return {}
        shares = {"busy": round(self.busy, 4), "others": round(self.others, 4), "lost": round(self.lost, 4)}
        return {"disk_taken": {**shares, "program": self.program}}


def taken_disk(machines: Sequence[Sampled], others: Sequence[Sampled], began: float, ended: float) -> TakenDisk:
    """Of the machine that lost the most; nothing is taken where nothing was seen."""
    used = means([one for one in others if one.metric.startswith("disk")], began, ended)
    disks = means([one for one in machines if one.metric.startswith("disk.")], began, ended)
    found = [_of_host(mine, used[host]) for host, mine in sorted(disks.items()) if host in used]
    return max(found, key=lambda one: one.lost, default=TakenDisk())


def _of_host(disk: Mapping[str, float], used: Mapping[str, float]) -> TakenDisk:
    moved = sum(disk.get(name, 0.0) for name in MOVED)
    if moved == 0:
        return TakenDisk()
    return TakenDisk(
        busy=min(1.0, disk.get("disk.busy_s", 0.0)),
        # What was written lies in memory for a while: the disk may move it when nobody counts any more.
        others=min(1.0, used.get("disk", 0.0) / moved),
        program=most_used(used, "disk"),
    )
