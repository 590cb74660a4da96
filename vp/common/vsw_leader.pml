/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A model of vsw_leader.c, with the names of the C code.
 *
 * Two application threads post work that may be held back, poll, and sleep as leaders, in any order. The
 * network makes the descriptor readable. The service thread runs tasks, then timers, then the watch. After
 * a few steps the application threads stop for good.
 *
 * Claims:
 * - when no process can move, no work is left: none is held back, and the descriptor is not readable (no
 *   wake-up is lost, there is no deadlock);
 * - work that was held back by a post that has returned is done after two ticks at most, unless a thread is just about to
 *   run the engine. (That is 1 ms, since vsw_leader_hold makes these ticks short. Lengths are not in the
 *   model; test-vsw-leader.c tests them.);
 * - the watch is on exactly while the state is WATCHING, or TICKING in a trial, once no thread is changing it.
 */
mtype = { WATCHING, TICKING, PARKED }

#define STEPS (1 + _pid % 2) /* what application thread 0, 1 does */
#define ARRIVALS  1 /* what comes from the net */

mtype state = WATCHING;
bool leader_inside, run_requested, task_queued, timer_on, timer_set, watch_on = true;
bool role_taken, role_retry;
bool polls_moved;      /* polls != seen */
bool beside;           /* a trial */
bool held_back;        /* work held back */
bool readable;         /* work on the descriptor */
bool owed;             /* work is held back, and the post has returned */
byte age;              /* ticks since then */
byte following;        /* threads inside watch_and_timer_follow */
byte inside;           /* application threads that are about to run the engine */

inline progress()
{
	atomic { held_back = false; readable = false; owed = false; age = 0 }
}

inline follow_work()
{
	do
	:: role_retry = false;
	   /* What follows the one read of the state touches only what the role protects. */
	   if
	   :: atomic { state == WATCHING -> watch_on = true }
	   :: atomic { state != WATCHING -> was_ticking = (state == TICKING) };
		atomic { watch_on = (was_ticking && beside) };
		if
		:: atomic { was_ticking && !timer_on -> timer_on = true; was_ticking = false };
			timer_set = true
		:: atomic { else -> was_ticking = false }
		fi
	   fi;
	   role_taken = false;
	   if
	   :: role_retry ->
		if
		:: atomic { !role_taken -> role_taken = true }
		:: atomic { role_taken -> break }
		fi
	   :: else -> break
	   fi
	od
}

inline watch_and_timer_follow()
{
	following++;
	if
	:: atomic { !role_taken -> role_taken = true }; follow_work()
	:: atomic { role_taken -> skip };
		role_retry = true;
		if
		:: atomic { !role_taken -> role_taken = true }; follow_work()
		:: atomic { role_taken -> skip }
		fi
	fi;
	following--
}

/* One compare-and-swap each; the loop of the C code changes nothing that could be seen. */
inline leader_step_polled()
{
	atomic { if :: state == WATCHING -> state = TICKING :: else fi }
	watch_and_timer_follow()
}

inline leader_step_entered()
{
	atomic { assert(state != PARKED); state = PARKED }
	watch_and_timer_follow();
	progress()
}

inline leader_step_left()
{
	atomic { assert(state == PARKED); state = TICKING }
	watch_and_timer_follow()
}

inline request_run()
{
	if
	:: atomic { !run_requested -> run_requested = true }; task_queued = true
	:: atomic { run_requested -> skip }
	fi
}

inline post()
{
	if
	:: true -> /* held back */
		held_back = true;
		if
		:: state == TICKING
		:: else -> request_run()
		fi;
		owed = held_back
	:: true -> skip /* went out at once */
	fi
}

inline poll()
{
	inside++;
	polls_moved = true;
	if
	:: state == WATCHING -> leader_step_polled()
	:: atomic { beside -> beside = false }; watch_and_timer_follow() /* the end of a trial */
	:: else
	fi;
	atomic { progress(); inside-- }
}

inline sleep_as_leader()
{
	if
	:: atomic { leader_inside -> skip }
	:: atomic { !leader_inside -> leader_inside = true };
		inside++;
		leader_step_entered();
		inside--;
		do /* asleep on the descriptor */
		:: readable -> progress()
		:: break /* a signal, a deadline, its completion */
		od;
		if
		:: leader_step_left(); leader_inside = false
		:: true -> end_asleep: (readable) -> progress(); goto end_asleep /* sleeps for good */
		fi
	fi
}

active [2] proctype application() /* first, so that their _pid are 0 and 1 */
{
	bool was_ticking;
	byte n = 0;

	do
	:: n < STEPS ->
		n++;
		if
		:: post()
		:: poll()
		:: sleep_as_leader()
		fi
	:: n < STEPS -> break
	:: n == STEPS -> break
	od
}

active proctype net()
{
	byte n = 0;

	do
	:: n < ARRIVALS -> n++; readable = true
	:: n == ARRIVALS -> break
	od
}

active proctype service()
{
	bool was_ticking, busy, go;

end:
	do
	:: atomic { task_queued -> task_queued = false }
		run_requested = false;
		atomic { if :: state == TICKING -> state = WATCHING :: else fi }
		watch_and_timer_follow();
		progress()
	:: atomic { !task_queued && timer_set ->
			timer_set = false;
			if
			:: owed && inside == 0 -> age++; assert(age <= 2)
			:: else
			fi }
		atomic { busy = polls_moved; polls_moved = false }
		timer_on = false;
		atomic {
			if
			:: state == TICKING && !busy -> state = WATCHING; go = true
			:: else
			fi;
			busy = false
		}
		watch_and_timer_follow();
		if
		:: go -> go = false; progress();
			if
			:: beside = true; watch_and_timer_follow()
			:: true -> skip
			fi
		:: else
		fi
	:: atomic { !task_queued && watch_on && readable -> skip }
		if
		:: state == WATCHING || (state == TICKING && beside) -> progress()
		:: else
		fi
	od
}

active proctype judge()
{
	timeout;
	assert(!held_back && !readable);
	assert(following == 0 && watch_on == (state == WATCHING || (state == TICKING && beside)))
}
