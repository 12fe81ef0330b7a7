// SPDX-License-Identifier: GPL-2.0-only
/* Tests finding a folder's file for a path and a build id, and the error if there is none. */
#include "harness/model/files/elf_folder.h"
#include "harness/selftest/support/made_elf.h"
#include "harness/selftest/support/scratch.h"

static struct elf_made made;

/* Stores an ELF file @name with a build id of 20 bytes @id, or without a build id if @id is 0. */
static void put_elf(const char *name, unsigned char id)
{
	unsigned char note[16 + 20] = {4, 0, 0, 0,   20,  0,  0, 0, NT_GNU_BUILD_ID,
				       0, 0, 0, 'G', 'N', 'U'};

	elf_made_add_code(&made, EM_X86_64, NULL, 0);
	if (id) {
		memset(note + 16, id, 20);
		elf_made_add_section(&made, ".note.gnu.build-id", SHT_NOTE, note, sizeof(note));
	}
	elf_made_end(&made);
	if (!scratch_write(scratch_path(name), made.bytes, made.size))
		exit(99);
}

/* Checks the @nth file found for @path and build id @id: a path below the folder, or an error. */
static void check_find(struct jp_elf_folder *folder, const char *path, unsigned char id, size_t nth,
		       const char *expected)
{
	struct jp_build_id wanted_id = {.size = id ? 20 : 0};
	char file_path[4096] = "";
	struct jp_error err = {""};
	uint64_t size = 0;
	jp_cleanup_close int fd = -1;

	memset(wanted_id.bytes, id, wanted_id.size);
	fd = jp_elf_folder_find(folder, path, &wanted_id, nth, file_path, &size, &err);
	if (expected && *expected == '/')
		check(fd >= 0 && size && strlen(file_path) > strlen(scratch_folder()) &&
			      !strcmp(file_path + strlen(scratch_folder()), expected),
		      "%s of id %d, %zu: %s%s", path, id, nth, file_path, err.text);
	else
		check(fd < 0 && (!expected || strstr(err.text, expected)), "%s of id %d, %zu: %s",
		      path, id, nth, err.text);
}

static void test_paths_and_ids(struct jp_elf_folder *folder)
{
	check_find(folder, "/usr/lib/a.so", 0, 0, "/usr/lib/a.so");
	check_find(folder, "//usr/lib/a.so", 0, 0, "/usr/lib/a.so");
	check_find(folder, "/lib/a.so", 0, 0, "No such file");
	check_find(folder, "a.so", 0, 0, NULL);
	check_find(folder, "/lib/a.so", 1, 1, "/heap/one");
	check_find(folder, "/lib/a.so", 1, 2, "/usr/lib/a.so");
	check_find(folder, "/lib/a.so", 1, 3, ": contains no such file");
	check_find(folder, "/lib/a.so", 9, 1, ": contains no such file");
}

static void test_names(struct jp_elf_folder *folder)
{
	check_find(folder, "/lib/a.so", 0, 1, "/usr/lib/a.so");
	check_find(folder, "/lib/a.so", 0, 2, ": contains no such file");
	check_find(folder, "a.so", 0, 1, ": contains no such file");
	check_find(folder, "/lib/none.so", 0, 1, ": contains no such file");
	check_find(folder, "/lib/zzz.so", 0, 1, ": contains no such file");
	/* Files of one name are ambiguous unless their build ids are equal. */
	check_find(folder, "/lib/copy.so", 0, 1, "/heap/copy.so");
	check_find(folder, "/lib/other.so", 0, 1, "more than one file is called other.so");
	check_find(folder, "/lib/plain.so", 0, 1, "more than one file is called plain.so");
	check_find(folder, "/lib/text.so", 0, 1, ": contains no such file");
	check_find(folder, "/lib/link.so", 0, 1, ": contains no such file");
	check_find(folder, "/lib/fifo.so", 0, 1, ": contains no such file");
}

/* Makes nested folders beyond the depth at which the search ends. */
static void test_search_depth(void)
{
	struct jp_elf_folder *folder;
	char path[128] = "deep";

	mkdir(scratch_path(path), 0700);
	for (int i = 0; i < 42; i++) {
		strcat(path, "/d");
		mkdir(scratch_path(path), 0700);
		if (i == 38) {
			strcat(path, "/held.so");
			put_elf(path, 0);
			*strrchr(path, '/') = '\0';
		}
	}
	strcat(path, "/e.so");
	put_elf(path, 0);
	folder = jp_elf_folder_open(scratch_path("deep"), NULL);
	check_find(folder, "/lib/e.so", 0, 1, ": contains no such file; the search stopped early");
	jp_elf_folder_free(folder);
}

static void test_refusals(void)
{
	struct jp_elf_folder *folder;
	struct jp_error err = {""};

	check(!jp_elf_folder_open(scratch_path("none"), &err) &&
		      strstr(err.text, "/none: expected a folder of ELF files: No such file"),
	      "a missing folder is an error: %s", err.text);
	mkdir(scratch_path("empty"), 0700);
	folder = jp_elf_folder_open(scratch_path("empty"), NULL);
	check_find(folder, "/lib/a.so", 0, 1, ": contains no such file");
	check_find(folder, "/lib/a.so", 1, 1, ": contains no such file");
	jp_elf_folder_free(folder);
	jp_elf_folder_free(NULL);
}

TEST(elf_folder)
{
	static const char *const folders[] = {"usr", "usr/lib", "heap"};
	struct jp_elf_folder *folder;

	for (size_t i = 0; i < 3; i++)
		mkdir(scratch_path(folders[i]), 0700);
	put_elf("usr/lib/a.so", 1);
	put_elf("heap/one", 1);
	put_elf("usr/lib/copy.so", 2);
	put_elf("heap/copy.so", 2);
	put_elf("usr/lib/other.so", 3);
	put_elf("heap/other.so", 4);
	put_elf("usr/lib/plain.so", 0);
	put_elf("heap/plain.so", 0);
	scratch_write(scratch_path("heap/text.so"), "no ELF", 6);
	scratch_write(scratch_path("heap/empty.so"), "", 0);
	if (symlink("one", scratch_path("heap/link.so")) ||
	    mkfifo(scratch_path("heap/fifo.so"), 0600))
		exit(99);
	folder = jp_elf_folder_open(scratch_folder(), NULL);
	if (check(folder, "a folder is opened")) {
		test_paths_and_ids(folder);
		test_names(folder);
	}
	jp_elf_folder_free(folder);
	test_search_depth();
	test_refusals();
}
