/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_PROFILERS_H
#define JP_PROFILERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"
#include "harness/base/json.h"

/*
 * Anyone's profiler, by its adapter harness/profiler/NAME.py (docs/profiler-adapters.md): a process
 * that is told what to do by its arguments and by lines on its standard input, and that answers by
 * lines on its standard output. The core knows the protocol and no profiler.
 */
struct jp_profiler {
	pid_t pid;    /* leads a group of its own; 0: none */
	int in, out;  /* we write, we read; -1: closed */
	int words_fd; /* its standard error, -1: none */
	char line[1024];
	size_t filled;
};

/* Starts `NAME.py @args`: the file in $JITPROOF_PROFILERS, else in ../share/jitproof/profiler
 * as seen from this binary's folder, else in profiler there, which the build makes. With @words
 * (may be NULL) as a file for its standard error and @keep_fds (may be NULL, -1 ends) left open. */
int jp_profiler_start(struct jp_profiler *profiler, const char *name, char *const *args,
		      const char *words, const int *keep_fds, struct jp_error *err);
/* Its next line. -EPIPE: it ended; -ETIMEDOUT: past @deadline (CLOCK_MONOTONIC ns); -EINTR: the run
 * was interrupted. */
int jp_profiler_line(struct jp_profiler *profiler, char *text, size_t size, uint64_t deadline,
		     struct jp_error *err);
int jp_profiler_say(struct jp_profiler *profiler, const char *word, struct jp_error *err);
/* Tells it that nothing more comes, which ends it; kills it and what it started where @kill. */
void jp_profiler_end(struct jp_profiler *profiler, bool kill);

/* Where the adapters are. */
void jp_profilers_folder(char *path, size_t size);
/* The version of @name's profiler in @text; -ENOENT and what is missing where it cannot run. */
int jp_profiler_version(const char *name, char *text, size_t size, struct jp_error *err);
/* A string "NAME": "VERSION" for each adapter, null where the profiler is not there. */
void jp_profilers_describe(struct jp_json *json);
/*
 * True where @line says that the profiler died of a signal ("crash SIGNAL WHY") or failed ("failed
 * WHY"). @dir/crash is for whoever judges, "@verb SIGNAL WHY" with '-' for no signal; @err has WHY.
 */
bool jp_profiler_crashed(const char *dir, const char *verb, const char *line, struct jp_error *err);
/*
 * @name merges @dir/perf.data and the jitdumps into @dir/injected.data. -ECHILD: the profiler
 * crashed or failed, with its last words in @err and in @dir/crash.
 */
int jp_profiler_inject(const char *name, const char *dir, uint64_t deadline, struct jp_error *err);

#endif
