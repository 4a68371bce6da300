"""Values in inventories, profiles and reports that nobody can mean, or that somebody else must not choose."""

from __future__ import annotations

from typing import Any

from kit import PROFILE

from refused.row import SECRET, Row, changed, holding, in_place_of, of_report, with_host, with_inventory, with_profile

END = {"host": "127.0.90.30", "port": 3306}
# -- inventories ----------------------------------------------------------------------------------------------------

ADDRESSES = ["", "-oProxyCommand=x", "a b", "db1\n", "ü.example", "a" * 300, "$(id)", 5, ["127.0.0.1"]]
NO_ADDRESSES = ["10.0.0.1:22", "me@db1", "ssh://db1", "[::1]", "256.1.1.1", "10.0.0", "2001:db8::g", "a..b", "-x", "*"]
WORKDIRS = ["~", "~/", "/", "//", "/.", "/etc", "/usr/", "..", "../x", ".", "", "a\nb", "-x", "\0", 7]
HOSTS = [
    *(Row(f"address {str(a)[:20]!r}", with_host(address=a), ("hosts.db1.address: ", "Fix: ")) for a in ADDRESSES),
    *(
        Row(f"address {a}", with_host(address=a), ("hosts.db1.address: must be a host name, or the IP address of one",))
        for a in [*NO_ADDRESSES, "0.0.0.0", "::"]
    ),
    # Hosts of a lab may name none at all.
    *(Row(f"workdir {w!r}", with_host(lab=False, workdir=w), ("hosts.db1.workdir: ", "Fix: ")) for w in WORKDIRS),
    Row("an SSH address that is an option", with_host(ssh_address="-x"), ("hosts.db1.ssh_address: ", "(got '-x')")),
    Row("a login that is an option", with_host(user="-lroot"), ("hosts.db1.user: ", "(got '-lroot')")),
    Row("a port of 70,000", with_host(ssh_port=70_000), ("hosts.db1.ssh_port: ", "(got 70000)")),
    Row("a port that is true", with_host(ssh_port=True), ("hosts.db1.ssh_port: ", "(got True)")),
    Row("a processor below 0", with_host(cpus=[-1]), ("hosts.db1.cpus.0: ", "(got -1)")),
    Row("a processor twice", with_host(cpus=[0, 0]), ("hosts.db1.cpus: 0 stands twice (got [0, 0]). Fix: ",)),
    Row("a role twice", with_host(roles=["mysql", "mysql"]), ("hosts.db1.roles: mysql stands twice",)),
    Row("a processor beyond all", with_host(cpus=[10**20]), ("hosts.db1.cpus.0: ",)),
    Row("an unknown key", with_host(adress="x"), ("hosts.db1.adress: ", "known here: address")),
    Row("no roles", with_host(roles=[]), ("hosts.db1.roles: ", "(got [])")),
    Row("roles that are a word", with_host(roles="tidb"), ("hosts.db1.roles: ", "(got 'tidb')")),
]
INVENTORIES = [
    Row(
        "a role that nobody has",
        with_inventory(hosts={"executor": {"address": "127.0.90.1", "roles": ["client"]}}),
        ("hosts.*.roles: no host has a role that this run needs (got 'mysql')", "Fix: add `mysql` to the roles"),
    ),
    Row(
        "two systems on one port",
        with_inventory(systems={"tidb": {"port": 4000}, "mariadb": {"port": 4000}}),
        ("systems.mariadb.port: two systems on one port of host db1: tidb and mariadb", "Fix: give mariadb another"),
    ),
    Row(
        "a port of sshd that a server has by itself",
        with_inventory(ssh={"port": 3306}, systems={}),
        ("systems.mariadb.port: mariadb and the sshd of host db1 on one port (got 3306)", "Fix: give mariadb another"),
    ),
    Row(
        "a mapping that is set in",
        holding("inventory", "lab: true\n hosts: {}\n"),
        ("line 2, column 7: malformed YAML: mapping values are not allowed here (got ' hosts: {}'). Fix: mend",),
    ),
    Row("hosts that are a list", with_inventory(hosts=["a"]), ("hosts: ", "(got ['a'])")),
    Row("a lease without end", with_inventory(ssh={"lease_s": float("inf")}), ("ssh.lease_s: ", "(got '.inf')")),
    Row("a lease that is no number", with_inventory(ssh={"lease_s": float("nan")}), ("ssh.lease_s: ", "(got '.nan')")),
    Row("a wait without end", with_inventory(ssh={"connect_timeout_s": float("inf")}), ("ssh.connect_timeout_s: ",)),
    Row("an empty program", with_inventory(programs={"sysbench": ""}), ("programs.sysbench: ", "(got '')")),
    Row("a program that is an option", with_inventory(programs={"sysbench": "-c"}), ("programs.sysbench: ",)),
    Row(
        "another program",
        with_inventory(programs={"sysbench": "/bin/true"}),
        ("programs.sysbench: what host executor has for sysbench says no version of it: 'true ", "(got '/bin/true')"),
    ),
    Row(
        "a program that is not there",
        with_inventory(programs={"sysbench": "/nowhere"}),
        ("programs.sysbench: sysbench is not on host executor (got '/nowhere')",),
    ),
    Row(
        "a database with a quote",
        with_inventory(endpoints={"a": {**END, "database": "x'y"}}),
        ("endpoints.a.database",),
    ),
    Row("an endpoint that is an option", with_inventory(endpoints={"a": {**END, "host": "-h"}}), ("endpoints.a.host",)),
]
SECRETS = [
    Row("a password", with_inventory(systems={"tidb": {"password": SECRET}}), ("systems.tidb.password: ", "not shown")),
    Row(
        "a password for a name",
        with_inventory(systems={"tidb": {"password_env": f"{SECRET}!"}}),
        ("password_env", "not shown"),
    ),
    Row("a key that is a list", with_inventory(ssh={"key": [SECRET]}), ("ssh.key: ", "not shown")),
    Row("a password below a list", with_inventory(systems=[{"password": SECRET}]), ("systems: ", "'password': ...")),
    Row("a token nobody knows", with_inventory(ssh={"token": SECRET}), ("ssh.token: ", "not shown")),
    Row(
        "a password in broken YAML",
        changed("inventory", "systems:\n", f"password: '{SECRET}\nsystems:\n"),
        ("malformed YAML",),
    ),
    Row(
        "a password that is an alias",
        changed("inventory", "systems:\n", f"password: *{SECRET}\nsystems:\n"),
        ("malformed YAML",),
    ),
    Row(
        "a password with a tag",
        changed("inventory", "systems:\n", f"password: !{SECRET} x\nsystems:\n"),
        ("malformed YAML",),
    ),
    Row(
        "a passphrase twice",
        changed("inventory", "systems:\n", f"passphrase: 1\npassphrase: {SECRET}\nsystems:\n"),
        ("malformed",),
    ),
]

# -- profiles -------------------------------------------------------------------------------------------------------


def sysbench(**changes: Any) -> dict[str, Any]:
    return {"sysbench": {**PROFILE["sysbench"], **changes}}


SIZES: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("repetitions of 100,000,000", {"repetitions": 100_000_000}, ("repetitions: ", "(got 100000000)")),
    ("no repetitions", {"repetitions": 0}, ("repetitions: ", "(got 0)")),
    ("repetitions that are true", {"repetitions": True}, ("repetitions: ", "(got True)")),
    ("repetitions as a text", {"repetitions": "3"}, ("repetitions: ", "(got '3')")),
    ("1e12 tables", sysbench(tables="1e12"), ("sysbench.tables: ", "(got 1000000000000.0)")),
    ("1.0e+12 tables", sysbench(tables=1e12), ("sysbench.tables: ", "(got 1000000000000.0)")),
    ("a million million tables", sysbench(tables=10**12), ("sysbench.tables: ", "(got 1000000000000)")),
    ("10^20 rows", sysbench(table_size=10**20), ("sysbench.table_size: ",)),
    ("10^14 rows in all", sysbench(tables=10_000, table_size=10**10), ("tables x table_size",)),
    ("a load of a year", sysbench(time_s=31_536_000), ("sysbench.time_s: ", "(got 31536000)")),
    ("threads beyond all", sysbench(prepare_threads=10**20), ("sysbench.prepare_threads: ",)),
    ("a rate below 0", sysbench(rate=-1), ("sysbench.rate: ", "(got -1)")),
    ("disk without end", {"disk_gb": float("inf")}, ("disk_gb: ", "(got '.inf')")),
    ("disk that is no number", {"disk_gb": float("nan")}, ("disk_gb: ", "(got '.nan')")),
    ("10^20 MB", {"buffer_pool_mb": 10**20}, ("buffer_pool_mb: ",)),
    ("no budget", {"repeat": {"budget_min": float("nan")}}, ("repeat.budget_min: ",)),
    ("clients in no number", {"saga": {"concurrency": []}}, ("saga.concurrency: ", "(got [])")),
    ("accounts beyond all", {"saga": {"accounts": 10**20}}, ("saga.accounts: ",)),
    ("a statement beyond all", {"dm": {"statement_size": 10**20}}, ("dm.statement_size: ",)),
    ("cache without end", {"transfer": {"cache_gb": float("inf")}}, ("transfer.cache_gb: ",)),
    ("a probe that nobody knows", {"probes": ["../../x"]}, ("probes: no such probe", "(got '../../x')")),
    ("probes that are a word", {"probes": "own"}, ("probes: ", "(got 'own')")),
    ("a reset that there is not", {"reset": "sometimes"}, ("reset: ", "(got 'sometimes')")),
    ("no disk", {"disk_gb": 0}, ("disk_gb: ", "(got 0)")),
    ("a slip in a key", sysbench(tabels=3), ("sysbench.tabels: ", "tables")),
    ("a section that is a list", {"sysbench": []}, ("sysbench: ", "(got [])")),
    ("a key of 100,000 letters", {"x" * 100_000: 1}, ("there is no such key", "...")),
    ("a value of 100,000 letters", {"reset": "x" * 100_000}, ("reset: ", "...")),
]
PROFILES = [Row(name, with_profile(**changes), ("own.yaml", *said, "Fix: ")) for name, changes, said in SIZES]

# -- reports --------------------------------------------------------------------------------------------------------

FIRST = "    workload: oltp_point_select\n"
OPTIONS = '    options: ["--db-driver=mysql", '
AT = "design.oltp_point_select."


def chosen(what: str, value: str) -> tuple[str, ...]:
    return (
        f"report.yaml: {AT}{what}: ",
        f"(got '{value}')",
        "add --allow ",
        "so it is not run on your hosts",
    )


WORKLOADS = ["/tmp/x.lua", "../x", "x.lua", "fileio", "oltp_insert --config-file=x", "{job}/x", "--help"]
GIVEN = [
    "--config-file=/etc/passwd",
    "--mysql-host=elsewhere",
    "--luajit-cmd=off",
    "--threads=9",
    "--auto-inc=/etc/passwd",
    "--rand-type=a b",
    "--mysql-ignore-errors={job}",
    "auto-inc=false",
    "-x",
]
CHOICES = [
    *(
        Row(f"workload {w}", changed("report.yaml", FIRST, f'    workload: "{w}"\n'), chosen("workload", w))
        for w in WORKLOADS
    ),
    *(
        Row(f"option {o}", changed("report.yaml", OPTIONS, f'    options: ["{o}", '), chosen("options", o))
        for o in GIVEN
    ),
    Row(
        "a misspelt value of an option",
        changed("report.yaml", OPTIONS, '    options: ["--rand-type=unifrom", '),
        (
            "design.oltp_point_select.options: ",
            "does not know this value of --rand-type",
            "did you mean uniform?",
            "add --allow --rand-type=unifrom",
        ),
    ),
]
FACTS = [
    ("an unknown key", "title: ", "titel: ", ("titel: ", "known here: ")),
    ("an unknown kind", "restaged_by: load", "restaged_by: [load]", ("restaged_by: ",)),
    ("a kind nobody has", "restaged_by: load", "restaged_by: os.system", ("restaged_by: no such kind",)),
    (
        "a generator nobody has",
        FIRST,
        f"{FIRST}    load: nobody\n",
        ("no such load generator", "nobody", "there are: db_bench, etcd_benchmark"),
    ),
    (
        "a workload of another table",
        FIRST,
        "    workload: oltp_insert\n",
        ("design.oltp_point_select.workload: table oltp_point_select has the name of another workload",),
    ),
    (
        "a slip in a setting",
        "fixed: {tables: 32, table_size: 1",
        "fixed: {tables: 32, tabel_size: 1",
        (".fixed.tabel_size: sysbench has no setting of this name (got 10000000). Fix: write table_size",),
    ),
    ("a fact twice", "- id: run_command", "- id: data", ("text_facts: two of one name (got 'data')",)),
    ("a workload with a newline", FIRST, '    workload: "a\\nb"\n', ("design.0.workload: ",)),
    ("an unknown table", "table: oltp_point_select", "table: gone", ("design.oltp_point_select: ", "(got 'gone')")),
    ("a table that is a path", "table: oltp_point_select", "table: ../x", ("design.0.table: ", "(got '../x')")),
    ("a count of servers beyond all", "nodes: 3", f"nodes: {10**20}", ("nodes: ",)),
]
REPORTS = [
    Row(f"report.yaml with {n}", changed("report.yaml", a, b), ("report.yaml", *said, "Fix: "))
    for n, a, b, said in FACTS
]

UNREAD = [
    Row(
        name,
        changed("notebook", "time_s=time_s", written),
        ("tidb_v7_1_3_sysbench.ipynb: time_s: no cell reads this parameter. Fix: write time_s=time_s into",),
    )
    for name, written in (
        ("a parameter that no cell reads", "time_s=0"),
        ("a parameter that a cell only sets", "time_s=(time_s := 0)"),
    )
]

PACKAGE = [
    ("a path outside", '"path": "oltp_insert.csv"', '"path": "../../../etc/passwd"', ("resources.4.path: ",)),
    ("an absolute path", '"path": "oltp_insert.csv"', '"path": "/etc/passwd"', ("resources.4.path: ",)),
    ("a number without a unit", '"unit": "ms"', '"unit": ""', ("resources.0.schema.fields.", "a number has a unit")),
    ("a table twice", '"name": "oltp_read_write"', '"name": "oltp_insert"', ("two tables have the name oltp_insert",)),
    ("a column twice", '"name": "tps"', '"name": "threads"', ("two columns have the name threads",)),
    ("a table that is a path", '"name": "oltp_insert"', '"name": "../x"', ("resources.4.name: ", "(got '../x')")),
    ("a number as its name", '"name": "tidb_v7_1_3_sysbench"', '"name": 5', ("name: ", "(got 5)")),
    ("another name", '"name": "tidb_v7_1_3_sysbench"', '"name": "other"', ("name: ", "(got 'other')")),
    ("code in an identity", '"threads / tps * 1000"', "\"__import__('os')\"", ("mean_below_p95", "Fix: ")),
    ("a deep identity", '"threads / tps * 1000"', f'"{"-" * 100}tps"', ("mean_below_p95", "nested more than")),
    (
        "an identity of parentheses",
        '"threads / tps * 1000"',
        f'"{"(" * 3000}"',
        ("mean_below_p95", "no expression", "not an")[:1],
    ),
    ("an identity without end", '"threads / tps * 1000"', '"tps * 1e999"', ("mean_below_p95", "plain arithmetic")),
    ("a huge constant", '"tables": 32', f'"tables": {10**400}', ("resources.0.fixed.tables",)),
    ("a bound that is a text", '"minimum": 0', '"minimum": "x"', ("constraints.minimum", "(got 'x')")),
]
PACKAGES = [
    Row(f"datapackage.json with {n}", changed("datapackage.json", a, b), ("datapackage.json", *said))
    for n, a, b, said in PACKAGE
]

CLAIM = [
    (
        "a hypothesis nobody has",
        "hypothesis: increases",
        "hypothesis: [increases]",
        ("claims.rises-point-select.hypothesis: ",),
    ),
    ("an unknown key", "    metric: tps", "    metrik: tps", ("claims.rises-point-select.metrik: ", "known here: ")),
    ("an unknown metric", "    metric: tps", "    metric: qps", ("(got 'qps')",)),
    ("code for a metric", "    metric: tps", "    metric: \"__import__('os')\"", ("Fix: ",)),
    ("an unknown table", "    table: oltp_point_select", "    table: gone", ("(got 'gone')",)),
    ("an unknown factor", "    factor: threads", "    factor: clients", ("(got 'clients')",)),
    ("a factor without end", "    at_least: 1.2", "    at_least: .inf", ("Fix: ",)),
    ("a factor of no number", "    at_least: 1.2", "    at_least: .nan", ("Fix: ",)),
    ("an id with a path", "id: rises-point-select", "id: ../x", ("claims.0.id: ", "(got '../x')")),
    ("another report", "report: tidb_v7_1_3_sysbench", "report: other", ("report: ", "(got 'other')")),
]
CLAIMS = [Row(f"claims.yaml with {n}", changed("claims.yaml", a, b), ("claims.yaml", *said)) for n, a, b, said in CLAIM]

OPTION = 'options: ["--config-file=/x"]'
OTHERS = [
    (
        "an option of DM's load",
        "dm_1_0_alpha",
        'options: ["--db-driver=mysql"]',
        OPTION,
        ("add --allow --config-file=/x",),
    ),
    (
        "an option of DTM's load",
        "dtm_mysql",
        'options: ["--events=999999999"]',
        OPTION,
        ("add --allow --config-file=/x",),
    ),
    (
        "no workers",
        "dm_1_0_alpha",
        "worker_count: 256, batch: 100, t",
        "batch: 100, t",
        (".fixed: ", "add `worker_count`"),
    ),
    (
        "workers of a word",
        "dm_1_0_alpha",
        "worker_count: 256, batch: 100, t",
        "worker_count: many, batch: 1, t",
        ("worker_count: ", "(got 'many')"),
    ),
    (
        "tables beyond all",
        "dm_1_0_alpha",
        "tables: 2, worker_count",
        "tables: 2000000000, worker_count",
        ("(got 2000000000)",),
    ),
    (
        "no cache",
        "ddt_full_scale",
        "fixed: {cache_bucket_size: 32, ",
        "fixed: {",
        (".fixed: ", "add `cache_bucket_size`"),
    ),
]
OTHER_KINDS = [
    Row(f"{report} with {name}", of_report(report, old, new), (f"{report}/report.yaml", *said))
    for name, report, old, new, said in OTHERS
]
NO_CLAIMS = Row(
    "claims.yaml with claims that are a word",
    holding("claims.yaml", "report: tidb_v7_1_3_sysbench\nclaims: all\n"),
    ("claims.yaml: line 2, claims: ", "(got 'all')"),
)
NO_DESIGN = Row(
    "report.yaml without a design",
    in_place_of(
        "report.yaml", lambda path: path.write_text(f"{path.read_text().partition('design:')[0]}design: []\n") and None
    ),
    ("report.yaml: design: there is nothing to run (got [])", "Fix: "),
)

ROWS = [
    *HOSTS,
    *INVENTORIES,
    *SECRETS,
    *PROFILES,
    *CHOICES,
    *REPORTS,
    *UNREAD,
    *PACKAGES,
    *CLAIMS,
    *OTHER_KINDS,
    NO_CLAIMS,
    NO_DESIGN,
]
