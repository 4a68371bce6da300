"""What the kit knows of the data on a server that it does not run: a real MariaDB, reached by SQL alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from database import Database, running

from benchbook.campaign.design import digest
from benchbook.errors import HostUnusable, WorkloadFailed
from benchbook.hosts.host import Host
from benchbook.hosts.inventory import EndpointSettings, Inventory
from benchbook.hosts.session import Session
from benchbook.probes.watch import watching
from benchbook.profiles import load_profile
from benchbook.reports.starting_state import StartingState
from benchbook.systems.base import System
from benchbook.systems.existing_server import MARKER, EndpointSystem
from benchbook.systems.sql import queries, query
from benchbook.workloads.base import Load, LoadGenerator
from benchbook.workloads.sysbench import Sysbench, SysbenchSize

pytestmark = pytest.mark.real


@dataclass(frozen=True)
class Tables:
    """What is prepared: so many tables of one row each."""

    count: int
    database: str = "shop"


@dataclass
class Filler:
    """Stands for a load generator; `breaks` once it has made its first table."""

    dataset: Tables
    breaks: BaseException | None = None
    seed: int = 7
    prepared: list[Tables] = field(default_factory=list)

    def prepare(self, session: Session, client: Host, system: System, say: Callable[[str], None]) -> None:
        system.make_database(client, self.dataset.database)
        self.prepared.append(self.dataset)
        for number in range(self.dataset.count):
            made = [f"CREATE TABLE Goods{number} (n INT)", f"INSERT INTO Goods{number} VALUES ({self.dataset.count})"]
            queries(client, system.endpoints()[0], made, database=self.dataset.database)
            if self.breaks:
                raise self.breaks


class Endpoint:
    """A database, and what is prepared in it by a profile of so many tables."""

    def __init__(self, session: Session) -> None:
        self.session, self.client = session, session.with_role("client")[0]
        self.system = EndpointSystem(session, load_profile("smoke"), "cloud")

    def bring(self, filler: Filler) -> list[Tables]:
        """What was prepared to get to the starting state; as a run of its own does."""
        generator = cast("LoadGenerator[Any]", filler)
        systems = {"cloud": EndpointSystem(self.session, load_profile("smoke"), "cloud")}
        StartingState(self.session, self.client, systems, generator, "none").bring("cloud", lambda _: None)
        return filler.prepared

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        return query(self.client, self.system.endpoints()[0], statement)


@pytest.fixture
def endpoint(lab: Inventory, database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("BENCH_PASSWORD", database.password)
    account = {"host": database.address, "port": database.port, "user": "bench", "password_env": "BENCH_PASSWORD"}
    cloud = EndpointSettings.model_validate(account)
    with Session(lab.model_copy(update={"endpoints": {"cloud": cloud}}), ["executor"]) as session:
        made = Endpoint(session)
        yield made
        for name in ("shop", "other", "sbtest"):
            made.ask(f"DROP DATABASE IF EXISTS {name}")


SMOKE, PAPER = Tables(2), Tables(3)


def test_data_are_prepared_once_in_a_database_that_only_the_generator_names(endpoint: Endpoint) -> None:
    """Of the marker's own database, `endpoints.cloud.database`, nothing is needed: nobody makes it."""
    assert endpoint.bring(Filler(SMOKE)) == [SMOKE]
    assert endpoint.bring(Filler(SMOKE)) == []
    assert endpoint.ask("SHOW DATABASES LIKE 'sbtest'") == []
    # What is prepared in another database is no reason to forget this one.
    other = Tables(2, "other")
    assert endpoint.bring(Filler(other)) == [other]
    assert endpoint.bring(Filler(SMOKE)) == endpoint.bring(Filler(other)) == []


def test_what_took_the_place_of_data_is_not_taken_for_it(endpoint: Endpoint) -> None:
    endpoint.bring(Filler(SMOKE))
    assert endpoint.bring(Filler(PAPER)) == [PAPER]
    assert endpoint.bring(Filler(PAPER)) == []
    # Its tables are there by name, and hold what another profile has put there.
    assert endpoint.system.has(digest_of(endpoint, PAPER))
    assert not endpoint.system.has(digest_of(endpoint, SMOKE))


def digest_of(endpoint: Endpoint, tables: Tables) -> str:
    """The identity that its starting state gives to a dataset."""
    return digest([endpoint.system.identity, tables, 7])


def test_data_of_which_a_table_is_gone_are_prepared_again(endpoint: Endpoint) -> None:
    endpoint.bring(Filler(SMOKE))
    endpoint.ask("DROP TABLE shop.Goods1")
    assert not endpoint.system.has(digest_of(endpoint, SMOKE))
    endpoint.ask("DROP DATABASE shop")
    assert endpoint.bring(Filler(SMOKE)) == [SMOKE]


def test_a_preparation_that_broke_leaves_no_data_that_are_known(endpoint: Endpoint) -> None:
    """Nor are those known that it has begun to replace."""
    one = Tables(1)
    endpoint.bring(Filler(one))
    with pytest.raises(WorkloadFailed):
        endpoint.bring(Filler(SMOKE, breaks=WorkloadFailed("it broke")))
    assert not endpoint.system.has(digest_of(endpoint, one))
    assert endpoint.bring(Filler(SMOKE)) == [SMOKE]


def test_a_preparation_that_is_interrupted_is_begun_anew(endpoint: Endpoint) -> None:
    with pytest.raises(KeyboardInterrupt):
        endpoint.bring(Filler(SMOKE, breaks=KeyboardInterrupt()))
    assert endpoint.bring(Filler(SMOKE)) == [SMOKE]


def test_tables_of_others_stay_whatever_becomes_of_those_of_the_kit(endpoint: Endpoint) -> None:
    endpoint.ask("CREATE DATABASE shop")
    endpoint.ask("CREATE TABLE shop.`o'``s` (n INT)")
    with pytest.raises(WorkloadFailed):
        endpoint.bring(Filler(SMOKE, breaks=WorkloadFailed("it broke")))
    for each in (SMOKE, Tables(1)):
        assert endpoint.bring(Filler(each)) == [each]
    # Made after the kit had begun to fill this database.
    endpoint.ask("CREATE TABLE shop.later (n INT)")
    assert endpoint.bring(Filler(PAPER)) == [PAPER]
    tables = {name for (name,) in endpoint.ask("SHOW TABLES FROM shop")}
    assert tables == {"o'`s", "later", MARKER, "Goods0", "Goods1", "Goods2"}


def test_a_table_of_somebody_elses_in_the_place_of_one_to_be_made_is_left_and_told(endpoint: Endpoint) -> None:
    endpoint.ask("CREATE DATABASE shop")
    endpoint.ask("CREATE TABLE shop.Goods1 (mine INT)")
    with pytest.raises(HostUnusable, match=r"'Goods1' already exists.*Fix: drop them"):
        endpoint.bring(Filler(SMOKE))
    assert [name for (name,) in endpoint.ask("SHOW TABLES FROM shop")] == ["Goods1"]


def test_what_a_killed_run_has_left_is_said_at_once_with_what_to_do(endpoint: Endpoint) -> None:
    """A driver that is killed in mid-preparation takes nothing away: sysbench then stands before a table of its own."""
    endpoint.ask("CREATE DATABASE sbtest")
    endpoint.ask("CREATE TABLE sbtest.sbtest1 (id INT)")
    sysbench = Sysbench(SysbenchSize(tables=1, table_size=10, prepare_threads=1, time_s=1), [], 1)
    sysbench.find(endpoint.client)
    start = StartingState(endpoint.session, endpoint.client, {"cloud": endpoint.system}, sysbench, "none")
    with pytest.raises(HostUnusable) as caught:
        start.bring("cloud", lambda _: None)
    assert "Table 'sbtest1' already exists" in caught.value.problem
    assert caught.value.key == "endpoint:cloud"
    assert "a run that was killed has left" in str(caught.value.fix)


def test_what_a_generator_fills_that_asks_for_no_database_is_known_by_its_last_identity(endpoint: Endpoint) -> None:
    """The marker's database is that of the inventory, and is made."""
    endpoint.system.keep("one")
    assert endpoint.system.has("one")
    endpoint.system.keep("two")
    assert (endpoint.system.has("one"), endpoint.system.has("two")) == (False, True)


# -- over TLS ----------------------------------------------------------------------------------------------------------


def certified(folder: Path, name: str) -> Path:
    """A certificate that vouches for itself, beside its key (`NAME.key`)."""
    key, subject = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    (folder / f"{name}.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (folder / f"{name}.pem").write_bytes(made.public_bytes(Encoding.PEM))
    return folder / f"{name}.pem"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("certificates")
    return {name: certified(folder, name) for name in ("server", "clients", "stranger")}


@pytest.fixture(scope="module", params=["TLSv1.2", "TLSv1.3"])
def safe(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, certificates: dict[str, Path], net: str
) -> Iterator[Database]:
    """It speaks over TLS alone, and asks clients for a certificate, which those of another authority may not show."""
    server = certificates["server"]
    options = [f"--ssl-cert={server}", f"--ssl-key={server.with_suffix('.key')}", f"--ssl-ca={certificates['clients']}"]
    options.append(f"--tls-version={request.param}")
    folder = tmp_path_factory.mktemp("safe")
    with running(folder, f"{net}.72", options=[*options, "--require-secure-transport=ON"]) as database:
        yield database


@contextmanager
def reached(lab: Inventory, database: Database, **tls: object) -> Iterator[tuple[EndpointSystem, Host, Session]]:
    account = {"host": database.address, "port": database.port, "user": "bench", "password_env": "BENCH_PASSWORD"}
    cloud = EndpointSettings.model_validate({**account, **tls})
    with Session(lab.model_copy(update={"endpoints": {"cloud": cloud}}), ["executor"]) as session:
        yield EndpointSystem(session, load_profile("smoke"), "cloud"), session.with_role("client")[0], session


def test_a_server_is_asked_and_loaded_over_tls(
    lab: Inventory, safe: Database, certificates: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """MariaDB counts the sessions that shook hands (Ssl_accepts): the kit's SQL and sysbench's, and none without."""
    monkeypatch.setenv("BENCH_PASSWORD", safe.password)
    with reached(lab, safe, tls=True, tls_ca=str(certificates["server"])) as (system, client, session):
        system.ready()
        assert query(client, system.endpoints()[0], "SHOW STATUS LIKE 'Ssl_cipher'")[0][1]
        size = SysbenchSize(tables=1, table_size=100, prepare_threads=1, time_s=1)
        sysbench = Sysbench(size, [], 1)
        sysbench.find(client)
        sysbench.prepare(session, client, system, lambda _: None)
        command = sysbench.command(client, system.endpoints(), Load({"workload": "oltp_point_select"}, 2, 1))
        with session.following(client, "sysbench", command) as job:
            ended = job.wait()
            assert (ended.reason, ended.exit) == ("exited", 0), job.stderr()
        with watching(session, system.probes(client)) as watched:
            """A first look is all that is asked for."""
        assert watched.failed == {}
        assert "Threads_connected" in set(watched.series.metric)
        # More than a packet of TLS (16 KiB) holds, both ways.
        long = "x" * 100_000
        assert query(client, system.endpoints()[0], f"SELECT '{long}'") == [(long,)]


def test_a_server_that_nobody_trusted_vouches_for_is_not_spoken_to(
    lab: Inventory, safe: Database, certificates: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_PASSWORD", safe.password)
    for tls_ca in ({}, {"tls_ca": str(certificates["stranger"])}):
        with (
            reached(lab, safe, tls=True, **tls_ca) as (system, *_),
            pytest.raises(HostUnusable, match=r"certificate verify failed.*and who vouches for it \(tls_ca\)"),
        ):
            system.ready()
        with reached(lab, safe, tls=True, **tls_ca) as (system, client, session):
            with watching(session, system.probes(client)) as watched:
                """A first look is all that is asked for."""
            assert "certificate verify failed" in watched.failed["mysql@endpoint:cloud"]


def test_a_server_without_tls_is_not_spoken_to_where_the_inventory_wants_it(
    lab: Inventory, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_PASSWORD", database.password)
    with reached(lab, database, tls=True) as (system, *_), pytest.raises(HostUnusable, match=r"TLS|SSL"):
        system.ready()
