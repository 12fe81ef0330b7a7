/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"
#include "harness/base/lines.h"

/*
 * A profiler, by its adapter harness/profiler/NAME.py (docs/profiler-adapters.md): a process that
 * takes arguments and lines on its standard input, and answers by lines on its standard output.
 * The core knows the protocol and no profiler.
 */
struct jp_adapter {
	const char *name;
	pid_t pid;    /* leads a group of its own; 0: none */
	int pidfd;    /* -1: none */
	int in, out;  /* we write, we read; -1: closed */
	int words_fd; /* its standard error, -1: none */
	int status;   /* once it ended, as of waitpid() */
	uint64_t cpu; /* then: ns of CPU time that it took, with what it waited for */
	struct jp_lines lines;
};

/* Starts `NAME.py @args`: the file in $JITPROOF_PROFILERS, else in ../share/jitproof/profiler
 * as seen from this binary's folder, else in profiler there, which the build makes. With @words
 * (NULL: one that nobody sees) as a file for its standard error and @keep_fds (may be NULL, -1
 * ends) left open. */
int jp_adapter_start(struct jp_adapter *adapter, const char *name, char *const *args,
		     const char *words, const int *keep_fds, struct jp_error *err);
/* Its next line; else @came is what came instead, to go on behind its name. -EPIPE: it ended;
 * -ETIMEDOUT: past @deadline (CLOCK_MONOTONIC ns); -EINTR: the run was interrupted; -EPROTO: no
 * line of text. */
int jp_adapter_line(struct jp_adapter *adapter, char *text, size_t size, uint64_t deadline,
		    struct jp_error *came);
/* 0: it listens. */
int jp_adapter_say(struct jp_adapter *adapter, const char *word);
/* It said its last word: waits until it ends, by itself and with status 0. As above. */
int jp_adapter_leave(struct jp_adapter *adapter, uint64_t deadline, struct jp_error *came);
/* Whether it ended so. */
bool jp_adapter_left(const struct jp_adapter *adapter);
/* Why an adapter is broken, into @err: @came @when, not what was @expected; and the last of what it
 * said on its standard error. -EPROTO. */
int jp_adapter_broken(const struct jp_adapter *adapter, const char *came, const char *when,
		      const char *expected, struct jp_error *err);
/* Tells it that nothing more comes, which ends it; kills it and what it started where @kill. */
void jp_adapter_end(struct jp_adapter *adapter, bool kill);

/* Where the adapters are. */
void jp_profilers_folder(char *path, size_t size);
