# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Does what a tutorial says and compares the output that it shows (TAP).

In a page

- a C block below "File `NAME`:" is the beginning of a file, one below "More of `NAME`:" goes behind it;
- a console block has commands behind "$ ", each followed by its output. In the output "..." stands for anything
  in a line and, alone, for any lines. A command ends with status 0, or "$ echo $?" comes next;
- a command behind "server$ " runs in another terminal until the commands of the next console block are done;
- "listening on port N" stands for any port, and N in what follows for that one;
- "@snippet FILE NAME" quotes what stands between two lines with "[NAME]" in a file that the reader has by then.

Commands get a terminal, so that their output is what a reader sees.
"""

import glob
import os
import pty
import re
import subprocess
import threading

PATIENCE = 300  # s; for one program, on a busy machine
HEADING = re.compile(r'(File|More of) `([^`]+)`:')
PROMPT = re.compile(r'(server)?\$ (.*)')
SNIPPET = re.compile(r'@snippet (\S+) (.+)')
LISTENING = 'listening on port '
COLOUR = re.compile(r'\x1b\[[0-9;]*m')


class Wrong(Exception):
    """The page says one thing, and another happened."""


class Command:
    """One command of a page, and the output that the page shows."""

    def __init__(self, server, text):
        self.server = server
        self.text = text
        self.shown = []


def commands_of(lines):
    """The commands of a console block."""
    found = []
    for line in lines:
        prompt = PROMPT.fullmatch(line)
        if prompt:
            found.append(Command(prompt.group(1) is not None, prompt.group(2)))
        elif found:
            found[-1].shown.append(line)
        else:
            raise Wrong(f'a console block begins without a prompt: {line}')
    return found


def steps_of(page):
    """Yields the steps that a page asks its reader for, in order: ('c', append, name, lines) to write a file, ('console', commands) to run commands."""
    with open(page, encoding='utf-8') as file:
        lines = file.read().split('\n')
    heading = None
    block = None
    for line in lines:
        if block is not None and line == '```':
            if language == 'c' and heading:
                yield 'c', heading.group(1) == 'More of', heading.group(2), block
            elif language == 'console':
                yield 'console', commands_of(block)
            elif language != 'text':
                raise Wrong(f'{page}: a block of {language or "nothing"} that belongs to no file')
            block = heading = None
        elif block is not None:
            block.append(line)
        elif line.startswith('```'):
            language = line[3:]
            block = []
        elif SNIPPET.fullmatch(line):
            yield 'snippet', *SNIPPET.fullmatch(line).groups()
        elif line:
            heading = HEADING.fullmatch(line)
    if block is not None:
        raise Wrong(f'{page}: the last block has no end')


class Terminal:
    """A program that was started with a terminal of its own; a thread collects what it writes."""

    def __init__(self, command, folder, environment):
        here, there = pty.openpty()
        self.said = b''
        self.more = threading.Condition()
        self.program = subprocess.Popen(['sh', '-c', command], cwd=folder, env=environment, close_fds=True,
                                        stdin=subprocess.DEVNULL, stdout=there, stderr=there)
        os.close(there)
        self.reader = threading.Thread(target=self.read, args=(here,), daemon=True)
        self.reader.start()

    def read(self, here):
        with os.fdopen(here, 'rb', buffering=0) as file:
            while True:
                try:
                    piece = file.read(4096)
                except OSError:  # how Linux tells that the other end is closed
                    piece = b''
                if not piece:
                    break
                with self.more:
                    self.said += piece
                    self.more.notify_all()
        with self.more:
            self.reader = None
            self.more.notify_all()

    def text(self):
        return COLOUR.sub('', self.said.decode(errors='replace').replace('\r\n', '\n'))

    def await_port(self):
        """Waits until the program listens, or has ended."""
        def listens():
            return self.reader is None or re.search(LISTENING + r'\d+\n', self.text())
        with self.more:
            self.more.wait_for(listens, PATIENCE)

    def end(self):
        """Waits for the end of the program; (output, exit status)."""
        try:
            status = self.program.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Wrong(f'it did not end; it said:\n{self.text()}') from None
        with self.more:
            self.more.wait_for(lambda: self.reader is None, PATIENCE)
        return self.text(), status

    def kill(self):
        if self.program.poll() is None:
            self.program.kill()
            self.program.wait()


def pattern_of(shown):
    """A regular expression for the output that a page shows."""
    parts = []
    for line in shown:
        if line == '...':
            parts.append(r'(?:.*\n)*?')
            continue
        text = '.*'.join(re.escape(part) for part in line.split('...'))
        parts.append(re.sub(r'\d+$', r'(\\d+)', text) if line.startswith(LISTENING) else text)
        parts.append(r'\n')
    return re.compile(''.join(parts))


class Reader:
    """Somebody who follows the pages."""

    def __init__(self, environment, folder):
        self.environment = environment
        self.folder = folder
        self.ports = {}      # of the page -> of this run
        self.status = 0      # of the last command
        self.server = None   # (its Terminal, its Command, the commands behind it)
        self.cases = 0
        self.failed = 0

    def case(self, name, work, *arguments):
        self.cases += 1
        try:
            work(*arguments)
            print(f'ok {self.cases} - {name}', flush=True)
        except Wrong as wrong:
            self.failed += 1
            for line in str(wrong).split('\n'):
                print(f'# {line}')
            print(f'not ok {self.cases} - {name}', flush=True)

    def write(self, append, name, lines):
        with open(os.path.join(self.folder, name), 'a' if append else 'w', encoding='utf-8') as file:
            file.write('\n'.join(([''] if append else []) + lines) + '\n')

    def quote(self, name, piece):
        """Code that a page quotes must be in exactly one file of that name, between two marks."""
        found = glob.glob(os.path.join(glob.escape(self.folder), '**', name), recursive=True)
        if len(found) != 1:
            raise Wrong(f'there are {len(found)} files of the name {name}')
        with open(found[0], encoding='utf-8') as file:
            parts = file.read().split(f'[{piece}]')
        if len(parts) != 3 or parts[1].count('\n') < 2:
            raise Wrong(f'{name} has no piece [{piece}] between two marks')

    def start(self, command):
        text = re.sub(r'\d+', lambda match: self.ports.get(match.group(), match.group()), command.text)
        return Terminal(text, self.folder, self.environment)

    def judge(self, command, said, status, status_is_shown):
        """Compares what a command wrote with the page; remembers the port that it tells."""
        self.status = status
        match = pattern_of(command.shown).fullmatch(said)
        if not match:
            shown = '\n'.join(command.shown)
            raise Wrong(f'it said:\n{said}\nthe page shows:\n{shown}')
        if status != 0 and not status_is_shown:
            raise Wrong(f'it ended with status {status}; it said:\n{said}')

    def note_port(self, command, said):
        shown = re.search(LISTENING + r'(\d+)', '\n'.join(command.shown))
        real = re.search(LISTENING + r'(\d+)', said)
        if shown and real:
            self.ports[shown.group(1)] = real.group(1)

    def run(self, command, following):
        if command.text == 'echo $?':
            self.judge(command, f'{self.status}\n', 0, True)
            return
        terminal = self.start(command)
        said, status = terminal.end()
        self.note_port(command, said)
        self.judge(command, said, status, following is not None and following.text == 'echo $?')

    def serve(self, commands):
        """Starts the first of the commands, in another terminal; what comes behind it has to wait for its end."""
        terminal = self.start(commands[0])
        terminal.await_port()
        self.note_port(commands[0], terminal.text())
        self.server = (terminal, commands)

    def end_server(self, prefix):
        if self.server is None:
            return
        terminal, commands = self.server
        self.server = None

        def ended():
            said, status = terminal.end()
            self.judge(commands[0], said, status, len(commands) > 1)
        self.case(f'{prefix}/server: {commands[0].text}', ended)
        for command in commands[1:]:
            self.case(f'{prefix}/server: {command.text}', self.run, command, None)

    def console(self, prefix, commands):
        servers = [command for command in commands if command.server]
        others = [command for command in commands if not command.server]
        for command, following in zip(others, others[1:] + [None]):
            self.case(f'{prefix}: {command.text}', self.run, command, following)
        if others:
            self.end_server(prefix)
        if servers:
            self.serve(servers)

    def follow(self, page):
        prefix = f'/doc/{os.path.splitext(os.path.basename(page))[0]}'
        for kind, *step in steps_of(page):
            if kind == 'c':
                self.write(*step)
            elif kind == 'snippet':
                self.case(f'{prefix}: {step[0]} [{step[1]}]', self.quote, *step)
            else:
                self.console(prefix, *step)
        self.end_server(prefix)

    def follow_all(self, pages):
        try:
            for page in pages:
                self.follow(page)
        finally:
            if self.server is not None:
                self.server[0].kill()
