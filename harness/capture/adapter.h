/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"
#include "harness/base/lines.h"

/* A profiler behind its adapter harness/profiler/NAME.py (docs/profiler-adapters.md): a process
 * that takes arguments and lines on its standard input, and answers with lines on its standard
 * output. The core knows the protocol and no profiler. */
struct jp_adapter {
	const char *name;
	pid_t pid;    /* leads its own process group; 0: none */
	int pidfd;    /* -1: none */
	int in, out;  /* input: we write; output: we read; -1: closed */
	int words_fd; /* read end of its standard error; -1: none */
	int status;   /* after its end, as from waitpid() */
	uint64_t cpu; /* after its end: CPU time with its children's, in ns */
	struct jp_lines lines;
};

/*
 * Starts `NAME.py @args`: the file in $JITPROOF_PROFILERS, else in ../share/jitproof/profiler
 * relative to this binary's folder, else in its folder profiler, which the build makes. @words:
 * file for its standard error (NULL: a hidden one). @keep_fds: descriptors to keep open, up to -1;
 * may be NULL. Returns 0, or -errno and a message.
 */
int jp_adapter_start(struct jp_adapter *adapter, const char *name, char *const *args,
		     const char *words, const int *keep_fds, struct jp_error *err);
/* Reads the adapter's next line. On errors @came describes what happened instead, as the predicate
 * of a sentence about the adapter. Returns 0; -EPIPE: the adapter ended; -ETIMEDOUT: nothing came
 * before @deadline (ns of CLOCK_MONOTONIC); -EINTR: the run was interrupted; -EPROTO: not a line of
 * text. */
int jp_adapter_line(struct jp_adapter *adapter, char *text, size_t size, uint64_t deadline,
		    struct jp_error *came);
/* Sends a word to the adapter. Returns 0 or -errno. */
int jp_adapter_send(struct jp_adapter *adapter, const char *word);
/* Closes the adapter's input and waits until it exits by itself with status 0. Returns as
 * jp_adapter_line(). */
int jp_adapter_await_exit(struct jp_adapter *adapter, uint64_t deadline, struct jp_error *came);
/* Returns whether the adapter exited with status 0. */
bool jp_adapter_exited(const struct jp_adapter *adapter);
/* Stores in @err how the adapter broke the protocol: @came @when, instead of @expected, and the end
 * of its standard error. Returns -EPROTO. */
int jp_adapter_broken(const struct jp_adapter *adapter, const char *came, const char *when,
		      const char *expected, struct jp_error *err);
/* Closes the adapter's descriptors, which ends it, or kills its process group if @kill; waits for
 * its exit. */
void jp_adapter_end(struct jp_adapter *adapter, bool kill);

/* Builds the path of the adapters' folder. */
void jp_profilers_folder(char *path, size_t size);
