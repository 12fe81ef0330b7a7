// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/clock.h"

#include <sys/syscall.h>
#include <unistd.h>

enum { HOUR_MS = 3600000 };

static bool around_vdso;

void jp_clock_avoid_vdso(void)
{
	around_vdso = true;
}

uint64_t jp_clock_ns(clockid_t clock)
{
	struct timespec now;

	if (around_vdso)
		syscall(SYS_clock_gettime, clock, &now);
	else
		clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * JP_NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t jp_clock_thread_cpu(void)
{
	return jp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t jp_clock_now(void)
{
	return jp_clock_ns(CLOCK_MONOTONIC);
}

int jp_clock_ms_until(uint64_t deadline)
{
	uint64_t now = jp_clock_now(), remaining = now < deadline ? deadline - now : 0;
	uint64_t ms = remaining / JP_NS_PER_MS + (remaining % JP_NS_PER_MS != 0);

	return ms < HOUR_MS ? (int)ms : HOUR_MS;
}

uint64_t jp_clock_from_timeval(struct timeval time)
{
	return (uint64_t)time.tv_sec * JP_NS_PER_S + (uint64_t)time.tv_usec * 1000;
}

struct timespec jp_clock_timespec(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / JP_NS_PER_S),
				 .tv_nsec = (long)(ns % JP_NS_PER_S)};
}

bool jp_clock_is_earlier(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}
