// SPDX-License-Identifier: GPL-2.0-only
/* Tests errors of reading untrusted jitdumps; test_conformance.c tests what is read. */
#include "harness/format/jit/jitdump_read.h"
#include "harness/selftest/support/made_jitdump.h"

static const char *path;

/* Writes a jitdump with one load of 66 bytes, and then the @size bytes of @extra_bytes. */
static void write_dump(struct jitdump_made *dump, const void *extra_bytes, size_t size)
{
	*dump = (struct jitdump_made){.size = 0};
	jitdump_made_header(dump, 17);
	jitdump_made_load(dump, 0x1000, 1, "name", 1000);
	jitdump_made_put(dump, extra_bytes, size);
	jitdump_made_store(dump, path);
}

/* test_conformance.c has a file for each rule; here are messages, and the calls after an error. */
static void test_bad_records(void)
{
	static const struct {
		size_t size;
		const char *message;
	} table[] = {
		{5, ": offset 106: record of 0 bytes: expected a record's first 16 bytes"},
		{16, ": offset 110: MOVE of 16 bytes: expected 64 bytes or more"},
	};
	static const uint32_t move[4] = {JP_JITDUMP_MOVE, 16};
	struct jp_jitdump_record record;
	struct jp_error err = {""};
	struct jitdump_made dump;
	struct jp_jitdump *opened;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		write_dump(&dump, move, table[i].size);
		opened = jp_jitdump_open(path, getuid(), &err);
		check(opened && jp_jitdump_next(opened, &record, &err) == 1 &&
			      jp_jitdump_next(opened, &record, &err) < 0 &&
			      strstr(err.text, path) && strstr(err.text, table[i].message),
		      "a bad record is an error: %s", err.text);
		check(opened && jp_jitdump_next(opened, &record, NULL) < 0,
		      "a second call fails too");
		jp_jitdump_close(opened);
	}
	write_dump(&dump, NULL, 0);
	opened = jp_jitdump_open(path, -1, &err);
	check(opened && jp_jitdump_next(opened, &record, &err) == 1 &&
		      jp_jitdump_next(opened, &record, &err) == 0 &&
		      jp_jitdump_next(opened, &record, &err) == 0,
	      "the end stays the end");
	jp_jitdump_close(opened);
}

static void check_refusal(const char *label, int64_t owner, const char *says)
{
	struct jp_error err = {""};
	struct jp_jitdump *dump = jp_jitdump_open(path, owner, &err);

	check(!dump && strstr(err.text, says) && strstr(err.text, path), "%s: %s", label, err.text);
	jp_jitdump_close(dump);
	unlink(path);
}

static void test_strange_files(void)
{
	struct jp_jitdump_record record;
	struct jitdump_made dump;
	struct jp_jitdump *opened;
	const char *target = scratch_path("target");
	uint32_t magic;

	write_dump(&dump, NULL, 0);
	check_refusal("another user's", getuid() + 1, "belongs to");
	check_refusal("no file", -1, "No such file");
	check(scratch_write(path, dump.bytes, 39), "a part of a header is written");
	check_refusal("39 bytes", -1, "expected a jitdump header of 40 bytes");
	magic = __builtin_bswap32(JP_JITDUMP_MAGIC);
	check(scratch_write(path, &magic, sizeof(magic)) && !truncate(path, 100),
	      "a file of the other byte order is made");
	check_refusal("the other byte order", -1, "other byte order");
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
		opened = jp_jitdump_open(path, -1, NULL);
		check(!opened || (jp_jitdump_next(opened, &record, NULL) == 1 &&
				  jp_jitdump_next(opened, &record, NULL) < 0),
		      "a hole of 4 TiB behind a right record is an error");
		jp_jitdump_close(opened);
	}
	/* Truncate the file while it is open: 2 MiB of a load of 4 MiB remain. */
	memcpy(dump.bytes + dump.record + offsetof(struct jp_jitdump_prefix, total_size),
	       &(uint32_t){4 << 20}, 4);
	jitdump_made_store(&dump, path);
	if (!truncate(path, 8 << 20)) {
		struct jp_error err = {""};

		opened = jp_jitdump_open(path, -1, NULL);
		check(opened && !truncate(path, 2 << 20) &&
			      jp_jitdump_next(opened, &record, &err) < 0 &&
			      strstr(err.text, path) && strstr(err.text, "cut short while"),
		      "a file cut while it is open is an error: %s", err.text);
		jp_jitdump_close(opened);
	}
}

TEST(jitdump_read)
{
	path = scratch_make("jit-17.dump");
	test_bad_records();
	test_strange_files();
}
