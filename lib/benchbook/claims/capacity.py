"""What the cores may have withheld, and what a campaign can therefore say of the report, whatever comes out.

docs/how-a-verdict-is-reached.md has the rule: W, how much more a figure may be on more cores, follows from how busy
these were and from asymptotic bounds, and widens each contrast both ways (partial identification: Manski 2003, *Partial
Identification of Probability Distributions*). What the machine can say is asked of the published figures alone, so that
it cannot depend on what was measured. The published cores are held to the same rule: where more than these were used,
the published machine would show a rate between X / W and X.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

import numpy as np
from scipy import optimize

from benchbook.analysis.cpu_use import FULL, BusyCell, Machine
from benchbook.analysis.results import Speaks, Verdict
from benchbook.campaign.scaled_levels import LevelScaling
from benchbook.claims.contrasts import Contrast
from benchbook.claims.evidence import NotMeasured
from benchbook.claims.figures import Term, counted, time_power
from benchbook.claims.hypothesis import Hypothesis, SystemFigures

# Levels that count the clients, or workers, of a closed loop end in one of these.
CLIENTS = ("threads", "clients", "concurrency", "worker_count", "pool_size")
# The log of what is as good as unbounded.
MOST = math.log(1e6)
LogValue = Callable[[Term], float]


@dataclass(frozen=True)
class Scope:
    """What a campaign can say of a claim: why no more, and what would let it say more (empty where it says all).

    `otherwise` is the claim's state on a page where its answer here is one that says nothing of the report.
    """

    speaks: Speaks
    because: str = ""
    needs: str = ""
    otherwise: Verdict = "needs a bigger machine"

    @property
    def confirms(self) -> bool:
        return self.speaks in ("both ways", "confirm only")

    @property
    def refutes(self) -> bool:
        return self.speaks in ("both ways", "refute only")


@dataclass(frozen=True)
class Capacity:
    """The busy cells of a campaign, with the published levels that they stand for, and how its levels were scaled.

    `planned`: it has not run yet, so that cores are as busy as they may be. `published_cores`: of the report's servers.
    """

    figures: SystemFigures
    busy: Sequence[BusyCell]
    scaling: LevelScaling | None = None
    planned: bool = False
    published_cores: int | None = None

    def scope(self, claim: Hypothesis, contrasts: Sequence[Contrast]) -> Scope:
        """Return what these hosts can say of a claim, from their cores and the published figures alone."""
        if tables := claim.in_tables():
            contrasts = self._as_a_whole(tables, contrasts)
        if said := next(self._silent(contrasts), None):
            return said
        unbounded = [self.withheld(contrast) for contrast in contrasts]
        if not any(map(any, unbounded)):
            return Scope("both ways")
        printed = self.figures.printed()
        confirms = all(_confirms(contrast, *self.withheld(contrast, printed.log_mean)) for contrast in contrasts)
        # Figures that refute are not the published ones: no asymptotic bound can be drawn from these.
        refutes = any(_refutes(contrast, *more) for contrast, more in zip(contrasts, unbounded, strict=True))
        if confirms and refutes:
            return Scope("both ways")
        speaks: Speaks = "confirm only" if confirms else "refute only" if refutes else "nothing"
        return self.full(speaks, contrasts)

    def _as_a_whole(self, tables: set[str], contrasts: Sequence[Contrast]) -> list[Contrast]:
        """Return a rank correlation with a term for each of its tables that the system ran, whatever the levels."""
        system = self.figures.system
        ran = tables & {cell.table for cell in self.busy if cell.system == system}
        terms = tuple(Term(table, "", {}, system) for table in sorted(ran or tables))
        return [replace(contrast, terms=terms, weights=()) for contrast in contrasts]

    def _silent(self, contrasts: Sequence[Contrast]) -> Iterator[Scope]:
        """Yield why nothing that these hosts can show says anything of the report."""
        yield from self._scaled((term.table, term.rows) for contrast in contrasts for term in contrast.terms)
        for term in (term for contrast in contrasts for term in self._slowed(contrast)):
            if not self._machines(term):
                said = f"how busy the servers' CPU was at {counted(term.rows) or term.table} is not known"
                yield Scope("nothing", said, "servers that can be logged in to, so that their CPU is seen", "open")
            shared = any(machine.client and machine.server and machine.cores == 1 for machine in self._machines(term))
            if shared and self.published_cores != 1:
                said = "client and servers share one core: what it costs to wake another core is not seen"
                yield Scope("nothing", said, "two cores, or more")

    def withheld(self, contrast: Contrast, log_value: LogValue | None = None) -> tuple[float, float]:
        """Return the least and the most that the published machine would add to an effect, in logs.

        What cores withhold from one figure does not shrink with more clients, and is the same for all rates of one
        server in one trial. `log_value` gives the figures that asymptotic bounds are drawn from; none without it.
        Ranks, which weigh no figure, move by an unknown amount.
        """
        terms = contrast.terms
        if not contrast.weights:
            machines = [m for term in terms for m in (*self._machines(term), self._of_published(term))]
            return (-math.inf, math.inf) if any(map(_log_waiting, machines)) else (0.0, 0.0)
        here = self._extremes(contrast, [self.log_withheld(term, log_value) for term in terms])
        there = self._extremes(contrast, [_log_waiting(self._of_published(term)) for term in terms])
        return here[0] - there[1], here[1] - there[0]

    def _extremes(self, contrast: Contrast, most: Sequence[float]) -> tuple[float, float]:
        """Return the least and the most that an effect changes by if up to so much is withheld from each figure."""
        if not any(most):
            return 0.0, 0.0
        terms = contrast.terms
        powers = [-time_power(term, self.figures.published) for term in terms]
        signs = np.array([w * p for w, p in zip(contrast.weights, powers, strict=True)])
        rules = [
            [-1.0 if k == i else 1.0 if k == j else 0.0 for k in range(len(terms))]
            for i, high in enumerate(terms)
            for j, low in enumerate(terms)
            if i != j and self._at_least_as_withheld(high, low)
        ]
        matrix = np.array(rules) if rules else None
        limits = np.zeros(len(rules)) if rules else None
        bounds = [(0.0, limit) for limit in most]

        def extreme(sign: float) -> float:
            found = optimize.linprog(sign * signs, A_ub=matrix, b_ub=limits, bounds=bounds)
            return sign * float(found.fun or 0.0)

        return extreme(1.0), extreme(-1.0)

    def log_withheld(self, term: Term, log_value: LogValue | None = None) -> float:
        """Return the log of W of one figure; 0 where nothing was withheld."""
        most = self._log_waiting_in(term)
        return min(most, self._asymptotic(term, log_value)) if most and log_value else most

    def _log_waiting_in(self, term: Term) -> float:
        """What waiting for CPU may have cost on the busiest machine; 0 for a figure that no slow machine changes."""
        slowed = time_power(term, self.figures.published)
        return max(map(_log_waiting, self._machines(term)), default=0.0) if slowed else 0.0

    def _asymptotic(self, term: Term, log_value: LogValue) -> float:
        """Rates rise no faster than clients, times do not fall with them, from what fewer clients may have at most.

        Denning & Buzen (1978), ACM Computing Surveys 10(3); Lazowska, Zahorjan, Graham & Sevcik (1984), *Quantitative
        System Performance*, ch. 5: no constant demand is asked for.
        """
        clients, sign = self.clients(term), -time_power(term, self.figures.published)
        if not clients:
            return math.inf
        best = -math.inf

        def bounded(k: float, other: Term) -> tuple[float, float]:
            """Return the most that can be withheld, given the levels below; and the highest speed that this allows."""
            speed = sign * log_value(other) - (math.log(k) if sign > 0 else 0.0)  # rates are per client
            most = max(0.0, best - speed) if math.isfinite(best) else math.inf
            return most, speed + min(most, self._log_waiting_in(other))

        try:
            for _, level in groupby(sorted(self._lower(term), key=itemgetter(0)), key=itemgetter(0)):
                best = max([best, *(bounded(k, other)[1] for k, other in level)])
            most, _ = bounded(clients, term)
        except NotMeasured:
            return math.inf
        return most

    def clients(self, term: Term) -> float:
        """Return how many clients the term's cell was run with; 0 where its levels name none."""
        cell = next(iter(self._cells(term)), None)
        ran = {name: cell.ran.get(name, value) for name, value in term.rows.items()} if cell else term.rows
        return clients_in(ran)

    def _lower(self, term: Term) -> Iterator[tuple[float, Term]]:
        """The same figure with fewer clients: how many, and the term."""
        apart = {name: value for name, value in term.rows.items() if not _counts_clients(name)}
        for cell in self.busy:
            same = all(cell.levels.get(name) == value for name, value in apart.items())
            if cell.table == term.table and cell.system == self.figures.system_of(term) and same:
                other = term._replace(rows={name: cell.levels.get(name, value) for name, value in term.rows.items()})
                if 0 < self.clients(other) < self.clients(term):
                    yield self.clients(other), other

    def _at_least_as_withheld(self, one: Term, other: Term) -> bool:
        if one.table != other.table or self.figures.system_of(one) != self.figures.system_of(other):
            return False
        if one.rows == other.rows:
            return True
        apart = ({n: v for n, v in term.rows.items() if not _counts_clients(n)} for term in (one, other))
        same = one.metric == other.metric and next(apart) == next(apart)
        return same and self.clients(one) > self.clients(other)

    def _slowed(self, contrast: Contrast) -> list[Term]:
        """Return the figures that a full machine slows, or whose ranks it moves."""
        published = self.figures.published
        return [term for term in contrast.terms if not contrast.weights or time_power(term, published)]

    def _cells(self, term: Term) -> list[BusyCell]:
        system = self.figures.system_of(term)
        return [cell for cell in self.busy if cell.system == system and term.speaks_of(cell.table, cell.levels)]

    def _machines(self, term: Term) -> list[Machine]:
        """Return those of the term's cells; none where no server was seen."""
        cells = self._cells(term)
        seen = any(machine.server for cell in cells for machine in cell.machines)
        return [machine for cell in cells for machine in cell.machines] if seen else []

    def _of_published(self, term: Term) -> Machine:
        """Return the published servers, as busy as this load would make them; idle if those here have no more cores.

        A term may speak of several cells, each of which ran on all of the servers: the fullest counts.
        """
        share, published = 0.0, self.published_cores or 0
        for cell in self._cells(term):
            servers = [machine for machine in cell.machines if machine.server]
            if sum(machine.cores for machine in servers) > published > 0:
                share = max(share, sum(machine.share * machine.cores for machine in servers) / published)
        return Machine(min(1.0, share), published, client=False, server=True)

    def full(self, speaks: Speaks, contrasts: Sequence[Contrast]) -> Scope:
        """Return the scope, by the cell that filled its cores most, or would have filled the published ones most."""
        terms = [term for contrast in contrasts for term in self._slowed(contrast)]
        found = [(machine, term) for term in terms for machine in self._machines(term) if machine.share >= FULL]
        theirs = ((self._of_published(term), term) for term in terms)
        machine, term = max(found or theirs, key=lambda each: _log_waiting(each[0]))
        cell = self._cells(term)[0]
        ran = {n: cell.ran.get(n, value) for n, value in term.rows.items() if not isinstance(value, str)}
        were, at = "may be" if self.planned else "were", f" at {counted(ran)}" if ran else ""
        if not found:
            used = f"{machine.share:.0%} of the {machine.cores} cores that the report's servers had"
            return Scope(speaks, f"{used} {were} in use{at}", f"servers with {machine.cores} cores", "open")
        whose = {(True, False): "the load generator's ", (False, True): "a server's "}
        cores = f"{whose.get((machine.client, machine.server), '')}{machine.cores} cores"
        return Scope(speaks, f"{machine.share:.0%} of {cores} {were} busy{at}", self._more_cores(machine, terms))

    def _more_cores(self, machine: Machine, terms: Sequence[Term]) -> str:
        """Return what would leave cores free at all of these figures; a request may keep several of them busy."""
        cells = [cell for term in terms for cell in self._cells(term)]
        counts = [int(clients_in(cell.ran or cell.levels)) for cell in cells]
        clients = max(counts) if all(counts) else 0
        enough = math.floor(clients / FULL) + 1
        busy = f"with {clients} clients that keep one busy each, {enough} are enough"
        known = [busy] if clients and enough > machine.cores else []
        here = max(sum(each.cores for each in cell.machines if each.server) for cell in cells)
        if machine.server and (self.published_cores or 0) > here:
            known.append(f"the report's servers had {self.published_cores}")
        beside = f" ({'; '.join(known)})" if known else ""
        own = ", or a host of its own for the load generator" if machine.client and machine.server else ""
        return f"more cores, so that less than {FULL:.0%} are busy{beside}{own}"

    def _scaled(self, tables: Iterable[tuple[str, Mapping[str, object]]]) -> Iterator[Scope]:
        """A level that ran as another says nothing: locks, queues and caches depend on how many clients there are.

        Each of `tables` comes with the levels that a figure names; where it names none, it speaks of all that ran.
        """
        scaled = self.scaling.levels if self.scaling else {}
        ran: dict[str, set[tuple[int, int]]] = {}
        for table, rows in tables:
            for name, levels in scaled.get(table, {}).items():
                for published, here in levels.items():
                    if str(rows.get(name, published)) == published != str(here):
                        ran.setdefault(name, set()).add((int(published), here))
        for name, pairs in ran.items():
            ends = dict.fromkeys((min(pairs), max(pairs)))
            shown = " and ".join(f"{here} for {published}" for published, here in ends)
            said = f"{name.replace('_', ' ')} were scaled to the cores here: {shown}"
            had = f" (the report's servers had {self.published_cores})" if self.published_cores else ""
            needs = f"the published levels (-p levels=published), on a machine with the cores for them{had}"
            yield Scope("nothing", said, needs)


def _log_waiting(machine: Machine) -> float:
    """Return what waiting for CPU may have cost: residence over service time on m cores is 1 / (1 - U^m).

    Gunther (2011), *Analyzing Computer System Performance with Perl::PDQ*, sec. 2.7.
    """
    if machine.share < FULL:
        return 0.0
    return min(MOST, -math.log(max(1 - machine.share ** max(1, machine.cores), 1e-6)))


def clients_in(levels: Mapping[str, object]) -> float:
    """Return how many clients a cell with these levels has; 0 where none of them counts clients."""
    return float(sum(n for name, n in levels.items() if _counts_clients(name) and isinstance(n, int | float)))


def _counts_clients(name: str) -> bool:
    return name.endswith(CLIENTS)


def _confirms(contrast: Contrast, least: float, most: float) -> bool:
    """Whether the published effect, or one as far inside, would hold for all that the published machine could show."""
    effect = contrast.published if contrast.inside(contrast.published) else _reflected(contrast)
    return contrast.low < effect + least and effect + most < contrast.high


def _refutes(contrast: Contrast, least: float, most: float) -> bool:
    """Return whether an effect as far beyond a bound as the published one is inside would fail for all of that."""
    below = math.isfinite(contrast.low) and most < abs(contrast.published - contrast.low)
    above = math.isfinite(contrast.high) and -least < abs(contrast.high - contrast.published)
    return below or above


def _reflected(contrast: Contrast) -> float:
    """The published effect of a claim that its own table contradicts, reflected at the bound that it is beyond."""
    if math.isfinite(contrast.low) and math.isfinite(contrast.high):
        return (contrast.low + contrast.high) / 2
    bound = contrast.low if math.isfinite(contrast.low) else contrast.high
    return 2 * bound - contrast.published
