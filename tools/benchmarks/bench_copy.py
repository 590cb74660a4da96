# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Copies of a file on this machine, through the page cache: it-cp, and other programs that copy
files.

A copy is timed from the start of the client to its end. Servers listen on the loopback interface
and are restarted for each copy. Each class for a program has a function once(), like the class
Run of tools/bench.
"""
import os
import pathlib
import shutil
import subprocess
import time

import bench_peers

SECONDS = 120
LISTEN_SECONDS = 20


class Copy:
    """One way to copy a file: a server, which may be absent, and a client."""

    def __init__(self, folder, client, server=None, config=None):
        self.folder = pathlib.Path(folder)
        self.client, self.server, self.config = client, server, config

    def filled(self, words, port):
        names = {"SOURCE": self.folder / "source", "FOLDER": self.folder / "served", "PORT": port}
        for name, value in names.items():
            words = [word.replace(name, str(value)) for word in words]
        return words

    def start(self, port):
        """The server, when it listens."""
        if self.server is None:
            return None
        if self.config:
            text = self.filled([self.config], port)[0]
            (self.folder / "config").write_text(text)
        server = subprocess.Popen(self.filled(self.server, port), cwd=self.folder,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        until = time.monotonic() + LISTEN_SECONDS
        while not bench_peers.listens(port):
            if server.poll() is not None or time.monotonic() > until:
                server.kill()
                server.wait()
                raise RuntimeError(f"{self.server[0]} does not listen")
            time.sleep(0.02)
        return server

    def once(self, _cores):
        target = self.folder / "served" / "copy"
        target.unlink(missing_ok=True)
        port = bench_peers.free_port()
        server = self.start(port)
        try:
            begin = time.monotonic()
            done = subprocess.run(self.filled(self.client, port), cwd=self.folder,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=SECONDS, check=False)
            took = time.monotonic() - begin
        finally:
            if server is not None:
                server.terminate()
                server.wait()
        size = (self.folder / "source").stat().st_size
        if done.returncode != 0 or not target.exists() or target.stat().st_size != size:
            raise RuntimeError(f"{self.client[0]}: {done.stderr.strip()[-200:] or 'no whole copy'}")
        return {"value": took, "unit": "s"}


def ours(folder, program, *options):
    return Copy(folder, [str(program), "-q", "-p", "PORT", *options, "SOURCE", "127.0.0.1:copy"],
                [str(program), "-q", "-p", "PORT", "--serve", "FOLDER"])


def shares_blocks(folder):
    """Whether cp can make a copy in this folder that shares the blocks of its source (a reflink).
    Such a copy moves no data, so cp is then called with an option that prevents it."""
    twin = pathlib.Path(folder) / "twin"
    done = subprocess.run(["cp", "--reflink=always", pathlib.Path(folder) / "source", twin],
                          stderr=subprocess.DEVNULL, check=False)
    twin.unlink(missing_ok=True)
    return done.returncode == 0


def others(folder):
    """The programs of others that are installed here, by name, and why the rest cannot run."""
    real = ["--reflink=never"] if shares_blocks(folder) else []
    ways = {"cp": Copy(folder, ["cp", *real, "SOURCE", "FOLDER/copy"])}
    why = {}
    if shutil.which("rsync"):
        ways["rsync"] = Copy(
            folder, ["rsync", "--whole-file", "--inplace", "SOURCE", "rsync://127.0.0.1:PORT/to/copy"],
            ["rsync", "--daemon", "--no-detach", "--port=PORT", "--config=config"],
            "use chroot = no\naddress = 127.0.0.1\n[to]\npath = FOLDER\nread only = no\n"
            f"uid = {os.getuid()}\ngid = {os.getgid()}\n")
    else:
        why["rsync"] = "it is not installed"
    if shutil.which("nc") and "OpenBSD" in subprocess.run(
            ["nc", "-h"], capture_output=True, text=True, check=False).stderr:
        # The server's end is the end of the copy.
        ways["nc"] = Copy(folder, ["sh", "-c", "nc -N 127.0.0.1 PORT <SOURCE; "
                                   "while [ ! -e FOLDER/../done ]; do sleep 0.001; done; "
                                   "rm FOLDER/../done"],
                          ["sh", "-c", "nc -l 127.0.0.1 PORT >FOLDER/copy; >FOLDER/../done"])
    else:
        why["nc"] = "netcat-openbsd is not installed"
    if shutil.which("scp") and subprocess.run(
            ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "127.0.0.1", "true"],
            capture_output=True, check=False).returncode == 0:
        ways["scp"] = Copy(folder, ["scp", "-q", "-o", "BatchMode=yes", "SOURCE",
                                    "127.0.0.1:FOLDER/copy"])
    else:
        why["scp"] = "there is no ssh to this machine without a password"
    return ways, why


def make(folder, mebibytes):
    """The file to copy, in the page cache, and the folder to copy it to."""
    os.mkdir(pathlib.Path(folder) / "served")
    with open(pathlib.Path(folder) / "source", "wb") as file:
        for _ in range(mebibytes):
            file.write(os.urandom(1 << 20))
