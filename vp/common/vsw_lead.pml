/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * vsw_lead.c as a model. Names are those of the C code.
 *
 * Two application threads post work that may be held back, poll, and sleep as leaders, in any order;
 * the net makes the descriptor readable; the service thread runs tasks, then timers, then the watch.
 * After some steps the application threads do nothing more, for ever.
 *
 * Claims:
 * - when nothing can move any more, no work is left: neither held back nor on the descriptor
 *   (no wake-up is lost, nobody waits for anybody);
 * - work that was held back by a post that has returned is done after two ticks at most, that is
 *   within 1 ms, unless somebody is just about to run the engine anyway;
 * - the watch is on exactly while the state says so, as soon as nobody is settling.
 */
mtype = { WATCHING, TICKING, PARKED }

#define STEPS (1 + _pid % 2) /* what application thread 0, 1 does */
#define NEWS  1 /* what comes from the net */

mtype state = WATCHING;
bool leading, kicked, task_queued, timer_on, timer_set, watch_on = true;
bool role_held, role_kicked;
bool polls_moved;      /* polls != seen */
bool held;             /* work held back */
bool readable;         /* work on the descriptor */
bool owed;             /* held, and the post has returned */
byte age;              /* ticks since then */
byte settling;         /* threads inside settle */
byte inside;           /* application threads that are about to run the engine */

inline progress()
{
	atomic { held = false; readable = false; owed = false; age = 0 }
}

inline settle_work()
{
	do
	:: role_kicked = false;
	   /* What follows the one read of the state touches only what the role protects. */
	   if
	   :: atomic { state == WATCHING -> watch_on = true }
	   :: atomic { state != WATCHING -> was_ticking = (state == TICKING) };
		watch_on = false;
		if
		:: atomic { was_ticking && !timer_on -> timer_on = true; was_ticking = false };
			timer_set = true
		:: atomic { else -> was_ticking = false }
		fi
	   fi;
	   role_held = false;
	   if
	   :: role_kicked ->
		if
		:: atomic { !role_held -> role_held = true }
		:: atomic { role_held -> break }
		fi
	   :: else -> break
	   fi
	od
}

inline settle()
{
	settling++;
	if
	:: atomic { !role_held -> role_held = true }; settle_work()
	:: atomic { role_held -> skip };
		role_kicked = true;
		if
		:: atomic { !role_held -> role_held = true }; settle_work()
		:: atomic { role_held -> skip }
		fi
	fi;
	settling--
}

/* One compare-and-swap each; the loop of the C code changes nothing that could be seen. */
inline step_polled()
{
	atomic { if :: state == WATCHING -> state = TICKING :: else fi }
	settle()
}

inline step_entered()
{
	atomic { assert(state != PARKED); state = PARKED }
	settle();
	progress()
}

inline step_left()
{
	atomic { assert(state == PARKED); state = TICKING }
	settle()
}

inline kick()
{
	if
	:: atomic { !kicked -> kicked = true }; task_queued = true
	:: atomic { kicked -> skip }
	fi
}

inline post()
{
	if
	:: true -> /* held back */
		held = true;
		if
		:: state == TICKING
		:: else -> kick()
		fi;
		owed = held
	:: true -> skip /* went out at once */
	fi
}

inline poll()
{
	inside++;
	polls_moved = true;
	if
	:: state == WATCHING -> step_polled()
	:: else
	fi;
	atomic { progress(); inside-- }
}

inline lead()
{
	if
	:: atomic { leading -> skip }
	:: atomic { !leading -> leading = true };
		inside++;
		step_entered();
		inside--;
		do /* asleep on the descriptor */
		:: readable -> progress()
		:: break /* a signal, a deadline, its completion */
		od;
		if
		:: step_left(); leading = false
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
		:: lead()
		fi
	:: n < STEPS -> break
	:: n == STEPS -> break
	od
}

active proctype net()
{
	byte n = 0;

	do
	:: n < NEWS -> n++; readable = true
	:: n == NEWS -> break
	od
}

active proctype service()
{
	bool was_ticking, busy, go;

end:
	do
	:: atomic { task_queued -> task_queued = false }
		kicked = false;
		atomic { if :: state == TICKING -> state = WATCHING :: else fi }
		settle();
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
		settle();
		if
		:: go -> go = false; progress()
		:: else
		fi
	:: atomic { !task_queued && watch_on && readable -> skip }
		if
		:: state == WATCHING -> progress()
		:: else
		fi
	od
}

active proctype judge()
{
	timeout;
	assert(!held && !readable);
	assert(settling == 0 && watch_on == (state == WATCHING))
}
