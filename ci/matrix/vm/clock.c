// SPDX-License-Identifier: GPL-2.0-only
/*
 * LD_PRELOAD library for QEMU: replaces the time of day by a count of its calls, so that runs of a
 * guest are reproducible.
 *
 * By the time of day TCG decides whether to shrink the table of a processor's cached address
 * translations (QEMU 10.0, accel/tcg/cputlb.c: tlb_mmu_resize_locked()); of 2,197 calls during a
 * run only eleven had another caller. A guest with two processors can observe which translations
 * are cached: fork() write-protects page after page, and flushes the other processor's
 * translations only at the end. Until then a thread there can still write to a cached page, and
 * takes a fault on any other page. So of 13 runs of loss/storm.default on 7.2 ten had one result
 * and three another; with this clock all have the same.
 */
#include <sys/time.h>

/*
 * Microseconds that one call advances the time. QEMU shrinks a table at most once per 100 ms, here
 * every ten calls. A time that stands still would never shrink a table: runs take three times as
 * long.
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
