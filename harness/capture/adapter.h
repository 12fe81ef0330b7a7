/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"
#include "harness/base/lines.h"

/* A running adapter harness/profiler/NAME.py (docs/profiler-adapters.md), which controls the
 * profiler NAME. The adapter takes arguments and lines on its standard input, and answers with
 * lines on its standard output. This code knows only that protocol. */
struct jp_adapter {
	const char *name;
	pid_t pid; /* the adapter, which leads its own process group; 0: not running */
	int pidfd; /* -1: none */
	int request_fd,
		answer_fd; /* our ends of the adapter's standard input and output; -1: closed */
	int words_fd;      /* descriptor for reading the file with its standard error; -1: none */
	int status;        /* waitpid()'s status after its exit */
	uint64_t cpu;      /* CPU time of it and its children in ns, after its exit */
	struct jp_lines lines;
};

/*
 * Starts `NAME.py @args`: the file in $JITPROOF_PROFILERS, else in ../share/jitproof/profiler
 * relative to this binary's folder, else in the folder profiler beside this binary, which the build
 * makes. @words: path of a file for its standard error; NULL: a memfd. @keep_fds: descriptors that
 * the adapter inherits, up to -1; may be NULL. Returns 0, or -errno and a message.
 */
int jp_adapter_start(struct jp_adapter *adapter, const char *name, char *const *args,
		     const char *words, const int *keep_fds, struct jp_error *err);
/* Reads the adapter's next line. On errors stores in @line what happened instead, as the
 * predicate of a sentence whose subject is the adapter. Returns 0; -EPIPE: the adapter ended;
 * -ETIMEDOUT: nothing came before @deadline (ns of CLOCK_MONOTONIC); -EINTR: the run was
 * interrupted; -EPROTO: not a line of text. */
int jp_adapter_read_line(struct jp_adapter *adapter, char *text, size_t size, uint64_t deadline,
			 struct jp_error *line);
/* Sends a word to the adapter. Returns 0 or -errno. */
int jp_adapter_send(struct jp_adapter *adapter, const char *word);
/* Closes the adapter's input and waits until it exits by itself with status 0. Returns as
 * jp_adapter_read_line(). */
int jp_adapter_await_exit(struct jp_adapter *adapter, uint64_t deadline, struct jp_error *answer);
/* Returns whether the adapter exited with status 0. */
bool jp_adapter_has_exited(const struct jp_adapter *adapter);
/* Stores in @err how the adapter broke the protocol: @line @protocol_state, instead of @expected,
 * and the end of its standard error. Returns -EPROTO. */
int jp_adapter_fail_broken(const struct jp_adapter *adapter, const char *line,
			   const char *protocol_state, const char *expected, struct jp_error *err);
/* Ends the adapter and waits for its exit. Kills its process group if @kill; otherwise closes its
 * descriptors, on which it exits. */
void jp_adapter_end(struct jp_adapter *adapter, bool kill);

/* Stores the path of the adapters' folder in @path. */
void jp_profilers_folder(char *path, size_t size);
