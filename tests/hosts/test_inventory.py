"""Inventories, profiles and the YAML below them: what is wrong is said with file, key, value and fix."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

import paramiko
import pytest
from kit import INVENTORY, ROOT, Home, inventory

from benchbook import paths, systems
from benchbook.errors import BadInput
from benchbook.hosts import capacity, connection, open_ports
from benchbook.hosts import inventory as inventory_file
from benchbook.hosts.connection import Route, find_route
from benchbook.hosts.inventory import Inventory, Login, known_inventories, load_inventory
from benchbook.hosts.lab import lab_hosts
from benchbook.profiles import known_profiles, load_profile
from benchbook.user_input.yaml_file import load_yaml
from benchbook.workloads import generator

NET = "127.0.90"


def refused(home: Home, **changes: Any) -> BadInput:
    path = home.write("broken.yaml", inventory(NET, **changes))
    with pytest.raises(BadInput) as caught:
        load_inventory(str(path))
    assert str(caught.value.file) == str(path)
    assert caught.value.exit_status == 2
    return caught.value


def test_a_host_that_only_drives_loads_carries_the_engine_where_there_is_no_server() -> None:
    """As in RocksDB's lab; servers that exist elsewhere are on none of these hosts."""
    here, cores = load_inventory("lab_rocksdb"), len(os.sched_getaffinity(0))
    assert capacity.of_servers(here).cores == cores
    assert [machine.server for machine in capacity.machines(here, ["client"])] == [True]
    elsewhere = here.model_copy(update={"endpoints": {"theirs": Login(user="a")}})
    assert capacity.of_servers(elsewhere).cores == 0
    assert [machine.server for machine in capacity.machines(elsewhere, ["client"])] == [False]


def test_hosts_that_are_bound_to_other_cores_have_a_machine_each(home: Home) -> None:
    known = load_inventory(INVENTORY)

    def bound(**cpus: tuple[int, ...]) -> list[tuple[int, bool, bool]]:
        hosts = {name: host.model_copy(update={"cpus": cpus[name]}) for name, host in known.hosts.items()}
        found = capacity.machines(known.model_copy(update={"hosts": hosts}), list(hosts))
        return [(machine.cores, machine.client, machine.server) for machine in found]

    assert bound(executor=(0,), db1=(1, 2)) == [(1, True, False), (2, False, True)]
    assert bound(executor=(1, 2), db1=(2, 1)) == [(2, True, True)]


def test_every_inventory_and_profile_of_the_project_is_valid() -> None:
    assert known_inventories() == sorted(p.stem for p in (ROOT / "env" / "hosts").glob("*.yaml"))
    assert [load_inventory(name).name for name in known_inventories()] == known_inventories()
    assert {"smoke", "lab", "paper"} <= set(known_profiles())
    assert [load_profile(name).name for name in known_profiles()] == known_profiles()


def test_roles_ports_and_folders(home: Home) -> None:
    lab = load_inventory(INVENTORY)
    assert lab.name == INVENTORY
    assert (lab.with_role("client"), lab.with_role("tidb"), lab.with_role("nobody")) == (["executor"], ["db1"], [])
    assert (lab.port("tidb"), lab.port("mongo"), lab.port("unheard")) == (4000, 27017, None)
    assert lab.workdir("db1") == str(home.path / ".lab" / INVENTORY / "db1" / "work")
    assert lab.program("sysbench") == "sysbench"
    assert lab.ssh.lease_s == 10


def test_real_hosts_keep_the_kit_below_the_login_s_home_or_where_the_inventory_says(home: Home) -> None:
    hosts = {"a": {"address": "a.invalid", "roles": ["client"]},
             "b": {"address": "b.invalid", "roles": ["tidb"], "workdir": "/srv/b"}}  # fmt: skip
    real = load_inventory(str(home.write("real.yaml", {"hosts": hosts, "programs": {"sysbench": "/opt/sysbench"}})))
    assert (real.workdir("a"), real.workdir("b")) == (".benchbook/real/a", "/srv/b")
    assert (real.ssh.port, real.ssh.lease_s, real.program("sysbench")) == (22, 20, "/opt/sysbench")
    with pytest.raises(BadInput, match="real hosts"):
        lab_hosts(real)


def test_a_slip_in_any_program_that_is_asked_for_is_known() -> None:
    asking = re.compile(r'(?:require_program|inventory\.program)\("([\w-]+)"|psql\.program\(\w+, "([\w-]+)"')
    texts = [path.read_text() for path in (ROOT / "lib").rglob("*.py")]
    asked = {first or second for text in texts for first, second in asking.findall(text)}
    asked |= {generator(name).program for name in ("db_bench", "etcd_benchmark", "go_tpc", "pgbench", "sysbench")}
    assert {"sysbench", "psql", "mydumper"} < asked
    assert asked - {*inventory_file._PROGRAMS} == {"ab"}


def test_names_of_packages_are_their_own(home: Home) -> None:
    hosts = {"a": {"address": "127.0.90.1", "roles": ["client", "master", "tiflash", "redis-sentinel"]}}
    programs = {"redis-benchmark": "/opt/redis-benchmark", "pg_dump": "/opt/pg_dump"}
    found = load_inventory(str(home.write("own.yaml", {"hosts": hosts, "programs": programs})))
    assert (found.with_role("tiflash"), found.program("pg_dump")) == (["a"], "/opt/pg_dump")


ANSIBLE = """\
[stores]
db[1:2] ansible_user=bench
db3 ansible_host=192.0.2.3 ansible_port=2222
[loads]
gen ansible_host=192.0.2.9
[all:vars]
ansible_ssh_private_key_file=~/.ssh/prod
"""


def from_ansible(home: Home, text: str, roles: dict[str, Any], **more: Any) -> Inventory:
    home.write("hosts.ini", text)
    (home.path / "group_vars").mkdir(exist_ok=True)
    (home.path / "group_vars" / "loads.yml").write_text("ansible_user: load\n")
    ansible = {"inventory": str(home.path / "hosts.ini"), **({"roles": roles} if roles else {})}
    return load_inventory(str(home.write("mine.yaml", {"ansible": ansible, **more})))


def test_hosts_of_an_ansible_inventory_get_the_roles_of_their_groups(home: Home) -> None:
    own = {"db3": {"address": "10.1.0.3", "tune": ["thp"]}}
    read = from_ansible(home, ANSIBLE, {"stores": ["tidb", "mysql"], "loads": "client"}, hosts=own)
    said = {name: (h.address, h.ssh_address, h.ssh_port, h.user, h.roles) for name, h in read.hosts.items()}
    assert said == {
        "db1": ("db1", None, None, "bench", ("tidb", "mysql")),
        "db2": ("db2", None, None, "bench", ("tidb", "mysql")),
        # Servers have an address of their own here: Ansible's is that of SSH.
        "db3": ("10.1.0.3", "192.0.2.3", 2222, None, ("tidb", "mysql")),
        "gen": ("192.0.2.9", None, None, "load", ("client",)),
    }
    assert (read.ssh.key, read.hosts["db3"].tune) == ("~/.ssh/prod", ("thp",))
    assert from_ansible(home, "[tidb]\ndb1\n", {}).with_role("tidb") == ["db1"]


def test_hosts_of_no_group_are_those_of_ansibles_group_all(home: Home) -> None:
    assert from_ansible(home, "192.0.2.1\n192.0.2.2\n", {"all": "tidb"}).with_role("tidb") == ["192.0.2.1", "192.0.2.2"]


def test_what_ansible_says_beside_a_topology_is_told_in_its_own_words(home: Home) -> None:
    servers = {f"{kind}_servers": [{"host": f"192.0.2.{n}"}] for n, kind in enumerate(("pd", "tikv", "tidb"), start=1)}
    topology = str(home.write("topology.yaml", {"global": {"ssh_port": 22}, **servers}))
    with pytest.raises(BadInput, match=r"hosts\.ini: line 2, gen\.ansible_port: .*65535"):
        from_ansible(home, "[client]\ngen ansible_host=192.0.2.9 ansible_port=70000\n", {}, topology=topology)


def test_an_address_of_an_ssh_config_is_none_that_servers_listen_on(home: Home) -> None:
    (home.path / "config").write_text("Host db\n  HostName 0.0.0.0\n")
    hosts = {"ssh": {"config": str(home.path / "config")}, "hosts": {"db": {"roles": ["tidb"]}}}
    with pytest.raises(BadInput, match=r"mine\.yaml with .*config: hosts\.db\.address: must be a host name"):
        load_inventory(str(home.write("mine.yaml", hosts)))


def test_an_ssh_config_that_is_missing_is_told_where_it_should_say_where_a_host_is(home: Home) -> None:
    hosts = {"ssh": {"config": "/no/such"}, "hosts": {"db": {"roles": ["tidb"]}}}
    with pytest.raises(BadInput, match=r"mine\.yaml: ssh\.config: the ssh config is missing \(got '/no/such'\)"):
        load_inventory(str(home.write("mine.yaml", hosts)))


def test_the_number_of_a_host_is_no_name(home: Home) -> None:
    path = home.path / "mine.yaml"
    path.write_text("hosts: {1: {address: 192.0.2.1, roles: [tidb]}}\n")
    with pytest.raises(BadInput, match=r"line 1, hosts\.1: Input should be a valid string .*put it in quotes"):
        load_inventory(str(path))


@pytest.mark.parametrize(
    ("text", "roles", "file", "said"),
    [
        (ANSIBLE, {"store": "tidb"}, "mine.yaml", "roles.store: Ansible knows no group of this .*mean stores"),
        ("[tidb]\na\nb ansible_password=x7\n", {}, "hosts.ini", "line 3, b.ansible_password: this is not taken over"),
        ("[tidb]\na ansible_connection=local\n", {}, "hosts.ini", "line 2, a.ansible_connection: hosts are reached"),
        ("[tidb]\na ansible_host='{{ ip }}'\n", {}, "hosts.ini", "line 2, a.ansible_host: Benchbook fills in"),
        ("[tidb]\n[x:why]\n", {}, "hosts.ini", r"line 2, the inventory: .*Section \[x:why\] has unknown type"),
        ("[tidb]\na\nEx 2: hosts\n", {}, "hosts.ini", "line 3, the inventory: .*key=value host variable .*got: 2:"),
        ("[tidb]\na ansible_ssh_port=ssh\n", {}, "hosts.ini", "line 2, a.ansible_ssh_port: .*valid integer"),
        ("[tidb]\na ansible_ssh_args='sshpass -p x7'\n", {}, "hosts.ini", "line 2, a.ansible_ssh_args: this is not"),
        ("[tidb]\na ansible_paramiko_proxy_command=nc\n", {}, "hosts.ini", "line 2, .*proxy_command: this is"),
        ("[tidb]\na ansible_port=70000\n", {}, "hosts.ini", "line 2, a.ansible_port: .*less than or equal to 65535"),
        ("[tidb]\na\n[clent]\nb\n", {}, "mine.yaml with .*hosts.ini", "b.roles: .*client as the role of its group in"),
        ("[tidb]\na\nb ansible_host=a\n", {}, "mine.yaml with .*hosts.ini", "hosts.b.address: two hosts .*: a and b"),
        ("[tidb]\ndb\ndb.b ansible_port=70000\n", {}, "hosts.ini", r"line 3, db\.b\.ansible_port: .*65535"),
        ("[x]\na\n", {"x": "clent"}, "mine.yaml with .*hosts.ini", "a.roles: .*client as the role of its group in"),
        ("[tidb]\n2001:db8::1\n", {}, "hosts.ini", "line 2, 2001:db8::1: .*: `NAME ansible_host=2001:db8::1`"),
    ],
)  # fmt: skip
def test_what_is_not_taken_over_from_ansible_is_refused(
    home: Home, text: str, roles: dict[str, str], file: str, said: str
) -> None:
    with pytest.raises(BadInput) as caught:
        from_ansible(home, text, roles)
    assert re.search(f"(?:{file}): .*{said}", str(caught.value).replace("\n", " ")), str(caught.value)
    assert "x7" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "port", "key"),
    [("mariadb", 3306, "port"), ("tidb_cluster", 4000, "port"), ("tidb_cluster", 10080, "status_port")],
)
def test_a_port_that_nobody_names_is_not_that_of_sshd(home: Home, name: str, port: int, key: str) -> None:
    """Which of the systems of a role runs is known by the run alone: it asks before a lab is started."""
    hosts = {"db": {"address": f"{NET}.1", "roles": ["mysql", "tidb", "tikv", "pd"]}}
    said = {"lab": True, "description": "d", "ssh": {"port": port}, "hosts": hosts}
    known = load_inventory(str(home.write("undeclared.yaml", said)))
    with pytest.raises(BadInput, match=f"systems.{name}.{key}: .* the sshd of host db on one port .got {port}"):
        systems.find(name, known)
    assert systems.find("mysql8" if port != 3306 else "tidb_cluster", known)


def test_a_server_has_not_one_port_for_two(home: Home) -> None:
    hosts = {"db": {"address": f"{NET}.1", "roles": ["tidb"]}}
    said = {"lab": True, "description": "d", "hosts": hosts, "systems": {"tidb": {"port": 4000, "status_port": 4000}}}
    with pytest.raises(BadInput, match=r"tidb.status_port: this is also systems\.tidb\.port .got 4000"):
        load_inventory(str(home.write("one.yaml", said)))


def test_systems_on_different_hosts_may_share_a_port(home: Home) -> None:
    hosts = {
        "a": {"address": f"{NET}.1", "roles": ["client", "tidb"]},
        "b": {"address": f"{NET}.2", "roles": ["mysql"]},
    }
    path = home.write("two.yaml", inventory(NET, hosts=hosts, systems={"tidb": {"port": 1}, "mariadb": {"port": 1}}))
    assert load_inventory(str(path)).port("mariadb") == 1


def test_servers_of_one_role_take_turns_on_a_port_and_share_settings(home: Home) -> None:
    mine = {"port": 3307, "user": "dba"}
    hosts = {"a": {"address": f"{NET}.1", "roles": ["client", "mysql"]}}
    both = {"mariadb": mine, "mysql57": {"port": 3307}}
    path = home.write("turns.yaml", inventory(NET, hosts=hosts, systems=both))
    found = load_inventory(str(path))
    assert [found.settings(name).user for name in ("mariadb", "mysql57", "mysql8", "tidb")] == [
        "dba", "root", "dba", "root",
    ]  # fmt: skip
    assert [found.port(name) for name in ("mariadb", "mysql57", "mysql8", "tidb")] == [3307, 3307, 3307, 4000]


def host(address: str = "127.0.0.1", *roles: str, **more: Any) -> dict[str, Any]:
    return {"address": address, "roles": roles or ["client"], **more}


A, B = f"{NET}.1", f"{NET}.2"


@pytest.mark.parametrize(
    ("changes", "key", "value", "fix"),
    [
        ({"hosts": {}}, "hosts", {}, "add one"),
        ({"hosts": {"a/b": host()}}, "hosts.a/b", "a/b", "write it without '/'"),
        ({"ssh": {"port": 0}}, "ssh.port", 0, "write 1 or more"),
        ({"ssh": {"lease_s": 1}}, "ssh.lease_s", 1, "write 5 or more"),
        ({"sytems": {}}, "sytems", {}, "did you mean systems?"),
        ({"ssh": {"prot": 22}}, "ssh.prot", 22, "known here: config, connect_timeout_s, key, known_hosts"),
        ({"hosts": {"a": host(workdir="~bench/x")}}, "hosts.a.workdir", "~bench/x", "write the whole path"),
        ({"hosts": {"a": host(workdir="$HOME/x")}}, "hosts.a.workdir", "$HOME/x", "write the whole path, or begin it"),
        # Ports: two on one, or sshd's own.
        ({"systems": {"tidb": {"port": 65536}}}, "systems.tidb.port", 65536, "write 65535 or less"),
        ({"systems": {"tidb": {"port": 2222}}}, "systems.tidb.port", 2222, "give tidb another port"),
        ({"systems": {"tidb": {"status_port": 3306}, "mariadb": {}}}, "systems.mariadb.port", 3306, "give mariadb ano"),
        ({"hosts": {"a": host(A), "b": host(A)}}, "hosts.b.address", f"{A}:2222", "give each host its own address"),
        # Root would make it, and hand it to the account that logs in.
        ({"hosts": {"a": host(A, workdir="/srv/a")}}, "hosts.a.workdir", "/srv/a", "remove it, or set `lab: false`"),
        # A lab stays on loopback; of IPv6 there is one such address, which sshd took for a port and another address.
        ({"hosts": {"a": host("10.0.0.1")}}, "hosts.a.address", "10.0.0.1", "use an address in 127.0.0.0/8"),
        ({"hosts": {"a": host("db.invalid")}}, "hosts.a.address", "db.invalid", "use an address in 127.0.0.0/8"),
        ({"hosts": {"a": host("::1")}}, "hosts.a.address", "::1", "use an address in 127.0.0.0/8"),
        ({"hosts": {"a": host(A, ssh_address="10.0.0.1")}}, "hosts.a.ssh_address", "10.0.0.1", "use an address in"),
        # The second server stood idle, or another sysbench ran than the one that was named, and nothing said so.
        ({"hosts": {"a": host(A), "b": host(B, "tibd")}, "systems": {}}, "hosts.b.roles", "tibd", "write tidb"),
        ({"hosts": {"a": host(A, "tidb", "clients")}}, "hosts.a.roles", "clients", "write client"),
        ({"hosts": {"a": host(A, "dm_worker")}}, "hosts.a.roles", "dm_worker", "write dm-worker"),
        ({"programs": {"sysbnech": "/opt/sysbench"}}, "programs.sysbnech", "sysbnech", "write sysbench"),
        ({"programs": {"mongdo": "/opt/mongod"}}, "programs.mongdo", "mongdo", "write mongod"),
        ({"systems": {"mariadbb": {"port": 3306}}}, "systems.mariadbb", "mariadbb", "did you mean mariadb? there are"),
        ({"hosts": {"a": host(A, "business")}, "systems": {"busines": {}}}, "systems.busines", "busines", "business"),
        # The server ran as it comes, and its figures were taken for those of the setting.
        ({"systems": {"mysql8": {"binary": "/x"}}}, "systems.mysql8.binary", "/x", "remove it; a server that you have"),
        ({"systems": {"tidb:7.1": {"binary": "/x"}}}, "systems.tidb:7.1.binary", "/x", "remove it; a server that"),
        ({"systems": {"postgresql": {"binary": "/x"}}}, "systems.postgresql.binary", "/x", "remove it; a server that"),
        ({"systems": {"dtm": {"settings": {"LogLevel": "x"}}}}, "systems.dtm.settings", ["LogLevel"], "remove it; a"),
        ({"systems": {"mongo": {"settings": {"a.x": 1}}}}, "systems.mongo.settings", ["a.x"], "remove it; a server"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_its_key_with_a_fix(
    home: Home, changes: dict[str, Any], key: str, value: Any, fix: str
) -> None:
    problem = refused(home, **changes)
    assert (problem.key, problem.value) == (key, value)
    assert fix in str(problem.fix)


@pytest.mark.parametrize(("load", "key"), [(load_inventory, "inventory"), (load_profile, "profile")])
@pytest.mark.parametrize("name", ["nobody", "no/such.yaml"])
def test_an_unknown_name_lists_the_known_ones(home: Home, load: Any, key: str, name: str) -> None:
    with pytest.raises(BadInput) as caught:
        load(name)
    assert (caught.value.key, caught.value.value) == (key, name)
    assert {"inventory": INVENTORY, "profile": "tiny"}[key] in str(caught.value.fix)


def test_a_profile_is_read_as_written(home: Home) -> None:
    tiny = load_profile("tiny")
    assert (tiny.name, tiny.repetitions, tiny.reset, tiny.sysbench.tables, tiny.sysbench.rate) == (
        "tiny",
        2,
        "restart",
        4,
        0,
    )


def test_settings_that_systems_take(home: Home) -> None:
    taken = {
        "postgresql": {"settings": {"shared_buffers": "1GB"}},
        "pgbouncer": {"settings": {"pool_mode": "session"}},
        "mariadb": {"settings": {"innodb_flush_log_at_trx_commit": 2}},
        "mariadb:pool": {"settings": {"thread_handling": "pool-of-threads"}},
        "tidb": {"settings": {"log.level": "error"}},
        "etcd": {"settings": {"snapshot-count": 1000}, "binary": "/opt/etcd"},
        "tidb_cluster": {"settings": {"log.level": "error"}, "binary": "/opt/tidb-server"},
    }
    assert set(load_inventory(str(home.write("taken.yaml", inventory(NET, systems=taken)))).systems) == set(taken)


# -- passwords ----------------------------------------------------------------------------------------------------


def test_a_password_comes_from_the_environment_or_a_file_and_is_never_shown(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = load_inventory(INVENTORY)
    with pytest.raises(BadInput, match="password file is missing"):
        lab.settings("tidb").password("systems.tidb")
    secret = home.write(".lab/secrets/database", "pa:ss'w\n")
    secret.chmod(0o640)
    with pytest.raises(BadInput, match=r"tidb\.password_file: others .* \(mode 640\)\. Fix: chmod 600"):
        lab.settings("tidb").password("systems.tidb")
    secret.chmod(0o600)
    assert lab.settings("tidb").password("systems.tidb") == "pa:ss'w"
    by_environment = lab.settings("tidb").model_copy(update={"password_env": "BENCHBOOK_TEST_PASSWORD"})
    with pytest.raises(BadInput, match=r"systems\.tidb: .*\(got 'BENCHBOOK_TEST_PASSWORD'\)\. Fix: export"):
        by_environment.password("systems.tidb")
    monkeypatch.setenv("BENCHBOOK_TEST_PASSWORD", "hush")
    assert by_environment.password("systems.tidb") == "hush"
    assert lab.settings("unheard").password("x") == ""


def test_a_password_that_is_empty_or_named_twice_is_refused(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    both = refused(home, systems={"tidb": {"password_env": "A_PASSWORD", "password_file": "secret"}})
    assert "name two passwords: remove one" in both.problem
    lab = load_inventory(INVENTORY)
    home.write(".lab/secrets/database", "\n").chmod(0o600)
    with pytest.raises(BadInput, match=r"systems\.tidb: the password is empty.*secrets/database"):
        lab.settings("tidb").password("systems.tidb")
    monkeypatch.setenv("A_PASSWORD", "")
    with pytest.raises(BadInput, match=r"the password is empty.*what A_PASSWORD holds"):
        Login(password_env="A_PASSWORD").password("systems.tidb")


# -- systems by name ----------------------------------------------------------------------------------------------

END = {"host": f"{NET}.30", "port": 3306}


def test_systems_name_their_hosts(home: Home) -> None:
    path = home.write("ends.yaml", inventory(NET, endpoints={"cloud": END}))
    known = load_inventory(str(path))
    assert systems.check_names(["tidb", "mariadb", "endpoint", "endpoint:cloud"], known) == ["db1", "db1"]


@pytest.mark.parametrize("name", ["tibd", "tidb:2", "endpoint", "endpoint:nowhere", ""])
def test_an_unknown_system_or_endpoint(home: Home, name: str) -> None:
    known = load_inventory(str(home.write("ends.yaml", inventory(NET, endpoints={"a": END, "b": END}))))
    with pytest.raises(BadInput) as caught:
        systems.check_names([name], known)
    assert caught.value.fix


def test_an_authority_is_named_for_tls_alone_and_is_a_certificate(home: Home, tmp_path: Path) -> None:
    assert "set `tls: true`" in refused(home, endpoints={"cloud": {**END, "tls_ca": "ca.pem"}}).problem
    (tmp_path / "ca.pem").write_text("no certificate")
    end = {**END, "tls": True, "tls_ca": str(tmp_path / "ca.pem")}
    known = load_inventory(str(home.write("ends.yaml", inventory(NET, endpoints={"cloud": end}))))
    with pytest.raises(BadInput, match=r"ca\.pem: endpoints\.cloud\.tls_ca: this file holds no certificate"):
        known.endpoints["cloud"].authority("endpoints.cloud")


# -- YAML ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [("a: {b: 1, b: 2}\n", "'b' stands twice"), ("a:\tb\n- c", "malformed YAML")],
)  # fmt: skip
def test_yaml_that_does_not_say_what_it_seems_to(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(BadInput, match=said):
        load_yaml(path)


def test_a_merge_key_and_equal_keys_in_different_places_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: {x: 1}\nb: {x: 2}\n")
    assert load_yaml(path) == {"a": {"x": 1}, "b": {"x": 2}}


def test_the_home_of_nobody_is_refused_with_the_path() -> None:
    with pytest.raises(BadInput, match=r"^path: .*\(got '~nobody-of-this-name/key'\)\. Fix: write the path in full"):
        paths.resolve("~nobody-of-this-name/key")


@pytest.mark.parametrize("text", ["8.0", "2011-05-03", "1e3", "true"])
def test_a_text_that_yaml_takes_for_something_else_is_to_be_put_in_quotes(home: Home, text: str) -> None:
    """`version: 8.0` or a bare day was to be "a value of this kind", which says nothing to do."""
    path = home.write("broken.yaml", inventory(NET))
    kept = re.sub(r"^description: .*\n", "", path.read_text(), flags=re.MULTILINE)
    path.write_text(f"description: {text}\n{kept}")
    with pytest.raises(BadInput, match=r"description: Input should be a valid string .*Fix: put it in quotes$"):
        load_inventory(str(path))


def test_ports_without_a_login_are_named_with_the_rule_that_closes_it(home: Home) -> None:
    hosts = {
        "bench": {"address": "192.0.2.9", "roles": ["client"]},
        "a": {"address": "192.0.2.1", "roles": ["pd", "tidb"]},
        "b": {"address": "2001:db8::2", "roles": ["dm-worker", "mysql"]},
        "c": {"address": "192.0.2.3", "roles": ["dtm"]},
    }
    known = {"password_env": "X"}
    systems_ = {"pd": {"port": 2400}, "tidb": known, "tidb_cluster": known, "mysql8": {"port": 3307}}
    whole = {**inventory(NET), "lab": False, "hosts": hosts, "systems": systems_}
    real = load_inventory(str(home.write("real.yaml", whole)))
    a, b, c = open_ports.findings(real, real.hosts)
    assert (a.host, a.found) == ("a", "pd 2380, 2400; tidb 10080")
    assert (b.host, b.found) == ("b", "dm-worker 8262; mysql 3307"), "no password is named"
    assert (c.host, c.found) == ("c", "dtm 36789, 36790, 36791"), "HTTP, gRPC and JSON-RPC"
    assert "ip saddr { 192.0.2.1, 192.0.2.3, 192.0.2.9 } accept; ip6 saddr { 2001:db8::2 } accept; " in a.wanted
    assert "tcp dport { 2380, 2400, 10080 } drop;" in a.wanted


@pytest.mark.parametrize("own_network", [True, False])
def test_a_lab_that_other_users_reach_names_its_ports(
    home: Home, monkeypatch: pytest.MonkeyPatch, own_network: bool
) -> None:
    monkeypatch.setattr(open_ports, "has_own_network", lambda inventory: own_network)
    hosts = {
        "a": {"address": f"{NET}.1", "roles": ["dm-master", "client"]},
        "b": {"address": f"{NET}.2", "roles": ["dtm"]},
    }
    lab = load_inventory(str(home.write("open.yaml", {**inventory(NET), "hosts": hosts, "systems": {}})))
    found = open_ports.findings(lab, lab.hosts)
    if own_network:
        assert found == []
        return
    assert [one.found for one in found] == ["dm-master 8261", "dtm 36789, 36790, 36791"]


# -- what OpenSSH says of an address ----------------------------------------------------------------------------------


def _route(home: Home, config: str) -> Route:
    (home.path / "config").write_text(config)
    host = {"address": "10.0.0.9", "ssh_address": "db1", "roles": ["client"]}
    said = {"description": "d", "ssh": {"config": str(home.path / "config")}, "hosts": {"db": host}}
    return find_route(load_inventory(str(home.write("mine.yaml", said))), "db")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("HostName %h.example.com", {"hostname": "db1.example.com"}),
        ("Port=2301", {"port": 2301}),
        ('User "a b"', {"user": "a b"}),
        ("Port 2301\r\n User me\r", {"port": 2301, "user": "me"}),
        ("IdentityFile ${KEYS_OF_MINE}/%r@%n_%k", {"keys": (Path("/keys/me@db1_other"),)}),
        ("IdentityFile none\n IdentitiesOnly yes", {"keys": (), "identities_only": True}),
        ("HostName 1.2.3.4\n ProxyCommand nc -X 5 %h %p %n %r %%", {"gateway": "nc -X 5 1.2.3.4 22 db1 me %"}),
    ],
)
def test_an_ssh_config_means_what_openssh_makes_of_it(
    home: Home, monkeypatch: pytest.MonkeyPatch, config: str, expected: dict[str, object]
) -> None:
    monkeypatch.setenv("KEYS_OF_MINE", "/keys")
    found = _route(home, f"Host * !db1\n Port 1\nHost db1\n {config}\n HostKeyAlias other\n User me\n")
    assert {name: getattr(found, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("Foo bar", "Bad configuration option: foo"),
        ("UseKeychain yes", "Bad configuration option: usekeychain"),
        ("Ciphers nosuch", "Bad SSH2 cipher spec"),
        ("ProxyCommand nc -F %h %p\n ProxyUseFdpass yes", "passes an open socket"),
    ],
)
def test_an_ssh_config_that_cannot_be_followed_is_refused(home: Home, config: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        _route(home, f"Host db1\n {config}\n")


def test_a_host_that_is_not_reached_is_told_by_what_leads_there(home: Home) -> None:
    """Of an inventory without an ssh_config: its own port, account and file of host keys count."""
    ssh = {"port": 2301, "user": "me", "known_hosts": "/a b/known"}
    hosts = {"db": {"address": "10.0.0.9", "roles": ["client"]}}
    mine = load_inventory(str(home.write("mine.yaml", {"description": "d", "ssh": ssh, "hosts": hosts})))
    route = find_route(mine, "db")

    def fix(said: object) -> str:
        return str(connection._refused(mine, "db", route, [str(said)], [])).partition("Fix: ")[2]

    # Unquoted, /a and b/known would be two files; and a key that all of the machine knows would not be asked about.
    files = "-F none -o 'UserKnownHostsFile=\"/a b/known\"' -o GlobalKnownHostsFile=/dev/null"
    by_hand = f"`ssh {files} -p 2301 -l me 10.0.0.9`"
    assert fix("Host key verification failed.") == f"log in once by {by_hand}, and check what it asks"
    # What paramiko says of a port where nobody listens any more.
    gone = paramiko.ssh_exception.NoValidConnectionsError({("10.0.0.9", 2301): ConnectionRefusedError()})
    assert fix(gone) == "start it (a lab: `benchbook lab up`), or correct address and port"
    assert fix("no kex alg").startswith(f"find out by {by_hand} what it complains about")


def test_a_host_key_is_learnt_by_the_ssh_config_that_counts_and_is_asked_about(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No shell expands a ~ in quotes, and an ssh_config may say that nothing is asked."""
    monkeypatch.setenv("HOME", str(home.path))
    (home.path / "config").write_text("Host db\n HostName 10.0.0.9\n User me\n StrictHostKeyChecking yes\n")
    hosts = {"ssh": {"config": "~/config"}, "hosts": {"db": {"roles": ["client"]}}}
    mine = load_inventory(str(home.write("mine.yaml", hosts)))
    said = str(connection._refused(mine, "db", find_route(mine, "db"), ["Host key verification failed."], []))
    config = home.path / "config"
    assert f"log in once by `ssh -F {config} -o StrictHostKeyChecking=ask -p 22 -l me db`" in said


def test_a_login_that_is_refused_is_told_that_a_locked_key_has_to_be_in_an_agent(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which of several keys an ssh_config names is locked, paramiko does not say: it tells of the last one."""
    route = _route(home, "Host db1\n IdentityFile /locked\n IdentityFile /refused\n")
    monkeypatch.setattr(connection, "_ssh_log", lambda *_, **__: ("me@db1: Permission denied (publickey).", ""))
    mine, keys = load_inventory(str(home.path / "mine.yaml")), [Path("/locked"), Path("/refused")]
    problem = paramiko.AuthenticationException("Authentication failed.")
    said = str(connection._login_refused(mine, "db", route, problem, keys))
    assert "offered: /locked, /refused" in said
    assert said.endswith("; a key with a passphrase must be in an agent (ssh-add)")


@pytest.mark.parametrize("passphrase", ["", "open sesame"])
def test_a_key_is_told_by_its_public_half_which_a_locked_one_shows_too(tmp_path: Path, passphrase: str) -> None:
    key, public = tmp_path / "key", tmp_path / "key.pub"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", str(key)], check=True)
    said = subprocess.run(["ssh-keygen", "-lf", str(public)], capture_output=True, text=True, check=True).stdout
    expected = connection._fingerprint(public)
    assert expected in said.split()
    assert connection._fingerprint(key) == expected
    public.unlink()
    assert connection._fingerprint(key) == expected
    key.write_text("no key")
    assert connection._fingerprint(key) == ""


def _hang_up(agent: socket.socket) -> None:
    agent.accept()[0].close()


def test_an_agent_that_hangs_up_has_no_keys(home: Home, tmp_path: Path) -> None:
    """As one whose socket is forwarded from a machine that has gone; OpenSSH goes on with its files."""
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(tmp_path / "a"))
        agent.listen()
        threading.Thread(target=_hang_up, args=[agent], daemon=True).start()
        route = _route(home, f"Host db1\n IdentityAgent {tmp_path}/a\n")
        assert route.agent == f"{tmp_path}/a"
        assert connection._Agent(route).get_keys() == ()


def test_a_password_file_that_is_a_device_is_said_to_be_one() -> None:
    with pytest.raises(BadInput) as caught:
        Login(password_file="/dev/zero").password("systems.mariadb")
    assert str(caught.value) == (
        "/dev/zero: systems.mariadb.password_file: is a device, and not a plain file. "
        "Fix: name a plain file, or put one there"
    )
