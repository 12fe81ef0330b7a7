/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

#include "harness/base/error.h"

/*
 * Grace periods of the kernel's RCU, which wait for whatever each CPU was about to do. The kernel
 * takes a record's time and publishes the record in one read-side section (__perf_event_output()
 * and perf_iterate_sb() in kernel/events/core.c): once a period has passed, all records of before
 * it are in the rings, however long a host took a CPU in between. membarrier() waits for one, tens
 * of milliseconds mostly, and so does a thread of its own.
 */
struct jp_grace {
	pthread_t thread;
	sem_t asked;
	bool runs;            /* false: the kernel has no such call, or not with nohz_full */
	int passed, stopping; /* atomic */
};

/* 0, or -errno and @err: no thread. */
int jp_grace_start(struct jp_grace *grace, struct jp_error *err);
/* Begins a period; the last one must have passed. */
void jp_grace_ask(struct jp_grace *grace);
/* Whether the period that was asked for has passed, if any was; always where there are none. */
bool jp_grace_passed(const struct jp_grace *grace);
void jp_grace_stop(struct jp_grace *grace);
