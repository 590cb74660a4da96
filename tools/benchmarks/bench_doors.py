# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""perftest and cmtime behind the door for programs of verbs, as rows of tools/bench.

A run is two processes of a program with the door preloaded, each pinned, connected by rdma_cm, over iwarp if the row names no other adapter. Latencies
are half a round trip, the median of the run, in ns; bandwidth is in GB/s of 10^9 octets, as that of a raw stream.
"""
import shutil

from bench_peers import PeerRun, iterations

TARGET = "doors/verbs/libitapi-verbs.so"
SEND_LAT_AIM = 1.25     # of raw-spin
WRITE_LAT_AIM = 2.5     # of ib_send_lat; a program that spins on memory, with no processor left for the thread that moves data
MEMORY_AIM = 1.25       # of raw-memory, the shortest program that does the same
WRITE_BW_AIM = 0.75     # of raw-stream
CONNECTS = 1000


class DoorRun(PeerRun):
    """A PeerRun of our door: with a unit, and with the door of the build that is measured
    preloaded."""

    def __init__(self, door, server, client, read, unit, adapter="iwarp"):
        super().__init__(server, client, {"LD_PRELOAD": str(door), "ITAPI_VERBS_DEVICES": adapter}, read)
        self.unit = unit

    def once(self, cores):
        return {**super().once(cores), "unit": self.unit}


def table_of(text):
    """The headings of perftest's table with the values of its last line: {heading: value}."""
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.lstrip().startswith("#bytes"))
    # A head may have a blank inside: "BW peak[MB/sec]".
    heads = lines[at].replace("BW ", "BW_").split()
    return dict(zip(heads, lines[at + 1].split()))


def typical_ns(text):
    return float(table_of(text)["t_typical[usec]"]) * 1000


def average_gbs(text):
    """perftest's megabytes are of 2^20 octets."""
    return float(table_of(text)["BW_average[MB/sec]"]) * (1 << 20) / 1e9


def lat(door, program, size, adapter="iwarp"):
    call = [program, "-R", "-F", "-s", str(size), "-n", str(iterations(size)), "-p", "PORT"]
    return DoorRun(door, call, [*call, "HOST"], typical_ns, "ns", adapter)


def bandwidth(door, program, size):
    call = [program, "-R", "-F", "-s", str(size), "-n", "20000", "-p", "PORT"]
    return DoorRun(door, call, [*call, "HOST"], average_gbs, "GB/s")


def connects(text):
    """Connections made in a second, from the table of cmtime: all steps from the address to the
    connection count."""
    ms = {line[:13].strip(): float(line.split(":")[1].split()[0]) for line in text.splitlines() if ":" in line and "step" not in line}
    return CONNECTS * 1000 / sum(ms[step] for step in ("create id", "resolve addr", "resolve route", "create qp", "connect"))


def missing():
    return shutil.which("ib_send_lat") is None or shutil.which("cmtime") is None


def rows(Run, Row, raw_stream, door):
    """`door` is the preloaded object of the build that is measured."""
    send, write = lat(door, "ib_send_lat", 64), lat(door, "ib_write_lat", 64)
    return [
        Row("door-send-64", send, Run("raw-spin", size=64), SEND_LAT_AIM),
        Row("door-send-4096", lat(door, "ib_send_lat", 4096), Run("raw-spin", size=4096)),
        Row("door-write-64-of-send", write, send, WRITE_LAT_AIM),
        Row("door-write-64-of-memory", write, Run("raw-memory", size=64, iters=20000), MEMORY_AIM),
        Row("door-roce-write-64-of-memory", lat(door, "ib_write_lat", 64, "roce:lo"), Run("raw-memory", size=64, iters=20000), MEMORY_AIM),
        Row("door-shm-write-64-of-memory", lat(door, "ib_write_lat", 64, "shm:ib"), Run("raw-memory", size=64, iters=20000), MEMORY_AIM),
        Row("door-read-64", lat(door, "ib_read_lat", 64), Run("raw-spin", size=64), scale=2.0),
        Row("door-connects", DoorRun(door, ["cmtime", "-b", "127.0.0.1", "-c", str(CONNECTS), "-p", "PORT"],
                                     ["cmtime", "-s", "HOST", "-c", str(CONNECTS), "-p", "PORT"], connects, "1/s"),
            Run("it-connects", iters=CONNECTS), better="higher"),
        Row("door-write-65536-bw", bandwidth(door, "ib_write_bw", 65536), raw_stream(65536), WRITE_BW_AIM, "higher"),
        Row("door-send-65536-bw", bandwidth(door, "ib_send_bw", 65536), raw_stream(65536), better="higher"),
    ]
