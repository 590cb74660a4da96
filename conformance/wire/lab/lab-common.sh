# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
#
# Settings and helpers shared by the programs of the RDMA virtual-machine lab.
# Sourced, never run.

# The lab's cache; everything vm-build makes lives below it.
lab_cache=${RDMA_LAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rdma-lab}
# Which of Debian's kernels: that of the release, or the later one of its
# backports.
lab_suite=${RDMA_LAB_SUITE:-stable}
# The kernel in use: a link to the folder of the newest build.
# shellcheck disable=SC2034  # used by the sourcing programs
case $lab_suite in
    backports) lab_current=$lab_cache/current-backports ;;
    *) lab_current=$lab_cache/current ;;
esac

# Status of a program whose lab failed, as opposed to the command run in it.
lab_failure=125

note() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

die() {
    note "$*"
    exit "$lab_failure"
}

usage_error() {
    note "$*"
    note "try '${0##*/} --help'"
    exit 2
}

[[ $lab_suite == stable || $lab_suite == backports ]] ||
    usage_error "RDMA_LAB_SUITE is '$lab_suite', not stable or backports"

# need PROGRAM=PACKAGE...: stop unless each program is there; name the packages.
need() {
    local pair missing=()
    for pair; do
        command -v "${pair%%=*}" >/dev/null || missing+=("${pair#*=}")
    done
    ((${#missing[@]} == 0)) ||
        die "missing programs; install the Debian packages: ${missing[*]}"
}
