/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>
#include <stdio.h>

/* Writes env.json, which describes the machine of a run, from /proc and /sys; unknown values are
 * null. @program: NAME of the jitproof-NAME that runs the workloads; NULL: jitproof itself.
 * @profilers: names of the adapters to describe (NULL-terminated); NULL: all. */
void jp_environment_write(FILE *out, uint64_t seed, const char *program,
			  const char *const *profilers);

/*
 * Removes all environment variables from this process except those that decide what runs and how
 * (PATH, TMPDIR, JITPROOF_*, the loader's and the sanitizers'). Otherwise stack dumps of workloads
 * could contain private variables, and people share perf.data files. Also, the size of the
 * environment must not shift the workloads' stacks.
 */
void jp_environment_forget(void);
