/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"
#include "harness/format/perfdata/attrs.h"
#include "harness/format/perfdata/deferred.h"
#include "harness/format/perfdata/rounds.h"
#include "harness/format/perfdata/source.h"
#include "harness/format/perfdata/summary.h"
#include "harness/format/perfdata/zstd.h"

/* Internals of the reader. reader.c reads the header, records.c the records, and read.c runs the
 * whole. */
struct jp_perf_reader {
	struct jp_perf_source source;      /* the input being read */
	struct jp_perf_file_header header; /* header of a file; the oldest files have no features */
	struct jp_perf_part **parts;       /* the files of a folder */
	size_t nr_parts, parts_capacity;
	struct jp_perf_rounds rounds;
	struct jp_perf_attrs attrs;
	struct jp_zstd *zstd;
	/* The start of a record whose end is in the next compressed record. */
	struct jp_chunk *partial_record;
	struct jp_chunk *copies; /* copies of records that cannot be read in place */
	jp_event_visit visit;
	/* Callbacks for tools that rewrite the file; NULL: none. @opened is called after the
	 * header was read. @handle_other is called in file order for each record that makes no
	 * event, with the record and its payload, @size bytes; for the end of a round, after the
	 * records that it releases. Compressed records are passed unpacked. A value other than 0
	 * stops the reader. */
	int (*opened)(void *context);
	int (*handle_other)(void *context, const unsigned char *bytes, uint64_t size);
	void *context;
	struct jp_perfdata_summary *summary;
	struct jp_error *err;
	/* Only for jp_perfdata_read(): if samples have deferred callchains, the whole file is read
	 * first to collect these. */
	struct jp_perf_deferred deferred;
	bool join_deferred, deferred_read;
	struct jp_error
		truncation;    /* message about a truncated file, reported after the file was read;
			   "": complete */
	bool report_build_ids; /* report build ids as events JP_EVENT_BUILD_ID */
	const char *path;
	struct jp_event event;
	struct jp_regs regs;
};

/* Sets an error message with the file and @offset. Returns -EINVAL. */
int jp_perf_fail(struct jp_perf_reader *reader, uint64_t offset, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int jp_perf_fail_memory(struct jp_perf_reader *reader);
/* Records that the file is cut short at @offset, and why; only the first reason is kept. Returns
 * -ENODATA. */
int jp_perf_fail_cut_short(struct jp_perf_reader *reader, uint64_t offset, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns the number at @bytes, converted from the file's byte order. */
uint32_t jp_perf_read32(const struct jp_perf_reader *reader, const void *bytes);
uint64_t jp_perf_read64(const struct jp_perf_reader *reader, const void *bytes);

/* Reads the header, with attrs and features if the file has them. The source is then at the first
 * record. Like the functions below, returns 0, or -errno and a message. */
int jp_perf_read_header(struct jp_perf_reader *reader);
/* Reads a feature of @size bytes at @bytes, which is at @offset in the file. */
int jp_perf_read_feature(struct jp_perf_reader *reader, uint64_t feature,
			 const unsigned char *bytes, uint64_t size, uint64_t offset);
/* Reads the build ids in the @size bytes at @bytes, which are at @offset in the file. */
int jp_perf_read_build_ids(struct jp_perf_reader *reader, const unsigned char *bytes, uint64_t size,
			   uint64_t offset);
/* Adds an attr of @size bytes with its ids, which is at @offset in the file. */
int jp_perf_add_attr(struct jp_perf_reader *reader, const void *bytes, size_t size, const void *ids,
		     size_t nr_ids, uint64_t offset);
