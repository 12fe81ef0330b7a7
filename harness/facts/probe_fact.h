/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/facts/fact.h"
#include "harness/base/error.h"

/* Runs the probe of @fact in a child process for at most @limit ms, and kills all processes that it
 * started. Stores the answer in *@answer; an error of the probe is one of the reasons in
 * answer->missing. Returns 0, or -errno and a message if no child could be started. */
int jp_fact_ask(const struct jp_fact *fact, unsigned int limit, struct jp_answer *answer,
		struct jp_error *err);

/* Forks a child that is killed when the probe's process ends. Returns as fork(); if it fails, adds
 * the reason to answer->missing. */
int jp_fact_fork(struct jp_answer *answer);
/* Waits for the child @pid; does nothing if it is -1. */
void jp_fact_wait(struct jp_answer *answer, int pid);
