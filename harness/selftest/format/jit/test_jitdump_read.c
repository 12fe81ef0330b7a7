// SPDX-License-Identifier: GPL-2.0-only
/* Tests reading untrusted jitdumps: valid ones are read, invalid ones give a clear error. */
#include "harness/base/shortage.h"
#include "harness/format/jit/jitdump_read.h"
#include "harness/selftest/support/made_jitdump.h"

enum { INDEX_HIGH = 0x5a }; /* the last byte of a LOAD's header */

static const char *path;

static void put_load(struct jitdump_made *dump, uint64_t addr)
{
	jitdump_made_load(dump, addr, (uint64_t)INDEX_HIGH << 56 | addr / 16, "name", 1000 + addr);
}

static void put_debug(struct jitdump_made *dump)
{
	struct jp_jitdump_debug debug = {
		.prefix = {JP_JITDUMP_DEBUG_INFO, 0, 5}, .code_addr = 0x1000, .nr_entry = 4};
	static const struct {
		uint64_t addr;
		int32_t line;
		const char *name;
	} lines[] = {
		{0x1000, 1, "a.c"}, {0x1001, 2, "\xff"}, {0x1002, 3, "b.c"}, {0x1003, 4, "\xff"}};
	unsigned char body[256];
	size_t size = 0;

	for (size_t i = 0; i < 4; i++) {
		struct jp_jitdump_debug_entry entry = {lines[i].addr, lines[i].line, 7};

		memcpy(body + size, &entry, sizeof(entry));
		size += sizeof(entry);
		memcpy(body + size, lines[i].name, strlen(lines[i].name) + 1);
		size += strlen(lines[i].name) + 1;
	}
	memset(body + size, 0, 6); /* padding that is not an entry */
	jitdump_made_record(dump, &debug, sizeof(debug), body, size + 6);
}

static void put_unwinding(struct jitdump_made *dump)
{
	struct jp_jitdump_unwinding unwinding = {.prefix = {JP_JITDUMP_UNWINDING_INFO, 0, 6},
						 .unwinding_size = 12,
						 .eh_frame_hdr_size = 4,
						 .mapped_size = 12};

	jitdump_made_record(dump, &unwinding, sizeof(unwinding), "EH_FRAMEhdr.", 12);
}

static void put_move(struct jitdump_made *dump)
{
	jitdump_made_move(dump, 0x3000, 5, 256, 9);
}

static void put_prefix(struct jitdump_made *dump, uint32_t type, size_t body)
{
	static const char zeros[256];
	struct jp_jitdump_prefix prefix = {type, 0, 3};

	jitdump_made_record(dump, &prefix, sizeof(prefix), zeros, body);
}

static bool lines_are_right(const struct jp_jitdump_record *record)
{
	static const char *const files[] = {"a.c", "a.c", "b.c", "b.c"};
	struct jp_jitdump_line line;
	size_t at = 0;
	int count = 0;

	while (jp_jitdump_next_line(record, &at, &line)) {
		if (count == 4 || line.addr != 0x1000u + count || line.line != count + 1 ||
		    line.discrim != 7 || strcmp(line.file, files[count]))
			return false;
		count++;
	}
	return count == 4 && record->debug.count == 4;
}

static void test_right_dump(void)
{
	struct jitdump_made dump = {.size = 0};
	struct jp_jitdump_record record;
	struct jp_jitdump *read;
	struct jp_error err = {""};

	jitdump_made_header(&dump, 17);
	put_debug(&dump);
	put_unwinding(&dump);
	put_load(&dump, 0x1000);
	put_prefix(&dump, 77, 3);
	put_prefix(&dump, JP_JITDUMP_TYPES, 3);
	put_move(&dump);
	put_prefix(&dump, JP_JITDUMP_CLOSE, 0);
	put_load(&dump, 0x2000);
	jitdump_made_store(&dump, path);
	read = jp_jitdump_open(path, getuid(), &err);
	if (!check(read && jp_jitdump_header(read)->pid == 17, "a right jitdump is opened %s",
		   err.text))
		return;
	check(jp_jitdump_next(read, &record, &err) == 1 && record.type == JP_JITDUMP_DEBUG_INFO &&
		      record.time == 5 && record.at == 40 && record.debug.addr == 0x1000 &&
		      lines_are_right(&record),
	      "line entries are read, with repeated file names, without padding");
	check(jp_jitdump_next(read, &record, &err) == 1 &&
		      record.type == JP_JITDUMP_UNWINDING_INFO && record.unwinding.size == 12 &&
		      record.unwinding.hdr_size == 4 && record.unwinding.mapped_size == 12 &&
		      !memcmp(record.unwinding.eh_frame, "EH_FRAME", 8) &&
		      !memcmp(record.unwinding.eh_frame_hdr, "hdr.", 4),
	      "call frame information is read");
	check(jp_jitdump_next(read, &record, &err) == 1 && record.type == JP_JITDUMP_LOAD &&
		      record.pid == 17 && record.tid == 18 && record.load.addr == 0x1000 &&
		      record.load.size == 5 &&
		      record.load.index == ((uint64_t)INDEX_HIGH << 56 | 256) &&
		      record.time == 0x1000 + 1000 && !strcmp(record.load.name, "name") &&
		      !memcmp(record.load.code, "CODE!", 5),
	      "a load is read");
	check(jp_jitdump_next(read, &record, &err) == 1 && record.type == JP_JITDUMP_MOVE &&
		      record.tid == 18 && record.move.from == 0x1000 && record.move.to == 0x3000 &&
		      record.move.size == 5 && record.move.index == 256 &&
		      jp_jitdump_unknown(read) == 2,
	      "a move is read, and unknown records before it are counted");
	check(jp_jitdump_next(read, &record, &err) == 1 && record.type == JP_JITDUMP_CLOSE &&
		      jp_jitdump_next(read, &record, &err) == 1 && record.load.addr == 0x2000 &&
		      jp_jitdump_next(read, &record, &err) == 0 &&
		      jp_jitdump_next(read, &record, &err) == 0,
	      "records after a close are read up to the end");
	jp_jitdump_close(read);
}

static void put_second(struct jitdump_made *dump)
{
	put_load(dump, 0x2000);
}

static void put_last(struct jitdump_made *dump)
{
	put_load(dump, UINT64_MAX - 3);
}

static void put_cut(struct jitdump_made *dump)
{
	put_second(dump);
	dump->size -= 3;
}

static void put_short_tail(struct jitdump_made *dump)
{
	jitdump_made_put(dump, "12345", 5);
}

static void put_header(struct jitdump_made *dump)
{
	jitdump_made_header(dump, 17);
}

static void put_zero_tail(struct jitdump_made *dump)
{
	dump->size += 4096;
}

static void put_endless_debug(struct jitdump_made *dump)
{
	put_debug(dump);
	memset(dump->bytes + dump->size - 8, 'x', 8);
}

/* A bad record that follows a valid load. */
static const struct hostile {
	const char *what;
	int good;          /* number of valid records before the bad one */
	const char *error; /* part of the message; NULL: the record is valid */
	/* Puts a record; @size of its bytes at @at become @value. */
	void (*put)(struct jitdump_made *dump);
	size_t at, size;
	uint64_t value;
	/* Used without @put: a record of @body zero bytes. */
	uint32_t type;
	size_t body;
} hostiles[] = {
#define IN(type, member) .at = offsetof(struct jp_jitdump_##type, member), .size = 8
	{"a tail of five bytes", 1, "16 bytes", .put = put_short_tail},
	{"a tail of zeros", 1, "size of 16 or more", .put = put_zero_tail},
	{"the last record cut short", 1, "within the file", .put = put_cut},
	{"a record of 15 bytes", 1, "size of 16 or more", .put = put_second, .at = 4, .size = 4,
	 .value = 15},
	{"a record of 2^32 - 1 bytes", 1, "within the file", .put = put_second, .at = 4, .size = 4,
	 .value = UINT32_MAX},
	{"a load without room for a name", 1, "57 bytes", .type = JP_JITDUMP_LOAD, .body = 40},
	{"a load whose code leaves no room for a name", 1, "code that fits", .put = put_second,
	 IN(load, code_size), .value = 10},
	{"a load whose name does not end before the code", 1, "name that ends", .put = put_second,
	 .at = sizeof(struct jp_jitdump_load) + 4, .size = 1, .value = 'x'},
	{"a load of 2^64 - 1 bytes of code", 1, "code that fits", .put = put_second,
	 IN(load, code_size), .value = UINT64_MAX},
	{"a load of 2^60 bytes of code", 1, "code that fits", .put = put_second,
	 IN(load, code_size), .value = UINT64_C(1) << 60},
	{"a load at the end of all addresses", 1, "overflow", .put = put_last},
	{"a load of no code", 2, NULL, .put = put_second, IN(load, code_size), .value = 0},
	{"a move of 63 bytes", 1, "64 bytes", .type = JP_JITDUMP_MOVE, .body = 47},
	{"a move of 2^64 - 1 bytes", 1, "overflow", .put = put_move, IN(move, code_size),
	 .value = UINT64_MAX},
	{"2^60 lines", 1, "entries that fit", .put = put_debug, IN(debug, nr_entry),
	 .value = UINT64_C(1) << 60},
	{"2^64 - 1 lines", 1, "entries that fit", .put = put_debug, IN(debug, nr_entry),
	 .value = UINT64_MAX},
	{"a line more than there is", 1, "entries that fit", .put = put_debug, IN(debug, nr_entry),
	 .value = 5},
	{"a line whose file's name has no end", 1, "name ends within", .put = put_endless_debug},
	{"lines without room for their number", 1, "32 bytes", .type = JP_JITDUMP_DEBUG_INFO,
	 .body = 15},
	{"call frame information without room for sizes", 1, "40 bytes",
	 .type = JP_JITDUMP_UNWINDING_INFO, .body = 23},
	{"a byte of call frame information too much", 1, "tables that fit", .put = put_unwinding,
	 IN(unwinding, unwinding_size), .value = 13},
	{"2^64 - 1 bytes of call frame information", 1, "tables that fit", .put = put_unwinding,
	 IN(unwinding, unwinding_size), .value = UINT64_MAX},
	{"a header larger than the tables", 1, "header within", .put = put_unwinding,
	 IN(unwinding, eh_frame_hdr_size), .value = 13},
	{"another jitdump behind the first", 1, "size of 16 or more", .put = put_header},
#undef IN
};

static void check_hostile(const struct hostile *hostile)
{
	struct jitdump_made dump = {.size = 0};
	struct jp_jitdump_record record;
	struct jp_jitdump *read;
	struct jp_error err = {""};
	int good = 0, ret;

	jitdump_made_header(&dump, 17);
	put_load(&dump, 0x1000);
	if (hostile->put)
		hostile->put(&dump);
	else
		put_prefix(&dump, hostile->type, hostile->body);
	memcpy(dump.bytes + dump.record + hostile->at, &hostile->value, hostile->size);
	jitdump_made_store(&dump, path);
	read = jp_jitdump_open(path, -1, &err);
	while (read && (ret = jp_jitdump_next(read, &record, &err)) > 0)
		good++;
	if (hostile->error)
		check(read && ret < 0 && good == hostile->good && strstr(err.text, path) &&
			      strstr(err.text, ": offset 1") && strstr(err.text, hostile->error),
		      "%s: %s", hostile->what, err.text);
	else
		check(read && !ret && good == hostile->good, "%s: %s", hostile->what, err.text);
	if (read && hostile->error)
		check(jp_jitdump_next(read, &record, NULL) < 0, "%s: a second call fails too",
		      hostile->what);
	jp_jitdump_close(read);
}

static void check_header(const char *what, size_t offset, uint32_t value, size_t size,
			 const char *says)
{
	struct jitdump_made dump = {.size = 0};
	struct jp_jitdump *read;
	struct jp_error err = {""};

	jitdump_made_header(&dump, 17);
	put_load(&dump, 0x1000);
	memcpy(dump.bytes + offset, &value, sizeof(value));
	dump.size = size < dump.size ? size : dump.size;
	jitdump_made_store(&dump, path);
	read = jp_jitdump_open(path, -1, &err);
	check(!read && strstr(err.text, says) && strstr(err.text, path), "%s: %s", what, err.text);
	jp_jitdump_close(read);
}

static void test_headers(void)
{
	struct jitdump_made dump = {.size = 0};
	struct jp_jitdump_record record;
	struct jp_jitdump *read;

	check_header("nothing", 0, 0, 0, "expected a jitdump header of 40 bytes");
	check_header("39 bytes", 0, JP_JITDUMP_MAGIC, 39, "expected a jitdump header of 40 bytes");
	check_header("another magic", 0, 0x12345678, 4096, "expected magic");
	check_header("the other byte order", 0, __builtin_bswap32(JP_JITDUMP_MAGIC), 4096,
		     "other byte order");
	check_header("version 2", 4, 2, 4096, "expected version 1");
	check_header("a header of 39 bytes", 8, 39, 4096, "expected a header size");
	check_header("a header of 2^32 - 1 bytes", 8, UINT32_MAX, 4096, "expected a header size");
	check_header("unknown flags", 32, 2, 4096, "expected flags");
	jitdump_made_header(&dump, 17);
	jitdump_made_put(&dump, "12345678", 8);
	put_load(&dump, 0x1000);
	dump.bytes[8] = 48;
	jitdump_made_store(&dump, path);
	read = jp_jitdump_open(path, -1, NULL);
	check(read && jp_jitdump_next(read, &record, NULL) == 1 && record.load.addr == 0x1000,
	      "a header of 48 bytes is skipped as a whole");
	jp_jitdump_close(read);
}

static void check_refusal(const char *what, int64_t owner, const char *says)
{
	struct jp_error err = {""};
	struct jp_jitdump *read = jp_jitdump_open(path, owner, &err);

	check(!read && strstr(err.text, says) && strstr(err.text, path), "%s: %s", what, err.text);
	jp_jitdump_close(read);
	unlink(path);
}

static void test_stale_errno(void)
{
	struct jitdump_made dump = {.size = 0};
	struct jp_jitdump_record record;
	struct jp_error err = {""};
	struct jp_jitdump *read;
	char text[256];

	jitdump_made_header(&dump, 17);
	put_load(&dump, 0x1000);
	jitdump_made_store(&dump, path);
	jp_shortage_begin();
	errno = ENOMEM;
	read = jp_jitdump_open(path, -1, &err);
	check(read && jp_jitdump_next(read, &record, &err) == 1 &&
		      !jp_shortage_describe(text, sizeof(text)),
	      "a stale ENOMEM is no shortage");
	jp_jitdump_close(read);
}

static void test_strange_files(void)
{
	struct jitdump_made dump = {.size = 0};
	struct jp_jitdump *read;
	struct jp_jitdump_record record;
	const char *target = scratch_path("target");

	jitdump_made_header(&dump, 17);
	put_load(&dump, 0x1000);
	jitdump_made_store(&dump, path);
	check_refusal("another user's", getuid() + 1, "belongs to");
	check_refusal("no file", -1, "No such file");
	check(!symlink(target, path), "a symbolic link is made");
	check(scratch_write(target, dump.bytes, dump.size), "its target is a right jitdump");
	check_refusal("a symbolic link", -1, "symbolic link");
	check(!mkfifo(path, 0600), "a FIFO is made");
	check_refusal("a FIFO", -1, "FIFO");
	check(!mkdir(path, 0700), "a folder is made");
	check_refusal("a folder", -1, "directory");
	rmdir(path);
	jitdump_made_store(&dump, path);
	if (!truncate(path, INT64_C(1) << 42)) {
		read = jp_jitdump_open(path, -1, NULL);
		check(!read || (jp_jitdump_next(read, &record, NULL) == 1 &&
				jp_jitdump_next(read, &record, NULL) < 0),
		      "a hole of 4 TiB behind a right record is an error");
		jp_jitdump_close(read);
	}
	/* Truncate the file while it is open: 2 MiB of a load of 4 MiB remain. */
	memcpy(dump.bytes + dump.record + offsetof(struct jp_jitdump_prefix, total_size),
	       &(uint32_t){4 << 20}, 4);
	jitdump_made_store(&dump, path);
	if (!truncate(path, 8 << 20)) {
		struct jp_error err = {""};

		read = jp_jitdump_open(path, -1, NULL);
		check(read && !truncate(path, 2 << 20) &&
			      jp_jitdump_next(read, &record, &err) < 0 && strstr(err.text, path) &&
			      strstr(err.text, "cut short while"),
		      "a file cut while it is open is an error: %s", err.text);
		jp_jitdump_close(read);
	}
}

int main(void)
{
	path = scratch_make("jit-17.dump");
	test_right_dump();
	test_stale_errno();
	for (size_t i = 0; i < sizeof(hostiles) / sizeof(hostiles[0]); i++)
		check_hostile(&hostiles[i]);
	test_headers();
	test_strange_files();
	return check_done();
}
