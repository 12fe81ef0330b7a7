// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/files/elf_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/file.h"
#include "harness/base/path.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"
#include "harness/base/shortage.h"
#include "harness/base/untrusted_file.h"
#include "harness/format/elf/elf_file.h"

/* Bounds on the number of files and the depth of a hostile folder. */
enum { MOST_FILES = 1 << 20, MOST_DEPTH = 40 };

struct held_file {
	struct jp_build_id id;
	char *path;  /* path of the file, relative to the folder */
	size_t name; /* offset of the file's name in @path */
};

struct jp_elf_folder {
	int fd;
	char *path;
	bool listed, is_incomplete; /* @listed: the folder was listed; @is_incomplete: some files
			     were left out because of the bounds */
	struct held_file *by_id;    /* the files, sorted by build id */
	size_t count, capacity;
	struct held_file **by_name; /* pointers to the files, sorted by name */
};

struct jp_elf_folder *jp_elf_folder_open(const char *path, struct jp_error *err)
{
	struct jp_elf_folder *folder = calloc(1, sizeof(*folder));

	if (!folder || !(folder->path = strdup(path))) {
		free(folder);
		jp_fail(err, ENOMEM, "out of memory");
		return NULL;
	}
	folder->fd = jp_untrusted_open_folder(AT_FDCWD, path);
	if (folder->fd >= 0)
		return folder;
	jp_fail(err, -folder->fd, "%s: expected a folder of ELF files: %s", path,
		strerror(-folder->fd));
	jp_elf_folder_free(folder);
	return NULL;
}

static void forget_files(struct jp_elf_folder *folder)
{
	for (size_t i = 0; i < folder->count; i++)
		free(folder->by_id[i].path);
	folder->count = 0;
}

void jp_elf_folder_free(struct jp_elf_folder *folder)
{
	if (!folder)
		return;
	forget_files(folder);
	free(folder->by_id);
	free(folder->by_name);
	if (folder->fd >= 0)
		close(folder->fd);
	free(folder->path);
	free(folder);
}

/* Adds the file @name of directory @dir if it is an ELF file. @path: its path relative to the
 * folder. */
static int add_file(struct jp_elf_folder *folder, int dir, const char *name, const char *path)
{
	struct held_file *file, made = {.name = strlen(path) - strlen(name)};
	char magic[4] = "";
	uint64_t size;
	jp_cleanup_close int fd = jp_untrusted_open_in(dir, name, -1, &size, NULL);

	if (fd < 0 || jp_file_read_at(fd, path, magic, sizeof(magic), 0, NULL) ||
	    memcmp(magic, "\177ELF", sizeof(magic)) != 0)
		return 0;
	/* A file without a build id is found by its name. */
	if (jp_elf_build_id(fd, NULL, size, &made.id, NULL))
		made.id.size = 0;
	made.path = strdup(path);
	file = made.path ? jp_array_push(&folder->by_id, &folder->count, &folder->capacity) : NULL;
	if (!file) {
		free(made.path);
		return -ENOMEM;
	}
	*file = made;
	return 0;
}

static int list_files(struct jp_elf_folder *folder, int fd, const char *prefix, int depth);

static int list_entry(struct jp_elf_folder *folder, int dir, const char *prefix,
		      const struct dirent *entry, int depth)
{
	const char *name = entry->d_name;
	jp_cleanup_close int sub = -1;
	char path[4096];

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    jp_path_build(path, sizeof(path), NULL, "%s%s%s", prefix, *prefix ? "/" : "", name))
		return 0;
	if (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) {
		sub = jp_untrusted_open_folder(dir, name);
		if (sub < 0)
			jp_shortage_note(-sub);
		else
			return list_files(folder, jp_steal_fd(&sub), path, depth + 1);
	}
	if (entry->d_type != DT_REG && entry->d_type != DT_UNKNOWN)
		return 0;
	return add_file(folder, dir, name, path);
}

/* Adds all files below directory @fd, which it closes. Skips directories that may not be read. */
static int list_files(struct jp_elf_folder *folder, int fd, const char *prefix, int depth)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *entry;
	int ret = 0;

	if (!dir) {
		jp_shortage_note(errno);
		close(fd);
		return 0;
	}
	while (!ret && !folder->is_incomplete && (entry = readdir(dir))) {
		folder->is_incomplete = folder->count >= MOST_FILES || depth > MOST_DEPTH;
		if (!folder->is_incomplete)
			ret = list_entry(folder, dirfd(dir), prefix, entry, depth);
	}
	closedir(dir);
	return ret;
}

static int compare_ids(const struct jp_build_id *a, const struct jp_build_id *b)
{
	return jp_compare(a->size, b->size) ?: memcmp(a->bytes, b->bytes, a->size);
}

JP_ORDER(compare_by_id, struct held_file, compare_ids(&a->id, &b->id) ?: strcmp(a->path, b->path));

JP_ORDER(compare_by_name, const struct held_file *,
	 strcmp((*a)->path + (*a)->name, (*b)->path + (*b)->name)
		 ?: strcmp((*a)->path, (*b)->path));

/* Lists the folder once, and only if needed: it may be large, and a file at its recorded path is
 * found without the list. */
static int list_folder_once(struct jp_elf_folder *folder)
{
	int ret;

	if (folder->listed)
		return 0;
	ret = list_files(folder, jp_untrusted_open_folder(folder->fd, "."), "", 0);
	folder->by_name = ret ? NULL : calloc(folder->count + 1, sizeof(*folder->by_name));
	if (!folder->by_name) {
		forget_files(folder);
		return -ENOMEM;
	}
	folder->listed = true;
	if (!folder->count)
		return 0;
	jp_sort(folder->by_id, folder->count, compare_by_id);
	for (size_t i = 0; i < folder->count; i++)
		folder->by_name[i] = &folder->by_id[i];
	jp_sort(folder->by_name, folder->count, compare_by_name);
	return 0;
}

static const char *find_id(const struct jp_elf_folder *folder, const struct jp_build_id *id,
			   size_t nth)
{
	size_t i;

	jp_search(i, folder->count, compare_ids(&folder->by_id[i].id, id) < 0);
	i += nth;
	return i < folder->count && compare_ids(&folder->by_id[i].id, id) == 0
		       ? folder->by_id[i].path
		       : NULL;
}

/* Returns the path of the only file called @name, or NULL. Copies with the same build id count as
 * one file. */
static const char *find_name(const struct jp_elf_folder *folder, const char *name,
			     struct jp_error *err)
{
	const struct held_file *file;
	size_t i, end;

	jp_search(i, folder->count,
		  strcmp(folder->by_name[i]->path + folder->by_name[i]->name, name) < 0);
	file = i < folder->count ? folder->by_name[i] : NULL;
	if (!file || strcmp(file->path + file->name, name) != 0)
		return NULL;
	for (end = i + 1; end < folder->count; end++) {
		const struct held_file *other_file = folder->by_name[end];

		if (strcmp(other_file->path + other_file->name, name) != 0)
			break;
		if (!file->id.size || compare_ids(&file->id, &other_file->id) != 0) {
			jp_fail(err, EEXIST,
				"%s: more than one file is called %s, and the capture has no build "
				"id to choose by",
				folder->path, name);
			return NULL;
		}
	}
	return file->path;
}

static int open_path_below(const struct jp_elf_folder *folder, const char *path, char *file_path,
			   uint64_t *size, struct jp_error *err)
{
	while (*path == '/')
		path++;
	return jp_path_build(file_path, 4096, err, "%s/%s", folder->path, path)
		       ?: jp_untrusted_open_in(folder->fd, path, -1, size, err);
}

int jp_elf_folder_find(struct jp_elf_folder *folder, const char *path, const struct jp_build_id *id,
		       size_t nth, char *file_path, uint64_t *size, struct jp_error *err)
{
	const char *slash = strrchr(path, '/'), *copy_name = NULL;
	struct jp_error reason = {""};

	/* Try the recorded path before listing the whole folder. */
	if (!nth)
		return *path == '/' ? open_path_below(folder, path, file_path, size, err) : -ENOENT;
	if (list_folder_once(folder))
		return jp_fail(err, ENOMEM, "out of memory");
	if (id->size)
		copy_name = find_id(folder, id, nth - 1);
	else if (nth == 1 && slash)
		copy_name = find_name(folder, slash + 1, &reason);
	if (copy_name)
		return open_path_below(folder, copy_name, file_path, size, err);
	return jp_fail(err, *reason.text ? EEXIST : ENOENT, "%s%s%s",
		       *reason.text ? reason.text : folder->path,
		       *reason.text ? "" : ": contains no such file",
		       folder->is_incomplete ? "; the search stopped early" : "");
}
