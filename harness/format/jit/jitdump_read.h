/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/error.h"
#include "harness/format/jit/jitdump_format.h"

/* One checked record. All data that it points to lies within the file, and names end within the
 * record. Pointers are valid until jp_jitdump_close(). */
struct jp_jitdump_record {
	enum jp_jitdump_type type;
	uint64_t offset; /* offset in the file */
	uint64_t time;   /* time as in the file, not converted */
	uint32_t pid, tid;
	union {
		struct {
			uint64_t vma, addr, size, index;
			const char *name;
			const unsigned char *code;
		} load;
		struct {
			uint64_t vma, old_addr, new_addr, size, index;
		} move;
		struct {
			uint64_t addr, count;
			const unsigned char *entries; /* read by jp_jitdump_next_line() */
			size_t size, room; /* @size: bytes of the entries; @room: bytes that the
					      record has for them */
		} debug;
		struct {
			/* The two tables in the record. */
			const unsigned char *eh_frame, *eh_frame_hdr;
			uint64_t size, hdr_size, mapped_size; /* @size: both tables together */
		} unwinding;
	};
};

struct jp_jitdump;
/* Opens the untrusted jitdump @path, which must be a regular file of @owner (-1: any user) and no
 * symbolic link. Returns NULL, and a message with file, offset and what was expected, if its header
 * is not version 1 in this machine's byte order. */
struct jp_jitdump *jp_jitdump_open(const char *path, int64_t owner, struct jp_error *err);
/* Reads the header of the open file @fd of @size bytes, with jp_jitdump_open()'s checks. The reader
 * then owns @fd. Messages call the file @name. Returns NULL and a message on error. */
struct jp_jitdump *jp_jitdump_adopt(int fd, const char *name, uint64_t size, struct jp_error *err);
/* Opens a jitdump like jp_jitdump_open(), for callers that report errors: accepts any version, size
 * and flags. If the header's size is invalid, records start at offset 40. */
struct jp_jitdump *jp_jitdump_open_any(const char *path, int64_t owner, struct jp_error *err);
void jp_jitdump_close(struct jp_jitdump *dump);
const struct jp_jitdump_header *jp_jitdump_header(const struct jp_jitdump *dump);
/* Reads the next record in file order. CLOSE is an ordinary record. Skips and counts records of
 * unknown types if a record or the end of the file follows them. Returns 1, 0 at the end, or -errno
 * and a message with the offset if there is no valid record; earlier records are valid. */
int jp_jitdump_next(struct jp_jitdump *dump, struct jp_jitdump_record *record,
		    struct jp_error *err);
/* Bytes of a jitdump that are not a valid record. */
struct jp_jitdump_gap {
	uint64_t offset, size;
	bool end; /* no valid record follows these bytes */
};
/*
 * Continues at the next believable record (jp_jitdump_find()) after jp_jitdump_next() returned
 * -EINVAL, or at the end of the file. Stores which bytes were skipped. The next record may lie
 * within the last valid record, if bytes of the last one are missing: the gap's size is then 0.
 * Returns 0, or -errno and a message if the file is unreadable.
 */
int jp_jitdump_skip(struct jp_jitdump *dump, struct jp_jitdump_gap *gap, struct jp_error *err);
/* Returns all bytes of the file and their number; NULL and a message: unreadable. */
const unsigned char *jp_jitdump_read_all(struct jp_jitdump *dump, uint64_t *size,
					 struct jp_error *err);
/* Returns the number of skipped records of unknown types. */
uint64_t jp_jitdump_count_unknown(const struct jp_jitdump *dump);

struct jp_jitdump_line {
	uint64_t addr;
	int32_t line, discrim;
	const char *file; /* "\xff" in the file is resolved to the previous name */
};
/* Reads the next line of @record (DEBUG_INFO). *@cursor starts at 0. Returns false at the end. */
bool jp_jitdump_next_line(const struct jp_jitdump_record *record, size_t *cursor,
			  struct jp_jitdump_line *line);
