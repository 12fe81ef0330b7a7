/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <sys/stat.h>

#include "harness/explain/name_losses.h"

/* One loss of names on its way to a cause. */
struct jp_name_case {
	struct jp_explain_view *view;
	struct jp_name_losses *losses;
	struct jp_name_loss *loss;
	const struct jp_name_process *process; /* that published, or did not */
};

/* Those of one family each, to be asked in this order; true: it has blamed the loss. */
bool jp_blame_symbols(const struct jp_name_case *name_case);
bool jp_blame_jitdump(const struct jp_name_case *name_case);
bool jp_blame_perf_map(const struct jp_name_case *name_case);
bool jp_blame_no_source(const struct jp_name_case *name_case);

/* Notes a perf map that names code, and is of another user than the recording. */
void jp_note_owner(struct jp_explain_view *view, struct jp_name_losses *losses,
		   const struct jp_name_process *process);

/* Blames cause @id for the loss, with its ranges. @file may be NULL. */
struct jp_blame *jp_blame_names(const struct jp_name_case *name_case, const char *id,
				const char *file);
/* Of the recording's own file; false: nobody may see it. */
bool jp_recording_stat(const struct jp_explain_view *view, struct stat *st);
/* How many of the loss's addresses lines of @map hold. */
size_t jp_name_covers(const struct jp_name_loss *loss, const struct jp_perf_map *map);
/* The process's name, "" where unknown. */
const char *jp_name_case_comm(const struct jp_name_case *name_case);
/* How the runtime publishes names; never NULL. */
const char *jp_name_option(const struct jp_name_case *name_case);
