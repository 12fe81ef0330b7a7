/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/inject/inject_summary.h"

/* Merging jitdumps into a capture: what becomes of anonymous mapping records. */
enum jp_anon {
	JP_ANON_KEEP,  /* all stay: a later one hides the code loaded before (the bug) */
	JP_ANON_STRIP, /* a later one goes as a whole if it covers living code (perf's fix, on each
			* backing, but what covers none stays: docs/inject.md) */
	JP_ANON_CUT,   /* a later one yields only where code was loaded before it */
};
/* By its name: "keep", "strip", "cut". False: there is none such. */
bool jp_anon_find(const char *text, enum jp_anon *anon);

struct jp_inject_options {
	enum jp_anon anon;
	const char *input, *output; /* perf.data files */
	const char *folder;         /* for the ELF files; NULL: OUTPUT.jit */
	const char *jitdumps;       /* folder in which jit-PID.dump files lie instead of where the
				     * capture says that they were mapped; NULL: there */
	const char *root;           /* a copied root below which they lie; NULL: our own */
};

/* Opens all outputs, before a byte of the input is read: whoever wants to gives up rights then.
 * NULL and a message. */
struct jp_injection;
struct jp_injection *jp_injection_open(const struct jp_inject_options *options,
				       struct jp_error *err);
/*
 * Writes options->output: the input's records, with a mapping record for each code load that
 * leads into an ELF file of ours, in order of time. A jitdump that cannot be read is named in @said
 * (one line each) and leaves its process as it was. 0, or -errno and a message where nothing was
 * written.
 */
int jp_injection_run(struct jp_injection *inject, struct jp_inject_summary *summary,
		     void (*said)(void *context, const char *line), void *context,
		     struct jp_error *err);
/* What was not written to its end is gone. NULL is fine. */
void jp_injection_close(struct jp_injection *inject);
