// SPDX-License-Identifier: GPL-2.0-only
/* Jitdumps that anyone may have written: what is right is read, what is not gets a clear error. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/format/jit/jitdump_read.h"
#include "harness/format/rundir/run_dir.h"
#include "harness/selftest/check.h"

static char folder[] = "/tmp/jitproof-test-XXXXXX", path[128];

/* A jitdump being made. */
struct making {
	unsigned char bytes[16384];
	size_t size;
	size_t record; /* offset of the last one */
};

static void put(struct making *dump, const void *bytes, size_t size)
{
	if (size)
		memcpy(dump->bytes + dump->size, bytes, size);
	dump->size += size;
}

static void put_header(struct making *dump)
{
	struct jp_jitdump_header header = {.magic = JP_JITDUMP_MAGIC,
					   .version = JP_JITDUMP_VERSION,
					   .total_size = sizeof(header),
					   .elf_mach = 62,
					   .pid = 17};

	put(dump, &header, sizeof(header));
}

/* @head begins with the prefix; its size becomes that of all three parts. */
static void put_record(struct making *dump, const void *head, size_t head_size, const void *body,
		       size_t body_size)
{
	uint32_t total = head_size + body_size;

	dump->record = dump->size;
	put(dump, head, head_size);
	put(dump, body, body_size);
	memcpy(dump->bytes + dump->record + offsetof(struct jp_jitdump_prefix, total_size), &total,
	       sizeof(total));
}

static void set64(struct making *dump, size_t offset, uint64_t value)
{
	memcpy(dump->bytes + dump->record + offset, &value, sizeof(value));
}

static void set32(struct making *dump, size_t offset, uint32_t value)
{
	memcpy(dump->bytes + dump->record + offset, &value, sizeof(value));
}

static void put_load(struct making *dump, uint64_t addr)
{
	struct jp_jitdump_load load = {.prefix = {JP_JITDUMP_LOAD, 0, 1000 + addr},
				       .pid = 17,
				       .tid = 18,
				       .vma = addr,
				       .code_addr = addr,
				       .code_size = 5,
				       .code_index = addr / 16};

	put_record(dump, &load, sizeof(load), "name\0CODE!", 10);
}

static void put_debug(struct making *dump)
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
	memset(body + size, 0, 6); /* padding that is no entry */
	put_record(dump, &debug, sizeof(debug), body, size + 6);
}

static void put_unwinding(struct making *dump)
{
	struct jp_jitdump_unwinding unwinding = {.prefix = {JP_JITDUMP_UNWINDING_INFO, 0, 6},
						 .unwinding_size = 12,
						 .eh_frame_hdr_size = 4,
						 .mapped_size = 12};

	put_record(dump, &unwinding, sizeof(unwinding), "EH_FRAMEhdr.", 12);
}

static void put_move(struct making *dump)
{
	struct jp_jitdump_move move = {.prefix = {JP_JITDUMP_MOVE, 0, 9},
				       .pid = 17,
				       .tid = 19,
				       .vma = 0x3000,
				       .old_code_addr = 0x1000,
				       .new_code_addr = 0x3000,
				       .code_size = 5,
				       .code_index = 256};

	put_record(dump, &move, sizeof(move), NULL, 0);
}

static void put_prefix(struct making *dump, uint32_t type, size_t body)
{
	static const char zeros[256];
	struct jp_jitdump_prefix prefix = {type, 0, 3};

	put_record(dump, &prefix, sizeof(prefix), zeros, body);
}

static void store(const struct making *dump)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, dump->bytes, dump->size) != (ssize_t)dump->size)
		perror(path);
	close(fd);
}

static bool same_lines(const struct jp_jitdump_record *record)
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

static void read_right(void)
{
	struct making dump = {.size = 0};
	struct jp_jitdump_record record;
	struct jp_jitdump *read;
	struct jp_error err = {""};

	put_header(&dump);
	put_debug(&dump);
	put_unwinding(&dump);
	put_load(&dump, 0x1000);
	put_prefix(&dump, 77, 3);
	put_move(&dump);
	put_prefix(&dump, JP_JITDUMP_CLOSE, 0);
	put_load(&dump, 0x2000);
	store(&dump);
	read = jp_jitdump_open(path, getuid(), &err);
	if (!check(read && jp_jitdump_header(read)->pid == 17, "a right one opens %s", err.text))
		return;
	check(jp_jitdump_next(read, &record, &err) == 1 && record.type == JP_JITDUMP_DEBUG_INFO &&
		      record.time == 5 && record.at == 40 && record.debug.addr == 0x1000 &&
		      same_lines(&record),
	      "its lines, the file's name once or each time, without the padding");
	check(jp_jitdump_next(read, &record, &err) == 1 &&
		      record.type == JP_JITDUMP_UNWINDING_INFO && record.unwinding.size == 12 &&
		      record.unwinding.hdr_size == 4 && record.unwinding.mapped_size == 12 &&
		      !memcmp(record.unwinding.eh_frame, "EH_FRAME", 8) &&
		      !memcmp(record.unwinding.eh_frame_hdr, "hdr.", 4),
	      "its call frame information");
	check(jp_jitdump_next(read, &record, &err) == 1 && record.type == JP_JITDUMP_LOAD &&
		      record.pid == 17 && record.tid == 18 && record.load.addr == 0x1000 &&
		      record.load.size == 5 && record.load.index == 256 &&
		      record.time == 0x1000 + 1000 && !strcmp(record.load.name, "name") &&
		      !memcmp(record.load.code, "CODE!", 5),
	      "a load");
	check(jp_jitdump_next(read, &record, &err) == 1 && record.type == JP_JITDUMP_MOVE &&
		      record.tid == 19 && record.move.from == 0x1000 && record.move.to == 0x3000 &&
		      record.move.size == 5 && record.move.index == 256 &&
		      jp_jitdump_unknown(read) == 1,
	      "a move, and the unknown record before it is counted");
	check(jp_jitdump_next(read, &record, &err) == 1 && record.type == JP_JITDUMP_CLOSE &&
		      jp_jitdump_next(read, &record, &err) == 1 && record.load.addr == 0x2000 &&
		      jp_jitdump_next(read, &record, &err) == 0 &&
		      jp_jitdump_next(read, &record, &err) == 0,
	      "the close, what comes after it, the end");
	jp_jitdump_close(read);
}

/* One way to be bad: what is done to a dump that ends with a right load. */
struct hostile {
	const char *what;
	void (*make)(struct making *dump);
	int good;         /* records before the bad one */
	const char *says; /* part of the message; NULL: not bad at all */
};

static void short_tail(struct making *dump)
{
	put(dump, "12345", 5);
}
static void zero_tail(struct making *dump)
{
	memset(dump->bytes + dump->size, 0, 4096);
	dump->size += 4096;
}
static void cut(struct making *dump)
{
	put_load(dump, 0x2000);
	dump->size -= 3;
}
static void size_15(struct making *dump)
{
	put_load(dump, 0x2000);
	set32(dump, 4, 15);
}
static void size_max(struct making *dump)
{
	put_load(dump, 0x2000);
	set32(dump, 4, UINT32_MAX);
}
static void load_tiny(struct making *dump)
{
	put_prefix(dump, JP_JITDUMP_LOAD, 40);
}
static void load_no_name(struct making *dump)
{
	put_load(dump, 0x2000);
	set64(dump, offsetof(struct jp_jitdump_load, code_size), 10);
}
static void load_endless_name(struct making *dump)
{
	put_load(dump, 0x2000);
	dump->bytes[dump->record + sizeof(struct jp_jitdump_load) + 4] = 'x';
}
static void load_size_max(struct making *dump)
{
	put_load(dump, 0x2000);
	set64(dump, offsetof(struct jp_jitdump_load, code_size), UINT64_MAX);
}
static void load_size_2_60(struct making *dump)
{
	put_load(dump, 0x2000);
	set64(dump, offsetof(struct jp_jitdump_load, code_size), UINT64_C(1) << 60);
}
static void load_addr_max(struct making *dump)
{
	put_load(dump, UINT64_MAX - 3);
}
static void load_empty(struct making *dump)
{
	put_load(dump, 0x2000);
	set64(dump, offsetof(struct jp_jitdump_load, code_size), 0);
}
static void move_tiny(struct making *dump)
{
	put_prefix(dump, JP_JITDUMP_MOVE, 47);
}
static void move_max(struct making *dump)
{
	put_move(dump);
	set64(dump, offsetof(struct jp_jitdump_move, code_size), UINT64_MAX);
}
static void debug_2_60(struct making *dump)
{
	put_debug(dump);
	set64(dump, offsetof(struct jp_jitdump_debug, nr_entry), UINT64_C(1) << 60);
}
static void debug_max(struct making *dump)
{
	put_debug(dump);
	set64(dump, offsetof(struct jp_jitdump_debug, nr_entry), UINT64_MAX);
}
static void debug_one_more(struct making *dump)
{
	put_debug(dump);
	set64(dump, offsetof(struct jp_jitdump_debug, nr_entry), 5);
}
static void debug_endless_name(struct making *dump)
{
	put_debug(dump);
	memset(dump->bytes + dump->size - 8, 'x', 8);
}
static void debug_tiny(struct making *dump)
{
	put_prefix(dump, JP_JITDUMP_DEBUG_INFO, 15);
}
static void unwinding_tiny(struct making *dump)
{
	put_prefix(dump, JP_JITDUMP_UNWINDING_INFO, 23);
}
static void unwinding_too_much(struct making *dump)
{
	put_unwinding(dump);
	set64(dump, offsetof(struct jp_jitdump_unwinding, unwinding_size), 13);
}
static void unwinding_max(struct making *dump)
{
	put_unwinding(dump);
	set64(dump, offsetof(struct jp_jitdump_unwinding, unwinding_size), UINT64_MAX);
}
static void unwinding_header(struct making *dump)
{
	put_unwinding(dump);
	set64(dump, offsetof(struct jp_jitdump_unwinding, eh_frame_hdr_size), 13);
}
static void new_header(struct making *dump)
{
	put_header(dump);
}

static const struct hostile hostiles[] = {
	{"a tail of five bytes", short_tail, 1, "16 bytes"},
	{"a tail of zeros", zero_tail, 1, "size of 16 or more"},
	{"the last record cut short", cut, 1, "within the file"},
	{"a record of 15 bytes", size_15, 1, "size of 16 or more"},
	{"a record of 2^32 - 1 bytes", size_max, 1, "within the file"},
	{"a load without room for a name", load_tiny, 1, "57 bytes"},
	{"a load whose code leaves no room for a name", load_no_name, 1, "code that fits"},
	{"a load whose name does not end before the code", load_endless_name, 1, "name that ends"},
	{"a load of 2^64 - 1 bytes of code", load_size_max, 1, "code that fits"},
	{"a load of 2^60 bytes of code", load_size_2_60, 1, "code that fits"},
	{"a load at the end of all addresses", load_addr_max, 1, "overflow"},
	{"a load of no code", load_empty, 2, NULL},
	{"a move of 63 bytes", move_tiny, 1, "64 bytes"},
	{"a move of 2^64 - 1 bytes", move_max, 1, "overflow"},
	{"2^60 lines", debug_2_60, 1, "entries that fit"},
	{"2^64 - 1 lines", debug_max, 1, "entries that fit"},
	{"a line more than there is", debug_one_more, 1, "entries that fit"},
	{"a line whose file's name has no end", debug_endless_name, 1, "name ends within"},
	{"lines without room for their number", debug_tiny, 1, "32 bytes"},
	{"call frame information without room for sizes", unwinding_tiny, 1, "40 bytes"},
	{"a byte of call frame information too much", unwinding_too_much, 1, "tables that fit"},
	{"2^64 - 1 bytes of call frame information", unwinding_max, 1, "tables that fit"},
	{"a header larger than the tables", unwinding_header, 1, "header within"},
	{"another jitdump behind the first", new_header, 1, "size of 16 or more"},
};

static void read_hostile(const struct hostile *hostile)
{
	struct making dump = {.size = 0};
	struct jp_jitdump_record record;
	struct jp_jitdump *read;
	struct jp_error err = {""};
	char offset[32];
	int good = 0, ret;

	put_header(&dump);
	put_load(&dump, 0x1000);
	hostile->make(&dump);
	store(&dump);
	read = jp_jitdump_open(path, -1, &err);
	while (read && (ret = jp_jitdump_next(read, &record, &err)) > 0)
		good++;
	snprintf(offset, sizeof(offset), ": offset 1");
	if (hostile->says)
		check(read && ret < 0 && good == hostile->good && strstr(err.text, path) &&
			      strstr(err.text, offset) && strstr(err.text, hostile->says),
		      "%s: %s", hostile->what, err.text);
	else
		check(read && !ret && good == hostile->good, "%s: %s", hostile->what, err.text);
	/* And once more: the same answer. */
	if (read && hostile->says)
		check(jp_jitdump_next(read, &record, NULL) < 0, "%s: still so", hostile->what);
	jp_jitdump_close(read);
}

static void read_header(const char *what, size_t offset, uint32_t value, size_t size,
			const char *says)
{
	struct making dump = {.size = 0};
	struct jp_jitdump *read;
	struct jp_error err = {""};

	put_header(&dump);
	put_load(&dump, 0x1000);
	memcpy(dump.bytes + offset, &value, sizeof(value));
	dump.size = size < dump.size ? size : dump.size;
	store(&dump);
	read = jp_jitdump_open(path, -1, &err);
	check(!read && strstr(err.text, says) && strstr(err.text, path), "%s: %s", what, err.text);
	jp_jitdump_close(read);
}

static void read_headers(void)
{
	struct making dump = {.size = 0};
	struct jp_jitdump_record record;
	struct jp_jitdump *read;

	read_header("nothing", 0, 0, 0, "expected a jitdump header of 40 bytes");
	read_header("39 bytes", 0, JP_JITDUMP_MAGIC, 39, "expected a jitdump header of 40 bytes");
	read_header("another magic", 0, 0x12345678, 4096, "expected magic");
	read_header("the other byte order", 0, __builtin_bswap32(JP_JITDUMP_MAGIC), 4096,
		    "other byte order");
	read_header("version 2", 4, 2, 4096, "expected version 1");
	read_header("a header of 39 bytes", 8, 39, 4096, "expected a header size");
	read_header("a header of 2^32 - 1 bytes", 8, UINT32_MAX, 4096, "expected a header size");
	read_header("unknown flags", 32, 2, 4096, "expected flags");
	put_header(&dump);
	put(&dump, "12345678", 8);
	put_load(&dump, 0x1000);
	dump.bytes[8] = 48;
	store(&dump);
	read = jp_jitdump_open(path, -1, NULL);
	check(read && jp_jitdump_next(read, &record, NULL) == 1 && record.load.addr == 0x1000,
	      "a header of 48 bytes is passed over as a whole");
	jp_jitdump_close(read);
}

static void refuse(const char *what, int64_t owner, const char *says)
{
	struct jp_error err = {""};
	struct jp_jitdump *read = jp_jitdump_open(path, owner, &err);

	check(!read && strstr(err.text, says) && strstr(err.text, path), "%s: %s", what, err.text);
	jp_jitdump_close(read);
	unlink(path);
}

static void read_strange_files(void)
{
	struct making dump = {.size = 0};
	struct jp_jitdump *read;
	struct jp_jitdump_record record;
	char target[128];
	int fd;

	put_header(&dump);
	put_load(&dump, 0x1000);
	store(&dump);
	refuse("another user's", getuid() + 1, "belongs to");
	refuse("no file", -1, "No such file");
	snprintf(target, sizeof(target), "%s/target", folder);
	check(!symlink(target, path), "a link is made");
	fd = open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	check(write(fd, dump.bytes, dump.size) == (ssize_t)dump.size, "to a right jitdump");
	close(fd);
	refuse("a symbolic link", -1, "symbolic link");
	check(!mkfifo(path, 0600), "a FIFO is made");
	refuse("a FIFO", -1, "FIFO");
	check(!mkdir(path, 0700), "a folder is made");
	refuse("a folder", -1, "directory");
	rmdir(path);
	/* Sizes are no reason to take memory. */
	store(&dump);
	if (!truncate(path, INT64_C(1) << 42)) {
		read = jp_jitdump_open(path, -1, NULL);
		check(!read || (jp_jitdump_next(read, &record, NULL) == 1 &&
				jp_jitdump_next(read, &record, NULL) < 0),
		      "a hole of 4 TiB behind a right record");
		jp_jitdump_close(read);
	}
	/* Cut short while it is open: a load of 4 MiB, of which 2 stay. */
	set32(&dump, offsetof(struct jp_jitdump_prefix, total_size), 4 << 20);
	store(&dump);
	if (!truncate(path, 8 << 20)) {
		struct jp_error err = {""};

		read = jp_jitdump_open(path, -1, NULL);
		check(read && !truncate(path, 2 << 20) &&
			      jp_jitdump_next(read, &record, &err) < 0 && strstr(err.text, path) &&
			      strstr(err.text, "cut short while"),
		      "cut short while it was open: %s", err.text);
		jp_jitdump_close(read);
	}
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/jit-17.dump", folder);
	read_right();
	for (size_t i = 0; i < sizeof(hostiles) / sizeof(hostiles[0]); i++)
		read_hostile(&hostiles[i]);
	read_headers();
	read_strange_files();
	jp_run_dir_remove(folder);
	return check_done();
}
