/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/* Writes a perf.data file for perf 5.10 and later. A failed write is remembered and reported by
 * jp_perfdata_close(), so that the caller can drain its rings without checking. Not locked: the
 * caller serializes calls. */
struct jp_perf_attr;
struct jp_perfdata_writer;

struct jp_perfdata_event {
	const struct jp_perf_attr *attr; /* the attr, whose first 120 bytes are written */
	const char *name;                /* "cpu-clock:u" */
};

/* Creates or truncates the regular file @path, but follows no symbolic link. Returns NULL and a
 * message on errors. */
struct jp_perfdata_writer *jp_perfdata_create(const char *path,
					      const struct jp_perfdata_event *events,
					      unsigned int count, struct jp_error *err);
/* Assigns @id to the event number @event. Returns 0 or -ENOMEM. */
int jp_perfdata_assign_id(struct jp_perfdata_writer *writer, unsigned int event, uint64_t id);
/* Appends complete records. */
void jp_perfdata_put(struct jp_perfdata_writer *writer, const void *records, size_t size);
/* Appends FINISHED_ROUND: promises that later records are not older than the newest record of the
 * previous round. */
void jp_perfdata_round(struct jp_perfdata_writer *writer);
/* Returns 0, or -errno of the first failed write. */
int jp_perfdata_error(const struct jp_perfdata_writer *writer);
/* Writes ids, features and the final header, then closes the file and frees @writer. @first, @last:
 * times of the first and last sample, ns. Returns 0, or -errno and a message. */
int jp_perfdata_close(struct jp_perfdata_writer *writer, uint64_t first, uint64_t last,
		      struct jp_error *err);
/* Closes and removes the incomplete file after a failed recording, and frees @writer. */
void jp_perfdata_remove(struct jp_perfdata_writer *writer);
