/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <sys/stat.h>

#include "harness/explain/name_losses.h"

/* A loss of names whose cause is sought. */
struct jp_name_case {
	struct jp_explain_view *view;
	struct jp_name_losses *losses;
	struct jp_name_loss *loss;
	const struct jp_name_process *process; /* the process that published, or did not */
};

/* The families of causes, to try in this order. Each function returns whether it blamed the loss on
 * a cause of its family. */

bool jp_blame_symbols(const struct jp_name_case *name_case);
bool jp_blame_jitdump(const struct jp_name_case *name_case);
/* Blames, as a part of that family, a jitdump that exists, but that perf refuses or that names
 * nothing. */
bool jp_blame_damaged_jitdump(const struct jp_name_case *name_case);
bool jp_blame_perf_map(const struct jp_name_case *name_case);
bool jp_blame_no_source(const struct jp_name_case *name_case);

/* Blames a jitdump that was not injected for the stacks that its unwinding information repairs, if
 * its process lost no names. The loss of @name_case is empty. */
void jp_blame_unwinding(const struct jp_name_case *name_case);
/* Blames the lack of a perf map on a process that runs code of its parent: the map of pid @named
 * has @covers of the addresses. @sibling: another process with that code; 0: @named is an
 * ancestor. */
bool jp_blame_inherited(const struct jp_name_case *name_case, uint32_t named, size_t covers,
			uint32_t sibling);
/* Notes a perf map with names that belongs to another user than the recording. */
void jp_note_owner(struct jp_explain_view *view, const struct jp_name_process *process);

/* Blames cause @id for the loss, with its ranges. @file may be NULL. */
struct jp_blame *jp_blame_names(const struct jp_name_case *name_case, const char *id,
				const char *file);
/* Reads the status of the recording's file. Returns false if that is not possible. */
bool jp_recording_stat(const struct jp_explain_view *view, struct stat *st);
/* Returns how many of the loss's addresses the lines of @map cover. */
size_t jp_name_covers(const struct jp_name_loss *loss, const struct jp_perf_map *map);
/* Returns the process's name, or "". */
const char *jp_name_case_comm(const struct jp_name_case *name_case);
enum { JP_OPTION_TEXT = 300 };
/* Returns how the runtime that emitted the code publishes names, perhaps in @text; never NULL. */
const char *jp_name_option(const struct jp_name_case *name_case, char text[JP_OPTION_TEXT]);
