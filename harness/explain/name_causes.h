/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <sys/stat.h>

#include "harness/explain/name_losses.h"

/* A loss of names whose cause is sought. */
struct jp_name_case {
	struct jp_explain_view *view;
	struct jp_name_losses *losses;
	struct jp_name_loss *loss;
	const struct jp_name_process *process; /* the process that should publish the names */
};

/* Each of these functions tries one family of causes. Call them in this order until one returns
 * true: it has blamed the loss on a cause of its family. */

bool jp_blame_symbols(const struct jp_name_case *name_case);
bool jp_blame_jitdump(const struct jp_name_case *name_case);
/* Blames a jitdump that exists, but that perf refuses or that names nothing: a part of
 * jp_blame_jitdump(). */
bool jp_blame_damaged_jitdump(const struct jp_name_case *name_case);
bool jp_blame_perf_map(const struct jp_name_case *name_case);
bool jp_blame_no_source(const struct jp_name_case *name_case);

/* Blames the jitdump of a process that lost no names, if the dump was not injected, for the broken
 * stacks that its unwinding information repairs. The loss of @name_case must be empty. */
void jp_blame_unwinding(const struct jp_name_case *name_case);
/* Blames a process for the lack of a perf map of its own: it was forked after its parent emitted
 * code, and the map of pid @named names @covers of the loss's addresses. Returns the blame, to
 * which the caller adds the evidence of the fork. */
struct jp_blame *jp_blame_inherited(const struct jp_name_case *name_case, uint32_t named,
				    size_t covers);
/* Adds a note about the perf map of @process if it names code and belongs to another user than the
 * recording: perf does not check the owner. */
void jp_note_map_owner(struct jp_explain_view *view, const struct jp_name_process *process);

/* Returns the blame of cause @id in @file (may be NULL) for the samples of the loss, and adds the
 * address ranges of the loss to it. */
struct jp_blame *jp_blame_names(const struct jp_name_case *name_case, const char *id,
				const char *file);
/* Reads the status of the recording's file. Returns false if that is not possible. */
bool jp_recording_stat(const struct jp_explain_view *view, struct stat *st);
/* Returns how many of the loss's addresses the lines of @map cover. */
size_t jp_name_covers(const struct jp_name_loss *loss, const struct jp_perf_map *map);
/* Returns the number of lines of @map for memory of the loss. */
size_t jp_name_count_lines(const struct jp_name_loss *loss, const struct jp_perf_map *map);
/* Returns the process's name, or "". */
const char *jp_name_case_comm(const struct jp_name_case *name_case);
enum { JP_OPTION_TEXT = 300 };
/* Returns a text that states how the runtime that emitted the code can publish names; never NULL.
 * The text may be stored in @text. */
const char *jp_name_option(const struct jp_name_case *name_case, char text[JP_OPTION_TEXT]);
