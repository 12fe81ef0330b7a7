// SPDX-License-Identifier: GPL-2.0-only
/* Finding the kept ELF file of a mapping by the lines of elf/index. */
#include "harness/model/unwind/elf_store.h"

#include <limits.h>

#include "harness/format/elf/elf_file.h"
#include "harness/selftest/support/scratch.h"

#define ID "0123456789abcdef0123456789abcdef01234567"

static struct jp_elf_store *open_store_of_bytes(const char *index, size_t size)
{
	if (!scratch_write(scratch_path("elf/index"), index, size))
		exit(99);
	return jp_elf_store_new(scratch_folder(), NULL);
}

static struct jp_elf_store *open_store(const char *index)
{
	return open_store_of_bytes(index, strlen(index));
}

TEST(folder)
{
	if (mkdir(scratch_path("elf"), 0700))
		exit(99);
}

TEST(good_lines)
{
	static const char index[] =
		ID " fd:1f 12 /usr/lib/a\n" ID " 0:0 0 [vdso]\n" ID " 8:1 12.7 /b c\n" ID
		   " 8:1 12.x /d\\012e\\134f\\g\n" ID
		   " 8:1 12s /s\nabcd 0:0 18446744073709551615 x\n" ID " 8:1 12 #0a /#b";
	struct jp_elf_store *store = open_store(index);
	const struct jp_elf_line *line = jp_elf_store_line(store, 0);

	check(line && !strcmp(line->build_id, ID) && line->maj == 0xfd && line->min == 0x1f &&
		      line->ino == 12 && !line->has_generation && !line->snapshot &&
		      !strcmp(line->path, "/usr/lib/a"),
	      "all fields of a line are read");
	line = jp_elf_store_line(store, 2);
	check(line && line->has_generation && line->gen == 7 && !strcmp(line->path, "/b c"),
	      "a generation and a path with a blank are read");
	line = jp_elf_store_line(store, 3);
	check(line && !strcmp(line->path, "/s") && line->snapshot, "a line of a snapshot is read");
	line = jp_elf_store_line(store, 4);
	check(line && line->ino == UINT64_MAX && !strcmp(line->build_id, "abcd"),
	      "the largest inode number is read");
	check(line && !line->digested, "a line may lack a digest");
	line = jp_elf_store_line(store, 5);
	check(line && line->digested && line->digest == 10 && !strcmp(line->path, "/#b"),
	      "a digest is read, on a line without newline");
	check(!jp_elf_store_line(store, 6), "a line with a bad generation is skipped");
	jp_elf_store_free(store);
	store = open_store(ID " 8:1 12 /d\\012e\\134f\\g\\01");
	line = jp_elf_store_line(store, 0);
	check(line && !strcmp(line->path, "/d\ne\\f\\g\\01"), "newlines and backslashes are read");
	jp_elf_store_free(store);
}

TEST(bad_lines)
{
	static const char *const bad_texts[] = {
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

	for (size_t i = 0; i < sizeof(bad_texts) / sizeof(*bad_texts); i++) {
		char index[512];
		struct jp_elf_store *store;

		snprintf(index, sizeof(index), "%s\n" ID " 8:1 12 /good\n", bad_texts[i]);
		store = open_store(index);
		check(jp_elf_store_line(store, 0) &&
			      !strcmp(jp_elf_store_line(store, 0)->path, "/good") &&
			      !jp_elf_store_line(store, 1),
		      "bad line %zu is skipped", i);
		jp_elf_store_free(store);
	}
}

TEST(index_with_nul_bytes)
{
	static const char line[] = ID " 8:1 12 /good\n";
	char index[1 + sizeof(line)] = "", *middle = index + 1 + strlen(ID);
	struct jp_elf_store *store;

	memcpy(index + 1, line, sizeof(line));
	store = open_store_of_bytes(index, sizeof(index));
	check(jp_elf_store_line(store, 0) && !strcmp(jp_elf_store_line(store, 0)->path, "/good") &&
		      !jp_elf_store_line(store, 1),
	      "a line between two NUL bytes is read");
	jp_elf_store_free(store);
	*middle = '\0';
	store = open_store_of_bytes(index, sizeof(index));
	check(!jp_elf_store_line(store, 0), "a line with a NUL byte in it is skipped");
	jp_elf_store_free(store);
}

/* Tests which line each mapping is tied to, if any; the files of the lines do not exist. */
TEST(line_of_each_mapping)
{
	static const char index[] = ID " 8:1 12 /a\n" ID " 8:1 13 /b (deleted)\n" ID
				       " 8:1 14.5 /c\n" ID " 8:1 15.5s /d\n" ID " 8:1 0 /e\n";
	static const struct {
		const char *label;
		struct jp_mapping mapping;
		bool tied;
	} table[] = {
		{"path and inode", {.name = "/a", .ino = 12}, true},
		{"another inode", {.name = "/a", .ino = 11}, false},
		{"a record without inode", {.name = "/a"}, true},
		{"another path", {.name = "/ab", .ino = 12}, false},
		{"the beginning of a path", {.name = "/", .ino = 12}, false},
		{"deleted since", {.name = "/a (deleted)", .ino = 12}, true},
		{"deleted since, of no inode", {.name = "/a (deleted)"}, false},
		{"deleted before", {.name = "/b", .ino = 13}, true},
		{"a name with another suffix", {.name = "/a (removed)", .ino = 12}, false},
		{"a generation", {.name = "/c", .ino = 14, .gen = 5}, true},
		{"another generation", {.name = "/c", .ino = 14, .gen = 6}, false},
		{"no generation, line not of a snapshot", {.name = "/c", .ino = 14}, false},
		{"no generation, line of a snapshot", {.name = "/d", .ino = 15}, true},
		{"a line without an inode", {.name = "/e", .ino = 9}, false},
	};
	struct jp_elf_store *store = open_store(index);
	struct jp_elf_entry *entry = NULL;
	size_t count = 0;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		entry = jp_elf_store_get(store, &table[i].mapping);
		check(entry && !entry->cfi && table[i].tied == !strstr(entry->reason, "not in"),
		      "%s: %s", table[i].label, entry ? entry->reason : "");
		check(jp_elf_store_get(store, &table[i].mapping) == entry,
		      "a second query gives the same entry");
	}
	for (entry = NULL; (entry = jp_elf_store_next(store, entry));)
		count++;
	check(count == sizeof(table) / sizeof(*table), "all %zu queried files are listed", count);
	jp_elf_store_free(store);
}

static bool is_old_file(void *context, const struct jp_mapping *mapping, const char *build_id)
{
	return mapping->pid == *(const uint32_t *)context && strcmp(build_id, ID) == 0;
}

TEST(filter)
{
	uint32_t old_pid = 7;
	const struct jp_mapping old = {.name = "/d", .ino = 15, .pid = 7},
				generation = {.name = "/d", .ino = 15, .gen = 5, .pid = 8},
				new = {.name = "/d", .ino = 15, .pid = 8};
	static const struct {
		const char *label;
		bool is_tied;
	} labels[] = {{"a mapping of the file", true},
		      {"a generation", true},
		      {"a mapping of another file", false}};
	const struct jp_mapping *mappings[] = {&old, &generation, &new};

	for (size_t i = 0; i < 3; i++) {
		struct jp_elf_store *store = open_store(ID " 8:1 15.5s /d\n");
		const struct jp_elf_entry *entry;

		jp_elf_store_filter(store, is_old_file, &old_pid);
		entry = jp_elf_store_get(store, mappings[i]);
		check(entry && labels[i].is_tied == !strstr(entry->reason, "not in"), "%s: %s",
		      labels[i].label, entry ? entry->reason : "");
		jp_elf_store_free(store);
	}
}

TEST(build_ids)
{
	static const unsigned char id[20] = {1, 2, 3};
	struct jp_mapping mapping = {.name = "/a", .build_id = id, .build_id_size = 20};
	struct jp_elf_store *store = open_store(ID " 8:1 12 /a\n");
	const struct jp_elf_entry *entry = jp_elf_store_get(store, &mapping);
	struct jp_error err = {""};
	char *bytes;
	size_t size;

	check(entry && strstr(entry->reason, "/elf/010203"),
	      "a mapping's build id gives the file: %s", entry->reason);
	mapping.build_id_size = 21;
	entry = jp_elf_store_get(store, &mapping);
	check(entry && !entry->id->size, "a build id of 21 bytes is ignored");
	bytes = jp_file_read("harness/selftest/fuzz/corpus/program.elf", 1 << 20, &size, NULL);
	check(bytes && scratch_write(scratch_path("elf/" ID), bytes, size),
	      "a file of another build id is stored");
	free(bytes);
	check(jp_elf_store_check(store, jp_elf_store_line(store, 0), &err) &&
		      strstr(err.text, "the name is not the file's build id"),
	      "a file with another build id is refused: %s", err.text);
	jp_elf_store_free(store);
	store = jp_elf_store_new(scratch_path("none"), NULL);
	entry = jp_elf_store_get(store, &(struct jp_mapping){.name = "/a"});
	check(entry && strstr(entry->reason, "/index"), "a missing index is an error: %s",
	      entry->reason);
	jp_elf_store_free(store);
	store = jp_elf_store_new(NULL, NULL);
	entry = jp_elf_store_get(store, &(struct jp_mapping){.name = "/a"});
	check(entry && strstr(entry->reason, "no folder to search was given"),
	      "a store without a folder has no files: %s", entry->reason);
	jp_elf_store_free(store);
	jp_elf_store_free(NULL);
}

/* Tests that a kept file whose last byte changes, which no frame needs, fails the check of its
 * digest. */
TEST(altered_file)
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
	check(!jp_elf_save(fd, NULL, 0, folder, &id, &err), "a file is kept %s", err.text);
	check(jp_elf_save(fd, NULL, 0, scratch_path("none"), &id, &err) == -ENOENT &&
		      strstr(err.text, "/none/"),
	      "a missing folder is an error: %s", err.text);
	close(fd);
	jp_build_id_text(&id, text);
	check(!jp_elf_digest(folder, text, &digest, &err), "it has a digest %s", err.text);
	snprintf(index, sizeof(index), "%s 8:1 12 #%llx /a\n%s 8:1 12 /a\n", text,
		 (unsigned long long)digest, text);
	store = open_store(index);
	check(!jp_elf_store_check(store, jp_elf_store_line(store, 0), &err), "it is intact %s",
	      err.text);
	snprintf(path, sizeof(path), "%s/%s", folder, text);
	bytes = jp_file_read(path, 1 << 20, &size, NULL);
	bytes[size - 1] ^= 1;
	check(scratch_write(path, bytes, size), "the kept file is altered");
	free(bytes);
	check(jp_elf_store_check(store, jp_elf_store_line(store, 0), &err) &&
		      strstr(err.text, "altered since"),
	      "one altered byte is detected: %s", err.text);
	check(!jp_elf_store_check(store, jp_elf_store_line(store, 1), &err),
	      "without a digest it is not detected: %s", err.text);
	jp_elf_store_free(store);
}
