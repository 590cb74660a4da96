# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""One-sided communication of MPI for the door's tests: each way to synchronize, and the contents of
the windows afterwards.

Usage: mpi_windows_program.py      (of each rank; mpirun starts them)
"""

import array
import sys

from mpi4py import MPI

WORDS = 1024        # of each rank in each window
COUNTS, SWAPS, ROUNDS = 200, 50, 10
WORD = MPI.INT64_T


def words(values):
    return array.array('q', values)


def window(world, count, fill):
    """A window of 64-bit words, and its memory as a list of words."""
    made = MPI.Win.Allocate(8 * count, 8, comm=world)
    memory = memoryview(made).cast('B').cast('q')
    memory[:] = words([fill] * count)
    world.Barrier()
    return made, memory


def content(rank):
    return words(1000000 * rank + i for i in range(WORDS))


def puts_and_gets(world):
    """Each rank puts its words to all between two fences, and gets those of its neighbour from all with a flush."""
    rank, size = world.Get_rank(), world.Get_size()
    made, memory = window(world, size * WORDS, -1)
    made.Fence()
    for peer in range(size):
        made.Put([content(rank), WORD], peer, target=(rank * WORDS, WORDS, WORD))
    made.Fence()
    good = all(memory[peer * WORDS:(peer + 1) * WORDS] == memoryview(content(peer)) for peer in range(size))
    neighbour = (rank + 1) % size
    made.Lock_all()
    for peer in range(size):
        got = words([0] * WORDS)
        made.Get([got, WORD], peer, target=(neighbour * WORDS, WORDS, WORD))
        made.Flush(peer)
        good = good and got == content(neighbour)
    made.Unlock_all()
    world.Barrier()
    made.Free()
    return good


def atomics(world):
    """All ranks increment two words of rank 0, by fetch-and-add and by compare-and-swap: each value
    may be seen only once."""
    made, memory = window(world, 2, 0)
    one, got, seen = words([1]), words([0]), []
    made.Lock_all()
    for _ in range(COUNTS):
        made.Fetch_and_op([one, WORD], [got, WORD], 0, 0, MPI.SUM)
        made.Flush(0)
        seen.append(got[0])
    for _ in range(SWAPS):
        before = -1
        while got[0] != before:
            made.Fetch_and_op([one, WORD], [got, WORD], 0, 1, MPI.NO_OP)
            made.Flush(0)
            before = got[0]
            made.Compare_and_swap([words([before + 1]), WORD], [words([before]), WORD], [got, WORD], 0, 1)
            made.Flush(0)
    made.Unlock_all()
    world.Barrier()
    size = world.Get_size()
    numbers = world.gather(seen)
    good = seen == sorted(seen)
    if world.Get_rank() == 0:
        good = good and sorted(sum(numbers, [])) == list(range(COUNTS * size)) and list(memory) == [COUNTS * size, SWAPS * size]
    world.Barrier()
    made.Free()
    return good


def turns(world):
    """All ranks accumulate at rank 0, one after the other; then each puts to its neighbour, by post, start, complete and wait."""
    rank, size = world.Get_rank(), world.Get_size()
    made, memory = window(world, WORDS, 0)
    mine = words([rank + 1] * WORDS)
    for _ in range(ROUNDS):
        made.Lock(0, MPI.LOCK_EXCLUSIVE)
        made.Accumulate([mine, WORD], 0, op=MPI.SUM)
        made.Unlock(0)
    world.Barrier()
    made.Lock(0)
    got = words([0] * WORDS)
    made.Get([got, WORD], 0)
    made.Unlock(0)
    good = got == words([ROUNDS * size * (size + 1) // 2] * WORDS)
    world.Barrier()
    group = world.Get_group()
    made.Post(group.Incl([(rank - 1) % size]))
    made.Start(group.Incl([(rank + 1) % size]))
    made.Put([mine, WORD], (rank + 1) % size)
    made.Complete()
    made.Wait()
    good = good and list(memory) == [(rank - 1) % size + 1] * WORDS
    made.Free()
    return good


def main():
    world = MPI.COMM_WORLD
    good = all([puts_and_gets(world), atomics(world), turns(world)])
    all_good = world.allreduce(good, op=MPI.LAND)
    if world.Get_rank() == 0:
        print('%d ranks: %s' % (world.Get_size(), 'all windows are right' if all_good else 'a window is wrong'))
    return 0 if all_good else 1


if __name__ == '__main__':
    sys.exit(main())
