#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Certifies adapters that lack random sets of claims: no case may fail because an adapter does not
claim something.

A set depends only on its number and the seed. A topic of cases is not repeated: if an earlier
set lacked the same claims, among those that the topic's sources name, the topic is left out.
Sets of one claim (--single) have no claim in common, so every case runs without each claim in
turn. With --alone the adapters have one claim of version 1.7 each, or none, and are judged by
the topics about those claims. With --beside they have the claims of the template and one more,
and have every topic. With --none there is one adapter that claims nothing at all, and has every
topic.

Usage: sets.py --certify PROGRAM --lacking OBJECT --adapter NAME [--count N] [--first N] [--seed N] [--sample PERCENT]
       [--single | --alone | --beside | --none] [--quick] [--jobs N]
Prints TAP, one test for each set.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# Each claim of version 1.7 alone, and each kind of immediate data; the topics of cases about them.
ALONE = {'inline_data': 'inline', 'immediate_with': 'immediate', 'immediate_with=1': 'immediate', 'immediate_with=2': 'immediate',
         'immediate_with=4': 'immediate', 'multicast': 'mcast', 'iova': 'iova', 'uc': 'uc', 'peer': 'peer', 'cm_number': 'number'}
ONLY = 'only:'
NEWEST = 'inline_data', 'immediate_with', 'multicast', 'iova', 'peer'
ABOUT = frozenset(ALONE.values())
NUMBERS = {'max_send_sge': (1, 3), 'max_recv_sge': (1, 3), 'max_write_sge': (1, 3), 'max_ird': (1, 3), 'max_ord': (1, 3),
           'connect_pdata': (0, 60), 'accept_pdata': (0, 60), 'reject_pdata': (0, 60)}
# What the helpers of the tests ask for, and so each test.
EVERYWHERE = ('qp_reusable', 'max_send_sge', 'max_recv_sge', 'max_write_sge', 'max_ird', 'max_ord', 'has_time_wait')
# Without any claim: what has entries, too, goes with its entries; the test programs post from several threads.
THINGS = ('windows', 'reregister', 'dmabuf', 'srq', 'resizing', 'peer')
KEPT = ('thread_safe_queues', 'max_send_sge', 'max_recv_sge', 'max_write_sge', 'disconnect_pdata', 'confirm_pdata')
# The claims of the template provider (rnicpi/template), and single claims that need an engine, a
# transport or a device, each with the claims that it depends on.
# conformance/judge/certify/tests/claims has other claims that are added to those of the template.
TEMPLATE = ('completion_acked', 'remote_status', 'in_order_completion', 'cq_notify_flag', 'cq_arm_count', 'solicited_works',
            'thread_safe_queues', 'enables_modifiable', 'ord_increasable', 'ird_modifiable', 'connect_pdata', 'accept_pdata', 'reject_pdata', 'max_ird', 'max_ord')
BESIDE = {
    'emul': {'ud': 'ud', 'multicast': 'ud multicast', 'datagrams with immediate data': 'ud immediate_with=4', 'peer': 'peer', 'uc': 'peer uc',
             'cm_number': 'peer cm_number', 'dmabuf': 'dmabuf', 'privileged_ops': 'privileged_ops', 'fast_register': 'privileged_ops fast_register',
             'direct_stag': 'privileged_ops direct_stag', 'reg_page_list': 'reg_page_list', 'reg_block_list': 'reg_block_list',
             'reg_ve_list': 'reg_ve_list', 'srq_resizable': 'srq resizing srq_resizable', 'rq_hard_limit': 'srq rq_hard_limit',
             'mw_narrow without unbind': 'windows mw_narrow', 'mw_wide without unbind': 'windows mw_wide'},
    'iwarp': {'socket_conversion': 'socket_conversion', 'terminate_info': 'terminate_info', 'rq_soft_limit': 'srq rq_soft_limit',
              'read_local_extensions': 'read_local_extensions', 'in_order_placement': 'in_order_placement'},
}
# How the tests of IT-API name claims.
NAMES = {
    'atomics': ('atomic_support', 'NEEDS_ATOMICS'), 'mw_narrow': ('rmr_', 'NEEDS_NARROW', 'NEEDS_WINDOWS', 'window'),
    'mw_wide': ('rmr_', 'NEEDS_WIDE', 'NEEDS_WINDOWS', 'window'), 'mw_narrow_unbind': ('rmr_', 'unlink'),
    'mw_wide_unbind': ('rmr_', 'unlink'), 'mw_wide_stag_returned': ('rmr_', 'window'), 'send_invalidate': ('unlink', 'UNLINK'),
    'zero_based': ('relative', 'RELATIVE'), 'reregister': ('lmr_modify', 'LMR_MODIFY'), 'srq': ('srq', 'SRQ'),
    'srq_limit': ('srq', 'WATERMARK'), 'rq_soft_limit': ('srq', 'WATERMARK'), 'rq_hard_limit': ('srq', 'WATERMARK'),
    'srq_resizable': ('srq',), 'wq_resizable': ('resizable', 'RESIZE'), 'cq_resizable': ('RESIZE', 'evd_modify'),
    'cq_overflow_detect': ('overflow', 'OVERFLOW'), 'port_events': ('spigot', 'SPIGOT'), 'direct_stag': ('direct', 'DIRECT', 'privileged'),
    'privileged_ops': ('priv', 'link'), 'fast_register': ('priv', 'link'), 'reg_page_list': ('iobl', 'priv'), 'reg_block_list': ('iobl', 'priv'),
    'reg_ve_list': ('iobl', 'priv'), 'read_local_extensions': ('local_extensions', 'READ_EXTENSIONS', 'UNLINK_LOCAL_SINK'),
    'dmabuf': ('dmabuf',), 'enables_modifiable': ('enables', 'CHANGES'), 'ord_increasable': ('ORD', 'increasable'),
    'ird_modifiable': ('IRD', 'modifiable'), 'three_way_handshake': ('three_way', 'THREE_WAY'), 'ird_ord_exchange': ('ird_ord',),
    'ird_ord_suppressible': ('ird_ord', 'SUPPRESS'), 'socket_conversion': ('convert',), 'ud': ('ud_', 'dgram'),
    'connect_pdata': ('private_data',), 'accept_pdata': ('private_data',), 'reject_pdata': ('private_data',),
    'disconnect_pdata': ('private_data',), 'confirm_pdata': ('private_data',), 'remote_status': ('REMOTE_', 'REMOTE_STATUS'),
    'local_read_revocable': ('LOCAL_READ',), 'local_fence': ('FENCE',), 'cq_notify_flag': ('NOTIFY',), 'cq_arm_count': ('threshold',),
    'solicited_works': ('SOLICITED',), 'completion_acked': ('acked',), 'thread_safe_queues': ('thread',),
}


def claims():
    """Returns the claims that conformance/bad/lacking can withdraw by their names. Only its word
    "segments" lowers max_read_sge."""
    names = re.findall(r'^\tCLAIM\((\w+)\),', (ROOT / 'conformance/bad/lacking/lacking.c').read_text('ascii'), re.M)
    return [name for name in names if name != 'max_read_sge']


def draw(number, args, names):
    """The claims that a set lacks, with a value for those that are numbers and are only lowered."""
    source = random.Random(args.seed * 1000003 + number)
    if args.single:
        chosen = [names[number % len(names)]]
    else:
        chosen = sorted(source.sample(names, source.randint(2, 8)))
    return {name: source.randint(*NUMBERS[name]) if name in NUMBERS else 0 for name in chosen}


def beside(names, wanted):
    """The claims to remove so that an adapter has those of the template and the wanted ones."""
    words = dict(word.split('=') if '=' in word else (word, None) for word in wanted.split())
    lacks = {name: 1 if name.endswith('_sge') else 0 for name in names if name not in TEMPLATE and name not in words}
    return {**lacks, **{name: value for name, value in words.items() if value}, **dict.fromkeys(thing for thing in THINGS if thing not in words)}


def topic_of(case):
    return case.rsplit('.', 1)[0] if case.startswith(('border', 'verbs', 'model')) else '.'.join(case.split('.')[:2])


def topics_of(args):
    """The topics of all cases that are wanted, each with the claims that its sources name."""
    out = subprocess.run([args.certify, '--list', '--provider', args.lacking, '--adapter', args.adapter], capture_output=True, text=True,
                         env=dict(os.environ, ITAPI_TEST_LACKS='max_ord=255'), check=True, timeout=120).stdout
    cases = [line.split()[0] for line in out.splitlines() if re.match(r'(border|verbs|api|model)\.', line)]
    files = [path.read_text('ascii') for folder in ('conformance/judge/certify/cases', 'itapi/tests') for path in (ROOT / folder).glob('*.c')]
    topics = collections.defaultdict(set)
    for case in cases:
        wanted = f'"{case}"' if not case.startswith('api.') else '"' + case[4:].replace('.', '/') + '"'
        named = ''.join(text for text in files if wanted in text)
        api = case.startswith('api')
        for claim in claims():
            words = (claim,) + (NAMES.get(claim, ()) if api else ())
            if case.startswith('model') or (api and claim in EVERYWHERE) or any(word in named for word in words):
                topics[topic_of(case)].add(claim)
    return topics


def share(sets, topics, args):
    """For each set, the topics that no earlier set has run with the same claims missing; with
    --sample, a share of them."""
    known = set()
    single = args.single
    for number, lacks in enumerate(sets):
        own = []
        source = random.Random(args.seed * 7919 + args.first + number)
        for topic, named in sorted(topics.items()):
            if source.uniform(0, 100) >= args.sample:
                continue
            key = (topic, tuple(sorted((name, value) for name, value in lacks.items() if name in named)))
            if single or key not in known:
                own.append(topic)
            known.add(key)
        yield own


def certify(args, lacks, topics):
    """Complaints of one set."""
    words = ','.join(name if value is None else f'{name}={value}' for name, value in lacks.items())
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, 'report.json')
        command = [args.certify, '--provider', args.lacking, '--adapter', args.adapter, '--seed', str(args.seed), '--patience',
                   str(args.patience), '--limit', '120', '--silent', '--json', report] + (['--quick'] if args.quick else [])
        for topic in topics:
            command += ['--case', topic + '.*', '--case', topic]
        run = subprocess.run(command, env=dict(os.environ, ITAPI_TEST_LACKS=words), capture_output=True, text=True, timeout=3600, check=False)
        if run.returncode not in (0, 1):
            return [f'it-certify ended with status {run.returncode}: {run.stderr[-300:]}'], 0
        with open(report, encoding='utf-8') as file:
            cases = json.load(file)['cases']
    bad = [f'{case["id"]}: {case.get("what")}: expected {case.get("expected")}, seen {case.get("seen")} ({case.get("where")})'
           for case in cases if case['outcome'] == 'failed']
    for name in lacks:
        about = f'verbs.{ALONE[name[len(ONLY):]]}.' if name.startswith(ONLY) else None
        if about and args.adapter == 'emul:ib' and not any(case['id'].startswith(about) and case['outcome'] == 'passed' for case in cases):
            bad.append(f'no case of {about[:-1]} has passed, although the adapter claims it')
    return bad, len(cases)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--certify', required=True)
    parser.add_argument('--lacking', required=True)
    parser.add_argument('--adapter', required=True)
    parser.add_argument('--count', type=int, default=10)
    parser.add_argument('--first', type=int, default=0)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--patience', type=float, default=60)
    parser.add_argument('--topics', default='*', help='only topics that fit')
    parser.add_argument('--sample', type=float, default=100, help='percent of the topics of each set')
    parser.add_argument('--single', action='store_true', help='each claim alone')
    parser.add_argument('--alone', action='store_true', help='adapters with one claim of version 1.7 each')
    parser.add_argument('--beside', action='store_true', help='adapters with the claims of the template and one more each')
    parser.add_argument('--none', action='store_true', help='one adapter without any claim')
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('--jobs', type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    names = claims()
    count = len(names) if args.single else args.count
    topics = {topic: named for topic, named in topics_of(args).items() if any(fnmatch.fnmatch(topic, glob) for glob in args.topics.split(','))}
    sets = [draw(args.first + i, args, names) for i in range(count)]
    shared = list(share(sets, topics, args))
    if args.alone:
        sets = [{ONLY + name: None} for name in ALONE] + [dict.fromkeys(NEWEST)]
        about = [topic for topic in topics if topic.split('.')[1] in ABOUT]
        shared, count = [about] * len(sets), len(sets)
    if args.beside:
        sets = [beside(names, wanted) for wanted in BESIDE[args.adapter.split(':')[0]].values()]
        shared, count = [list(topics)] * len(sets), len(sets)
    if args.none:
        sets = [{**{name: 0 for name in names if name not in NUMBERS and name not in KEPT}, **dict.fromkeys(THINGS)}]
        shared, count = [list(topics)], 1
    print(f'1..{count}\n# {sum(len(own) for own in shared)} topics of {count * len(topics)}', flush=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        runs = pool.map(lambda one: certify(args, *one) if one[1] else ([], 0), zip(sets, shared))
        for i, (bad, cases) in enumerate(runs):
            text = 'without ' + ', '.join(f'{name}={value}' if value else name for name, value in sets[i].items())
            if args.beside:
                text = f'the template and {list(BESIDE[args.adapter.split(":")[0]])[i]}'
            print(f'{"not " if bad else ""}ok {i + 1} {args.adapter}, {cases} cases, {text.replace("without " + ONLY, "alone: ")}')
            for line in bad:
                print(f'#   {line}')
            sys.stdout.flush()
            failed += bool(bad)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
