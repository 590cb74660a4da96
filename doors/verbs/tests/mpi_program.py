# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""A program of MPI for the door's tests: a ring and an all-reduce, whose results are compared with
the expected ones.

Usage: mpi_program.py      (of each rank; mpirun starts them)
"""

import array
import sys

from mpi4py import MPI

COUNTS = (1, 1000, 200000)      # of doubles: short messages, and those that are announced first


def ring(world):
    """A number goes around; each rank adds its own."""
    rank, size = world.Get_rank(), world.Get_size()
    number = array.array('q', [0])
    if rank != 0:
        world.Recv([number, MPI.INT64_T], source=rank - 1)
    number[0] += rank + 1
    world.Send([number, MPI.INT64_T], dest=(rank + 1) % size)
    if rank == 0:
        world.Recv([number, MPI.INT64_T], source=size - 1)
        return number[0] == size * (size + 1) // 2
    return True


def reduces(world, count):
    """Sums over all ranks, exact in doubles."""
    rank, size = world.Get_rank(), world.Get_size()
    mine = array.array('d', (1000.0 * rank + i for i in range(count)))
    total = array.array('d', bytes(8 * count))
    world.Allreduce([mine, MPI.DOUBLE], [total, MPI.DOUBLE], op=MPI.SUM)
    wanted = 500.0 * size * (size - 1)
    return all(total[i] == wanted + float(i) * size for i in range(count))


def main():
    world = MPI.COMM_WORLD
    good = [ring(world), *(reduces(world, count) for count in COUNTS)]
    if world.Get_rank() == 0:
        print('%d ranks: %s' % (world.Get_size(), 'all sums are right' if all(good) else 'wrong: %s' % good))
    return 0 if all(good) else 1


if __name__ == '__main__':
    sys.exit(main())
