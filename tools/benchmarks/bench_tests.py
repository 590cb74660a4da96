# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Figures that programs of the tests print, and the speed of it-sim, as rows of tools/bench.

A test says "figure NAME VALUE" in a line of its output. The build targets that such a row needs
are built first (`targets`). Nothing is pinned: there are more processes than processors, or the
program divides the work by itself.
"""
import os
import pathlib
import re
import subprocess
import tempfile
import time

SECONDS = 150
SEEDS = 1000        # of a run; a speed for a minute follows
MEMBERS = 100
MESH = "itapi/tests/test-itapi-mesh"
KILLS = "itapi/tests/test-itapi-kills"
CROWD = "kal/daemon/test-kald-crowd"
SCENE = """node server {kv} emul:ib 7471 daemon
node writer {kv} emul:ib 7471 @server put colour blue at 2ms
node reader {kv} emul:ib 7471 @server get colour after writer
node adder {kv} emul:ib 7471 @server count 5 at 1ms..3ms
expect output reader blue
"""


def figure_of(text, name):
    """The figure of that name in the output of a test."""
    found = re.search(rf"^# figure {re.escape(name)} ([0-9.]+)$", text, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"the test prints no figure {name}")
    return float(found[1])


def output_of(call, env):
    done = subprocess.run(call, env={**os.environ, **env}, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(call)}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


class TestRun:
    """A figure of a test program."""

    def __init__(self, build, target, args, figure, unit, env=None, targets=()):
        self.call, self.figure, self.unit = [str(build / target), *args], figure, unit
        self.env, self.targets = env or {}, [target, *targets]

    def once(self, _cores):
        return {"value": figure_of(output_of(self.call, self.env), self.figure), "unit": self.unit}


class SimRun:
    """Seeds that it-sim runs in a minute, with a job on each of two processors."""

    targets = ["tools/it-sim", "tools/sim/tests/sim-kv.so"]

    def __init__(self, build):
        self.program, self.kv = (str(build / target) for target in self.targets)

    def once(self, _cores):
        with tempfile.TemporaryDirectory(prefix="itapi-bench.") as folder:
            scene = pathlib.Path(folder) / "kv.sim"
            scene.write_text(SCENE.format(kv=self.kv))
            begin = time.monotonic()
            output_of([self.program, str(scene), "--seeds", f"1..{SEEDS}", "-j", "2"], {})
            return {"value": SEEDS * 60 / (time.monotonic() - begin), "unit": "seeds/min"}


def mesh(build, figure):
    return TestRun(build, MESH, ["shm:ib"], figure, "", {"ITAPI_TEST_MEMBERS": str(MEMBERS)})


def rows(row, build):
    return [row(f"shm-mesh-{MEMBERS}-of-2", mesh(build, "mesh-rate"), None, 0.8, "higher"),
            row(f"shm-mesh-{MEMBERS}-slowest", mesh(build, "mesh-slowest"), None, 0.5, "higher"),
            # From kill -9 to the event at the peer.
            row("shm-killed-broken", TestRun(build, KILLS, ["shm:ib", "-p", "/itapi/shm:ib/kills/steps"], "broken-ms", "ms"), None, 10),
            # What 99 of 100 requests take while others flood the daemon, beside the same without them.
            row("kald-flooded-p99", TestRun(build, CROWD, ["-p", "/kald/crowd/hostile"], "crowd-p99", "",
                                            {"KALD": str(build / "kal/daemon/kald")}, ["kal/daemon/kald"]), None, 2),
            row("sim-seeds-a-minute", SimRun(build), None, 10000, "higher")]
