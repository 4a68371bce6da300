"""How much of a load one server takes at once, as it says itself: what it would refuse is told before it is filled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchbook.errors import BadInput

# What a load holds on a server, and a server bounds.
CONNECTIONS, STATEMENTS = "connections", "prepared statements"
# Connections that a server of the kit's own is given beyond those of the load: the kit's, its probes', a user's look.
SPARE = 100


@dataclass(frozen=True)
class Limit:
    """`most` of `of` (CONNECTIONS, STATEMENTS) on `server`, by its `setting`; `key` and `fix` say how that is raised.

    `own` of them are the kit's: probes hold connections while a load runs. `through`: no more of the load's reach it,
    as from the pool of a pooler that stands before it.
    """

    of: str
    server: str
    setting: str
    most: int
    key: str
    fix: str
    own: int = 0
    through: int | None = None

    def needed(self, held: Mapping[str, int]) -> int:
        """Of what a load holds on one server (of -> how many), and the kit's own, what comes to this one."""
        of_load = held.get(self.of, 0)
        return (of_load if self.through is None else min(of_load, self.through)) + (self.own if of_load else 0)

    def check(self, held: Mapping[str, int], *, file: str) -> None:
        """Raises BadInput where a load holds more."""
        needed = self.needed(held)
        if needed > self.most:
            of_kit = f", {self.own} of them the kit's own," if self.own else ""
            raise BadInput(
                f"{needed:,} {self.of}{of_kit} are more than {self.server} takes at once by its {self.setting}",
                file=file,
                key=self.key,
                value=self.most,
                fix=f"{self.fix.format(needed=needed)}, or name fewer `threads`",
            )
