/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>
#include <stdio.h>

/* env.json: the machine that a run happened on. Reads /proc and /sys; what cannot be read is null.
 * Of adapters it tells those in @profilers (NULL-terminated), all where that is NULL. */
void jp_environment_write(FILE *out, uint64_t seed, const char *const *profilers);

/*
 * Forgets all variables but those that decide what is run and how (PATH, TMPDIR, JITPROOF_*, the
 * loader's and the sanitizers'). What we start has them in its memory, stack dumps reach that far,
 * and perf.data files are sent around; and the size of what lies below them shall not move stacks.
 */
void jp_environment_forget(void);
