/*
 * fmlock.pml
 *	  The lock of src/lock/fmlock.c and fmlock_wait.c, for spin.
 *
 * PROCS processes acquire and release ROUNDS times, each time in a mode of
 * their choice (or WRITERS of them always exclusively); somebody else posts up to FOREIGN wakeups to any of them.  A
 * step is one operation on shared memory and what a process does by itself up
 * to its next.  What is done under the list lock to what the list lock guards
 * is one step with the operation that drops it; an attempt that is refused
 * changes nothing, so spinning is the same as making the attempt later.  With
 * WRITER_FIRST, the lock prefers writers.
 *
 * Checked: exclusion; HAS_WAITERS says whether the list has entries, and
 * RELEASE_OK is clear only while a wake is outstanding, both whenever the list
 * lock is dropped; nobody sleeps when nothing more happens (spin reports an end
 * in which a process is not at its end); then the word and the list are as
 * initialised, and each semaphore holds what others posted to it; if the lock
 * prefers writers, no reader gets it while a writer is on the list, or has left
 * that as the one whose turn it is.
 *
 * A comment such as "leave" at the end of a line is what mutants find it by.
 */
#define NONE PROCS

mtype = { awake, queued, taken };

/* The word. */
bool writer, has_waiters, list_locked, writer_first;
bool release_ok = true;
byte readers;
#define HELD (writer || readers > 0)
#define WAKE (has_waiters && release_ok)

/* The list, and the entries of the processes. */
byte head = NONE;
byte tail = NONE;
mtype waiting[PROCS] = awake;
bool exclusive[PROCS];
bool first[PROCS];
byte prev[PROCS] = NONE;
byte next[PROCS] = NONE;

byte semaphore[PROCS];

/* Not the lock's: who is inside, what was posted, wakes outstanding. */
bool writer_inside;
byte readers_inside;
byte posted[PROCS];
byte outstanding;
byte writers_listed;
byte ended;

inline truthful()
{
	assert(has_waiters == (head != NONE));
#ifdef WRITER_FIRST
	assert(writer_first || writers_listed == 0);
#endif
	assert(release_ok || outstanding > 0)
}

inline lock_list()
{
	atomic
	{
		!list_locked ->
		list_locked = true;
		old_release_ok = release_ok;
		old_writer_first = writer_first
	}
}

inline drop_list()
{
	old_release_ok = false;
	old_writer_first = false;
	list_locked = false;
	truthful()
}

/* One attempt.  "pass": refused though there is no holder, and waiters. */
inline attempt()
{
	pass = false;
	if
	:: exclusive[_pid] && !HELD ->	/* writer */
		writer = true;
		got = true;
		assert(!writer_inside && readers_inside == 0);
		writer_inside = true
	:: !exclusive[_pid] && !writer && !writer_first ->	/* reader */
		readers++;
		got = true;
		assert(!writer_inside);
#ifdef WRITER_FIRST
		assert(writers_listed == 0);
		n = 0;
		do
		:: n == PROCS -> break
		:: else -> assert(!first[n]); n++
		od;
		n = 0;
#endif
		readers_inside++
	:: else ->
		got = false;
		pass = !HELD && WAKE
	fi
}

inline take_off(q)
{
	writers_listed = writers_listed - (exclusive[q] -> 1 : 0);
	if
	:: prev[q] == NONE -> head = next[q]
	:: else -> next[prev[q]] = next[q]
	fi;
	if
	:: next[q] == NONE -> tail = prev[q]
	:: else -> prev[next[q]] = prev[q]
	fi;
	prev[q] = NONE;
	next[q] = NONE
}

/* Steps 2 and 3. */
inline join_list()
{
	lock_list();
	atomic
	{
		prev[_pid] = tail;
		next[_pid] = NONE;
		waiting[_pid] = queued;
		if
		:: tail == NONE -> head = _pid
		:: else -> next[tail] = _pid
		fi;
		tail = _pid;
		has_waiters = true;
		writers_listed = writers_listed + (exclusive[_pid] -> 1 : 0);
#ifdef WRITER_FIRST
		if
		:: exclusive[_pid] ->
			if
			:: !old_writer_first ->	/* join */
				assert(!writer_first);
				writer_first = true;
				first[_pid] = true
			:: else
			fi
		:: else
		fi;
#endif
		drop_list()
	}
}

/* Its owner clears the links, which nobody else looks at. */
inline sleep_until_woken()
{
	do
	:: atomic { semaphore[_pid] > 0 -> semaphore[_pid]-- };
		atomic
		{
			if
			:: waiting[_pid] == awake ->
				prev[_pid] = NONE;
				next[_pid] = NONE;
				break
			:: else -> foreign++
			fi
		}
	od
}

inline set_release_ok()
{
	atomic { release_ok = true; outstanding-- }
}

/* End of step 4. */
inline leave_list()
{
	lock_list();
	atomic
	{
		if
		:: waiting[_pid] == queued ->
			take_off(_pid);
			waiting[_pid] = awake;
			if
			:: head == NONE -> has_waiters = false	/* leave */
			:: else
			fi;
			drop_list();
			goto leave
		:: else -> drop_list()
		fi
	};
	set_release_ok();	/* leave */
	sleep_until_woken()	/* leave */
}

/* Step 7. */
inline pass_on()
{
	if
	:: first[_pid] ->
		lock_list();
		atomic
		{
			first[_pid] = false;
			p = head;
			do
			:: p == NONE -> writer_first = false; break	/* pass on */
			:: p != NONE && exclusive[p] -> first[p] = true; break	/* pass on */
			:: p != NONE && !exclusive[p] -> p = next[p]
			od;
			p = NONE;
			drop_list()
		}
	:: else
	fi
}

/* Release, steps 2 to 4. */
inline wake()
{
	lock_list();
	atomic
	{
		pass = false;
		if
		:: old_release_ok -> p = head
		:: else
		fi;
		do
		:: p == NONE -> break
		:: else ->
			after = next[p];
			if
			:: exclusive[p] && woken != NONE -> skip	/* batch */
			:: !exclusive[p] && old_writer_first -> skip	/* prefer */
			:: else ->
				take_off(p);
				outstanding++;
				waiting[p] = taken;
				if
				:: woken == NONE -> woken = p
				:: else -> next[last] = p
				fi;
				last = p;
				if
				:: exclusive[p] -> break
				:: else
				fi
			fi;
			p = after
		od;
		if
		:: head == NONE -> has_waiters = false	/* wake */
		:: else
		fi;
		if
		:: woken != NONE -> release_ok = false	/* wake */
		:: else
		fi;
		p = NONE;
		last = NONE;
		after = NONE;
		drop_list()
	};
	do
	:: atomic { woken != NONE -> after = next[woken] };	/* last look */
		waiting[woken] = awake;	/* give back */
		atomic
		{
			semaphore[woken]++;
			woken = after;
			after = NONE;
			if
			:: woken == NONE -> break
			:: else
			fi
		}
	:: woken == NONE -> break
	od
}

/* The last to come here looks at what is left. */
inline finish()
{
	ended++;
	if
	:: ended == PROCS ->
		assert(!writer && readers == 0 && !has_waiters && !list_locked);
		assert(release_ok && !writer_first && writers_listed == 0);
		assert(head == NONE && tail == NONE);
		ended = 0;
		do
		:: ended == PROCS -> break
		:: else ->
			assert(semaphore[ended] == posted[ended]);
			assert(waiting[ended] == awake && !first[ended]);
			ended++
		od
	:: else
	fi
}

active [PROCS] proctype process()
{
	bool got, pass, old_release_ok, old_writer_first;
	byte round, foreign, n;
	byte woken = NONE, p = NONE, last = NONE, after = NONE;

again:
	atomic
	{
		if
		:: round == ROUNDS -> finish(); goto done
		:: else
		fi;
		round++;
#ifdef WRITERS
		exclusive[_pid] = (_pid < WRITERS);
#else
		if
		:: exclusive[_pid] = true
		:: exclusive[_pid] = false
		fi;
#endif
		attempt();			/* step 1 */
		if
		:: got -> goto inside
		:: else
		fi
	};
queue:
	join_list();
	atomic
	{
		attempt();			/* step 4 */
		if
		:: got -> goto leaving
		:: pass -> goto passing
		:: else
		fi
	};
asleep:
	sleep_until_woken();
	set_release_ok();		/* step 6 */
	atomic
	{
		attempt();			/* step 1 again */
		if
		:: got -> goto leave
		:: else -> goto queue
		fi
	};
passing:
	wake();
	goto asleep;
leaving:
	leave_list();
leave:
	pass_on();
	atomic
	{
		semaphore[_pid] = semaphore[_pid] + foreign;	/* step 8 */
		foreign = 0
	};
inside:
	atomic
	{
		if
		:: exclusive[_pid] -> writer = false; writer_inside = false
		:: else -> readers--; readers_inside--
		fi;
		pass = !HELD && WAKE;
		got = false;
		exclusive[_pid] = false;
		if
		:: !pass -> goto again
		:: else
		fi
	};
	wake();
	goto again;
done:
	skip
}

#if FOREIGN > 0
active proctype others()
{
	byte n, to;

end:
	do
	:: atomic
		{
			n < FOREIGN ->
			select(to : 0 .. PROCS - 1);
			semaphore[to]++;
			posted[to]++;
			n++;
			to = 0
		}
	od
}
#endif
