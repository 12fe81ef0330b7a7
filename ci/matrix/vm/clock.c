// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loaded into QEMU (LD_PRELOAD): its clock of the day counts how often it was asked.
 *
 * TCG holds each processor's translations of addresses in a table, and decides by this clock
 * whether to make it smaller (QEMU 10.0, accel/tcg/cputlb.c: tlb_mmu_resize_locked()); of 2,197
 * questions while a guest ran eleven came from elsewhere. A guest with two processors sees which
 * translations are held: while one forks, it takes the right to write from page after page, and
 * tells the other only at the end. A thread there goes on to write where the table still has the
 * page, and takes a fault where it has not. So of 13 runs of loss/storm.default on 7.2 ten had one
 * result and three another; by this clock all have the same.
 */
#include <sys/time.h>

/* Tables that never become smaller make a run three times as long; QEMU looks each 100 ms. */
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
