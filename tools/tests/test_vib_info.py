#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""it-info and RDMA devices of the kernel that cannot be used: for each, the message names the
cause.

Usage: test_vib_info.py TOOLS PLAYED NONE OLD DMABUF      (TAP)
PLAYED, NONE and OLD are vp/ib with devices that vp/ib/tests/vib_played.c plays: one device for
each fault, no device, and a libibverbs that does not know the kernel's devices. DMABUF is 1
where libibverbs can register a dmabuf.
"""

import contextlib
import functools
import os
import resource
import shutil
import sys

from tool_runs import Failed, Folder, main, run

# A device, and what must be said when it is opened.
TROUBLES = {
    'denied': ('/dev/null cannot be opened: Permission denied (the rights of that file decide)',
               'RI_ERR_PERMISSION: this user may not use the device'),
    'removed': ('/dev/null cannot be opened: No such device (the device was removed)',
                'RI_ERR_NO_DEVICE: the device is not there, or not any more'),
    'unlisted': ('/dev/there-is-no-such-file cannot be opened: No such file or directory (the kernel has the device: '
                 'this container or udev lacks its file)', 'RI_ERR_NO_DEVICE'),
    'mute': ('cannot query the attributes of the device: Input/output error', 'RI_ERR_NO_DEVICE'),
    'unmanaged': ('/dev/infiniband/rdma_cm cannot be opened: No such device (the module rdma_ucm is not loaded)',
                  'RI_ERR_NO_DEVICE'),
    'scarce': ('RI_ERR_RESOURCES: memory, descriptors or the device\'s own resources ran out',),
}
MAY_LOCK = 1 << 14      # CAP_IPC_LOCK


@contextlib.contextmanager
def kernel(version='6', unlisted=False):
    """A folder in place of the kernel's, with the version of its interface and, if wanted, a device
    that libibverbs does not list."""
    with Folder() as folder:
        os.makedirs(os.path.join(folder.path, 'infiniband', 'odd0'))
        if version is not None:
            verbs = os.path.join(folder.path, 'verbs')
            os.makedirs(os.path.join(verbs, 'uverbs9') if unlisted else verbs)
            files = {'abi_version': version}
            if unlisted:
                files.update({'uverbs9/ibdev': 'odd0', 'uverbs9/abi_version': '3'})
            for name, text in files.items():
                with open(os.path.join(verbs, name), 'w', encoding='ascii') as file:
                    file.write(text + '\n')
        yield folder.path


def info(tools, provider, *words, shown=None, **more):
    """Runs it-info with this provider, and with this folder in place of the kernel's."""
    with Folder() as folder, kernel(**(shown or {})) as place:
        shutil.copy(provider, os.path.join(folder.path, 'ib.so'))
        kept = {name: value for name, value in os.environ.items() if not name.startswith('ITAPI_')}
        return run(tools, 'it-info', *words, env={**kept, 'ITAPI_PROVIDER_PATH': folder.path}, cwd=place, **more)


def need(condition, what):
    if not condition:
        raise Failed(what)


def trouble(tools, played, name):
    """For such a device alone: it-info prints the reason, and its exit status is 1."""
    info(tools, played, '-a', 'ib:' + name).expect(1, "cannot open the adapter 'ib:%s': " % name, *TROUBLES[name])


def listed(tools, played):
    """In the list of all adapters, each such device has its own reason, and the good one its
    attributes."""
    said = info(tools, played, '--json').expect(1).json()
    adapters = {one['name']: one for one in said['adapters']}
    for name, texts in TROUBLES.items():
        need(texts[0] in adapters['ib:' + name]['error'], '%r' % adapters['ib:' + name])
    good = adapters['ib:good']
    need('error' not in good and good['rc_service'] and len(good['spigots']) == 1, '%r' % good)


# What a device can have, and what this provider claims of none, whatever its attributes say.
OPTIONAL = ('srq_support', 'srq_resizable', 'atomic_support', 'narrow_rmr_unlink_support', 'post_send_unlink_remote_support')
NEVER = ('ep_work_queues_resizable', 'wide_rmr_unlink_support', 'addr_mode_relative_support')
NARROW = 0x1            # of rmr_types_supported


def claims(tools, played, name, has, windows):
    said = info(tools, played, '-a', 'ib:' + name, '--json').expect(0).json()['adapters'][0]
    for names, wanted in ((OPTIONAL, has), (NEVER, False)):
        for one in names:
            need(said[one] is wanted, '%s is %r' % (one, said[one]))
    need(said['rmr_types_supported'] == windows, 'windows: %r' % said['rmr_types_supported'])
    return said


def good(tools, played):
    """A device that has nothing optional."""
    said = claims(tools, played, 'good', False, 0)
    need(said['dmabuf_support'] is False, 'a dmabuf')


def rich(tools, dmabuf, played):
    """A device whose attributes claim everything, and which checks the descriptor of a dmabuf."""
    said = claims(tools, played, 'rich', True, NARROW)
    need(said['dmabuf_support'] is (dmabuf == '1'), 'a dmabuf: %r' % said['dmabuf_support'])


def going(tools, played):
    """A device disappears while it is examined: it-info ends, and gives the reason if it found the
    device gone."""
    said = info(tools, played, '-a', 'ib:going')
    need(said.status in (0, 1), 'exit status %s: %s' % (said.status, said.err))
    if said.status == 1:
        need('it-info: ' in said.err or 'cannot be opened: ' in said.out, said.out + said.err)


def none(tools, provider, shown=None):
    """With no device, or none that libibverbs can use, there is no adapter `ib:`, and that is no
    failure."""
    names = [one['name'] for one in info(tools, provider, '--json', shown=shown).expect(0).json()['adapters']]
    need(not any(name.startswith('ib:') for name in names), '%r' % names)
    return info(tools, provider, '-a', 'ib:good', shown=shown).expect(1, "there is no adapter named 'ib:good'")


def unlisted(tools, provider):
    none(tools, provider, {'unlisted': True}).expect(
        1, 'libibverbs does not list the device odd0 of the kernel: /dev/uverbs9: No such file or directory')


# What the kernel shows to a library that refuses it, and the reason that is said.
REFUSED = {
    'unloaded': (None, 'the module ib_uverbs is not loaded'),
    'old': ('7', 'the library is too old for version 7 of the kernel\'s interface'),
    'new': ('2', 'it does not know version 2 of the kernel\'s interface'),
    'senseless': ('six', 'abi_version has no number: "six"'),
}


def refused(tools, provider, name):
    version, reason = REFUSED[name]
    said = none(tools, provider, {'version': version}).expect(1, reason)
    need(not any(other in said.err for _, other in REFUSED.values() if other != reason), said.err)


def may_lock():
    """May this process pin memory beyond the limit?"""
    with open('/proc/self/status', encoding='ascii') as lines:
        rights = [line.split()[1] for line in lines if line.startswith('CapEff:')]
    return int(rights[0], 16) & MAY_LOCK != 0


def limit(tools, played):
    """A warning says that the limit of locked memory is too small; not in a process that is exempt
    from the limit."""
    hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    said = info(tools, played, '-a', 'ib:good',
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, hard))).expect(0)
    told = 'only 0 bytes can be registered: the limit of locked memory is too small (RLIMIT_MEMLOCK' in said.err
    need(told is not may_lock(), '%r' % said.err)


def cases(tools, played, empty, unknown, dmabuf):
    yield from (('trouble-' + name, functools.partial(trouble, tools, played, name)) for name in TROUBLES)
    for case in (listed, good, going, limit):
        yield case.__name__, functools.partial(case, tools, played)
    yield 'rich', functools.partial(rich, tools, dmabuf, played)
    yield 'none', functools.partial(none, tools, empty)
    yield 'unlisted', functools.partial(unlisted, tools, empty)
    yield from (('refused-' + name, functools.partial(refused, tools, unknown, name)) for name in REFUSED)


if __name__ == '__main__':
    sys.exit(main([('/ib/info/' + name, case) for name, case in cases(*sys.argv[1:])]))
