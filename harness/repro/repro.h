/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/outcome/outcome.h"
#include "harness/format/perfdata/reduce.h"
#include "harness/repro/portable_program.h"
#include "harness/base/arguments.h"

/* Contents of one archive of `jitproof repro` (docs/repro.md). */
struct jp_repro {
	const struct jp_case *cas;
	char stage[3200];            /* our folder with the case's files, as they are packed */
	struct jp_word_set files;    /* relative paths of the files in the archive */
	int definition;              /* descriptor of `case`, for writing; 0: not yet created */
	int captures[2];             /* descriptors of perf.data, injected.data; 0: none */
	struct jp_word_set left_out; /* names in the case's folder that do not belong to a case, and
					are not packed */
	struct jp_word_set unreduced; /* captures that could not be read, and stay unchanged */
	struct jp_reduced reduced;
	struct jp_portable portable;
	char *environment; /* text of env.json; NULL: none */
	struct jp_result result;
	char *ktap; /* the result as KTAP, as ./reproduce prints it */
};

/*
 * Copies the case's folder, open as @fd, into the empty repro->stage, and opens the copies that
 * will be changed. @from: path of the folder, for messages. The folder is untrusted: follows no
 * link and copies only regular files with known names. Copies only the written part of the truth.
 * Returns 0, or -errno and a message.
 */
int jp_repro_copy(struct jp_repro *repro, int fd, const char *from, struct jp_error *err);
/* Writes the definition and removes facts about the machine from the copies. Runs without
 * privileges. Fails unless judging gives the same result as for @original. */
int jp_repro_stage(struct jp_repro *repro, const char *original, struct jp_error *err);
void jp_repro_close(struct jp_repro *repro);

/* Judges the case in @dir, whose path has at least six bytes. Messages name it ./case, its path in
 * the archive. */
void jp_repro_judge(const struct jp_repro *repro, const char *dir, struct jp_result *result);

/* Writes README: a bug report, and which facts about the machine the archive contains. */
void jp_repro_readme(FILE *out, const struct jp_repro *repro);
/* Writes the script `reproduce`. */
void jp_repro_script(FILE *out, const struct jp_repro *repro);
/* Writes the case's definition as the file of its study. */
void jp_repro_definition(FILE *out, const struct jp_case *cas);
