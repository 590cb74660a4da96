# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Runs the job and the image that doc/verbs.md shows, with the packages, in a new Debian 12 without anything else.

mmdebstrap makes the system in a folder; its hook is this file. Steps that install packages use
the network of the host. All other steps run in a network namespace with an interface eth0, as in
a container.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
PAGE = os.path.join(ROOT, 'doc/verbs.md')
REPOSITORY = '/repository'          # where the packages are in the folder itapi, as the page says
INTERFACE = 'ip link set lo up; ip link add eth0 type veth peer far; ip address add 10.0.0.2/24 dev eth0; ip link set far up; ip link set eth0 up'
LIMIT = 600                         # seconds for a step
# The program of the user, of whom the page knows only the name: both ends of one that compares its data.
YOUR_TEST = '#!/bin/sh -e\nrping -s -p 7175 -C 3 &\nrping -c -a 10.0.0.2 -p 7175 -V -C 3\nwait $!\n'


def steps_of(page):
    """Returns the commands of the job's steps, one text for each step."""
    [job] = re.findall(r'^ {4}jobs:\n(?:(?: {4}.*)?\n)+', page, re.MULTILINE)
    steps, lines = [], job.split('\n')
    for at, line in enumerate(lines):
        match = re.match(r'( *)- run: (.*)', line)
        if not match:
            continue
        if match.group(2) != '|':
            steps.append(match.group(2))
            continue
        block = []
        for more in lines[at + 1:]:
            if not more.startswith(match.group(1) + '  '):
                break
            block.append(more.strip())
        steps.append('\n'.join(block))
    return steps


def image_of(page):
    """The instructions of the image: word and argument."""
    [image] = re.findall(r'^ {4}FROM .*\n(?: {4}.*\n)+', page, re.MULTILINE)
    return [tuple(line.split(None, 1)) for line in image.split('\n') if line.strip()]


def inside(folder, script, environment=(), own_network=True):
    """One step, by the shell that such a job has."""
    command = ['chroot', folder, 'env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root', 'DEBIAN_FRONTEND=noninteractive', *environment,
               'bash', '-ec', f'cd {REPOSITORY}\n{script}']
    if own_network:
        command = ['unshare', '--net', 'sh', '-ec', f'{INTERFACE}; exec {shlex.join(command)}']
    print('$', script.replace('\n', '; '), flush=True)
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, timeout=LIMIT)


def installs(script):
    return 'apt-get' in script


def run_page(folder):
    """The job, then the image and a program in it."""
    with open(PAGE, encoding='utf-8') as file:
        page = file.read()
    steps = steps_of(page)
    if not any('rping' in step for step in steps) or not any(map(installs, steps)):
        sys.exit('new_debian: the job of the page has other steps than this test knows')
    for step in steps:
        inside(folder, step, own_network=not installs(step))
    environment = []
    for word, argument in image_of(page):
        if word == 'COPY':
            [*sources, target] = argument.split()
            inside(folder, f'mkdir -p {target} && cp {" ".join(sources)} {target}')
        elif word == 'RUN':
            inside(folder, argument, own_network=not installs(argument))
        elif word == 'ENV':
            environment += argument.split()
    inside(folder, './your-test', environment)


def make(packages):
    """A new Debian, with the packages in its repository; its hook runs the page."""
    hook = f'{shlex.quote(sys.executable)} -B {shlex.quote(os.path.abspath(__file__))} "$1" {" ".join(map(shlex.quote, packages))}'
    subprocess.run(['mmdebstrap', '--variant=minbase', '--format=null', f'--customize-hook={hook}', 'bookworm'], check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=3 * LIMIT)


def main(folder, *packages):
    place = folder + REPOSITORY
    os.makedirs(f'{place}/itapi')
    for package in packages:
        shutil.copy(package, f'{place}/itapi')
    with open(f'{place}/your-test', 'w', encoding='ascii') as file:
        file.write(YOUR_TEST)
    os.chmod(f'{place}/your-test', 0o755)
    run_page(folder)


if __name__ == '__main__':
    main(*sys.argv[1:])
