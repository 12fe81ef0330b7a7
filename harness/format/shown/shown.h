/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/arguments.h"
#include "harness/base/error.h"
#include "harness/base/map.h"

/* What another program, such as perf script, shows about the samples of a file
 * (docs/readers.md). */

struct jp_shown_frame {
	uint64_t addr;
	const char *name; /* NULL: the program shows no name */
	uint64_t offset;  /* offset of @addr in the function; UINT64_MAX: not shown */
	bool placed;      /* the program shows an address, @addr */
};

struct jp_shown_sample {
	uint64_t time; /* ns */
	uint32_t pid, tid;
	bool has_top;              /* false: no frame, or the kernel's */
	struct jp_shown_frame top; /* the frame that a flat profile names */
	size_t first, count; /* the sample's callchain: jp_shown.frames[@first] and the next, @count
				frames, innermost first */
	size_t line;         /* line number in the file */
};

/* By how many samples a profile by function shows @name. */
struct jp_shown_share {
	uint32_t tid;
	uint64_t samples;
	const char *name;
};

struct jp_shown {
	char reader[64];     /* name and version of the program, such as "perf 7.3.4" */
	char file[32];       /* name of the file that it read */
	bool folder;         /* @file is a folder; not set by jp_shown_parse() */
	const char *failure; /* reason for which the program failed; NULL: it succeeded */
	const char *older;   /* the message that the program is too old for the file's format; NULL:
				it is not */
	struct jp_shown_sample *samples; /* sorted by time, then by position in the file */
	size_t count, capacity;
	struct jp_shown_frame *frames;
	size_t nr_frames, frames_capacity;
	bool has_shares; /* the program shows a profile by function: @shares */
	struct jp_shown_share *shares;
	size_t nr_shares, shares_capacity;
	uint64_t stated_shares; /* private */
	char *text;             /* private: holds the names */
};

/* Parses @text, of @size bytes and a NUL, which @shown owns from then on; messages call it @path.
 * Returns 0, or -errno and a message with the line. The caller frees @shown in any case. */
int jp_shown_parse(struct jp_shown *shown, const char *path, char *text, size_t size,
		   struct jp_error *err);
void jp_shown_free(struct jp_shown *shown);

/*
 * The folder `shown` of a case contains a file for each other program that read the case's captures
 * (a reading: what the program shows), and the file `index` with a line "DIGEST NAME" for each file
 * except `messages`, sorted by name. The runner writes the index after the last reading, so that
 * judging notices a missing or altered one. Lines "gone DIGEST PATH" in it name the mapped files
 * that no program could find any more, by the digest of the recorded path.
 */
#define JP_SHOWN_FOLDER "shown"

/* All readings of a case. */
struct jp_shown_files {
	struct jp_shown *files; /* in the order of the index */
	size_t count, capacity;
	struct jp_map missing_paths; /* set of digests of recorded paths */
};

/* Writes the index of @dir/shown. @gone: recorded paths of files that are gone. Returns 0, or
 * -errno and a message. */
int jp_shown_index_write(const char *dir, const struct jp_arguments *gone, struct jp_error *err);
/* Returns whether the file with the recorded path @name was gone when the programs ran. */
bool jp_shown_is_gone(const struct jp_shown_files *files, const char *name);
/* Loads all readers' outputs of case folder @dir; none if the case has no folder `shown`. Returns
 * 0, or -errno and a message if one is missing, not in the index, altered or malformed. The caller
 * frees
 * @files in any case. */
int jp_shown_files_load(struct jp_shown_files *files, const char *dir, struct jp_error *err);
void jp_shown_files_free(struct jp_shown_files *files);
