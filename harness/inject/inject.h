/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/inject/inject_summary.h"

/* Treatment of anonymous mapping records that follow the load of the code that they cover
 * (docs/inject.md). */
enum jp_anon {
	JP_ANON_KEEP,  /* keep anonymous records: they hide the code (the bug) */
	JP_ANON_STRIP, /* drop anonymous records completely (perf's fix, on each backing) */
	JP_ANON_CUT,   /* cut out the ranges of the code */
};
/* Finds a treatment by its name: "keep", "strip" or "cut". Returns false if there is none. */
bool jp_anon_find(const char *text, enum jp_anon *anon);

struct jp_inject_options {
	enum jp_anon anon;
	const char *input, *output; /* perf.data files */
	const char *folder;         /* output folder of the ELF files; NULL: OUTPUT.jit */
	const char *jitdumps;       /* folder of the jit-PID.dump files; NULL: the recorded paths */
	const char *root; /* copied root directory for the recorded paths; NULL: our own root */
};

/* Opens all outputs and reads nothing, so that the caller can drop privileges before it reads the
 * input. Returns NULL and a message on failure. */
struct jp_injection;
struct jp_injection *jp_injection_open(const struct jp_inject_options *options,
				       struct jp_error *err);
/*
 * Writes options->output: the input's records, and a mapping record of an ELF file for each code
 * load, in order of time. Calls @report with a line for each unreadable jitdump, whose process gets
 * no such records. Returns 0; or -errno and a message, without an output.
 */
int jp_injection_run(struct jp_injection *inject, struct jp_inject_summary *summary,
		     void (*report)(void *context, const char *line), void *context,
		     struct jp_error *err);
/* Closes everything, and removes an incomplete output. @inject may be NULL. */
void jp_injection_close(struct jp_injection *inject);
