#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Good and bad trees for check-host.py."""

import tree_case

CALLS = 'void\nf(void)\n{\n\t%s;\n}\n'


class Host(tree_case.TreeCase):
    check = tree_case.load('check-host.py').check

    def bad(self, path, call, *words):
        self.assert_bad({path: CALLS % call}, f'{path}:4', *words)

    def test_clock(self):
        self.bad('ual/ual_trace.c', '(void)clock_gettime(CLOCK_MONOTONIC, &now)', 'a clock')

    def test_sleep(self):
        self.bad('ual/session/session_wait.c', 'sched_yield()', 'sched_yield')

    def test_random(self):
        self.bad('kal/kal_events.c', 'if (rand() > 3)\n\t\treturn', 'rand')

    def test_loop(self):
        self.bad('kal/cm/kal_cm.c', 'poll(fds, 1, -1)', 'a descriptor loop')

    def test_thread(self):
        self.bad('vp/emul/vem_cm.c', 'pthread_create(&t, NULL, run, NULL)', 'a thread of its own')

    def test_relax_without_host(self):
        self.bad('vp/emul/vem_qp.c', 'ri_relax(round)', 'a wait for a thread')

    def test_production(self):
        self.bad('kal/kal_paths.c', 'ri_log(kal_host_default(), 1)', 'the host of production')

    def test_production_itself(self):
        self.assert_good({'kal/host/kal_host.c': CALLS % 'clock_gettime(CLOCK_MONOTONIC, &now)'})

    def test_tests(self):
        self.assert_good({'kal/tests/test-kal-x.c': CALLS % 'nanosleep(&t, NULL)'})

    def test_members_and_comments(self):
        self.assert_good({'ual/ual_evd.c': CALLS % 'n = evd->poll(evd->cq, &wc, 1); /* as poll() does */'})

    def test_allowed(self):
        self.assert_good({'rnicpi/support/ri_log.c': CALLS % 'clock_gettime(CLOCK_REALTIME, &now)'})


if __name__ == '__main__':
    tree_case.main()
