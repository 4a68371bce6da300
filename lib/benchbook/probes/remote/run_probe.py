"""Calls a probe's `sample` once per interval and writes down what it returns. Runs on the observed host.

    run_probe.py OUT_FILE INTERVAL_S PROBE_FILE GIVEN [LIBRARY ...]
    run_probe.py --describe PROBE_FILE

GIVEN is JSON: what `sample` is called with, by name. A null in it stands for a secret, which is in the file of that
name beside OUT_FILE. LIBRARY is a zip of modules that the probe imports. Only the standard library, Python 3.7 or
newer: it is copied to hosts that have nothing else. Each line is

    {"t": epoch seconds, "cpu": CPU seconds that this program has used, "late": s, "step": s, "v": {metric: number}}

with t taken just before the sample, or {..., "error"} in place of "v" for one that failed: a gap is shown as a gap.
`late` is how much later than it had asked for it woke: a heartbeat, which a machine or a probe that stood still misses.
`step` is how much the wall clock has moved against the monotonic one since the line before. A probe that cannot be
loaded leaves one line with an error, and status 1. The schedule is absolute, so samples do not drift; a tick that was
missed is left out, never caught up. One that failed at once after a good one is taken once more: a connection that the
probe keeps may be one to a server that has been started anew since. SIGTERM ends it after a last sample.

With --describe, on the driver's machine, it prints what the file says of itself as one line of JSON: `metrics`, `takes`
(parameters of `sample`, and whether each has a default), `needs`; or, where it cannot be loaded, `error` and `place`.
"""

import functools
import inspect
import json
import math
import os
import signal
import sys
import time
import traceback
import types
import urllib.parse

STOP = (signal.SIGTERM, signal.SIGINT)
# Two clocks that are read within so many seconds are read at one moment.
READ_WITHIN_S = 0.0005
# A server that is not there any more, or anew, refuses so soon; one that hangs is not asked twice within a tick.
AT_ONCE_S = 1.0


def loaded(path):
    """The module of a probe's file, which is run once for it."""
    module = types.ModuleType("probe")
    module.__file__ = path
    sys.modules["probe"] = module
    with open(path, "rb") as source:
        exec(compile(source.read(), path, "exec"), module.__dict__)
    return module


class NoKit:
    """Where a probe is described, the kit is installed; where it runs, it is not."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "benchbook":
            raise ImportError("a probe runs on a host, which has no benchbook")


def described(path):
    sys.meta_path.insert(0, NoKit())
    sys.path.insert(0, os.path.dirname(path))
    try:
        module = loaded(path)
    # Whatever its author's code raises.
    except (Exception, SystemExit) as problem:  # noqa: BLE001
        frames = [
            number for frame, number in traceback.walk_tb(problem.__traceback__) if frame.f_code.co_filename == path
        ]
        line_number = getattr(problem, "lineno", None) or (frames[-1] if frames else None)
        place = "line %d" % line_number if line_number else "the file"
        return {"error": "%s: %s" % (type(problem).__name__, problem), "place": place}
    metrics, sample = getattr(module, "METRICS", None), getattr(module, "sample", None)
    found = inspect.signature(sample).parameters.values() if callable(sample) else None
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {
        "metrics": list(metrics.items()) if isinstance(metrics, dict) else metrics and repr(metrics),
        "takes": None if found is None else {p.name: p.default is not p.empty for p in found if p.kind not in kinds},
        "needs": getattr(module, "NEEDS", []),
    }


def secrets(text, folder):
    """What stands for each null in GIVEN."""
    found = {}
    for name in [name for name, value in json.loads(text).items() if value is None]:
        with open(os.path.join(folder, name)) as source:
            found[name] = source.read().rstrip("\n")
    return found


def without(told, text):
    """The text without these secrets, as they are or as they stand in a URL: errors end up in records and on pages."""
    for secret in filter(None, told):
        for each in (secret, urllib.parse.quote(secret, safe=""), urllib.parse.quote_plus(secret), repr(secret)[1:-1]):
            text = text.replace(each, "***")
    return text


def in_words(problem, path):
    """The error's kind and its words, and the line of the probe that it came from."""
    frames = traceback.walk_tb(problem.__traceback__)
    lines = [number for frame, number in frames if frame.f_code.co_filename == path]
    place = " (line %d of %s)" % (lines[-1], os.path.basename(path)) if lines else ""
    return "%s: %s%s" % (type(problem).__name__, problem, place)


def moment():
    """(wall clock, monotonic clock) of one moment: read again where the machine did something else between the two."""
    for _ in range(5):
        before, wall, after = time.monotonic(), time.time(), time.monotonic()
        if after - before < READ_WITHIN_S:
            break
    return wall, after


class Heart:
    """Looks at the clocks at every tick: how late it is, and whether the wall clock was set."""

    def __init__(self):
        self.apart = None

    def beat(self, due):
        wall, steady = moment()
        step = 0.0 if self.apart is None else wall - steady - self.apart
        self.apart = wall - steady
        return {"t": wall, "late": round(max(0.0, steady - due), 4), "step": round(step, 4)}


class AskedTwice:
    """Takes samples. The first tick of a load is the only one of a short one: it is not lost to a kept connection."""

    def __init__(self, sample):
        self.sample, self.good = sample, False

    def __call__(self):
        again, began = self.good, time.monotonic()
        self.good = False
        try:
            values = self.sample()
        except Exception:  # whatever its author's code raises; what the second one raises is written
            if not again or time.monotonic() - began > AT_ONCE_S:
                raise
            values = self.sample()
        self.good = True
        return values


def finite(values):
    """Without those that have no value at this moment (0 of 0, say): not a number, or infinite."""
    return {name: value for name, value in values.items() if not isinstance(value, float) or math.isfinite(value)}


def line(sample, path, beat, told=()):
    """One sample as a line of the file, or why there is none, without the secrets in `told`."""
    said = dict(beat, cpu=time.process_time())
    try:
        values = sample()
        if not isinstance(values, dict):
            raise TypeError("sample returned %.80s, not {metric: number}" % without(told, repr(values)))
        return json.dumps(dict(said, v=finite(values))) + "\n"
    # Whatever its author's code raises, sys.exit() too, is written, not lost.
    except (Exception, SystemExit) as problem:  # noqa: BLE001
        return json.dumps(dict(said, error=without(told, in_words(problem, path)))) + "\n"


def following(due, moment, interval):
    """The first tick after `due` that is not past at `moment`."""
    return due + interval * max(1, math.ceil((moment - due) / interval))


def main(argv):
    if argv[0] == "--describe":
        print(json.dumps(described(argv[1]), default=repr))
        return 0
    out_path, interval, path, given = argv[0], float(argv[1]), argv[2], argv[3]
    sys.path[:0] = argv[4:]
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP)
    with open(out_path, "w", buffering=1) as out:
        try:
            told = secrets(given, os.path.dirname(out_path))
            sample = AskedTwice(functools.partial(loaded(path).sample, **dict(json.loads(given), **told)))
        except (Exception, SystemExit) as problem:  # noqa: BLE001  (as above; it has been given no secret yet)
            out.write(json.dumps({"t": time.time(), "error": in_words(problem, path)}) + "\n")
            return 1
        due, stopped, heart = time.monotonic(), None, Heart()
        while True:
            out.write(line(sample, path, heart.beat(due), told.values()))
            if stopped:
                return 0
            due = following(due, time.monotonic(), interval)
            stopped = signal.sigtimedwait(STOP, max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
