"""What the class of a server declares, for those who ask by its name before any host is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.inventory import Inventory


class NamedServer:
    """What a server's class declares before any host is known; the inventory and the build ask for it by its name.

    `role` is the role of its hosts ("" = its name); the ports are where it listens when the inventory does not say;
    `builds` are the folders of env/systems/ that it is built from, or fetched by; `instead` is the server that takes
    its place where it cannot be fetched. `versioned` is the one of `builds` whose versions are those of it ("" = it has
    none; see `versions`), and `named_version` the version that its name carries ("" = the bare name). `takes` are those
    of an inventory's `binary` and `config` that it heeds: the others are refused.
    """

    name: str
    role: ClassVar[str] = ""
    default_port: ClassVar[int | None] = None
    default_status_port: ClassVar[int | None] = None
    default_peer_port: ClassVar[int | None] = None
    builds: ClassVar[tuple[str, ...]] = ()
    instead: ClassVar[str] = ""
    versioned: ClassVar[str] = ""
    named_version: ClassVar[str] = ""
    takes: ClassVar[tuple[str, ...]] = ("binary", "config")

    @classmethod
    def role_name(cls) -> str:
        """The role that its hosts carry in an inventory."""
        return cls.role or cls.name

    @classmethod
    def roles(cls) -> tuple[str, ...]:
        """Every role that an inventory must have for it, its own first."""
        return (cls.role_name(),)

    @classmethod
    def builds_for(cls, inventory: Inventory) -> tuple[str, ...]:
        """Those of `builds` that are needed for this inventory: it may name programs that its hosts have."""
        return cls.builds
