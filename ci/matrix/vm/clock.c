// SPDX-License-Identifier: GPL-2.0-only
/*
 * LD_PRELOAD library for QEMU: replaces the time of day by a count of its calls, so that runs of a
 * guest are reproducible.
 *
 * TCG uses the time of day to decide whether to shrink a processor's table of cached address
 * translations (QEMU 10.0, accel/tcg/cputlb.c: tlb_mmu_resize_locked()); almost all of its calls
 * come from there. A guest with two processors can observe which translations are cached: fork()
 * write-protects page after page, and flushes the other processor's translations only at the end.
 * Until then a thread on the other processor can write to a page whose translation is cached, and
 * takes a fault on any other page.
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
