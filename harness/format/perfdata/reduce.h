/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/base/word_set.h"

/* What a perf.data tells about the machine that it comes from, besides figures. */
struct jp_reduced {
	struct jp_word_set processes; /* names */
	struct jp_word_set paths;     /* of mappings */
	struct jp_word_set variables; /* names, of the environment in stack dumps */
	struct jp_word_set commands;  /* words of the header's command line */
};

/*
 * Takes out of the perf.data file at @path, open for writing as @fd, in its place, what no
 * judgement needs: header features about the machine (host name, memory, disks, other programs),
 * and in stack dumps the values of environment variables, which lie above the frames of a process's
 * first thread. What stays is added to @reduced. -EINVAL for a pipe stream and for compressed data:
 * they cannot be changed in place.
 */
int jp_perfdata_reduce(const char *path, int fd, struct jp_reduced *reduced, struct jp_error *err);
void jp_reduced_free(struct jp_reduced *reduced);
