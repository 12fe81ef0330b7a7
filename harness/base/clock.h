/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#define JP_NS_PER_S  UINT64_C(1000000000)
#define JP_NS_PER_MS UINT64_C(1000000)

/* Nanoseconds by @clock: CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID, ... */
uint64_t jp_clock_ns(clockid_t clock);
/* From now on this process asks the kernel itself: it is its vDSO that is watched. */
void jp_clock_around_vdso(void);
/* By CLOCK_MONOTONIC, the clock of all that is timed, and of deadlines. */
uint64_t jp_clock_now(void);
/* CPU time of the calling thread, in user space and in the kernel. */
uint64_t jp_clock_thread_cpu(void);
/* What poll() is to wait until @deadline: milliseconds, rounded up so that a deadline is never
 * taken for over before it is; 0: it is over; an hour at most. */
int jp_clock_left_ms(uint64_t deadline);
/* What getrusage() and its like tell, in ns. */
uint64_t jp_clock_of_timeval(struct timeval time);
struct timespec jp_clock_timespec(uint64_t ns);
