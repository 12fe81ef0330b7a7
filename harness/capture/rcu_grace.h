/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

#include "harness/base/error.h"

/*
 * Grace periods of the kernel's RCU. The kernel reads a record's time and publishes the record in
 * one read-side section (__perf_event_output() and perf_iterate_sb() in kernel/events/core.c). So
 * after a grace period all earlier records are in the rings, however long a host stopped a CPU.
 * membarrier() waits for a grace period, mostly tens of milliseconds, so a separate thread calls
 * it.
 */
struct jp_grace {
	pthread_t thread;
	sem_t request;
	/* Whether the thread runs: not if the kernel has no membarrier(), or refuses it because of
	 * nohz_full. */
	bool runs;
	int has_passed, stopping; /* atomic */
};

/* Starts the thread. Returns 0, or -errno and a message. */
int jp_grace_start(struct jp_grace *grace, struct jp_error *err);
/* Requests a grace period. The last requested period must have passed. */
void jp_grace_ask(struct jp_grace *grace);
/* Returns whether the requested grace period has passed; true without a request, or if the thread
 * does not run. */
bool jp_grace_has_passed(const struct jp_grace *grace);
void jp_grace_stop(struct jp_grace *grace);
