/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/base/arguments.h"

/* Texts that stay in a perf.data and describe the machine where it was recorded. */
struct jp_reduced {
	struct jp_word_set processes; /* names of processes */
	struct jp_word_set paths;     /* names of mappings */
	struct jp_word_set variables; /* names of environment variables in stack dumps */
	struct jp_word_set commands;  /* words of the command line in the header */
};

/*
 * Removes from the perf.data file @path, open for writing as @fd, data about the machine that no
 * judgement needs, in place: header features (host name, memory, disks, other programs), and values
 * of environment variables in stack dumps, which lie above the frames of a process's first thread.
 * Adds the texts that stay to @reduced. Returns 0, or -errno and a message; -EINVAL also for pipe
 * streams and compressed data, which cannot be changed in place.
 */
int jp_perfdata_reduce(const char *path, int fd, struct jp_reduced *reduced, struct jp_error *err);
void jp_reduced_free(struct jp_reduced *reduced);
