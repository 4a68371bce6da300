"""Values in inventories, profiles and reports that nobody can mean, or that somebody else must not choose."""

from __future__ import annotations

from typing import Any

from kit import PROFILE

from refused.row import SECRET, Row, changed, holding, in_place_of, of_report, with_host, with_inventory, with_profile

END = {"host": "127.0.90.30", "port": 3306}
# -- inventories ----------------------------------------------------------------------------------------------------

ADDRESSES = ["", "-oProxyCommand=x", "a b", "db1\n", "ü.example", "a" * 300, "$(id)", 5, ["127.0.0.1"]]
WORKDIRS = ["~", "~/", "/", "//", "/.", "/etc", "/usr/", "..", "../x", ".", "", "a\nb", "-x", "\0", 7]
HOSTS = [
    *(Row(f"address {str(a)[:20]!r}", with_host(address=a), ("hosts.db1.address: ", "Fix: ")) for a in ADDRESSES),
    *(Row(f"workdir {w!r}", with_host(workdir=w), ("hosts.db1.workdir: ", "Fix: ")) for w in WORKDIRS),
    Row("an SSH address that is an option", with_host(ssh_address="-x"), ("hosts.db1.ssh_address: ", "(got '-x')")),
    Row("a login that is an option", with_host(user="-lroot"), ("hosts.db1.user: ", "(got '-lroot')")),
    Row("a port of 70,000", with_host(ssh_port=70_000), ("hosts.db1.ssh_port: ", "(got 70000)")),
    Row("a processor below 0", with_host(cpus=[-1]), ("hosts.db1.cpus.0: ", "(got -1)")),
    Row("an unknown key", with_host(adress="x"), ("hosts.db1.adress: ", "known here: address")),
    Row("no roles", with_host(roles=[]), ("hosts.db1.roles: ", "(got [])")),
]
INVENTORIES = [
    Row("hosts that are a list", with_inventory(hosts=["a"]), ("hosts: ", "(got ['a'])")),
    Row("a lease without end", with_inventory(ssh={"lease_s": float("inf")}), ("ssh.lease_s: ", "(got inf)")),
    Row("a program that is an option", with_inventory(programs={"sysbench": "-c"}), ("programs.sysbench: ",)),
    Row(
        "a database with a quote",
        with_inventory(endpoints={"a": {**END, "database": "x'y"}}),
        ("endpoints.a.database",),
    ),
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
]

# -- profiles -------------------------------------------------------------------------------------------------------


def sysbench(**changes: Any) -> dict[str, Any]:
    return {"sysbench": {**PROFILE["sysbench"], **changes}}


SIZES: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("repetitions of 100,000,000", {"repetitions": 100_000_000}, ("repetitions: ", "(got 100000000)")),
    ("repetitions that are true", {"repetitions": True}, ("repetitions: ", "(got True)")),
    ("1e12 tables", sysbench(tables="1e12"), ("sysbench.tables: ", "(got 1000000000000.0)")),
    ("10^14 rows in all", sysbench(tables=10_000, table_size=10**10), ("tables x table_size",)),
    ("a load of a year", sysbench(time_s=31_536_000), ("sysbench.time_s: ", "(got 31536000)")),
    ("a rate below 0", sysbench(rate=-1), ("sysbench.rate: ", "(got -1)")),
    ("disk that is no number", {"disk_gb": float("nan")}, ("disk_gb: ", "(got nan)")),
    ("no budget", {"repeat": {"budget_min": float("nan")}}, ("repeat.budget_min: ",)),
    ("clients in no number", {"saga": {"concurrency": []}}, ("saga.concurrency: ", "(got [])")),
    ("a probe that nobody knows", {"probes": ["../../x"]}, ("probes: no such probe", "(got '../../x')")),
    ("a value of 100,000 letters", {"reset": "x" * 100_000}, ("reset: ", "...")),
]
PROFILES = [Row(name, with_profile(**changes), ("own.yaml", *said, "Fix: ")) for name, changes, said in SIZES]

# -- reports --------------------------------------------------------------------------------------------------------

FIRST = "    workload: oltp_point_select\n"
LEVELS = "    factors: {threads: [50, 100, 200]}\n"
OPTIONS = '    options: ["--db-driver=mysql", '
AT = "design.oltp_point_select."


def chosen(what: str, value: str) -> tuple[str, ...]:
    return (
        f"report.yaml: {AT}{what}: ",
        f"(got '{value}')",
        "add --allow ",
        "which a report would have it run on your hosts",
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
]
FACTS = [
    ("an unknown key", "title: ", "titel: ", ("titel: ", "known here: ")),
    ("an unknown kind", "restaged_by: sysbench", "restaged_by: [sysbench]", ("restaged_by: ",)),
    (
        "a generator nobody has",
        FIRST,
        f"{FIRST}    load: nobody\n",
        ("no such load generator", "nobody", "there are: etcd_benchmark"),
    ),
    ("levels that are words", LEVELS, "    factors: {threads: [few, many, all]}\n", (AT[:-1], "the same points")),
    ("other levels", LEVELS, "    factors: {threads: [50, 100]}\n", (AT[:-1], "(got (200,))")),
    ("levels of no number", LEVELS, "    factors: {threads: [.nan]}\n", ("design.0.factors.threads.0",)),
    (
        "an unknown factor",
        LEVELS,
        "    factors: {clients: [50, 100, 200]}\n",
        ("a factor is no level", "(got 'clients')"),
    ),
    (
        "too many points",
        LEVELS,
        f"    factors: {{threads: [{', '.join(map(str, range(11_000)))}]}}\n",
        ("more points",),
    ),
]
REPORTS = [
    Row(f"report.yaml with {n}", changed("report.yaml", a, b), ("report.yaml", *said, "Fix: "))
    for n, a, b, said in FACTS
]

PACKAGE = [
    ("a path outside", '"path": "oltp_insert.csv"', '"path": "../../../etc/passwd"', ("resources.4.path: ",)),
    ("a table twice", '"name": "oltp_read_write"', '"name": "oltp_insert"', ("two tables have the name oltp_insert",)),
    ("a column twice", '"name": "tps"', '"name": "threads"', ("two columns have the name threads",)),
    ("another name", '"name": "tidb_v7_1_3_sysbench"', '"name": "other"', ("name: ", "(got 'other')")),
    ("code in an identity", '"threads / tps * 1000"', "\"__import__('os')\"", ("mean_below_p95", "Fix: ")),
    ("an identity without end", '"threads / tps * 1000"', '"tps * 1e999"', ("mean_below_p95", "plain arithmetic")),
    ("a huge constant", '"tables": 32', f'"tables": {10**400}', ("resources.0.fixed.tables",)),
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
    ("an unknown factor", "    factor: threads", "    factor: clients", ("(got 'clients')",)),
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
        "no workers",
        "dm_1_0_alpha",
        "worker_count: 256, batch: 100, t",
        "batch: 100, t",
        (".fixed: ", "add `worker_count`"),
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
    *PACKAGES,
    *CLAIMS,
    *OTHER_KINDS,
    NO_CLAIMS,
    NO_DESIGN,
]
