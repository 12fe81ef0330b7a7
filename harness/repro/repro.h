/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/outcome/outcome.h"
#include "harness/format/perfdata/reduce.h"
#include "harness/repro/portable_program.h"
#include "harness/base/word_set.h"

/* What goes into one archive of `jitproof repro` (docs/repro.md). */
struct jp_repro {
	const struct jp_case *cas;
	char stage[3200];         /* a folder of ours with the case's files, as they are packed */
	struct jp_word_set files; /* in it, relative */
	int definition;           /* its file `case`, open for writing; 0: not made yet */
	int captures[2];          /* those of perf.data and injected.data; 0: there is none */
	struct jp_word_set left_out;  /* names in the case's folder that are no part of one */
	struct jp_word_set unreduced; /* captures that could not be read, and are as they were */
	struct jp_reduced reduced;
	struct jp_portable portable;
	char *environment; /* env.json; NULL: there is none */
	struct jp_result result;
	char *seen; /* the result as KTAP, as ./reproduce says it */
};

/*
 * Copies what a run leaves in a case's folder, open as @fd, into repro->stage, which is empty; what
 * will be changed there is open then. @from is its path, for messages. Whoever made it is not
 * trusted: no link is followed, nothing but regular files of known names is copied, and of the
 * truth only what was written.
 */
int jp_repro_copy(struct jp_repro *repro, int fd, const char *from, struct jp_error *err);
/* Without rights: writes the definition, and takes out of the copies what is the machine's alone.
 * The judge must say of them what it says of @original. */
int jp_repro_stage(struct jp_repro *repro, const char *original, struct jp_error *err);
void jp_repro_close(struct jp_repro *repro);

/* Judges the case in @dir, whose path is at least six bytes long; in what is said it is ./case, as
 * it will be in the archive. */
void jp_repro_judge(const struct jp_repro *repro, const char *dir, struct jp_result *result);

/* The text of README: a bug report, and what of the machine is in the archive. */
void jp_repro_readme(FILE *out, const struct jp_repro *repro);
/* The text of the script `reproduce`. */
void jp_repro_script(FILE *out, const struct jp_repro *repro);
/* The case's definition as the file of its study. */
void jp_repro_definition(FILE *out, const struct jp_case *cas);
