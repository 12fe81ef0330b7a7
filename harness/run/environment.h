/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>
#include <stdio.h>

/* Writes env.json, which describes the machine of a run, from /proc and /sys; unknown values are
 * null. @program: NAME of the jitproof-NAME that runs the workloads; NULL: jitproof itself.
 * Describes the adapters in @profilers (NULL-terminated), or all if @profilers is NULL. */
void jp_environment_write(FILE *out, uint64_t seed, const char *program,
			  const char *const *profilers);

/*
 * Removes all environment variables but those that decide what runs and how (PATH, TMPDIR,
 * JITPROOF_*, the loader's and the sanitizers'). Child processes have them in memory, stack dumps
 * reach that far, and people share perf.data files. Also, the environment's size must not move
 * stacks.
 */
void jp_environment_forget(void);
