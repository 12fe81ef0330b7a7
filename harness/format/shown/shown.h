/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/* What another program shows of the samples of a file (docs/readers.md). */

struct jp_shown_frame {
	uint64_t addr;
	const char *name; /* NULL: the reader shows none */
	uint64_t offset;  /* of @addr in the function; UINT64_MAX: not shown */
	bool placed;      /* @addr is shown */
};

struct jp_shown_sample {
	uint64_t time; /* ns */
	uint32_t pid, tid;
	struct jp_shown_frame top; /* of a flat profile */
	size_t first, count;       /* its frames in jp_shown.frames, innermost first */
	size_t line;               /* in the file */
};

struct jp_shown {
	char reader[64];                 /* name and version, such as "perf 7.3.4" */
	char of[32];                     /* the file's name */
	bool folder;                     /* that file is a folder; not set by jp_shown_parse() */
	const char *failed;              /* why the reader did not end well; NULL: it did */
	const char *older;               /* the reader is too old for the format; NULL: it is not */
	struct jp_shown_sample *samples; /* by time, then by place in the file */
	size_t count, capacity;
	struct jp_shown_frame *frames;
	size_t nr_frames, frames_capacity;
	char *text; /* private: holds the names */
};

/* Parses @text, of @size bytes and a NUL, which belongs to @shown from then on; messages call it
 * @path. Returns 0, or -errno and a message with the line. Free @shown in any case. */
int jp_shown_parse(struct jp_shown *shown, const char *path, char *text, size_t size,
		   struct jp_error *err);
void jp_shown_free(struct jp_shown *shown);
