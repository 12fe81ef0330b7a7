// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/rcu_grace.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/capture/session.h"

static long membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0);
}

static void *wait_for_periods(void *context)
{
	struct jp_grace *grace = context;

	for (;;) {
		while (sem_wait(&grace->request) && errno == EINTR)
			;
		if (__atomic_load_n(&grace->stopping, __ATOMIC_ACQUIRE))
			return NULL;
		membarrier(MEMBARRIER_CMD_GLOBAL);
		__atomic_store_n(&grace->has_passed, 1, __ATOMIC_RELEASE);
	}
}

int jp_grace_start(struct jp_grace *grace, struct jp_error *err)
{
	const long commands = membarrier(MEMBARRIER_CMD_QUERY);
	int ret;

	*grace = (struct jp_grace){.has_passed = 1};
	if (commands < 0 || !(commands & MEMBARRIER_CMD_GLOBAL))
		return 0;
	sem_init(&grace->request, 0, 0);
	ret = jp_thread_start(&grace->thread, wait_for_periods, grace, err);
	grace->runs = !ret;
	return ret;
}

void jp_grace_ask(struct jp_grace *grace)
{
	if (!grace->runs)
		return;
	__atomic_store_n(&grace->has_passed, 0, __ATOMIC_RELAXED);
	sem_post(&grace->request);
}

bool jp_grace_has_passed(const struct jp_grace *grace)
{
	return __atomic_load_n(&grace->has_passed, __ATOMIC_ACQUIRE);
}

void jp_grace_stop(struct jp_grace *grace)
{
	if (!grace->runs)
		return;
	__atomic_store_n(&grace->stopping, 1, __ATOMIC_RELEASE);
	sem_post(&grace->request);
	pthread_join(grace->thread, NULL);
	sem_destroy(&grace->request);
	grace->runs = false;
}
