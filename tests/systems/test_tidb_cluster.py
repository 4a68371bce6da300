"""A TiDB cluster as an inventory says it, from a TiUP topology or by hand, and what its placement driver answers."""

from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from kit import ROOT, Home

from benchbook import systems
from benchbook.errors import BadInput, SystemFailed
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.inventory import Inventory, load_inventory
from benchbook.hosts.session import Session
from benchbook.hosts.tiup_topology import DM_S
from benchbook.profiles import load_profile
from benchbook.reports.driving import checking_alive
from benchbook.systems.tidb import serving
from benchbook.systems.tidb_cluster import TiDBCluster, check_one_unistore, missing_replicas, missing_store, toml
from benchbook.user_input.strict_yaml import as_yaml

# The published topology, as TiUP writes one: keys with dots and nested ones, sections that are not ours.
TOPOLOGY: dict[str, Any] = {
    "global": {"user": "tidb", "ssh_port": 2022, "deploy_dir": "/tidb-deploy", "data_dir": "/tidb-data"},
    "server_configs": {
        "tidb": {"log": {"level": "error"}, "prepared-plan-cache.enabled": True},
        "tikv": {"raft-engine.prefill-for-recycle": True, "storage.block-cache.capacity": "8GB"},
        "pd": None,
    },
    "pd_servers": [{"host": "192.0.2.1"}],
    "tidb_servers": [{"host": "192.0.2.2"}, {"host": "192.0.2.3"}],
    "tikv_servers": [{"host": "192.0.2.4"}, {"host": "192.0.2.5"}, {"host": "192.0.2.6"}],
    "grafana_servers": [{"host": "192.0.2.1"}],
}  # fmt: skip
HERE: dict[str, Any] = {
    "topology": "topology.yaml",
    "hosts": {"bench": {"address": "192.0.2.9", "roles": ["client"]}},
    "systems": {"tidb_cluster": {"user": "app"}},
}
# PD's own words some seconds after it was started again, before the store had reported (6.6-alpha).
STORES = {
    "count": 1,
    "stores": [
        {"store": {"id": 1, "address": "127.0.72.21:20160", "state_name": "Disconnected"}, "status": {}}
    ],
}  # fmt: skip
STATS = {"count": 5, "empty_count": 5, "store_leader_count": {}, "store_peer_count": {"1": 5}}
NO_CHECK = {check: {"count": 0, "regions": []} for check in ("miss-peer", "down-peer", "pending-peer")}


def read(home: Home, topology: dict[str, Any] = TOPOLOGY, **changes: Any) -> Inventory:
    home.write("topology.yaml", topology)
    return load_inventory(str(home.write("mine.yaml", {**HERE, **changes})))


def test_a_tiup_topology_becomes_hosts_ports_programs_and_settings(home: Home) -> None:
    found = read(home)
    assert {name: (host.address, host.roles) for name, host in found.hosts.items()} == {
        "bench": ("192.0.2.9", ("client",)),
        "pd1": ("192.0.2.1", ("pd",)),
        "tikv1": ("192.0.2.4", ("tikv",)),
        "tikv2": ("192.0.2.5", ("tikv",)),
        "tikv3": ("192.0.2.6", ("tikv",)),
        "tidb1": ("192.0.2.2", ("tidb",)),
        "tidb2": ("192.0.2.3", ("tidb",)),
    }
    assert (found.hosts["tikv2"].ssh_port, found.hosts["tikv2"].user) == (2022, "tidb")
    assert found.workdir("tikv2") == "/tidb-data/benchbook"
    tikv, cluster = found.settings("tikv"), found.settings("tidb_cluster")
    assert tikv.binary == "/tidb-deploy/tikv-20160/bin/tikv-server"
    assert tikv.settings == {"raft-engine.prefill-for-recycle": True, "storage.block-cache.capacity": "8GB"}
    assert found.settings("pd").binary == "/tidb-deploy/pd-2379/bin/pd-server"
    assert cluster.binary == "/tidb-deploy/tidb-4000/bin/tidb-server"
    assert (cluster.user, cluster.settings) == ("app", {"log.level": "error", "prepared-plan-cache.enabled": True})
    assert systems.builds(["tidb_cluster"], found) == []
    assert set(systems.check_names(["tidb_cluster"], found)) == set(found.hosts) - {"bench"}


def test_stores_of_several_centres_have_labels_of_their_own(home: Home) -> None:
    """As in embed/examples/cluster/multi-dc.yaml of github.com/pingcap/tiup."""
    rejected = [{"key": "dc", "value": "sha"}]
    config = {"replication.location-labels": ["dc", "host"], "label-property": {"reject-leader": rejected}}
    last = {"server.labels": {"dc": "sha", "host": "h3"}, "raftstore.raft-min-election-timeout-ticks": 1000}
    stores = [("192.0.2.4", {"server.labels": {"dc": "bja", "host": "h1"}}), ("192.0.2.5", last)]
    topology = {
        **TOPOLOGY,
        "server_configs": {"pd": config, "tikv": {"server.grpc-compression-type": "gzip", "log.level": "warn"}},
        "tikv_servers": [{"host": host, "config": {**own, "log": {"level": "info"}}} for host, own in stores],
    }
    found = read(home, topology)
    assert found.settings("tikv").settings == {"server.grpc-compression-type": "gzip", "log.level": "info"}
    assert found.settings("tikv").host_settings == {
        "tikv1": {"server.labels.dc": "bja", "server.labels.host": "h1"},
        "tikv2": {
            "server.labels.dc": "sha", "server.labels.host": "h3", "raftstore.raft-min-election-timeout-ticks": 1000
        },
    }  # fmt: skip
    said = tomllib.loads(toml(found.settings("pd").settings))
    assert said == {"replication": {"location-labels": ["dc", "host"]}, "label-property": {"reject-leader": rejected}}
    cluster = TiDBCluster(Session(found, found.hosts), load_profile("tiny"))
    assert [cluster.stores.settings_on(host)["server.labels.dc"] for host in cluster.stores.own_hosts] == ["bja", "sha"]
    # What the inventory says comes last.
    mine = read(home, topology, systems={"tikv": {"settings": {"log.level": "error"}}}).settings("tikv")
    assert (mine.settings, mine.host_settings) == ({"log.level": "error"}, {})
    tikv1 = {"tikv1": {"server.labels.dc": "bja"}}
    assert read(home, topology, systems={"tikv": {"host_settings": tikv1}}).settings("tikv").host_settings == tikv1


def test_settings_of_one_host_are_those_of_a_host_that_runs_the_server(home: Home) -> None:
    with pytest.raises(BadInput, match=r"no host of tikv has this name .*there are: tikv1"):
        read(home, systems={"tikv": {"host_settings": {"bench": {"log.level": "info"}}}})
    with pytest.raises(BadInput, match="etcd takes no `host_settings` from an inventory"):
        read(home, systems={"etcd": {"host_settings": {"bench": {"debug": True}}}})


def test_settings_of_a_variant_on_one_host_are_added_to_those_of_its_system_there(home: Home) -> None:
    plain = {"tidb1": {"log.level": "info", "performance.max-procs": 2}, "tidb2": {"log.level": "error"}}
    variant = {"tidb1": {"performance.max-procs": 1}}
    found = read(home, systems={
        "tidb_cluster": {"host_settings": plain}, "tidb_cluster:small": {"host_settings": variant}
    })  # fmt: skip
    assert found.settings("tidb_cluster:small").host_settings == {
        "tidb1": {"log.level": "info", "performance.max-procs": 1}, "tidb2": {"log.level": "error"}
    }  # fmt: skip


def test_ports_and_folders_of_a_topology_are_those_that_tiup_would_take(home: Home) -> None:
    topology = {
        "pd_servers": [{"host": "192.0.2.1", "client_port": 3379, "peer_port": 3380, "deploy_dir": "/opt/pd"}],
        "tidb_servers": [{"host": "192.0.2.1", "port": 5000, "status_port": 11080, "deploy_dir": "sql"}],
        "tikv_servers": [{"host": "192.0.2.9", "port": 21160, "ssh_port": 23}],
    }  # fmt: skip
    found = read(home, topology, ssh={"user": "me"})
    assert {name: host.roles for name, host in found.hosts.items()} == {
        "bench": ("client", "tikv"),
        "pd1": ("pd", "tidb"),
    }
    assert (found.hosts["pd1"].user, found.hosts["pd1"].workdir) == (None, "/opt/pd/data/benchbook")
    assert (found.port("pd"), found.port("pd", "peer_port")) == (3379, 3380)
    assert (found.port("tidb_cluster"), found.port("tidb_cluster", "status_port")) == (5000, 11080)
    assert (found.port("tikv"), found.port("tikv", "status_port")) == (21160, 20180)
    assert found.settings("pd").binary == "/opt/pd/bin/pd-server"
    assert found.settings("tidb_cluster").binary == "/home/tidb/sql/bin/tidb-server", "TiUP's TestRelativePath"
    assert found.settings("tikv").binary == "/home/tidb/deploy/tikv-21160/bin/tikv-server"


@pytest.mark.parametrize(
    ("changed", "key"),
    [({"tikv_servers": [{"host": "192.0.2.4"}, {"host": "192.0.2.4", "port": 20161}]}, "tikv_servers.*.host"),
     ({"tikv_servers": [{"host": "192.0.2.4"}, {"host": "192.0.2.5", "port": 20161}]}, "tikv_servers.*.port"),
     ({"tikv_servers": [{"host": "192.0.2.4", "listen_host": "10.0.0.4"}]}, "tikv_servers.*.listen_host"),
     ({"tikv_servers": [{"host": "192.0.2.4", "advertise_addr": "10.0.0.4:20160"}]}, "tikv_servers.*.advertise_addr"),
     ({"tikv_servers": [{"host": "192.0.2.4", "advertise_status_addr": "192.0.2.4:1"}]},
      "tikv_servers.*.advertise_status_addr"),
     ({"tidb_servers": [{"host": "192.0.2.2", "advertise_address": "198.51.100.2"}]},
      "tidb_servers.*.advertise_address"),
     ({"pd_servers": [{"host": "192.0.2.1", "advertise_client_addr": "http://10.0.0.1:2379"}]},
      "pd_servers.*.advertise_client_addr"),
     ({"tidb_servers": [{"host": "192.0.2.2", "manage_host": "10.0.0.2"}]}, "tidb_servers.*.manage_host"),
     ({"tikv_servers": [{"host": "192.0.2.4", "offline": True}]}, "tikv_servers.*.offline"),
     ({"pd_servers": [{"host": "192.0.2.4", "data_dir": "/slow/pd"}], "tikv_servers": [{"host": "192.0.2.4"}]},
      "tikv_servers.*.data_dir"),
     ({"tidb_servers": [{"host": "192.0.2.4", "numa_node": "0"}]}, "tidb_servers.*.numa_node"),
     ({"tidb_servers": [{"host": "192.0.2.4", "numa_node": 0}]}, "tidb_servers.*.numa_node"),
     ({"tidb_servers": [{"host": "192.0.2.4", "numa_cores": "0-3"}]}, "tidb_servers.*.numa_cores"),
     ({"tikv_servers": [{"host": "192.0.2.4", "resource_control": {"memory_limit": "8G"}}]},
      "tikv_servers.*.resource_control"),
     ({"global": {"enable_tls": True}}, "global.enable_tls"),
     ({"global": {"resource_control": {"cpu_quota": "400%"}}}, "global.resource_control"),
     ({"global": {"pd_mode": "ms"}}, "global.pd_mode"),
     ({"global": {"listen_host": "127.0.0.1"}}, "global.listen_host"),
     # github.com/pingcap/tiup/issues/2151: PD takes its zone for an escape.
     ({"pd_servers": [{"host": "fe80::e8aa:e364:560b%enp1s0"}]}, "pd_servers.*.host"),
     ({"pd_servers": [{"host": "{{ pd_ip }}"}]}, "pd_servers.0.host"),
     ({"server_configs": {"tidb": {"log": {"since": date(2026, 1, 1)}}}}, "server_configs.tidb"),
     # Texts in place of numbers would be other settings.
     ({"server_configs": {"tikv": {"levels": [1, 2]}}}, "server_configs.tikv.levels.0"),
     # As the template of docs.pingcap.com for hybrid deployment has it.
     ({"server_configs": {"tikv": {"raftstore.capacity": "<The value refers to the formula of the document.>"}}},
      "server_configs.tikv"),
     ({"pd_servers": []}, "pd_servers")],
)  # fmt: skip
def test_what_a_topology_says_and_is_not_taken_over_is_refused(home: Home, changed: dict[str, Any], key: str) -> None:
    with pytest.raises(BadInput) as refused:
        read(home, {**TOPOLOGY, **changed})
    assert (str(refused.value.file), refused.value.key) == (f"{home.path}/topology.yaml", key)
    assert " move it" not in str(refused.value)


@pytest.mark.parametrize(
    ("changed", "said"),
    [({"tikv_servers": [{"host": "192.0.2.4", "datadir": "/x"}]}, "tikv_servers.0: datadir, did you mean data_dir"),
     ({"global": {"deploydir": "/x"}}, "global: deploydir, did you mean deploy_dir"),
     ({"pd_servers": [{"host": "192.0.2.4", "clientport": 1}]}, "pd_servers.0: clientport, did you mean client_port"),
     ({"server_configs": {"tkv": {}}}, "server_configs: tkv, did you mean tikv"),
     ({"tikv_servers": [{"host": "192.0.2.4", "logdir": "/x"}]}, "tikv_servers.0: logdir, did you mean log_dir"),
     ({"grafana_server": []}, "the file: grafana_server, did you mean grafana_servers"),
     ({"server_config": {}}, "the file: server_config, did you mean server_configs")],
)  # fmt: skip
def test_a_slip_in_a_topology_is_refused_as_tiup_does(home: Home, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput) as refused:
        read(home, {**TOPOLOGY, **changed})
    key, slip = said.split(": ")
    assert f"{key}: there is no such key: {slip}? (got " in str(refused.value)
    assert refused.value.fix == "correct its spelling, or remove it"


@pytest.mark.parametrize("keys", [["deploy_dir"], ["data_dir", "user"], ["ssh_port"]])
def test_keys_of_global_beside_it_are_refused(home: Home, keys: list[str]) -> None:
    """The documentation of TiKV shows one such, whose indentation is lost; TiUP knows no such field either."""
    beside = {key: 22 if key == "ssh_port" else "x" for key in keys}
    with pytest.raises(BadInput, match=f"keys of `global` stand beside it: {', '.join(keys)} .*Fix: indent them"):
        read(home, {**TOPOLOGY, "global": None, **beside})


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"tikv_servers": [{"host": "n3"}]}, "it has no pd_servers, tidb_servers, which a TiDB cluster has"),
        ({"grafana_servers": [{"host": "n1"}]}, "it has no pd_servers, tikv_servers, tidb_servers, which a TiDB"),
        # A topology of DM, and what people take for one (tiup/issues/616); a task, a source (dm/issues/1319).
        *(
            ({key: [{"host": "n1"}]}, f"{DM_S} .*Fix: give the roles client, mysql, tidb, dm-master")
            for key in ("master_servers", "dm-worker_servers", "mysql-instances", "source-id")
        ),
        ({"pd_server": [], "tikv_servers": [], "tidb_servers": []}, "pd_server, did you mean pd_servers"),
    ],
)
def test_a_topology_of_dm_or_of_servers_to_be_added_is_no_cluster(home: Home, part: dict[str, Any], said: str) -> None:
    """github.com/pingcap/tiup, embed/examples/dm and tests/tiup-cluster/topo/full_scale_in_*.yaml."""
    with pytest.raises(BadInput, match=said):
        read(home, part)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            TOPOLOGY,
            r"tikv_servers: it is a TiUP topology, .*Fix: write an inventory that names it: `topology: .*a",
        ),
        (
            {"all": {"hosts": {"n1": None}}},
            r"all: it is an Ansible inventory, .*`ansible: {inventory: .*a.yaml, roles",
        ),
        ({"task-mode": "all", "name": "x"}, rf"task-mode: {DM_S}. Fix: give the roles client, mysql"),
    ],
)
def test_files_of_others_in_the_place_of_an_inventory(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    (tmp_path / "a.yaml").write_text(as_yaml(given))
    with pytest.raises(BadInput, match=said):
        load_inventory(str(tmp_path / "a.yaml"))


def test_what_tiup_keeps_of_a_cluster_is_its_topology(home: Home) -> None:
    """Its meta.yaml, whose user is that of `global`."""
    kept = {"user": "tidb", "tidb_version": "v7.1.3", "last_ops_ver": "v1.12.1", "topology": TOPOLOGY}
    assert read(home, kept) == read(home, TOPOLOGY)


def test_an_address_to_listen_at_is_refused_as_it_is_written(home: Home) -> None:
    with pytest.raises(BadInput, match=r"got '10\.0\.0\.0'"):
        read(home, {**TOPOLOGY, "global": {"listen_host": "10.0.0.0"}})


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_servers_that_listen_everywhere_listen_at_their_host(home: Home, host: str) -> None:
    assert read(home, {**TOPOLOGY, "global": {**TOPOLOGY["global"], "listen_host": host}}) == read(home, TOPOLOGY)


def test_other_keys_of_tiup_change_nothing(home: Home) -> None:
    keys = dict.fromkeys(("log_dir", "arch", "os", "source", "name"), "x")
    own = {**keys, "imported": True, "patched": True, "ignore_exporter": True}
    beside = ["tiflash", "tiproxy", "pump", "drainer", "cdc", "kvcdc", "tso", "scheduling", "monitoring", "grafana"]
    topology = {
        **TOPOLOGY,
        "global": {**TOPOLOGY.get("global", {}), "group": "tidb", "os": "linux", "arch": "amd64", "log_dir": "/l"},
        "monitored": {"node_exporter_port": 1},
        "component_versions": {"tikv": "v7.1.1"},
        "tispark_masters": [], "tispark_workers": [], "alertmanager_servers": [],
        **{f"{name}_servers": [] for name in beside},
        "tikv_servers": [{**one, **own} for one in TOPOLOGY["tikv_servers"]],
    }  # fmt: skip
    assert read(home, topology).hosts == read(home, TOPOLOGY).hosts


def test_what_says_the_same_in_other_words_is_no_difference(home: Home) -> None:
    topology = {
        "global": None,
        "server_configs": None,
        "pd_servers": [{"host": "192.0.2.1", "config": None, "advertise_client_addr": "http://192.0.2.1:2379"}],
        "tidb_servers": [
            {"host": "192.0.2.2", "status_port": 10080, "numa_node": ""},
            {"host": "192.0.2.3", "listen_host": "0.0.0.0", "config": {"log.level": None}},
        ],
        "tikv_servers": [
            {"host": host, "config": {"log": {"level": "info"}}, "advertise_addr": f"{host}:20160", **more}
            for host, more in (
                ("192.0.2.4", {"port": 20160, "offline": False, "config": {"log.level": "info"}}),
                ("192.0.2.5", {"status_port": None}),
            )
        ],
    }  # fmt: skip
    found = read(home, topology)
    assert (found.port("tikv"), found.port("tikv", "status_port"), found.port("tidb_cluster", "status_port")) == (
        20160,
        20180,
        10080,
    )
    assert found.settings("tikv").settings == {"log.level": "info"}
    assert found.hosts["tidb1"].workdir is None
    assert found.hosts["tikv1"].workdir == "/home/tidb/deploy/tikv-20160/data/benchbook"


@pytest.mark.parametrize(
    ("overall", "instance", "expected"),
    [("/tidb-data", {}, "/tidb-data/benchbook"),
     ("/tidb-data", {"data_dir": "/nvme1"}, "/nvme1/benchbook"),
     ("/tidb-data", {"data_dir": "/nvme1,/nvme2"}, "/nvme1/benchbook"),
     ("/tidb-data", {"data_dir": "mine"}, "/tidb-deploy/tikv-20160/mine/benchbook"),
     ("store", {}, "/tidb-deploy/tikv-20160/store/benchbook"),
     (None, {"deploy_dir": "/nvme2/tikv"}, "/nvme2/tikv/data/benchbook")],
)  # fmt: skip
def test_our_data_lie_on_the_disk_that_tiup_gives_the_server(
    home: Home, overall: str | None, instance: dict[str, Any], expected: str
) -> None:
    topology = {
        **TOPOLOGY,
        "global": {"deploy_dir": "/tidb-deploy", "data_dir": overall},
        "tikv_servers": [{"host": "192.0.2.4", **instance}],
    }
    assert read(home, topology).hosts["tikv1"].workdir == expected
    named = {"address": "192.0.2.4", "roles": ["client"], "workdir": "/else/where"}
    assert read(home, topology, hosts={"kv": named}).hosts["kv"].workdir == "/else/where"


def test_hosts_of_a_lab_work_in_its_own_folder_wherever_tiup_s_servers_have_their_data(home: Home) -> None:
    topology = {
        "pd_servers": [{"host": "127.0.72.2"}],
        "tikv_servers": [{"host": "127.0.72.2", "data_dir": "/nvme1"}],
        "tidb_servers": [{"host": "127.0.72.3"}],
    }
    found = read(home, topology, lab=True, hosts={"bench": {"address": "127.0.72.1", "roles": ["client"]}})
    assert {name: host.workdir for name, host in found.hosts.items()} == dict.fromkeys(["bench", "pd1", "tidb1"])


NO_NAME = {"log level": "warn"}


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ({"global": {"ssh_port": 99999}}, "global.ssh_port"),
        ({"global": {"user": "-x"}}, "global.user"),
        ({"global": {"data_dir": "/a\nb"}}, "global.data_dir"),
        ({"pd_servers": [{"host": "192.0.2.1", "client_port": 99999}]}, "pd_servers.0.client_port"),
        ({"tidb_servers": [{"host": "192.0.2.2", "ssh_port": 99999}]}, "tidb_servers.0.ssh_port"),
        ({"tidb_servers": [{"host": "192.0.2.2"}, {"host": "a b"}]}, "tidb_servers.1.host"),
        ({"tikv_servers": [{"host": "192.0.2.4", "port": 99999}]}, "tikv_servers.0.port"),
        ({"tikv_servers": [{"host": "192.0.2.4", "data_dir": "/a\nb"}]}, "tikv_servers.0.data_dir"),
        ({"tikv_servers": [{"host": "192.0.2.4", "config": NO_NAME}]}, "tikv_servers.0.config.log level"),
        ({"server_configs": {"tikv": NO_NAME}}, "server_configs.tikv.log level"),
    ],
)
def test_what_is_wrong_in_the_topology_has_its_line_and_its_key_there(
    home: Home, changed: dict[str, Any], key: str
) -> None:
    with pytest.raises(BadInput) as refused:
        read(home, {**TOPOLOGY, **changed})
    assert (str(refused.value.file), refused.value.key) == (f"{home.path}/topology.yaml", key)
    assert refused.value.line


def test_what_is_wrong_between_the_topology_and_the_inventory_is_said_of_both(home: Home) -> None:
    with pytest.raises(BadInput, match=r"mine\.yaml with topology\.yaml: systems\.pd\.port: two systems on one port"):
        read(home, {**TOPOLOGY, "tidb_servers": [{"host": "192.0.2.1", "port": 2379}]})
    with pytest.raises(BadInput, match=r"mine\.yaml: line 4, hosts\.bench\.address"):
        read(home, hosts={"bench": {"address": "a b", "roles": ["client"]}})


def test_a_host_of_the_inventory_is_no_server_of_the_topology_for_its_name(home: Home) -> None:
    found = read(home, hosts={"tidb1": {"address": "192.0.2.9", "roles": ["client"]}})
    assert (found.hosts["tidb1"].address, found.hosts["tidb1"].roles) == ("192.0.2.9", ("client",))
    assert {found.hosts[name].address for name in found.with_role("tidb")} == {"192.0.2.2", "192.0.2.3"}


def test_a_host_of_both_is_reached_and_worked_on_as_the_topology_says_unless_the_inventory_does(home: Home) -> None:
    shared = {"address": "192.0.2.2", "roles": ["client"]}
    both = read(home, hosts={"sql": shared}).hosts["sql"]
    assert (both.roles, both.user, both.ssh_port, both.workdir) == (
        ("client", "tidb"), "tidb", 2022, "/tidb-data/benchbook"
    )  # fmt: skip
    own = read(home, hosts={"sql": {**shared, "roles": ["client", "tidb"], "user": "me", "ssh_port": 22}}).hosts["sql"]
    assert own.roles == ("client", "tidb")
    assert (own.user, own.ssh_port, own.workdir) == ("me", 22, "/tidb-data/benchbook")
    with pytest.raises(BadInput, match=r"hosts\.sql\.roles: "):
        read(home, hosts={"sql": {**shared, "roles": "client"}})


def test_an_inventory_with_a_topology_is_still_read_as_strictly(home: Home) -> None:
    with pytest.raises(BadInput, match="hosts: "):
        read(home, hosts=["bench"])
    with pytest.raises(BadInput, match=r"elsewhere\.yaml: .*does not exist"):
        load_inventory(str(home.write("mine.yaml", {**HERE, "topology": "elsewhere.yaml"})))


def test_the_store_that_is_built_here_is_one_node_without_settings(home: Home) -> None:
    built = read(home, systems={name: {"binary": None} for name in ("pd", "tikv", "tidb_cluster")})
    assert systems.builds(["tidb_cluster", "tidb"], built) == ["tidb", "pd", "unistore"]
    with pytest.raises(BadInput, match=r"role tikv.*tikv3.*one host"):
        check_one_unistore(built)
    one = {**TOPOLOGY, "tikv_servers": [{"host": "192.0.2.4"}]}
    with pytest.raises(BadInput, match=r"systems\.tikv\.settings.*raft-engine"):
        check_one_unistore(read(home, one, systems={"tikv": {"binary": None}}))
    labels = {"binary": None, "settings": {}, "host_settings": {"tikv1": {"server.labels.zone": "a"}}}
    with pytest.raises(BadInput, match=r"systems\.tikv\.host_settings.*server\.labels\.zone"):
        check_one_unistore(read(home, one, systems={"tikv": labels}))
    check_one_unistore(read(home))


def test_the_lab_of_a_cluster_has_every_role(home: Home) -> None:
    lab = load_inventory(str(ROOT / "env" / "hosts" / "lab_tidb_cluster.yaml"))
    assert systems.check_names(["tidb_cluster"], lab) == ["tidb1", "tidb2", "tikv1", "pd1"]
    assert systems.builds(["tidb_cluster"], lab) == ["tidb", "pd", "unistore"]


def test_settings_are_written_below_the_headings_of_their_tables() -> None:
    settings = {"a.b.c": True, "name": 'it\'s "1"', "a.n": 3, "list": ["x", "y"], "a.b.share": 0.5}
    assert toml(settings) == ('name = "it\'s \\"1\\""\nlist = ["x", "y"]\n[a]\nn = 3\n[a.b]\nc = true\nshare = 0.5\n')
    assert toml({}) == ""


def test_an_address_of_ipv6_stands_in_brackets_before_a_port() -> None:
    """RFC 3986, 3.2.2; etcd, PD and the TiDB that is built here were seen to start at ::1 so, and not otherwise."""
    end = Endpoint("2001:db8::1", 4000)
    assert (str(end), str(Endpoint("192.0.2.1", 4000))) == ("[2001:db8::1]:4000", "192.0.2.1:4000")
    argv = list(serving("tidb-server", end, 10080, "/tmp", []).argv)
    assert (argv[argv.index("-host") + 1], argv[argv.index("-status-host") + 1]) == ("2001:db8::1", "[2001:db8::1]")


def test_a_store_is_up_when_pd_says_so() -> None:
    up = {"stores": [{"store": {"address": "127.0.72.21:20160", "state_name": "Up"}}]}
    assert missing_store(up, "127.0.72.21:20160") is None
    assert missing_store(STORES, "127.0.72.21:20160") == "the store at 127.0.72.21:20160 is Disconnected"
    assert missing_store({"count": 0, "stores": None}, "h:1") == "the store at h:1 is not known to PD"
    assert missing_store("PD answers 500: not bootstrapped", "h:1") == "PD answers 500: not bootstrapped"


def test_regions_have_their_replicas_when_each_has_a_leader_and_no_check_finds_one() -> None:
    led = {**STATS, "store_leader_count": {"1": 3, "4": 2}}
    assert missing_replicas(led, NO_CHECK) is None
    assert missing_replicas(STATS, NO_CHECK) == "0 of 5 regions have a leader"
    assert missing_replicas({"count": 0, "store_leader_count": {}}, NO_CHECK) == "0 of 0 regions have a leader"
    assert missing_replicas(led, {**NO_CHECK, "miss-peer": {"count": 2}}) == "2 regions are miss-peer"
    assert missing_replicas(led, {**NO_CHECK, "down-peer": "PD does not answer"}) == "PD does not answer"


def test_a_second_without_work_is_a_reason_to_look_whether_the_servers_live() -> None:
    seen: list[float] = []

    class Dead:
        def check_alive(self) -> None:
            raise SystemFailed("tikv on tikv1 has died (signal 9)")

    follow = checking_alive(Dead(), lambda second, rate: seen.append(rate))
    follow(1.0, 900.0)
    with pytest.raises(SystemFailed, match="tikv1"):
        follow(2.0, 0.0)
    assert seen == [900.0]
