// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/jit/jitdump_read.h"
#include "harness/base/shortage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/untrusted_file.h"
#include "harness/format/jit/jitdump_find.h"

/* The file is read into memory piece by piece as records are needed. It is not mapped, since its
 * writer may truncate it at any time. Allocated memory that is not read into costs nothing. */
#define STEP (UINT64_C(1) << 20)
/* Largest size of a jitdump: far more than any runtime writes. Bounds the memory that a hostile
 * file can use. */
#define MOST (UINT64_C(4) << 30)

#define SWAPPED_MAGIC __builtin_bswap32(JP_JITDUMP_MAGIC)
#define KNOWN_FLAGS   JP_JITDUMP_ARCH_TIMESTAMP

struct jp_jitdump {
	char *path;
	int fd;
	unsigned char *bytes;
	uint64_t size;     /* file size when opened */
	uint64_t capacity; /* capacity of @bytes */
	uint64_t nr_read;  /* number of bytes read so far */
	uint64_t offset;   /* offset of the next record */
	uint64_t unknown;
	uint64_t vouched; /* records of unknown types before this offset are known to be followed by
			     a valid record */
	uint64_t bad_size; /* size of the invalid record at @offset; 0: none, or its size is invalid
			    * too
			    */
	uint64_t search_start; /* offset after the start of the last valid record: if that was
			  damaged, it may hide other records from here on */
	struct jp_jitdump_known header_facts;
	struct jp_jitdump_header header;
};

/* Reads until the file's first @to bytes are in memory. */
static int read_until(struct jp_jitdump *dump, uint64_t to, struct jp_error *err)
{
	if (to > dump->capacity)
		return jp_fail(
			err, EFBIG, "%s: offset %llu: expected at most %llu bytes of jitdump",
			dump->path, (unsigned long long)dump->offset, (unsigned long long)MOST);
	while (dump->nr_read < to) {
		uint64_t room = dump->capacity - dump->nr_read;
		ssize_t nr_read = pread(dump->fd, dump->bytes + dump->nr_read,
					room < STEP ? room : STEP, dump->nr_read);

		if (nr_read < 0 && errno == EINTR)
			continue;
		if (nr_read < 0) {
			jp_shortage_note(errno);
			return jp_fail(err, errno, "%s: offset %llu: %s", dump->path,
				       (unsigned long long)dump->nr_read, strerror(errno));
		}
		if (!nr_read)
			return jp_fail(err, EIO,
				       "%s: offset %llu: the file was cut short while it was read",
				       dump->path, (unsigned long long)dump->nr_read);
		dump->nr_read += nr_read;
	}
	return 0;
}

static int read_header(struct jp_jitdump *dump, struct jp_error *err)
{
	struct jp_jitdump_header *header = &dump->header;
	int ret;

	if (dump->size < sizeof(*header))
		return jp_fail(err, EINVAL,
			       "%s: offset 0: expected a jitdump header of %zu bytes, the file has "
			       "%llu",
			       dump->path, sizeof(*header), (unsigned long long)dump->size);
	ret = read_until(dump, sizeof(*header), err);
	if (ret)
		return ret;
	memcpy(header, dump->bytes, sizeof(*header));
	if (header->magic != JP_JITDUMP_MAGIC)
		return jp_fail(err, EINVAL, "%s: offset 0: expected magic 0x%x, found 0x%x%s",
			       dump->path, JP_JITDUMP_MAGIC, header->magic,
			       header->magic == SWAPPED_MAGIC ? " (of the other byte order)" : "");
	jp_map_at(&dump->header_facts.pids, header->pid, 1);
	dump->offset = header->total_size;
	if (dump->offset < sizeof(*header) || dump->offset > dump->size)
		dump->offset = sizeof(*header);
	dump->search_start = dump->offset;
	return 0;
}

static int check_header(const struct jp_jitdump *dump, struct jp_error *err)
{
	const struct jp_jitdump_header *header = &dump->header;

	if (header->version != JP_JITDUMP_VERSION)
		return jp_fail(err, EINVAL, "%s: offset 4: expected version %d, found %u",
			       dump->path, JP_JITDUMP_VERSION, header->version);
	if (header->total_size < sizeof(*header) || header->total_size > dump->size)
		return jp_fail(err, EINVAL,
			       "%s: offset 8: expected a header size from %zu to the file's %llu, "
			       "found %u",
			       dump->path, sizeof(*header), (unsigned long long)dump->size,
			       header->total_size);
	if (header->flags & ~KNOWN_FLAGS)
		return jp_fail(err, EINVAL,
			       "%s: offset 32: expected flags within 0x%llx, found 0x%llx",
			       dump->path, (unsigned long long)KNOWN_FLAGS,
			       (unsigned long long)header->flags);
	return 0;
}

static struct jp_jitdump *open_fd(int fd, const char *name, uint64_t size, struct jp_error *err)
{
	struct jp_jitdump *dump = calloc(1, sizeof(*dump));

	if (!dump) {
		jp_fail(err, ENOMEM, "%s: out of memory", name);
		close(fd);
		return NULL;
	}
	dump->fd = fd;
	dump->path = strdup(name);
	dump->size = size;
	dump->capacity = size < MOST ? size : MOST;
	dump->bytes = malloc(dump->capacity + !dump->capacity);
	if (!dump->path || !dump->bytes)
		jp_fail(err, ENOMEM, "%s: out of memory for %llu bytes", name,
			(unsigned long long)dump->capacity);
	else if (!read_header(dump, err))
		return dump;
	jp_jitdump_close(dump);
	return NULL;
}

struct jp_jitdump *jp_jitdump_open(const char *path, int64_t owner, struct jp_error *err)
{
	uint64_t size = 0;
	int fd = jp_untrusted_open(path, owner, &size, err);

	return fd < 0 ? NULL : jp_jitdump_adopt(fd, path, size, err);
}

struct jp_jitdump *jp_jitdump_adopt(int fd, const char *name, uint64_t size, struct jp_error *err)
{
	struct jp_jitdump *dump = open_fd(fd, name, size, err);

	if (!dump || !check_header(dump, err))
		return dump;
	jp_jitdump_close(dump);
	return NULL;
}

struct jp_jitdump *jp_jitdump_open_any(const char *path, int64_t owner, struct jp_error *err)
{
	uint64_t size = 0;
	int fd = jp_untrusted_open(path, owner, &size, err);

	return fd < 0 ? NULL : open_fd(fd, path, size, err);
}

void jp_jitdump_close(struct jp_jitdump *dump)
{
	if (!dump)
		return;
	free(dump->bytes);
	jp_map_free(&dump->header_facts.pids);
	if (dump->fd >= 0)
		close(dump->fd);
	free(dump->path);
	free(dump);
}

const struct jp_jitdump_header *jp_jitdump_header(const struct jp_jitdump *dump)
{
	return &dump->header;
}

uint64_t jp_jitdump_count_unknown(const struct jp_jitdump *dump)
{
	return dump->unknown;
}

int jp_jitdump_skip(struct jp_jitdump *dump, struct jp_jitdump_gap *gap, struct jp_error *err)
{
	const uint64_t start = dump->offset, end = start + dump->bad_size;
	uint64_t next;
	int ret = read_until(dump, dump->size, err);

	if (ret)
		return ret;
	if (dump->bad_size && jp_jitdump_begins(dump->bytes + end, dump->size - end)) {
		next = end;
	} else {
		next = jp_jitdump_find(dump->bytes, dump->size, dump->search_start, start,
				       &dump->header_facts);
		/* A file header may begin at the invalid record, but no other record. */
		if (next == start)
			next = jp_jitdump_find(dump->bytes, dump->size, start + !!dump->bad_size,
					       dump->size, &dump->header_facts);
		dump->search_start = next + 1;
	}
	*gap = (struct jp_jitdump_gap){.offset = start,
				       .size = next > start ? next - start : 0,
				       .end = next == dump->size};
	dump->offset = next;
	dump->bad_size = 0;
	return 0;
}

const unsigned char *jp_jitdump_read_all(struct jp_jitdump *dump, uint64_t *size,
					 struct jp_error *err)
{
	*size = dump->size;
	return read_until(dump, dump->size, err) ? NULL : dump->bytes;
}

/* A record in memory, which need not be aligned. */
struct raw {
	const struct jp_jitdump *dump;
	const unsigned char *bytes;
	struct jp_jitdump_prefix prefix;
	struct jp_error *err;
};

static int fail_at(const struct raw *raw, uint64_t offset, const char *expected, uint64_t value)
{
	static const char *const types[JP_JITDUMP_TYPES] = {
		[JP_JITDUMP_LOAD] = "LOAD",
		[JP_JITDUMP_MOVE] = "MOVE",
		[JP_JITDUMP_CLOSE] = "CLOSE",
		[JP_JITDUMP_DEBUG_INFO] = "DEBUG_INFO",
		[JP_JITDUMP_UNWINDING_INFO] = "UNWINDING_INFO",
	};

	return jp_fail(raw->err, EINVAL, "%s: offset %llu: %s of %u bytes: expected %s %llu",
		       raw->dump->path, (unsigned long long)(raw->dump->offset + offset),
		       raw->prefix.id < JP_JITDUMP_TYPES ? types[raw->prefix.id] : "record",
		       raw->prefix.total_size, expected, (unsigned long long)value);
}

#define AT(type, field) offsetof(struct jp_jitdump_##type, field)

static int parse_load(const struct raw *raw, struct jp_jitdump_record *record)
{
	struct jp_jitdump_load load;
	uint64_t after, name_size;
	const char *name;

	if (raw->prefix.total_size <= sizeof(load))
		return fail_at(raw, AT(prefix, total_size), "57 bytes or more, found",
			       raw->prefix.total_size);
	memcpy(&load, raw->bytes, sizeof(load));
	after = raw->prefix.total_size - sizeof(load);
	if (load.code_size >= after)
		return fail_at(raw, AT(load, code_size),
			       "a name and the code within the record, found a code size of",
			       load.code_size);
	if (load.code_addr + load.code_size < load.code_addr)
		return fail_at(raw, AT(load, code_addr),
			       "an address that does not overflow with the size, found",
			       load.code_addr);
	name = (const char *)raw->bytes + sizeof(load);
	name_size = after - load.code_size;
	if (!memchr(name, '\0', name_size))
		return fail_at(raw, sizeof(load),
			       "a NUL between name and code; bytes before the code:", name_size);
	record->pid = load.pid;
	record->tid = load.tid;
	record->load.vma = load.vma;
	record->load.addr = load.code_addr;
	record->load.size = load.code_size;
	record->load.index = load.code_index;
	record->load.name = name;
	/* As in perf: code starts relative to the end of the record, not to that of the name. */
	record->load.code = raw->bytes + raw->prefix.total_size - load.code_size;
	return 0;
}

static int parse_move(const struct raw *raw, struct jp_jitdump_record *record)
{
	struct jp_jitdump_move move;

	if (raw->prefix.total_size < sizeof(move))
		return fail_at(raw, AT(prefix, total_size), "64 bytes or more, found",
			       raw->prefix.total_size);
	memcpy(&move, raw->bytes, sizeof(move));
	if (move.old_code_addr + move.code_size < move.old_code_addr ||
	    move.new_code_addr + move.code_size < move.new_code_addr)
		return fail_at(raw, AT(move, code_size), "a size that overflows no address, found",
			       move.code_size);
	record->pid = move.pid;
	record->tid = move.tid;
	record->move.vma = move.vma;
	record->move.old_addr = move.old_code_addr;
	record->move.new_addr = move.new_code_addr;
	record->move.size = move.code_size;
	record->move.index = move.code_index;
	return 0;
}

static int parse_debug(const struct raw *raw, struct jp_jitdump_record *record)
{
	struct jp_jitdump_debug debug;
	uint64_t offset = sizeof(debug);

	if (raw->prefix.total_size < sizeof(debug))
		return fail_at(raw, AT(prefix, total_size), "32 bytes or more, found",
			       raw->prefix.total_size);
	memcpy(&debug, raw->bytes, sizeof(debug));
	if (debug.nr_entry >
	    (raw->prefix.total_size - sizeof(debug)) / (sizeof(struct jp_jitdump_debug_entry) + 1))
		return fail_at(raw, AT(debug, nr_entry), "entries that fit, found", debug.nr_entry);
	for (uint64_t i = 0; i < debug.nr_entry; i++) {
		uint64_t name = offset + sizeof(struct jp_jitdump_debug_entry);
		const unsigned char *end =
			name < raw->prefix.total_size
				? memchr(raw->bytes + name, '\0', raw->prefix.total_size - name)
				: NULL;

		if (!end)
			return fail_at(raw, offset,
				       "the name of each entry to end within the record; first bad "
				       "entry:",
				       i);
		offset = end + 1 - raw->bytes;
	}
	record->debug.addr = debug.code_addr;
	record->debug.count = debug.nr_entry;
	record->debug.entries = raw->bytes + sizeof(debug);
	record->debug.size = offset - sizeof(debug);
	record->debug.room = raw->prefix.total_size - sizeof(debug);
	return 0;
}

static int parse_unwinding(const struct raw *raw, struct jp_jitdump_record *record)
{
	struct jp_jitdump_unwinding unwinding;

	if (raw->prefix.total_size < sizeof(unwinding))
		return fail_at(raw, AT(prefix, total_size), "40 bytes or more, found",
			       raw->prefix.total_size);
	memcpy(&unwinding, raw->bytes, sizeof(unwinding));
	if (unwinding.unwinding_size > raw->prefix.total_size - sizeof(unwinding))
		return fail_at(raw, AT(unwinding, unwinding_size), "tables that fit, found",
			       unwinding.unwinding_size);
	if (unwinding.eh_frame_hdr_size > unwinding.unwinding_size)
		return fail_at(raw, AT(unwinding, eh_frame_hdr_size),
			       "a header within the tables, found", unwinding.eh_frame_hdr_size);
	record->unwinding.eh_frame = raw->bytes + sizeof(unwinding);
	record->unwinding.eh_frame_hdr =
		record->unwinding.eh_frame + unwinding.unwinding_size - unwinding.eh_frame_hdr_size;
	record->unwinding.size = unwinding.unwinding_size;
	record->unwinding.hdr_size = unwinding.eh_frame_hdr_size;
	record->unwinding.mapped_size = unwinding.mapped_size;
	return 0;
}

/* Checks that the record of an unknown type at @raw is followed, possibly after others of unknown
 * types, by a record of a known type or the end of the file. */
static int check_unknown(struct jp_jitdump *dump, const struct raw *raw)
{
	uint64_t offset = dump->offset;
	struct jp_jitdump_prefix prefix = raw->prefix;
	int ret;

	if (offset < dump->vouched)
		return 0;
	do {
		offset += prefix.total_size;
		ret = offset == dump->size ? 0
					   : read_until(dump,
							dump->size - offset < sizeof(prefix)
								? dump->size
								: offset + sizeof(prefix),
							raw->err);
		if (ret)
			return ret;
		if (jp_jitdump_begins(dump->bytes + offset, dump->size - offset)) {
			dump->vouched = offset;
			return 0;
		}
		if (dump->size - offset >= sizeof(prefix))
			memcpy(&prefix, dump->bytes + offset, sizeof(prefix));
	} while (dump->size - offset >= sizeof(prefix) && prefix.total_size >= sizeof(prefix) &&
		 prefix.total_size <= dump->size - offset);
	return fail_at(raw, 0, "a type from 0 to 4, or a record after it; found type",
		       raw->prefix.id);
}

/* Remembers the facts by which records after damaged bytes are recognized. */
static void note_record(struct jp_jitdump *dump, const struct jp_jitdump_record *record)
{
	if (!dump->header_facts.least_time || record->time < dump->header_facts.least_time)
		dump->header_facts.least_time = record->time;
	/* If memory is short, the only effect is that records of this pid are not recognized after
	 * damaged bytes. */
	if (record->type == JP_JITDUMP_LOAD || record->type == JP_JITDUMP_MOVE)
		jp_map_at(&dump->header_facts.pids, record->pid, 1);
	if (dump->search_start < record->offset + 1)
		dump->search_start = record->offset + 1;
}

int jp_jitdump_next(struct jp_jitdump *dump, struct jp_jitdump_record *record, struct jp_error *err)
{
	static int (*const parse[JP_JITDUMP_TYPES])(const struct raw *,
						    struct jp_jitdump_record *) = {
		[JP_JITDUMP_LOAD] = parse_load,
		[JP_JITDUMP_MOVE] = parse_move,
		[JP_JITDUMP_DEBUG_INFO] = parse_debug,
		[JP_JITDUMP_UNWINDING_INFO] = parse_unwinding,
	};
	struct raw raw = {.dump = dump, .err = err};
	int ret;

	for (; dump->offset < dump->size; dump->offset += raw.prefix.total_size, dump->unknown++) {
		uint64_t remaining = dump->size - dump->offset;

		raw.prefix.id = JP_JITDUMP_TYPES; /* not a known type */
		if (remaining < sizeof(raw.prefix))
			return fail_at(&raw, 0,
				       "a record's first 16 bytes; bytes left:", remaining);
		ret = read_until(dump, dump->offset + sizeof(raw.prefix), err);
		if (ret)
			return ret;
		raw.bytes = dump->bytes + dump->offset;
		memcpy(&raw.prefix, raw.bytes, sizeof(raw.prefix));
		if (raw.prefix.total_size < sizeof(raw.prefix) || raw.prefix.total_size > remaining)
			return fail_at(
				&raw, AT(prefix, total_size),
				"a size of 16 or more within the file; bytes left:", remaining);
		ret = read_until(dump, dump->offset + raw.prefix.total_size, err);
		if (ret)
			return ret;
		if (raw.prefix.id >= JP_JITDUMP_TYPES) {
			ret = check_unknown(dump, &raw);
			if (ret)
				return ret;
			continue;
		}
		*record = (struct jp_jitdump_record){.type = raw.prefix.id,
						     .offset = dump->offset,
						     .time = raw.prefix.timestamp};
		ret = parse[raw.prefix.id] ? parse[raw.prefix.id](&raw, record) : 0;
		if (ret) {
			dump->bad_size = raw.prefix.total_size;
			return ret;
		}
		dump->offset += raw.prefix.total_size;
		note_record(dump, record);
		return 1;
	}
	return 0;
}

/* A cursor holds the offset of the next entry and, in the upper 32 bits, that of the last explicit
 * name (never 0). Sizes of records have 32 bits. */
_Static_assert(sizeof(size_t) == 8, "two offsets of 32 bits");

bool jp_jitdump_next_line(const struct jp_jitdump_record *record, size_t *cursor,
			  struct jp_jitdump_line *line)
{
	struct jp_jitdump_debug_entry entry;
	size_t next = (uint32_t)*cursor, name_offset = *cursor >> 32;
	const char *name;

	if (next >= record->debug.size)
		return false;
	memcpy(&entry, record->debug.entries + next, sizeof(entry));
	next += sizeof(entry);
	name = (const char *)record->debug.entries + next;
	if (strcmp(name, "\xff") || !name_offset)
		name_offset = next;
	next += strlen(name) + 1;
	*line = (struct jp_jitdump_line){
		.addr = entry.addr,
		.line = entry.line,
		.discrim = entry.discrim,
		.file = (const char *)record->debug.entries + name_offset,
	};
	*cursor = next | name_offset << 32;
	return true;
}
