// SPDX-License-Identifier: GPL-2.0-only
/*
 * LD_PRELOAD library for QEMU: replaces the time of day by a count of its calls, so that runs of a
 * guest are reproducible.
 *
 * TCG shrinks a processor's table of cached address translations by the time of day (QEMU 10.0,
 * accel/tcg/cputlb.c: tlb_mmu_resize_locked()). A guest with two processors observes which
 * translations are cached: until fork() flushes those of the other processor, a thread there writes
 * to cached pages without a fault.
 */
#include <sys/time.h>

/*
 * Microseconds that one call advances the time. QEMU shrinks the table of cached translations at
 * most once per 100 ms, which is every ten calls here. A constant time would prevent shrinking, and
 * runs would take three times as long.
 */
#define STEP_US 10000

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	static _Thread_local long long now = 1767225600LL * 1000000; /* 2026 */

	(void)zone;
	now += STEP_US;
	tv->tv_sec = now / 1000000;
	tv->tv_usec = now % 1000000;
	return 0;
}
