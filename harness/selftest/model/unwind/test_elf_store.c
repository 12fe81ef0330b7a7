// SPDX-License-Identifier: GPL-2.0-only
/* Which line of elf/index ties a mapping to a file that the capture kept, and which lines are none.
 */
#include "harness/model/unwind/elf_store.h"

#include <limits.h>

#include "harness/format/elf/elf_file.h"
#include "harness/selftest/support/scratch.h"

#define ID "0123456789abcdef0123456789abcdef01234567"

static struct jp_elf_store *store_of_bytes(const char *index, size_t size)
{
	if (!scratch_write(scratch_path("elf/index"), index, size))
		exit(99);
	return jp_elf_store_new(scratch, NULL);
}

static struct jp_elf_store *store_of(const char *index)
{
	return store_of_bytes(index, strlen(index));
}

static void good_lines(void)
{
	static const char index[] =
		ID " fd:1f 12 /usr/lib/a\n" ID " 0:0 0 [vdso]\n" ID " 8:1 12.7 /b c\n" ID
		   " 8:1 12.x /d\\012e\\134f\\g\n" ID
		   " 8:1 12s /s\nabcd 0:0 18446744073709551615 x\n" ID " 8:1 12 #0a /#b";
	struct jp_elf_store *store = store_of(index);
	const struct jp_elf_line *line = jp_elf_store_line(store, 0);

	check(line && !strcmp(line->build_id, ID) && line->maj == 0xfd && line->min == 0x1f &&
		      line->ino == 12 && !line->known && !line->snapshot &&
		      !strcmp(line->path, "/usr/lib/a"),
	      "all that a line says");
	line = jp_elf_store_line(store, 2);
	check(line && line->known && line->gen == 7 && !strcmp(line->path, "/b c"),
	      "a generation, a blank in the path");
	line = jp_elf_store_line(store, 3);
	check(line && !strcmp(line->path, "/s") && line->snapshot, "a snapshot's");
	line = jp_elf_store_line(store, 4);
	check(line && line->ino == UINT64_MAX && !strcmp(line->build_id, "abcd"),
	      "the largest inode");
	check(line && !line->digested, "no digest");
	line = jp_elf_store_line(store, 5);
	check(line && line->digested && line->digest == 10 && !strcmp(line->path, "/#b"),
	      "a digest, no last newline");
	check(!jp_elf_store_line(store, 6), "a generation that is none is no line");
	jp_elf_store_free(store);
	store = store_of(ID " 8:1 12 /d\\012e\\134f\\g\\01");
	line = jp_elf_store_line(store, 0);
	check(line && !strcmp(line->path, "/d\ne\\f\\g\\01"), "newlines and backslashes in a path");
	jp_elf_store_free(store);
}

static void bad_lines(void)
{
	static const char *const bad[] = {
		"",
		ID,
		ID " ",
		ID " 8:1",
		ID " 8:1 12",
		ID " 8:1 12 ",
		"0 8:1 12 /a",
		"012 8:1 12 /a",
		ID "00 8:1 12 /a",
		"01g3 8:1 12 /a",
		ID " :1 12 /a",
		ID " 8 12 /a",
		ID " 8-1 12 /a",
		ID " 8: 12 /a",
		ID " 8:1x 12 /a",
		ID " 100000000:1 12 /a",
		ID " 8:100000000 12 /a",
		ID " 8:1 x /a",
		ID " 8:1 12x /a",
		ID " 8:1 12sx /a",
		ID " 8:1 12.x /a",
		ID " 8:1 12 #",
		ID " 8:1 12 #1",
		ID " 8:1 12 #1 ",
		ID " 8:1 12 # /a",
		ID " 8:1 12 #x /a",
		ID " 8:1 12 #10000000000000000 /a",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		char index[512];
		struct jp_elf_store *store;

		snprintf(index, sizeof(index), "%s\n" ID " 8:1 12 /good\n", bad[i]);
		store = store_of(index);
		check(jp_elf_store_line(store, 0) &&
			      !strcmp(jp_elf_store_line(store, 0)->path, "/good") &&
			      !jp_elf_store_line(store, 1),
		      "line %zu is passed over", i);
		jp_elf_store_free(store);
	}
}

/* None of an index hides the lines behind it. */
static void zeros(void)
{
	static const char line[] = ID " 8:1 12 /good\n";
	char index[1 + sizeof(line)] = "", *middle = index + 1 + strlen(ID);
	struct jp_elf_store *store;

	memcpy(index + 1, line, sizeof(line));
	store = store_of_bytes(index, sizeof(index));
	check(jp_elf_store_line(store, 0) && !strcmp(jp_elf_store_line(store, 0)->path, "/good") &&
		      !jp_elf_store_line(store, 1),
	      "a line between two zeros");
	jp_elf_store_free(store);
	*middle = '\0';
	store = store_of_bytes(index, sizeof(index));
	check(!jp_elf_store_line(store, 0), "a line that one is in the middle of");
	jp_elf_store_free(store);
}

/* Each mapping, and what is said of its file: one line leads to a file that is not there. */
static void find(void)
{
	static const char index[] = ID " 8:1 12 /a\n" ID " 8:1 13 /b (deleted)\n" ID
				       " 8:1 14.5 /c\n" ID " 8:1 15.5s /d\n" ID " 8:1 0 /e\n";
	static const struct {
		const char *what;
		struct jp_mapping mapping;
		bool tied;
	} table[] = {
		{"path and inode", {.name = "/a", .ino = 12}, true},
		{"another inode", {.name = "/a", .ino = 11}, false},
		{"a record without one", {.name = "/a"}, true},
		{"another path", {.name = "/ab", .ino = 12}, false},
		{"the beginning of one", {.name = "/", .ino = 12}, false},
		{"deleted since", {.name = "/a (deleted)", .ino = 12}, true},
		{"deleted since, of no inode", {.name = "/a (deleted)"}, false},
		{"deleted before", {.name = "/b", .ino = 13}, true},
		{"another name behind it", {.name = "/a (removed)", .ino = 12}, false},
		{"a generation", {.name = "/c", .ino = 14, .gen = 5}, true},
		{"another one", {.name = "/c", .ino = 14, .gen = 6}, false},
		{"none, of no snapshot", {.name = "/c", .ino = 14}, false},
		{"none, of a snapshot", {.name = "/d", .ino = 15}, true},
		{"a line without an inode", {.name = "/e", .ino = 9}, false},
	};
	struct jp_elf_store *store = store_of(index);
	struct jp_elf_entry *entry = NULL;
	size_t count = 0;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		entry = jp_elf_store_get(store, &table[i].mapping);
		check(entry && !entry->cfi && table[i].tied == !strstr(entry->why, "not in"),
		      "%s: %s", table[i].what, entry ? entry->why : "");
		check(jp_elf_store_get(store, &table[i].mapping) == entry, "the same again");
	}
	for (entry = NULL; (entry = jp_elf_store_next(store, entry));)
		count++;
	check(count == sizeof(table) / sizeof(*table), "%zu files were looked up", count);
	jp_elf_store_free(store);
}

static void saved(void)
{
	static const unsigned char id[20] = {1, 2, 3};
	struct jp_mapping mapping = {.name = "/a", .build_id = id, .build_id_size = 20};
	struct jp_elf_store *store = store_of(ID " 8:1 12 /a\n");
	const struct jp_elf_entry *entry = jp_elf_store_get(store, &mapping);
	struct jp_error err = {""};
	char *bytes;
	size_t size;

	check(entry && strstr(entry->why, "/elf/010203"), "by its build id: %s", entry->why);
	mapping.build_id_size = 21;
	entry = jp_elf_store_get(store, &mapping);
	check(entry && !entry->id->size, "one that is too long is none");
	bytes = jp_file_read("harness/selftest/fuzz/corpus/program.elf", 1 << 20, &size, NULL);
	check(bytes && scratch_write(scratch_path("elf/" ID), bytes, size), "a file");
	free(bytes);
	check(jp_elf_store_check(store, jp_elf_store_line(store, 0), &err) &&
		      strstr(err.text, "the file's build id is"),
	      "of another build id: %s", err.text);
	jp_elf_store_free(store);
	store = jp_elf_store_new(scratch_path("none"), NULL);
	entry = jp_elf_store_get(store, &(struct jp_mapping){.name = "/a"});
	check(entry && strstr(entry->why, "/index"), "no index: %s", entry->why);
	jp_elf_store_free(store);
	store = jp_elf_store_new(NULL, NULL);
	entry = jp_elf_store_get(store, &(struct jp_mapping){.name = "/a"});
	check(entry && strstr(entry->why, "neither a run directory nor the system"),
	      "no folder: %s", entry->why);
	jp_elf_store_free(store);
	jp_elf_store_free(NULL);
}

/* A file that was kept, and the same with another last byte, which no frame needs. */
static void altered(void)
{
	const int fd = open("harness/selftest/fuzz/corpus/program.elf", O_RDONLY | O_CLOEXEC);
	char folder[PATH_MAX], text[41], index[128], path[PATH_MAX + 64];
	struct jp_build_id id = {0};
	struct jp_elf_store *store;
	struct jp_error err = {""};
	uint64_t digest = 0;
	char *bytes;
	size_t size;

	strcpy(folder, scratch_path("elf"));
	check(!jp_elf_save(fd, NULL, 0, folder, &id, &err), "%s", err.text);
	check(jp_elf_save(fd, NULL, 0, scratch_path("none"), &id, &err) == -ENOENT &&
		      strstr(err.text, "/none/"),
	      "into a folder that is not there: %s", err.text);
	close(fd);
	jp_build_id_text(&id, text);
	check(!jp_elf_digest(folder, text, &digest, &err), "%s", err.text);
	snprintf(index, sizeof(index), "%s 8:1 12 #%llx /a\n%s 8:1 12 /a\n", text,
		 (unsigned long long)digest, text);
	store = store_of(index);
	check(!jp_elf_store_check(store, jp_elf_store_line(store, 0), &err), "%s", err.text);
	snprintf(path, sizeof(path), "%s/%s", folder, text);
	bytes = jp_file_read(path, 1 << 20, &size, NULL);
	bytes[size - 1] ^= 1;
	check(scratch_write(path, bytes, size), "altered");
	free(bytes);
	check(jp_elf_store_check(store, jp_elf_store_line(store, 0), &err) &&
		      strstr(err.text, "altered since"),
	      "one byte: %s", err.text);
	check(!jp_elf_store_check(store, jp_elf_store_line(store, 1), &err),
	      "of an older capture nobody knows: %s", err.text);
	jp_elf_store_free(store);
}

int main(void)
{
	scratch_make("");
	if (mkdir(scratch_path("elf"), 0700))
		return 99;
	good_lines();
	bad_lines();
	zeros();
	find();
	saved();
	altered();
	return check_done();
}
