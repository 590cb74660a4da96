# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The two sides of a case: processes started here, or in the guest by way of its agent.

A side starts jobs (processes in a session of their own), reports how they end, and ends them.
`Local` does that on this machine; `Remote` calls the methods of the `Local` that lab_agent.py
has in the guest. Arguments and results of the methods are values that JSON can carry.
"""

import json
import os
import signal
import socket
import subprocess
import tempfile
import time

AGENT_PORT = 7400
PATIENCE = 60               # seconds for the guest's agent to answer
KILL_TIME = 20              # seconds for a process to end when it is killed
OUTPUT_LIMIT = 20000        # of a job, that a report shows
KERNEL_RECORD = 8192        # octets, of /dev/kmsg at most
KERNEL_TROUBLE = ('BUG:', 'kernel BUG', 'Oops', 'general protection', 'kernel panic', 'Call Trace')

OF_A_PROCESS = 'traps: '    # begins a line about a fault of a process


class Gone(Exception):
    """The guest does not answer any more."""


class Local:
    """Jobs on this machine; `prefix` enters the network namespace that they run in."""

    def __init__(self, prefix=()):
        self.prefix = list(prefix)
        self.jobs = {}
        self.number = 0
        self.kernel_log = None      # descriptor of the kernel's log
        self.kernel_lines = []

    def start(self, argv, env=None):
        """Starts a process; returns its number."""
        output = tempfile.TemporaryFile()
        try:
            process = subprocess.Popen(self.prefix + argv, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, start_new_session=True,
                                       env={**os.environ, **(env or {})})
        except OSError as error:
            output.write(f'{argv[0]}: {error.strerror}\n'.encode())
            process = None
        self.number += 1
        self.jobs[self.number] = (process, output)
        return self.number

    def poll(self, job, seconds):
        """The exit status of a job that ends within that time, else None."""
        process = self.jobs[job][0]
        if process is None:
            return 127
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def listens(self, job, port, seconds):
        """Waits until a socket in the job's network namespace listens on the TCP port; false if
        that does not happen."""
        process = self.jobs[job][0]
        until = time.monotonic() + seconds
        while process is not None and process.poll() is None:
            if listening(process.pid, port):
                return True
            if time.monotonic() > until:
                break
            time.sleep(0.05)
        return False

    def signal(self, job, number):
        """Sends a signal to all processes of a job."""
        process = self.jobs[job][0]
        if process is not None and process.poll() is None:
            os.killpg(process.pid, number)

    def says(self, job):
        """Returns the output of a job so far; only its end if it is long."""
        output = self.jobs[job][1]
        output.seek(0, os.SEEK_END)
        output.seek(max(0, output.tell() - OUTPUT_LIMIT))
        return output.read().decode(errors='replace')

    def contents(self, path):
        """The text of a file, however long; nothing if there is no such file."""
        try:
            with open(path, encoding='utf-8', errors='replace') as file:
                return file.read()
        except FileNotFoundError:
            return ''

    def end_all(self):
        """Kills jobs that still run, and drops all jobs; returns how many could not be killed."""
        stuck = 0
        for process, output in self.jobs.values():
            if process is not None:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                try:
                    process.wait(KILL_TIME)
                except subprocess.TimeoutExpired:
                    stuck += 1
            output.close()
        self.jobs.clear()
        return stuck

    def kernel_trouble(self):
        """What this machine's kernel has logged since its first report of a bug in itself; usually
        empty."""
        if self.kernel_log is None:
            self.kernel_log = os.open('/dev/kmsg', os.O_RDONLY | os.O_NONBLOCK)
        self.kernel_lines += kernel_records(self.kernel_log)
        for number, line in enumerate(self.kernel_lines):
            if any(word in line for word in KERNEL_TROUBLE) and not line.startswith(OF_A_PROCESS):
                return '\n'.join(self.kernel_lines[max(0, number - 5):number + 30]) + '\n'
        return ''


def kernel_records(log):
    """The lines that the kernel has logged since the last call."""
    lines = []
    while True:
        try:
            record = os.read(log, KERNEL_RECORD)
        except BlockingIOError:
            return lines
        except BrokenPipeError:     # records were overwritten; the next one is the oldest that is left
            continue
        lines.append(record.decode(errors='replace').partition(';')[2].split('\n')[0])


def listening(pid, port):
    """Whether a socket in the network namespace of that process listens on that TCP port."""
    for table in ('tcp', 'tcp6'):
        try:
            with open(f'/proc/{pid}/net/{table}', encoding='ascii') as file:
                rows = [line.split() for line in file]
        except OSError:
            continue
        if any(row[3] == '0A' and int(row[1].rpartition(':')[2], 16) == port for row in rows[1:]):
            return True
    return False


class Remote:
    """Jobs in the guest: each call is a line to the agent and a line back."""

    def __init__(self, host, port=AGENT_PORT):
        self.file = socket.create_connection((host, port), PATIENCE).makefile('rw', encoding='utf-8')

    def __getattr__(self, method):
        def call(*arguments):
            try:
                self.file.write(json.dumps([method, arguments]) + '\n')
                self.file.flush()
                line = self.file.readline()
            except OSError as error:
                raise Gone(f'the guest does not answer: {error}') from error
            if not line:
                raise Gone('the guest has gone')
            return json.loads(line)
        return call


def serve(side, port=AGENT_PORT):
    """Lets one Remote after another call the methods of a side; does not return."""
    with socket.create_server(('0.0.0.0', port)) as listener:
        while True:
            connection = listener.accept()[0]
            with connection, connection.makefile('rw', encoding='utf-8') as file:
                for line in file:
                    method, arguments = json.loads(line)
                    file.write(json.dumps(getattr(side, method)(*arguments)) + '\n')
                    file.flush()
