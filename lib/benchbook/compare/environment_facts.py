"""What of a campaign's environment may change its results, as facts `(name, where) -> value`.

Everything that was recorded is a fact, unless a list below says that it cannot matter: what nobody thought of shows up
as a difference to be judged, never as a silent one.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from benchbook.campaign.environment import IMPORTED, UNKNOWN, Environment, SystemDescription
from benchbook.campaign.record import Record
from benchbook.campaign.scaled_levels import KEY as SCALED
from benchbook.campaign.store import Campaign
from benchbook.grouping import grouped

Key = tuple[str, str]
Facts = dict[Key, str]

ABSENT = "–"
# Names, clocks, and what changes from minute to minute on a host that stays the same.
HOST_IGNORED = frozenset(
    "address asked_at boot_id clock_error_s clock_offset_s disk_device disk_free_bytes disk_total_bytes hostname "
    "load_1min memory_available_bytes now ntp_synchronized open_files_limit python roles uptime_s".split()
)
# Where it ran has facts of its own, `seed` draws order and data anew from the same distribution, which systems stood in
# the plan says nothing of those that are compared, and options stand in command lines.
ASKED_IGNORED = frozenset("bench hosts imported inventory options outputs seed settings system systems".split())
SYSTEM_IGNORED = frozenset("name hosts notes".split())
# Identity, place, and state of a server that was started anew; none is a setting.
VARIABLES_IGNORED = frozenset(
    "advertise-address basedir bind_address character_sets_dir datadir general_log_file gtid_binlog_pos "
    "gtid_binlog_state gtid_current_pos gtid_executed gtid_owned gtid_purged gtid_slave_pos host hostname init_file "
    "last_insert_id lc_messages_dir log_error pid_file plugin_dir port pseudo_thread_id report_host report_port "
    "server_uid server_uuid slow_query_log_file socket status-host status-port tidb_current_ts tidb_last_ddl_info "
    "tidb_last_query_info tidb_last_txn_info timestamp tmp-storage-path HTTP_PORT GRPC_PORT JSON_RPC_PORT STORE_HOST "
    "STORE_PORT STORE_USER".split()
)
# Where a program listens, whom it logs in as, and what stands in `asked` or is a level of the cell already; `n` is ab's
# number of requests, which every trial calculates anew.
OPTIONS_IGNORED = frozenset(
    "P bind-address c config-file datadir db-address db-user dtm h host init-file listen mysql-db mysql-host "
    "mysql-port mysql-user n p path pid-file port rate report-interval socket status status-host table-size tables "
    "temp-dir threads time user".split()
)
# A version brings its own settings: those that only one side knows are part of the version's own difference.
VARIABLE_SET = "system.variables"

_PATH = re.compile(r"(?<![\w:>])~?(?:/[\w.+@=:-]+)+/?")
# Of IPv4, of IPv6 (a time has no :: and no seven colons), or a name of several parts with its port.
_ADDRESS = re.compile(
    r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\[[\da-f.]*:[\da-f:.]+(?:%\w+)?\](?::\d+)?"
    r"|(?<![\w:.])(?:[\da-f:]*::[\da-f:.]*|(?:[\da-f]{1,4}:){7}[\da-f]{1,4})(?![\w:])"
    r"|(?<![\w.-])(?:[\w-]+\.)+[a-z][\w-]*:\d{2,5}\b",
    re.IGNORECASE,
)
# How libpq's connection string says where a server is.
_LOGIN = re.compile(r"(?<![\w.-])(host(?:addr)?|port)=(?:'[^']*'|\S+)")
NO_NAMES = re.compile(r"(?!)")


def of_pair(a: Campaign, b: Campaign, systems: Mapping[str, str]) -> tuple[Facts, Facts]:
    """Return the facts of two campaigns in the same words; `systems` maps systems of `a` to those of `b`.

    Systems of different names are different programs: their settings have nothing in common to compare.
    """
    roles = _roles(a) & _roles(b)
    tables = {record.table for record in a.records()} & {record.table for record in b.records()}
    left, right = (_common(campaign, roles, tables) for campaign in (a, b))
    names = _names(a, b)
    for ours, theirs in _systems(a, b, systems).items():
        for facts, campaign, name in ((left, a, ours), (right, b, theirs)):
            about = campaign.environment().systems.get(name, SystemDescription())
            other = {("system.name", f"{ours} → {theirs}"): about.called}
            facts.update(_system(about, ours, names) if ours == theirs else other)
    _fold_one_sided(left, right)
    return left, right


def of_campaign(campaign: Campaign) -> Facts:
    """Return the facts of one campaign, with those of all its systems, in the same words."""
    facts = _common(campaign, _roles(campaign), _scaled(campaign).keys())
    for name, about in campaign.environment().systems.items():
        facts.update(_system(about, name, _names(campaign)))
    # One that nobody knows is not known to be the same as any other.
    return {**facts, (IMPORTED, ""): f"{UNKNOWN} of {campaign.id}"} if campaign.imported else facts


def load_options(a: Campaign, b: Campaign, systems: Mapping[str, str]) -> tuple[Facts, Facts]:
    """Options of the loads' command lines, from the first cell of each workload that both have of one system."""
    there = {_cell(record): record.command for record in reversed(b.records())}
    of_a: Facts = {}
    of_b: Facts = {}
    told: set[str] = set()
    names = _names(a, b)
    for ours in a.records():
        design = " ".join(dict.fromkeys(filter(None, [ours.table, str(ours.levels.get("workload", ""))])))
        if design not in told and systems.get(ours.system) == ours.system and _cell(ours) in there:
            told.add(design)
            for facts, command in ((of_a, ours.command), (of_b, there[_cell(ours)])):
                options = _options(command, names).items()
                facts.update({(f"load.{name}", design): value for name, value in options})
    return of_a, of_b


def _cell(record: Record) -> tuple[str, str, str]:
    return record.table, record.system, json.dumps(record.levels, sort_keys=True)


def _scaled(campaign: Campaign) -> dict[str, Any]:
    """Return the scaled levels that the plan keeps, by table: of every table of the report, measured or not."""
    return dict((campaign.asked.get(SCALED) or {}).get("levels", {}))


def _asked(campaign: Campaign, tables: Collection[str]) -> dict[str, Any]:
    """Return what was asked for; of scaled levels those of `tables` alone, for others change nothing that is compared.

    Whether a load shared the servers' cores when levels were scaled (`shared`) stands in these levels, and who shares a
    machine is a fact of the hosts, compared with theirs.
    """
    asked = {key: value for key, value in campaign.asked.items() if key not in ASKED_IGNORED}
    if asked.get(SCALED):
        levels = {table: here for table, here in _scaled(campaign).items() if table in tables}
        asked[SCALED] = {key: value for key, value in asked[SCALED].items() if key != "shared"} | {"levels": levels}
    return asked


def _common(campaign: Campaign, roles: set[str], tables: Collection[str]) -> Facts:
    about = campaign.environment()
    facts: Facts = {("report", ""): campaign.report}
    facts.update({("load_generator", ""): about.load_generator} if about.load_generator is not None else {})
    facts.update({(f"asked.{name}", ""): value for name, value in _flat(_asked(campaign, tables))})
    for role in roles:
        facts.update(_role(about, role))
    return facts


def _roles(campaign: Campaign) -> set[str]:
    return {role for host in campaign.environment().hosts.values() for role in host.roles}


def _role(about: Environment, role: str) -> Facts:
    """Facts of the hosts of one role together: equal values once, different ones side by side."""
    hosts = {name: host.model_dump() for name, host in about.hosts.items() if role in host.roles}
    facts: Facts = {("host.count", role): str(len(hosts))}
    if role == "client":
        shares = any(about.shares_machine(name) for name in hosts)
        facts["host.shared_machine", role] = "with the servers" if shares else "no"
    for name in dict.fromkeys(key for host in hosts.values() for key in host if key not in HOST_IGNORED):
        facts[f"host.{name}", role] = _together(_host_value(name, host.get(name)) for host in hosts.values())
    # What was put right before any load (a killed run's processes) is no difference of what was measured.
    left = (f for f in about.findings if f.host in hosts and f.waived)
    waived = grouped(left, lambda finding: finding.what.replace(" ", "_"))
    facts.update({(f"waived.{what}", role): _together(_waived(f.found) for f in part) for what, part in waived.items()})
    return facts


def _host_value(name: str, value: Any) -> str:
    """Return a value as text, bytes as GiB: a kernel keeps a little more or less of the same memory for itself."""
    return f"{value / 2**30:.1f} GiB" if name.endswith("_bytes") and isinstance(value, int) else _plain(value)


def _waived(found: str) -> str:
    """A figure that differs every time (the load before a run) counts as waived, whatever it was."""
    return "waived" if re.match(r"[\d.]+( s| \(.*\))?$", found) else f"waived: {found}"


def _together(values: Iterable[str]) -> str:
    return " / ".join(sorted(set(values)))


def _systems(a: Campaign, b: Campaign, compared: Mapping[str, str]) -> dict[str, str]:
    """Return the compared systems, and those that served them on either side; other systems under test are left out."""
    ours, theirs = (set(campaign.environment().systems) for campaign in (a, b))
    tested = {trial.cell.system for campaign in (a, b) for trial in campaign.trials}
    helpers = sorted((ours | theirs) - tested)
    return {**compared, **{name: name for name in helpers}}


def _system(about: SystemDescription, where: str, names: re.Pattern[str]) -> Facts:
    config = dict(about.config)
    rest = {key: value for key, value in about.model_dump().items() if key not in {*SYSTEM_IGNORED, "config"}}
    facts = {(f"system.{name}", where): value for name, value in _flat(rest, names)}
    # One of four numbers (23.8.2.7 of ClickHouse) is no address.
    facts["system.version", where] = about.version
    command = _options(str(config.pop("command", "")), names)
    told = dict(_flat(config.pop("variables", {}), names))
    # A part of a cluster, or a server behind this one, has settings of its own: named after it, whatever its address.
    settings = grouped([*told.items(), *_flat(config, names)], lambda setting: _plain(setting[0], names))
    facts.update({(f"system.config.{n}", where): _together(value for _, value in each) for n, each in settings.items()})
    # A setting of the command line that the server tells as well stands once, with the value in effect.
    itself = {name.replace("-", "_") for name in told}
    own = {f"system.command.{name}": value for name, value in command.items() if name.replace("-", "_") not in itself}
    return {**facts, **{(name, where): value for name, value in own.items()}}


def _fold_one_sided(left: Facts, right: Facts) -> None:
    """Settings that one version has and the other does not become one fact, the set of settings."""
    for mine, other in ((left, right), (right, left)):
        for where in {place for name, place in left if name == "system.version"}:
            extra = [k for k in mine if k not in other and k[1] == where and k[0].startswith("system.config.")]
            if extra:
                names = ", ".join(key[0].removeprefix("system.config.") for key in sorted(extra)[:3])
                more = ", …" if len(extra) > 3 else ""
                for key in extra:
                    del mine[key]
                mine[VARIABLE_SET, where] = f"{len(extra)} settings that the other has not: {names}{more}"


def _flat(value: Any, names: re.Pattern[str] = NO_NAMES, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Leaves of nested settings as (dotted name, value); text that is JSON (tidb_config) is opened."""
    if isinstance(value, str) and value.startswith("{"):
        with suppress(ValueError):
            value = json.loads(value)
    if not isinstance(value, dict):
        yield prefix.rstrip("."), _plain(value, names)
        return
    for key, part in value.items():
        if key not in VARIABLES_IGNORED:
            yield from _flat(part, names, f"{prefix}{key}.")


def _options(command: str, names: re.Pattern[str]) -> dict[str, str]:
    """Return a command line as {option: values}; its words without a dash stand together as `arguments`."""
    words, found = shlex.split(command), list[tuple[str, str]]()
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            found.append(("arguments", word))
            continue
        name, equals, value = word.lstrip("-").partition("=")
        if not equals and words and not words[0].startswith("-"):
            value = words.pop(0)
        # What takes properties names them so; for others it is a port.
        if name == "p" and "=" in value:
            name, _, value = f"p.{value}".partition("=")
        if name not in OPTIONS_IGNORED:
            found.append((name, value or "given"))
    each = grouped(found, lambda option: option[0])
    return {name: " ".join(_plain(value, names) for _, value in part) for name, part in each.items()}


def _names(*campaigns: Campaign) -> re.Pattern[str]:
    """Return what servers are called, by the hosts and by a cluster itself, as a whole value or before a port."""
    every = [campaign.environment() for campaign in campaigns]
    parts = [part for each in every for one in each.systems.values() for part in one.config.get("cluster_info", [])]
    told = {str(part.get("instance", "")).rpartition(":")[0] for part in parts}
    told |= {name for each in every for host in each.hosts.values() for name in (host.address, host.hostname)}
    said = "|".join(map(re.escape, sorted(told - {""}, key=len, reverse=True)))
    return re.compile(rf"\A(?:{said})\Z|(?<![\w.-])(?:{said}):\d+\b") if said else NO_NAMES


def _plain(value: Any, names: re.Pattern[str] = NO_NAMES) -> str:
    """A value as text, without the paths and addresses in it: where something stood does not change how it ran."""
    text = value if isinstance(value, str) else json.dumps(value)
    # There may be several of them.
    text = _LOGIN.sub(lambda m: f"{m[1]}=<address>{',<address>' * m[0].count(',')}", _PATH.sub("<path>", text))
    return names.sub("<address>", _ADDRESS.sub("<address>", text))
