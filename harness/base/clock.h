/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#define JP_NS_PER_S  UINT64_C(1000000000)
#define JP_NS_PER_MS UINT64_C(1000000)

/* Returns the time of @clock (CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID, ...) in ns. */
uint64_t jp_clock_ns(clockid_t clock);
/* Makes this process read clocks by system calls instead of the vDSO, for a workload that counts
 * the executions of vDSO code. */
void jp_clock_avoid_vdso(void);
/* Returns CLOCK_MONOTONIC in ns: the clock of all times and deadlines. */
uint64_t jp_clock_now(void);
/* Returns the CPU time of the calling thread, user and kernel, in ns. */
uint64_t jp_clock_thread_cpu(void);
/* Returns the milliseconds for poll() until @deadline, rounded up, so that the deadline is not
 * reported early; 0 if it has passed; at most an hour. */
int jp_clock_ms_until(uint64_t deadline);
/* Returns a struct timeval, such as a time of getrusage(), in ns. */
uint64_t jp_clock_from_timeval(struct timeval time);
struct timespec jp_clock_timespec(uint64_t ns);
bool jp_clock_is_earlier(const struct timespec *a, const struct timespec *b);
