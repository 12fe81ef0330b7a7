/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/error.h"
#include "harness/format/jit/jitdump_format.h"

/* One record, checked: everything that it points to lies within the file, names end within the
 * record. Pointers die with jp_jitdump_close(). */
struct jp_jitdump_record {
	enum jp_jitdump_type type;
	uint64_t at;   /* offset in the file */
	uint64_t time; /* as in the file */
	uint32_t pid, tid;
	union {
		struct {
			uint64_t vma, addr, size, index;
			const char *name;
			const unsigned char *code;
		} load;
		struct {
			uint64_t vma, from, to, size, index;
		} move;
		struct {
			uint64_t addr, count;
			const unsigned char *entries; /* jp_jitdump_next_line() goes through */
			size_t size, room;            /* of the entries; of the record, for them */
		} debug;
		struct {
			const unsigned char *eh_frame, *eh_frame_hdr; /* within @bytes */
			uint64_t size, hdr_size, mapped_size;         /* size: of both */
		} unwinding;
	};
};

struct jp_jitdump;
/*
 * Opens the jitdump at @path, which anyone may have written: no symbolic link in the last part, a
 * regular file of @owner (-1: anyone). NULL and a message with file, offset and what
 * was expected where the header is not one of version 1 of a machine of our byte order.
 */
struct jp_jitdump *jp_jitdump_open(const char *path, int64_t owner, struct jp_error *err);
/* The same of @fd, which is the reader's from now on, of @size bytes; messages call it @name. */
struct jp_jitdump *jp_jitdump_take(int fd, const char *name, uint64_t size, struct jp_error *err);
/* The same for who says what is wrong: any version, size and flags. Where the header's size is
 * none, records are looked for behind 40 bytes. */
struct jp_jitdump *jp_jitdump_open_any(const char *path, int64_t owner, struct jp_error *err);
void jp_jitdump_close(struct jp_jitdump *dump);
const struct jp_jitdump_header *jp_jitdump_header(const struct jp_jitdump *dump);
/*
 * The next record in file order. 1: @record is set; 0: the end (a CLOSE is given, and goes on); <
 * 0: the file is bad from here on, the message says where: what came before is good, a reader may
 * keep it. Records of unknown types are passed over and counted.
 */
int jp_jitdump_next(struct jp_jitdump *dump, struct jp_jitdump_record *record,
		    struct jp_error *err);
/* Behind a failed jp_jitdump_next(): passes over the record that was bad. False: its size is bad
 * too, nobody can tell where the next one begins. */
bool jp_jitdump_skip(struct jp_jitdump *dump);
/* What nothing was taken of yet: @size bytes from offset @at on. NULL and a message: unreadable. */
const unsigned char *jp_jitdump_rest(struct jp_jitdump *dump, uint64_t *at, uint64_t *size,
				     struct jp_error *err);
/* Records of unknown type passed over so far. */
uint64_t jp_jitdump_unknown(const struct jp_jitdump *dump);

struct jp_jitdump_line {
	uint64_t addr;
	int32_t line, discrim;
	const char *file; /* "\xff" in the file is resolved: the one before */
};
/* Goes through the lines of @record (DEBUG_INFO); *@at starts at 0. True: @line is set. */
bool jp_jitdump_next_line(const struct jp_jitdump_record *record, size_t *at,
			  struct jp_jitdump_line *line);
