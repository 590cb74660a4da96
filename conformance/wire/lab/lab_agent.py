#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Runs in the guest: starts processes there for the runner on the host (lab_side.py)."""

import lab_side

if __name__ == '__main__':
    lab_side.serve(lab_side.Local())
