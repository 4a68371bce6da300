"""The two servers of a transfer: a mongod where its host has one, else FerretDB, or endpoints that exist already."""

from __future__ import annotations

from abc import abstractmethod
from urllib.parse import quote

import pymongo
from pymongo.errors import PyMongoError

from benchbook.build import programs
from benchbook.errors import BadInput, ConnectionLost, SystemFailed
from benchbook.hosts.agent import Command
from benchbook.hosts.endpoint import Endpoint, at
from benchbook.hosts.file_hashes import file_hash
from benchbook.hosts.host import Host
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.session import Session
from benchbook.hosts.timeouts import LONGEST_S
from benchbook.systems.base import About
from benchbook.systems.server import Service
from mongo_transfer.settings import Document, MongoEndpoint

# What a server that is not there, or not yet, makes of a command.
UNANSWERED = (OSError, EOFError, ConnectionLost, PyMongoError)


def ask(
    via: Host, address: str, port: int, command: Document, *, database: str = "admin", timeout: float = 60.0
) -> Document:
    """Return the server's reply, whatever it says. Raise what UNANSWERED lists."""
    milliseconds = int(timeout * 1000)
    with (
        via.forward_local(address, port) as local,
        pymongo.MongoClient[Document](
            f"mongodb://{quote(local, safe='')}",
            directConnection=True,
            serverSelectionTimeoutMS=milliseconds,
            socketTimeoutMS=milliseconds,
        ) as client,
    ):
        reply: Document = client[database].command(command, check=False)
        return reply


def tell(via: Host, address: str, port: int, command: Document, *, database: str = "admin") -> Document:
    """Return the reply to a command that must succeed. Raise SystemFailed with the server's own words."""
    where, name = f"{address}:{port}", next(iter(command))
    try:
        reply = ask(via, address, port, command, database=database)
    except UNANSWERED as problem:
        raise SystemFailed(f"{where}: no answer to {name}: {problem!r}") from problem
    if reply.get("ok") != 1:
        raise SystemFailed(f"{where}: {name}: {reply.get('errmsg', reply)}")
    return reply


SIDES = ("source", "target")
KINDS = ("mongod", "ferret", "endpoint")
PUBLISHED = "MongoDB, single-node replica set, cacheSize 30GB"
_NOT_INITIALIZED = 94


class MongoServer(Service):
    """One side of a transfer; `side` is its role in the inventory. `host` is None for a server that exists already.

    Such a one is its owner's: it has no host to put anything on, and no process to start, end or watch.
    """

    name = "mongo"
    default_port = 27017
    ports_without_login = ("port",)
    builds = ("mongo",)
    takes = ()
    host: Host | None = None

    def __init__(self, session: Session, side: str) -> None:
        super().__init__(session)
        self.side = side
        self.name = f"mongo:{side}"

    @property
    def own_hosts(self) -> list[Host]:
        return [self.host] if self.host else []

    @property
    @abstractmethod
    def endpoint(self) -> MongoEndpoint:
        """How a client on any host of the inventory reaches it."""

    @property
    @abstractmethod
    def listens(self) -> Endpoint:
        """Where it listens, for a probe."""

    @abstractmethod
    def about(self) -> About: ...

    def start(self, *, fresh: bool) -> None:
        """Start it and return once it serves; `fresh` = without any data."""
        if fresh:
            self.servers.reset(None)
        self.servers.start()
        self.servers.ready()

    def weigh(self) -> int:
        """How much it holds, by a figure that stands still when nothing is written; 0 where the kit cannot ask."""
        return 0


class OwnServer(MongoServer):
    """A server that the kit starts on the host with the role of its side, without accounts, bound to its address."""

    host: Host
    kind: str

    def __init__(self, session: Session, side: str, cache_gb: float) -> None:
        super().__init__(session, side)
        self.host, self.cache_gb = session.with_role(side)[0], cache_gb

    @property
    def folder(self) -> str:
        """One for each program: what mongod stores, FerretDB cannot read."""
        return f"{self.kind}-{self.side}"

    @property
    def endpoint(self) -> MongoEndpoint:
        return MongoEndpoint(f"mongodb://{at(self.host.address, self.port)}/?directConnection=true")

    @property
    def listens(self) -> Endpoint:
        return Endpoint(self.host.address, self.port, protocol="mongodb")

    def ask(self, command: Document, database: str = "admin") -> Document:
        return tell(self.host, self.host.address, self.port, command, database=database)

    def weigh(self) -> int:
        """Return documents, their bytes and those of their indexes, over all of its databases."""
        names = [each["name"] for each in self.ask({"listDatabases": 1})["databases"]]
        counted = [self.ask({"dbStats": 1}, name) for name in names]
        return sum(int(each.get(what, 0)) for each in counted for what in ("objects", "dataSize", "indexSize"))

    def knock(self, host: Host) -> str | None:
        try:
            hello = ask(host, host.address, self.port, {"hello": 1}, timeout=5)
        except UNANSWERED as problem:
            return repr(problem)
        return None if hello.get("isWritablePrimary") else self.not_primary()

    def not_primary(self) -> str:
        """Return what the server waits for that answers but takes no writes yet."""
        return "it is no primary"

    @property
    def runs(self) -> bool:
        return any(job.status() is None for job in self.servers.jobs.values())

    def remove(self) -> None:
        """End it, and take what it holds off its host's disk."""
        self.servers.kill()
        self.host.run(["rm", "-rf", "--", self.data(self.host)], timeout=600)

    def _about(self, version: str, title: str, stand_in_for: str | None, notes: tuple[str, ...]) -> About:
        config = {"command": " ".join(map(str, self.command(self.host).argv))}
        return About(self.name, version, f"{title} ({self.side})", stand_in_for, notes, (self.host.name,), config)


class Mongod(OwnServer):
    """The real server as a replica set of one node, with the profile's cache size."""

    kind = "mongod"
    # A large cache takes minutes.
    ends_within_s = 600.0

    def install_on(self, host: Host) -> None:
        host.require_program("mongod", package="mongodb-org-server")

    def command(self, host: Host) -> Command:
        argv = [
            host.require_program("mongod", package="mongodb-org-server"),
            "--replSet",
            "benchbook",
            "--dbpath",
            self.data(host),
            "--bind_ip",
            self.host.address,
            "--port",
            self.port,
            "--wiredTigerCacheSizeGB",
            self.cache_gb,
            "--quiet",
            "--nounixsocket",
        ]
        return Command(argv, timeout_s=LONGEST_S, grace_s=30)

    def not_primary(self) -> str:
        """A new replica set has to be initiated once."""
        status = ask(self.host, self.host.address, self.port, {"replSetGetStatus": 1}, timeout=5)
        if status.get("code") == _NOT_INITIALIZED:
            members = [{"_id": 0, "host": at(self.host.address, self.port)}]
            self.ask({"replSetInitiate": {"_id": "benchbook", "members": members}})
        return "its replica set has no primary yet"

    def about(self) -> About:
        notes = (f"single-node replica set, cache {self.cache_gb:g} GB",)
        return self._about(str(self.ask({"buildInfo": 1})["version"]), "MongoDB", None, notes)


class Ferret(OwnServer):
    """FerretDB, which speaks MongoDB's protocol and keeps its documents in SQLite files."""

    kind = "ferret"
    program_file = "ferret-server"

    def command(self, host: Host) -> Command:
        argv = [self.program.on(host), "--listen", at(self.host.address, self.port), "--dir", self.data(host)]
        return Command(argv, timeout_s=LONGEST_S, grace_s=10)

    def about(self) -> About:
        notes = (
            "over SQLite: it answers MongoDB's protocol, but its speed, locking and memory are SQLite's",
            "no replica set and no oplog; it has no cache size to set",
            f"it calls itself MongoDB {self.ask({'buildInfo': 1})['version']}",
        )
        made = file_hash(programs.artefact(self.builds[0]) / self.program_file)
        return self._about(f"1.24.0 (program {made[:12]})", "FerretDB", PUBLISHED, notes)


class ExistingServer(MongoServer):
    """An endpoint of the inventory; its name is its side."""

    def __init__(self, session: Session, side: str) -> None:
        super().__init__(session, side)
        self.existing = session.inventory.endpoints[side]
        self.password = self.existing.password(f"endpoints.{side}")

    @property
    def endpoint(self) -> MongoEndpoint:
        s = self.existing
        user = f"{s.user}@" if self.password else ""
        return MongoEndpoint(f"mongodb://{user}{at(s.host, s.port)}/?tls={str(s.tls).lower()}", self.password or None)

    @property
    def listens(self) -> Endpoint:
        s = self.existing
        return Endpoint(s.host, s.port, s.user, self.password, tls=s.tls, protocol="mongodb")

    def about(self) -> About:
        s = self.existing
        title = f"{s.product or f'existing server at {s.host}:{s.port}'} ({self.side})"
        return About(self.name, "not asked", title, None, ("an existing server: never restarted",))

    def command(self, host: Host) -> Command:
        raise SystemFailed(f"{self.name} is run by somebody else")

    def knock(self, host: Host) -> str | None:
        return None


def check(inventory: Inventory, kind: str) -> list[str]:
    """The hosts that both servers need, by name. Raise BadInput for an unknown kind or a role that nobody has."""
    if kind and kind not in KINDS:
        raise BadInput("unknown kind of server", key="server", value=kind, fix=f"one of {', '.join(KINDS)}, or nothing")
    missing = [side for side in SIDES if side not in inventory.endpoints]
    if kind == "endpoint" and missing:
        fix = "describe both servers under `endpoints`, by the names source and target"
        raise BadInput("no such endpoint", file=inventory.file, key="endpoints", value=missing[0], fix=fix)
    for side in SIDES:
        if side in inventory.endpoints and inventory.endpoints[side].tls_ca:
            raise BadInput(
                "a MongoDB server is believed by the authorities that its client host trusts",
                file=inventory.file,
                key=f"endpoints.{side}.tls_ca",
                value=inventory.endpoints[side].tls_ca,
                fix="remove it, and have that authority trusted on the client host (update-ca-certificates)",
            )
    return [name for side in SIDES if not _is_endpoint(inventory, side, kind) for name in inventory.require(side)[:1]]


def _is_endpoint(inventory: Inventory, side: str, kind: str) -> bool:
    return kind == "endpoint" or (not kind and side in inventory.endpoints)


def make(session: Session, side: str, kind: str, cache_gb: float) -> MongoServer:
    """The server of this side: an endpoint if the inventory has one by its name, a mongod if its host has one."""
    if _is_endpoint(session.inventory, side, kind):
        return ExistingServer(session, side)
    host = session.with_role(side)[0]
    program = session.inventory.program("mongod")
    has_mongod = program in host.which(program)
    return (Mongod if kind == "mongod" or (not kind and has_mongod) else Ferret)(session, side, cache_gb)
