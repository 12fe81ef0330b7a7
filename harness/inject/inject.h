/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/error.h"
#include "harness/inject/inject_summary.h"

/* What inject does with an anonymous mapping record that comes after the load of code in its range
 * (docs/inject.md). */
enum jp_anon {
	JP_ANON_KEEP,  /* copy the record: it then hides the code, as with perf's bug */
	JP_ANON_STRIP, /* drop the record, as perf's fix does; applies to every backing of anonymous
			  memory */
	JP_ANON_CUT,   /* copy the record without the ranges of the code */
};
/* Finds a treatment by its name: "keep", "strip" or "cut". Returns false if there is none. */
bool jp_anon_parse(const char *text, enum jp_anon *anon);

struct jp_inject_options {
	enum jp_anon anon;
	const char *input, *output; /* perf.data files */
	const char *folder;         /* output folder of the ELF files; NULL: OUTPUT.jit */
	const char *jitdumps;       /* folder of the jit-PID.dump files; NULL: the recorded paths */
	const char *root; /* copied root directory below which the recorded paths are searched;
			     NULL: this machine's root */
};

/* Opens all outputs and reads nothing, so that the caller can drop privileges before it reads the
 * input. Returns NULL and a message on failure. */
struct jp_injection;
struct jp_injection *jp_injection_open(const struct jp_inject_options *options,
				       struct jp_error *err);
/*
 * Writes options->output: the input's records, and for each code load a mapping record of an ELF
 * file, in order of time. Calls @report with a line for each unreadable jitdump; code of that
 * jitdump gets no mapping records. Returns 0. On failure returns -errno and a message, and leaves
 * no output file.
 */
int jp_injection_run(struct jp_injection *inject, struct jp_inject_summary *summary,
		     void (*report)(void *context, const char *line), void *context,
		     struct jp_error *err);
/* Closes everything, and removes an incomplete output. @inject may be NULL. */
void jp_injection_close(struct jp_injection *inject);
