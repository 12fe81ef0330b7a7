// SPDX-License-Identifier: GPL-2.0-only
/* Which file of a folder is taken for a path and a build id, and what is said where none is. */
#include "harness/format/elf/elf_file.h"
#include "harness/model/files/elf_folder.h"
#include "harness/selftest/support/made_elf.h"
#include "harness/selftest/support/scratch.h"

static struct elf_made made;

/* An ELF file at @name, with a build id of 20 bytes that are all @id; 0: none. */
static void put(const char *name, unsigned char id)
{
	unsigned char note[16 + 20] = {4, 0, 0, 0,   20,  0,  0, 0, NT_GNU_BUILD_ID,
				       0, 0, 0, 'G', 'N', 'U'};

	elf_made_code(&made, EM_X86_64, NULL, 0);
	if (id) {
		memset(note + 16, id, 20);
		elf_made_section(&made, ".note.gnu.build-id", SHT_NOTE, note, sizeof(note));
	}
	elf_made_end(&made);
	if (!scratch_write(scratch_path(name), made.bytes, made.size))
		exit(99);
}

/* Below the scratch folder: what is found there for @path, of the build id of @id bytes. */
static void finds(struct jp_elf_folder *folder, const char *path, unsigned char id, size_t nth,
		  const char *expected)
{
	struct jp_build_id wanted = {.size = id ? 20 : 0};
	char found[4096] = "";
	struct jp_error err = {""};
	uint64_t size = 0;
	jp_cleanup_close int fd = -1;

	memset(wanted.bytes, id, wanted.size);
	fd = jp_elf_folder_find(folder, path, &wanted, nth, found, &size, &err);
	if (expected && *expected == '/')
		check(fd >= 0 && size && strlen(found) > strlen(scratch) &&
			      !strcmp(found + strlen(scratch), expected),
		      "%s of id %d, %zu: %s%s", path, id, nth, found, err.text);
	else
		check(fd < 0 && (!expected || strstr(err.text, expected)), "%s of id %d, %zu: %s",
		      path, id, nth, err.text);
}

static void by_path_and_id(struct jp_elf_folder *folder)
{
	finds(folder, "/usr/lib/a.so", 0, 0, "/usr/lib/a.so");
	finds(folder, "//usr/lib/a.so", 0, 0, "/usr/lib/a.so");
	finds(folder, "/lib/a.so", 0, 0, "No such file");
	finds(folder, "a.so", 0, 0, NULL);
	finds(folder, "/lib/a.so", 1, 1, "/heap/one");
	finds(folder, "/lib/a.so", 1, 2, "/usr/lib/a.so");
	finds(folder, "/lib/a.so", 1, 3, ": no such file is in it");
	finds(folder, "/lib/a.so", 9, 1, ": no such file is in it");
}

static void by_name(struct jp_elf_folder *folder)
{
	finds(folder, "/lib/a.so", 0, 1, "/usr/lib/a.so");
	finds(folder, "/lib/a.so", 0, 2, ": no such file is in it");
	finds(folder, "a.so", 0, 1, ": no such file is in it");
	finds(folder, "/lib/none.so", 0, 1, ": no such file is in it");
	finds(folder, "/lib/zzz.so", 0, 1, ": no such file is in it");
	/* Copies are one, but only their build ids tell. */
	finds(folder, "/lib/copy.so", 0, 1, "/heap/copy.so");
	finds(folder, "/lib/other.so", 0, 1, "more than one file is called other.so");
	finds(folder, "/lib/plain.so", 0, 1, "more than one file is called plain.so");
	finds(folder, "/lib/text.so", 0, 1, ": no such file is in it");
	finds(folder, "/lib/link.so", 0, 1, ": no such file is in it");
	finds(folder, "/lib/fifo.so", 0, 1, ": no such file is in it");
}

/* Folders in folders, up to the depth at which the search ends. */
static void deep(void)
{
	struct jp_elf_folder *folder;
	char path[128] = "deep";

	mkdir(scratch_path(path), 0700);
	for (int i = 0; i < 42; i++) {
		strcat(path, "/d");
		mkdir(scratch_path(path), 0700);
		if (i == 38) {
			strcat(path, "/held.so");
			put(path, 0);
			*strrchr(path, '/') = '\0';
		}
	}
	strcat(path, "/e.so");
	put(path, 0);
	folder = jp_elf_folder_open(scratch_path("deep"), NULL);
	finds(folder, "/lib/e.so", 0, 1,
	      ": no such file is in it, as far as it was looked through");
	jp_elf_folder_free(folder);
}

static void refused(void)
{
	struct jp_elf_folder *folder;
	struct jp_error err = {""};

	check(!jp_elf_folder_open(scratch_path("none"), &err) &&
		      strstr(err.text, "/none: expected a folder of ELF files: No such file"),
	      "no folder: %s", err.text);
	mkdir(scratch_path("empty"), 0700);
	folder = jp_elf_folder_open(scratch_path("empty"), NULL);
	finds(folder, "/lib/a.so", 0, 1, ": no such file is in it");
	finds(folder, "/lib/a.so", 1, 1, ": no such file is in it");
	jp_elf_folder_free(folder);
	jp_elf_folder_free(NULL);
}

int main(void)
{
	static const char *const folders[] = {"usr", "usr/lib", "heap"};
	struct jp_elf_folder *folder;

	scratch_make("");
	for (size_t i = 0; i < 3; i++)
		mkdir(scratch_path(folders[i]), 0700);
	put("usr/lib/a.so", 1);
	put("heap/one", 1);
	put("usr/lib/copy.so", 2);
	put("heap/copy.so", 2);
	put("usr/lib/other.so", 3);
	put("heap/other.so", 4);
	put("usr/lib/plain.so", 0);
	put("heap/plain.so", 0);
	scratch_write(scratch_path("heap/text.so"), "no ELF", 6);
	scratch_write(scratch_path("heap/empty.so"), "", 0);
	if (symlink("one", scratch_path("heap/link.so")) ||
	    mkfifo(scratch_path("heap/fifo.so"), 0600))
		return 99;
	folder = jp_elf_folder_open(scratch, NULL);
	if (check(folder, "a folder")) {
		by_path_and_id(folder);
		by_name(folder);
	}
	jp_elf_folder_free(folder);
	deep();
	refused();
	return check_done();
}
