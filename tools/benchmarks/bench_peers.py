# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Ping-pongs of libfabric (fi_pingpong) and UCX (ucx_perftest), as calibrators of tools/bench --peers.

Both are optional packages of Debian: libfabric-bin and ucx-utils. A run is two processes, each
pinned, that poll; its figure is half a round trip of a message in ns, as that of it-lat.
"""
import os
import shutil
import socket
import subprocess
import time

SECONDS = 90
SERVER_SECONDS = 10     # until the server listens
SIZES = (8, 64, 1024, 4096, 65536, 1 << 20, 4 << 20)


def iterations(size):
    return 20000 if size <= 4096 else 2000 if size <= 65536 else 200


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port):
    """Does a socket listen there? A connection to find out would be taken for the client's."""
    wanted = f"{port:04X}"
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        if not os.path.exists(name):
            continue
        with open(name, encoding="ascii") as table:
            for line in table.readlines()[1:]:
                fields = line.split()
                if fields[1].rsplit(":", 1)[1] == wanted and fields[3] == "0A":
                    return True
    return False


class PeerRun:
    """One way to call the pair of programs of a peer; once() is as that of Run."""

    def __init__(self, server, client, env, read):
        self.server, self.client, self.read = server, client, read
        self.env = {**os.environ, **env}

    def once(self, cores):
        port = str(free_port())
        server = subprocess.Popen(
            ["taskset", "-c", str(cores[1]), *(a.replace("PORT", port) for a in self.server)],
            env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            until = time.monotonic() + SERVER_SECONDS
            while not listens(int(port)) and server.poll() is None and time.monotonic() < until:
                time.sleep(0.02)
            done = subprocess.run(
                ["taskset", "-c", str(cores[0]), *(a.replace("PORT", port) for a in self.client)],
                env=self.env, capture_output=True, text=True, timeout=SECONDS, check=False)
            if done.returncode != 0:
                raise RuntimeError(f"{self.client[0]}: {done.stderr.strip()[-200:]}")
            return {"value": self.read(done.stdout), "unit": "ns"}
        finally:
            try:
                server.wait(5)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def pingpong_ns(text):
    """fi_pingpong: the column usec/xfer of the last line; it counts both directions."""
    heads, *_, last = [line.split() for line in text.strip().splitlines()]
    return float(last[heads.index("usec/xfer")]) * 1000


def perftest_ns(text):
    """ucx_perftest -v: the column overall_lat, in us."""
    heads, *_, last = [line.split(",") for line in text.strip().splitlines()]
    return float(last[heads.index("overall_lat")]) * 1000


def libfabric(provider, endpoint):
    def run(size):
        call = ["fi_pingpong", "-p", provider, "-e", endpoint, "-I", str(iterations(size)),
                "-S", str(size)]
        return PeerRun([*call, "-B", "PORT"], [*call, "-P", "PORT", "127.0.0.1"], {}, pingpong_ns)
    return run


def ucx(transports, env):
    def run(size):
        call = ["ucx_perftest", "-p", "PORT", "-f"]
        return PeerRun(call, [*call, "127.0.0.1", "-t", "tag_lat", "-s", str(size), "-v",
                              "-n", str(iterations(size)), "-w", str(iterations(size) // 10)],
                       {"UCX_TLS": transports, "UCX_WARN_UNUSED_ENV_VARS": "n", **env}, perftest_ns)
    return run


# name: (program, how a run of a size is made, is it shared memory)
PEERS = {
    "libfabric-tcp": ("fi_pingpong", libfabric("tcp", "msg"), False),
    "ucx-tcp": ("ucx_perftest", ucx("tcp,self", {"UCX_NET_DEVICES": "lo"}), False),
    "libfabric-shm": ("fi_pingpong", libfabric("shm", "rdm"), True),
    "ucx-shm": ("ucx_perftest", ucx("posix,self", {}), True),
}


def missing():
    """Programs of peers that are not installed."""
    return sorted({program for program, _, _ in PEERS.values() if shutil.which(program) is None})


def present():
    """The peers that can run, as name, function of a size, and whether it is shared memory."""
    return [(name, run, shared) for name, (program, run, shared) in PEERS.items()
            if shutil.which(program) is not None]


# --- curves ------------------------------------------------------------------------------------

WIDTH, HEIGHT, LEFT, BOTTOM = 720, 440, 70, 50
COLOURS = ("#1b6ca8", "#c0392b", "#27864a", "#8e5ea2", "#d08b00", "#444444")


def svg(title, curves):
    """Latency by size, both logarithmic: curves is {name: {size: ns}}."""
    from math import floor, ceil, log2, log10
    sizes = sorted({size for curve in curves.values() for size in curve})
    values = [ns for curve in curves.values() for ns in curve.values()]
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    high = max(high, low + 1)
    span = max(1.0, log2(sizes[-1] / sizes[0]))

    def at(size, ns):
        x = LEFT + (WIDTH - LEFT - 170) * log2(size / sizes[0]) / span
        y = HEIGHT - BOTTOM - (HEIGHT - BOTTOM - 40) * (log10(ns) - low) / (high - low)
        return round(x, 1), round(y, 1)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
           'font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="{LEFT}" y="20" font-size="14">{title}</text>']
    for power in range(low, high + 1):
        x, y = at(sizes[0], 10.0 ** power)
        right = at(sizes[-1], 1)[0]
        text = f"{10 ** power} ns" if power < 3 else f"{10 ** (power - 3)} us"
        out.append(f'<line x1="{x}" y1="{y}" x2="{right}" y2="{y}" stroke="#dddddd"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{text}</text>')
    for size in sizes:
        x, y = at(size, 10.0 ** low)
        text = str(size) if size < 1024 else f"{size >> 10}k" if size < 1 << 20 else f"{size >> 20}M"
        out.append(f'<text x="{x}" y="{y + 18}" text-anchor="middle">{text}</text>')
    for number, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        points = [at(size, curve[size]) for size in sorted(curve)]
        path = " ".join(f"{x},{y}" for x, y in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in points]
        out.append(f'<text x="{points[-1][0] + 10}" y="{56 + 18 * number}" fill="{colour}">{name}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"
