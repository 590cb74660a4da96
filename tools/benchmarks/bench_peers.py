# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""libfabric (fi_pingpong) and UCX (ucx_perftest), as calibrators of tools/bench --peers; and curves.

Both are optional packages of Debian: libfabric-bin and ucx-utils. A run is two processes, each
pinned, that poll. Its figure is half a round trip of a message in ns, as that of it-lat; or GB/s of
one-sided writes, as that of it-bw, which libfabric's program does not measure.
"""
import collections
import math
import os
import shutil
import socket
import subprocess
import time

import bench_nets

SECONDS = 90
SERVER_SECONDS = 10     # until the server listens
NEAR_NS = 75             # a cache line passed faster: the processors share a cache
SIZES = (8, 64, 1024, 4096, 65536, 1 << 20, 4 << 20)


def iterations(size):
    return 20000 if size <= 4096 else 2000 if size <= 65536 else 200


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port, process):
    """Whether a socket listens at this port in the network of that process. It reads /proc, since a
    server would take a trial connection for its client."""
    wanted = f"{port:04X}"
    for name in (f"/proc/{process}/net/tcp", f"/proc/{process}/net/tcp6"):
        if not os.path.exists(name):
            continue
        with open(name, encoding="ascii") as table:
            for line in table.readlines()[1:]:
                fields = line.split()
                if fields[1].rsplit(":", 1)[1] == wanted and fields[3] == "0A":
                    return True
    return False


class PeerRun:
    """One way to call the pair of programs of a peer, on loopback or in a pair of networks; once() is as that of Run."""

    def __init__(self, server, client, env, read):
        self.server, self.client, self.read = server, client, read
        self.env = env
        self.net = None

    def at(self, net):
        """The same run between two networks."""
        self.net = net
        return self

    def command(self, side, core, words, port):
        """The command and the environment of the client (side 0) or the server (side 1)."""
        known = {"PORT": port, "HOST": bench_nets.ADDRESSES[1] if self.net else "127.0.0.1"}
        before = bench_nets.inside(self.net, side) if self.net else []
        device = {"UCX_NET_DEVICES": f"v{side}"} if self.net and "UCX_NET_DEVICES" in self.env else {}
        return ([*before, "taskset", "-c", str(core), *(known.get(word, word) for word in words)],
                {**os.environ, **self.env, **device})

    def once(self, cores):
        port = str(free_port())
        command, env = self.command(1, cores[1], self.server, port)
        server = subprocess.Popen(
            command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            until = time.monotonic() + SERVER_SECONDS
            while not listens(int(port), server.pid) and server.poll() is None and time.monotonic() < until:
                time.sleep(0.02)
            command, env = self.command(0, cores[0], self.client, port)
            done = subprocess.run(
                command, env=env, capture_output=True, text=True, timeout=SECONDS, check=False)
            if done.returncode != 0:
                raise RuntimeError(f"{self.client[0]}: {done.stderr.strip()[-200:]}")
            try:
                return {"value": self.read(done.stdout)}
            except (ValueError, IndexError):
                raise RuntimeError(f"{self.client[0]}: no figure in {done.stdout[-200:]!r}") from None
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


def perftest_gbs(text):
    """The same: the column overall_bw, in MiB/s."""
    heads, *_, last = [line.split(",") for line in text.strip().splitlines()]
    return float(last[heads.index("overall_bw")]) * (1 << 20) / 1e9


def libfabric(provider, endpoint):
    def run(size):
        call = ["fi_pingpong", "-p", provider, "-e", endpoint, "-I", str(iterations(size)),
                "-S", str(size)]
        return PeerRun([*call, "-B", "PORT"], [*call, "-P", "PORT", "HOST"], {}, pingpong_ns)
    return run


def ucx(transports, env, test="tag_lat", read=perftest_ns):
    def run(size):
        call = ["ucx_perftest", "-p", "PORT", "-f"]
        return PeerRun(call, [*call, "HOST", "-t", test, "-s", str(size), "-v",
                              "-n", str(iterations(size)), "-w", str(iterations(size) // 10)],
                       {"UCX_TLS": transports, "UCX_WARN_UNUSED_ENV_VARS": "n", **env}, read)
    return run


TCP = ("tcp,self", {"UCX_NET_DEVICES": "lo"})
SHARED = ("posix,self", {})

# A row: name, program, the function that makes a run of a size, the medium, the measured quantity,
# and the aims ({size: ratio}). Our adapters are iwarp for the medium "wire", emul:ib within one
# process ("memory"), and shm:ib between two processes ("between"), as the peers are.
Peer = collections.namedtuple("Peer", "name program run medium what aims", defaults=({},))
PEERS = (
    Peer("libfabric-tcp", "fi_pingpong", libfabric("tcp", "msg"), "wire", "latency"),
    Peer("ucx-tcp", "ucx_perftest", ucx(*TCP), "wire", "latency"),
    Peer("libfabric-shm", "fi_pingpong", libfabric("shm", "rdm"), "memory", "latency"),
    Peer("ucx-shm", "ucx_perftest", ucx(*SHARED), "memory", "latency"),
    Peer("between-libfabric", "fi_pingpong", libfabric("shm", "rdm"), "between", "latency", {64: 0.5}),
    Peer("between-ucx", "ucx_perftest", ucx(*SHARED), "between", "latency", {64: 1.3}),
    Peer("ucx-tcp", "ucx_perftest", ucx(*TCP, "ucp_put_bw", perftest_gbs), "wire", "bandwidth"),
    Peer("ucx-shm", "ucx_perftest", ucx(*SHARED, "ucp_put_bw", perftest_gbs), "memory", "bandwidth"),
    Peer("between-ucx", "ucx_perftest", ucx(*SHARED, "ucp_put_bw", perftest_gbs), "between", "bandwidth"),
)


def missing():
    """Programs of peers that are not installed."""
    return sorted({peer.program for peer in PEERS if shutil.which(peer.program) is None})


def present():
    return [peer for peer in PEERS if shutil.which(peer.program) is not None]


def rows(Run, Row, ours_stream, raw_stream, net=None):
    """The rows that compare itapi with a raw socket and with each installed peer; a name ends in
    what is measured and the size. With `net`, only over TCP."""
    made = []
    for size in SIZES:
        few = iterations(size)
        ours = {("latency", "wire"): Run("it-lat", op="send", size=size, iters=few, net=net),
                ("latency", "memory"): Run("it-emul-lat", adapter="emul:ib", size=size, iters=few),
                ("latency", "between"): Run("it-lat", op="send", adapter="shm:ib", size=size, iters=few),
                ("bandwidth", "wire"): ours_stream("write", size, net=net),
                ("bandwidth", "memory"): Run("it-emul-bw", adapter="emul:ib", size=size, iters=few),
                ("bandwidth", "between"): ours_stream("write", size, adapter="shm:ib")}

        def copy(size):
            return Run("memcpy", size=size, iters=iterations(size))
        raw = (Peer("raw", None, lambda size: Run("raw-spin", size=size, iters=iterations(size), net=net),
                    "wire", "latency"),
               Peer("raw", None, lambda size: raw_stream(size, net=net), "wire", "bandwidth"),
               Peer("memcpy", None, copy, "memory", "bandwidth"),
               Peer("between-memcpy", None, copy, "between", "bandwidth", {1 << 20: 0.35}))
        for peer in (*raw, *present()):
            if net and peer.medium != "wire":
                continue
            theirs = peer.run(size)
            if net and peer.program:
                theirs = theirs.at(net)
            row = Row(f"{peer.name}-{peer.what}-{size}", ours[peer.what, peer.medium], theirs, peer.aims.get(size),
                      better="lower" if peer.what == "latency" else "higher")
            row.peer, row.size = peer, size
            row.probed = peer.medium == "between"
            made.append(row)
    return sorted(made, key=lambda row: row.peer.what, reverse=True)


# --- curves ------------------------------------------------------------------------------------

WIDTH, HEIGHT, LEFT, BOTTOM = 720, 440, 90, 50
COLOURS = ("#1b6ca8", "#c0392b", "#27864a", "#8e5ea2", "#d08b00", "#444444")


TITLES = {"latency": "Half a round trip", "bandwidth": "Bandwidth", "rate": "Messages a second"}
MEDIA = {"wire": "iWARP and TCP", "memory": "in memory", "between": "between two processes"}


def curves_add(curves, row):
    """Enters a row into {(medium, what): {name: {size: value}}}."""
    def enter(what, scale):
        drawn = curves.setdefault((row.peer.medium, what), {})
        for name, value in (("itapi", row.value()), (row.peer.name, row.base())):
            drawn.setdefault(name, {})[row.size] = value * scale
    enter(row.peer.what, 1.0)
    if row.peer.what == "bandwidth":
        enter("rate", 1e9 / row.size)


def draw(name, curves):
    for (medium, what), drawn in curves.items():
        title = f"{TITLES[what]} by size of the message, octets: {MEDIA[medium]}"
        with open(f"{name}-{medium}-{what}.svg", "w", encoding="ascii") as file:
            file.write(svg(title, drawn, what))


def label(power, what):
    """The text at a power of ten."""
    if what == "latency":
        return f"{10 ** power:g} ns" if power < 3 else f"{10 ** (power - 3):g} us"
    if what == "bandwidth":
        return f"{10.0 ** power:g} GB/s"
    return f"{10 ** power:,}/s"


def svg(title, curves, what="latency"):
    """Draws curves, {name: {size: value}}, over the size, both axes logarithmic."""
    sizes = sorted({size for curve in curves.values() for size in curve})
    values = [value for curve in curves.values() for value in curve.values()]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)
    span = max(1.0, math.log2(sizes[-1] / sizes[0]))

    def at(size, value):
        x = LEFT + (WIDTH - LEFT - 170) * math.log2(size / sizes[0]) / span
        y = HEIGHT - BOTTOM - (HEIGHT - BOTTOM - 40) * (math.log10(value) - low) / (high - low)
        return round(x, 1), round(y, 1)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
           'font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="{LEFT}" y="20" font-size="14">{title}</text>']
    for power in range(low, high + 1):
        x, y = at(sizes[0], 10.0 ** power)
        right = at(sizes[-1], 1)[0]
        out.append(f'<line x1="{x}" y1="{y}" x2="{right}" y2="{y}" stroke="#dddddd"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{label(power, what)}</text>')
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
