// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loaded into QEMU (LD_PRELOAD): its clock of the day counts how often it was asked.
 *
 * TCG keeps what it knows of the guest's pages in tables, and shrinks them by this clock when it
 * empties them (QEMU 10.0, accel/tcg/cputlb.c: tlb_mmu_resize_locked()); it is the only one that
 * asks it while a guest runs. With -icount and several processors the guest's run depends on how
 * big they are: of 13 runs of loss/storm.default on 7.2 ten had one result and three another.
 * So this machine's time must not decide.
 */
#include <sys/time.h>

/* By this much of time between two questions, the tables are neither always nor never shrunk. */
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
