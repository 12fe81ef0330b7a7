/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/*
 * Writes a perf.data file that perf 5.10 and later read. Records are appended as they come; a
 * failed write is remembered and reported by jp_perfdata_close(), so that whoever drains rings need
 * not stop for it. Not locked: the caller serializes.
 */
struct jp_perf_attr;
struct jp_perfdata_writer;

struct jp_perfdata_event {
	const struct jp_perf_attr *attr; /* its first 120 bytes are written */
	const char *name;                /* "cpu-clock:u" */
};

/* Creates or empties the regular file @path; never through a symbolic link. */
struct jp_perfdata_writer *jp_perfdata_create(const char *path,
					      const struct jp_perfdata_event *events,
					      unsigned int count, struct jp_error *err);
/* Says that records with @id belong to event number @event. 0 or -ENOMEM. */
int jp_perfdata_id(struct jp_perfdata_writer *writer, unsigned int event, uint64_t id);
/* Appends whole records. */
void jp_perfdata_put(struct jp_perfdata_writer *writer, const void *records, size_t size);
/* Appends FINISHED_ROUND: no later record is older than the newest of the round before this. */
void jp_perfdata_round(struct jp_perfdata_writer *writer);
/* 0, or -errno of the first write that failed. */
int jp_perfdata_error(const struct jp_perfdata_writer *writer);
/* Writes ids, features and the final header, closes and frees. @first, @last: times of the first
 * and last sample. */
int jp_perfdata_close(struct jp_perfdata_writer *writer, uint64_t first, uint64_t last,
		      struct jp_error *err);
/* Closes and frees, and removes the file: nothing came of the recording. */
void jp_perfdata_remove(struct jp_perfdata_writer *writer);
