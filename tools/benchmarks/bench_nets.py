# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Pairs of network namespaces that veth devices connect, for rows of tools/bench beyond loopback.

A pair is made when a row first needs it: two namespaces, each kept alive by a sleeping process,
each with one end of a veth device. An ordinary user needs a user namespace for that, and then
the runs enter the user namespace, too. The congestion control is the system's, or one that the
route names.
"""
import contextlib
import os
import subprocess

# The MTU and the congestion control; None is the system's.
NETS = {"mtu1500": (1500, None), "mtu9000": (9000, None), "mtu1500-cubic": (1500, "cubic"),
        "mtu9000-cubic": (9000, "cubic")}
ADDRESSES = ("10.77.0.1", "10.77.0.2")      # of the active side, of the passive one
MADE = {}


class CannotMake(RuntimeError):
    """No namespaces, or no veth devices."""


def keeper(command):
    """Starts a process that keeps the namespaces made by `command` alive, and returns it."""
    process = subprocess.Popen([*command, "sh", "-c", "echo there; exec sleep 1000000"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if process.stdout.readline().strip() != "there":
        raise CannotMake(f"{' '.join(command)}: {process.stderr.read().strip()}")
    return process


class Net:
    """One pair."""

    def __init__(self, mtu, control):
        flags = "-n" if os.geteuid() == 0 else "-Urn"
        self.keepers = [keeper(["unshare", flags])]
        # An ordinary user is root in a user namespace.
        self.user = [] if os.geteuid() == 0 else \
            ["nsenter", "-t", str(self.keepers[0].pid), "-U", "--preserve-credentials"]
        self.keepers.append(keeper([*self.user, "unshare", "-n"]))
        self.inside = [[*self.user, "nsenter", "-t", str(one.pid), "-n"] for one in self.keepers]
        self.ip(0, "link", "add", "v0", "type", "veth", "peer", "name", "v1", "netns", str(self.keepers[1].pid))
        for side, address in enumerate(ADDRESSES):
            device = f"v{side}"
            self.ip(side, "link", "set", "lo", "up")
            self.ip(side, "link", "set", device, "mtu", str(mtu), "up")
            self.ip(side, "address", "add", f"{address}/24", "dev", device)
            if control:
                self.ip(side, "route", "replace", "10.77.0.0/24", "dev", device, "src", address, "congctl", control)

    def ip(self, side, *words):
        done = subprocess.run([*self.inside[side], "ip", *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CannotMake(f"ip {' '.join(words)}: {done.stderr.strip()}")

    def options(self):
        """Those of it-bench-run."""
        return [word for letter, one, address in zip("ab", self.keepers, ADDRESSES)
                for word in (f"--net-{letter}", f"/proc/{one.pid}/ns/net", f"--addr-{letter}", address)]

    def end(self):
        for one in self.keepers:
            one.kill()
            one.wait()


def made(name):
    if name not in MADE:
        MADE[name] = Net(*NETS[name])
    return MADE[name]


def options(name):
    return made(name).options()


def prefix(name):
    """The words to put before it-bench-run so that it enters the user namespace, if there is one."""
    return made(name).user


def inside(name, side):
    """The words to put before a program so that it runs at one side (0: the active one) and finds
    that side's devices below /sys."""
    return [*made(name).inside[side], "unshare", "-m", "sh", "-c", 'mount -t sysfs none /sys && exec "$@"', "sh"]


@contextlib.contextmanager
def ended():
    """A context; the pairs of networks that are made within it are removed at its end."""
    try:
        yield
    finally:
        for net in MADE.values():
            net.end()
        MADE.clear()
