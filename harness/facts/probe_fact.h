/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/facts/fact.h"
#include "harness/base/error.h"

/* Runs @fact's probe in a child for at most @limit ms, and ends all processes that it started.
 * Fills *@answer; an error of the probe is among the missing things. Returns 0, or -errno and a
 * message if no child could be started. */
int jp_fact_ask(const struct jp_fact *fact, unsigned int limit, struct jp_answer *answer,
		struct jp_error *err);

/* Forks a child that ends with the probe. Returns as fork(); on -1 @answer states what is
 * missing. */
int jp_fact_fork(struct jp_answer *answer);
/* Waits for the child @pid; does nothing if it is -1. */
void jp_fact_wait(struct jp_answer *answer, int pid);
