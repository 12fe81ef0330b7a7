/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/facts/fact.h"
#include "harness/base/error.h"

/*
 * Runs @fact's probe in a child, for at most @limit ms, and ends whatever it started. *@answer is
 * filled; what kept the probe from its end is among what is missing. -errno and a message only
 * where no child could be started.
 */
int jp_fact_ask(const struct jp_fact *fact, unsigned int limit, struct jp_answer *answer,
		struct jp_error *err);

/* A child of a probe, which ends with it. As fork(), and -1 has told @answer what is missing. */
int jp_fact_fork(struct jp_answer *answer);
/* Waits for its end; of no child (-1) there is nothing to wait for. */
void jp_fact_wait(struct jp_answer *answer, int pid);
