/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"
#include "harness/format/perfdata/attrs.h"
#include "harness/format/perfdata/deferred.h"
#include "harness/format/perfdata/rounds.h"
#include "harness/format/perfdata/source.h"
#include "harness/format/perfdata/summary.h"
#include "harness/format/perfdata/zstd.h"

/* The reader from within, and how it opens a file; harness/format/perfdata/read.c goes through the
 * records. */
struct jp_perf_reader {
	struct jp_perf_source source; /* what is read now */
	struct jp_perf_file_header
		header;              /* a file's; one from before there were features has none */
	struct jp_perf_part **parts; /* of a folder: each file */
	size_t nr_parts, parts_capacity;
	struct jp_perf_rounds rounds;
	struct jp_perf_attrs attrs;
	struct jp_zstd *zstd;
	struct jp_chunk *rest;   /* unpacked bytes that end within a record */
	struct jp_chunk *copies; /* of records that cannot be read where they are */
	jp_event_visit visit;
	/* For whoever writes a file on (else NULL): once the header is read; and everything that
	 * makes no event, @size bytes with what follows the record, in the order of the file, an
	 * end of a round after what was due by it. Compressed records are not given, what is in
	 * them is. Anything but 0 stops. */
	int (*opened)(void *context);
	int (*other)(void *context, const unsigned char *bytes, uint64_t size);
	void *context;
	struct jp_perfdata_summary *summary;
	struct jp_error *err;
	/* jp_perfdata_read() alone: where samples were promised a callchain, the whole file is gone
	 * through for those first. */
	struct jp_perf_deferred deferred;
	bool joins, looked_ahead;
	struct jp_error cut;  /* not "": the file is cut short, which is told once it was read */
	bool gives_build_ids; /* as JP_EVENT_BUILD_ID, before what follows them */
	const char *path;
	struct jp_event event;
	struct jp_regs regs;
};

/* Names the file and the @offset; returns -EINVAL. */
int jp_perf_bad(struct jp_perf_reader *reader, uint64_t offset, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int jp_perf_no_memory(struct jp_perf_reader *reader);
/* The file is cut short at @offset: the first reason counts. Returns -ENODATA. */
int jp_perf_cut(struct jp_perf_reader *reader, uint64_t offset, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A number in the file's byte order. */
uint32_t jp_perf_read32(const struct jp_perf_reader *reader, const void *at);
uint64_t jp_perf_read64(const struct jp_perf_reader *reader, const void *at);

/* Leaves the source at the first record, and attrs and features read where the header holds them.
 */
int jp_perf_read_header(struct jp_perf_reader *reader);
/* One feature, of @size bytes at @bytes, found at @offset. */
int jp_perf_read_feature(struct jp_perf_reader *reader, uint64_t feature,
			 const unsigned char *bytes, uint64_t size, uint64_t offset);
/* The build ids of files in the @size bytes at @bytes, found at @offset. */
int jp_perf_read_build_ids(struct jp_perf_reader *reader, const unsigned char *bytes, uint64_t size,
			   uint64_t offset);
/* One attr of @size bytes with its ids, found at @offset. */
int jp_perf_add_attr(struct jp_perf_reader *reader, const void *bytes, size_t size, const void *ids,
		     size_t nr_ids, uint64_t offset);
