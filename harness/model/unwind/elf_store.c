// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/unwind/elf_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/file.h"
#include "harness/base/number.h"
#include "harness/base/path.h"
#include "harness/base/text_pool.h"
#include "harness/base/untrusted_file.h"
#include "harness/format/elf/elf_file.h"
#include "harness/model/space/mapping_name.h"

enum { MAX_INDEX = 64 << 20 };

/* A file that was looked up. */
struct entry {
	struct jp_elf_entry public; /* Must be first: callers hold pointers to it. */
	struct entry *next;         /* another entry with the same path */
	uint64_t ino, gen;
	struct jp_build_id id;
	const char *path;
	struct jp_text *text; /* @path in the pool */
	struct jp_error error;
};

struct jp_elf_store {
	char *dir;
	struct jp_file_finder *finder; /* NULL: use only the run directory */
	char *index;                   /* text of the index, to which the lines point */
	struct jp_elf_line *lines;
	size_t nr_lines, capacity;
	struct jp_text_pool paths; /* path -> list of struct entry */
	jp_elf_may_be *may_be;     /* NULL: each file may be that of a mapping */
	void *context;             /* of @may_be */
};

static bool is_hex(const char *text)
{
	size_t size = strspn(text, "0123456789abcdef");

	return size >= 2 && size <= 40 && size % 2 == 0 && !text[size];
}

/* Decodes \012 to a newline and \134 to a backslash. */
static void decode_path(char *path)
{
	char *target = path;

	for (; *path; path++) {
		if (strncmp(path, "\\012", 4) == 0) {
			*target++ = '\n';
			path += 3;
		} else if (strncmp(path, "\\134", 4) == 0) {
			*target++ = '\\';
			path += 3;
		} else {
			*target++ = *path;
		}
	}
	*target = 0;
}

/* Parses "MAJ:MIN". */
static bool parse_device(const char *text, struct jp_elf_line *line)
{
	uint64_t maj, min;

	if (!jp_number_take(&text, 16, UINT32_MAX, &maj) || *text++ != ':' ||
	    !jp_number_take(&text, 16, UINT32_MAX, &min) || *text)
		return false;
	line->maj = (uint32_t)maj;
	line->min = (uint32_t)min;
	return true;
}

/* Parses "INO", "INO.GEN", or "INOs" for a mapping that was known from a snapshot. */
static bool parse_inode(const char *text, struct jp_elf_line *line)
{
	if (!jp_number_take(&text, 10, UINT64_MAX, &line->ino))
		return false;
	if (*text == '.') {
		text++;
		line->has_generation = jp_number_take(&text, 10, UINT64_MAX, &line->gen);
	}
	line->snapshot = *text == 's';
	return !text[line->snapshot];
}

/* Parses "#DIGEST ", which older captures do not have. */
static bool parse_digest(char **text, struct jp_elf_line *line)
{
	const char *pos = *text;

	if (*pos != '#')
		return true;
	pos++;
	line->digested = jp_number_take(&pos, 16, UINT64_MAX, &line->digest) && *pos++ == ' ';
	*text += pos - *text;
	return line->digested;
}

/* Reads the index. Skips malformed lines: their files are reported as missing when they are looked
 * up. */
static void parse_index(struct jp_elf_store *store)
{
	char *tail = store->index, *pos;

	while ((pos = strsep(&tail, "\n"))) {
		struct jp_elf_line line = {.build_id = strsep(&pos, " ")}, *added;
		const char *device = pos ? strsep(&pos, " ") : NULL;
		const char *inode = pos ? strsep(&pos, " ") : NULL;

		if (!device || !inode || !pos || !is_hex(line.build_id) ||
		    !parse_device(device, &line) || !parse_inode(inode, &line) ||
		    !parse_digest(&pos, &line) || !*pos)
			continue;
		line.path = pos;
		decode_path(line.path);
		added = jp_array_push(&store->lines, &store->nr_lines, &store->capacity);
		if (!added)
			return;
		*added = line;
	}
}

/* Reads the index of a run directory's elf/, or of @dir itself if it is an elf/ folder. Any other
 * folder is left to the finder. */
static int read_index(struct jp_elf_store *store, const char *dir)
{
	char path[4096];
	size_t size;

	for (int in_subfolder = 1; in_subfolder >= 0 && !store->index; in_subfolder--) {
		free(store->dir);
		if (asprintf(&store->dir, "%s%s", dir, in_subfolder ? "/elf" : "") < 0) {
			store->dir = NULL;
			return -ENOMEM;
		}
		if (!jp_path_build(path, sizeof(path), NULL, "%s/index", store->dir))
			store->index = jp_file_read_regular(path, MAX_INDEX, &size, NULL);
	}
	if (!store->index)
		return 0;
	/* Replace each NUL, which no path contains, by a newline, so that only one line is
	 * malformed. */
	for (size_t i = 0; i < size; i++)
		if (!store->index[i])
			store->index[i] = '\n';
	parse_index(store);
	return 0;
}

struct jp_elf_store *jp_elf_store_new(const char *dir, struct jp_file_finder *finder)
{
	struct jp_elf_store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	store->finder = finder;
	if (!dir || !read_index(store, dir))
		return store;
	free(store);
	return NULL;
}

void jp_elf_store_free(struct jp_elf_store *store)
{
	if (!store)
		return;
	for (struct jp_text *path = store->paths.first; path; path = path->next) {
		for (struct entry *next, *entry = path->value; entry; entry = next) {
			next = entry->next;
			jp_cfi_close(entry->public.cfi);
			free(entry);
		}
	}
	jp_text_pool_free(&store->paths);
	free(store->lines);
	free(store->index);
	free(store->dir);
	free(store);
}

/* Opens elf/BUILDID, and checks that the file has that build id. */
static struct jp_cfi *open_saved_file(const struct jp_elf_store *store, const char *build_id,
				      struct jp_error *err)
{
	char path[4096], text[41];
	jp_cleanup_close int fd = -1;
	struct jp_cfi *cfi;
	uint64_t size;

	if (jp_path_build(path, sizeof(path), err, "%s/%s", store->dir, build_id))
		return NULL;
	fd = jp_untrusted_open(path, -1, &size, err);
	if (fd < 0)
		return NULL;
	cfi = jp_cfi_open(fd, err);
	if (cfi && strcmp(jp_build_id_text(jp_cfi_build_id(cfi), text), build_id) != 0) {
		jp_fail(err, EINVAL, "%s: the name is not the file's build id %s", path, text);
		jp_cfi_close(cfi);
		return NULL;
	}
	return cfi;
}

void jp_elf_store_filter(struct jp_elf_store *store, jp_elf_may_be *may_be, void *context)
{
	store->may_be = may_be;
	store->context = context;
}

const struct jp_elf_line *jp_elf_store_line(const struct jp_elf_store *store, size_t i)
{
	return i < store->nr_lines ? &store->lines[i] : NULL;
}

int jp_elf_store_check(const struct jp_elf_store *store, const struct jp_elf_line *line,
		       struct jp_error *err)
{
	struct jp_cfi *cfi = open_saved_file(store, line->build_id, err);
	uint64_t digest;

	jp_cfi_close(cfi);
	if (!cfi || (line->digested && jp_elf_digest(store->dir, line->build_id, &digest, err)))
		return -EINVAL;
	if (!line->digested || digest == line->digest)
		return 0;
	return jp_fail(err, EBADMSG, "%s/%s: altered since it was kept", store->dir,
		       line->build_id);
}

/* Returns whether the line names the file, even if the name of a removed file ends with "
 * (deleted)". */
static bool do_paths_agree(const struct jp_elf_line *line, const struct entry *entry)
{
	if (entry->ino && entry->ino == line->ino)
		return jp_mapping_same_name(line->path, entry->path);
	return strcmp(line->path, entry->path) == 0;
}

static struct jp_cfi *open_from_dir(const struct jp_elf_store *store, const struct entry *entry,
				    const struct jp_mapping *mapping, struct jp_error *err)
{
	char text[41];

	if (entry->id.size)
		return open_saved_file(store, jp_build_id_text(&entry->id, text), err);
	for (size_t i = 0; i < store->nr_lines; i++) {
		const struct jp_elf_line *line = &store->lines[i];

		/* Old records without an inode have only the path. */
		if (do_paths_agree(line, entry) && (!entry->ino || entry->ino == line->ino) &&
		    (!line->gen || (entry->gen ? entry->gen == line->gen : line->snapshot)) &&
		    (entry->gen || !store->may_be ||
		     store->may_be(store->context, mapping, line->build_id)))
			return open_saved_file(store, line->build_id, err);
	}
	jp_fail(err, ENOENT, "%s: not in %s/index", entry->path, store->dir);
	return NULL;
}

/* Opens the first file with call frame information; a separate file of symbols has none. */
static struct jp_cfi *open_from_finder(const struct jp_elf_store *store, const struct entry *entry,
				       uint32_t pid, struct jp_error *err)
{
	const struct jp_wanted_file wanted_file = {
		.path = entry->path, .id = entry->id, .ino = entry->ino, .pid = pid};
	struct jp_found_file file;
	struct jp_cfi *cfi = NULL;
	int place = 0;

	while (!cfi && place < JP_FILE_PLACES &&
	       !jp_file_find(store->finder, &wanted_file, place, &file, err)) {
		cfi = file.image ? jp_cfi_open_image(file.image, file.size, err)
				 : jp_cfi_open(file.fd, err);
		place = file.place + 1;
		jp_found_file_close(&file);
	}
	return cfi;
}

static struct entry *make_entry(const struct jp_mapping *mapping, const struct jp_build_id *id,
				struct jp_text *path)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->ino = mapping->ino;
	entry->gen = mapping->gen;
	entry->id = *id;
	entry->path = path->bytes;
	entry->text = path;
	entry->next = path->value;
	path->value = entry;
	jp_fail(&entry->error, ENOENT, "%s: no folder to search was given", entry->path);
	entry->public.reason = entry->error.text;
	entry->public.path = entry->path;
	entry->public.id = &entry->id;
	return entry;
}

struct jp_elf_entry *jp_elf_store_get(struct jp_elf_store *store, const struct jp_mapping *mapping)
{
	const char *name = jp_elf_index_name(mapping->name, mapping->end);
	struct jp_text *path = jp_text_keep(&store->paths, name, strlen(name));
	struct jp_build_id id = {0};
	struct entry *entry;

	if (mapping->build_id && mapping->build_id_size <= sizeof(id.bytes)) {
		id.size = mapping->build_id_size;
		memcpy(id.bytes, mapping->build_id, id.size);
	}
	if (!path)
		return NULL;
	if (!id.size && store->finder && jp_file_finder_build_id(store->finder, name))
		id = *jp_file_finder_build_id(store->finder, name);
	for (entry = path->value; entry; entry = entry->next)
		if (entry->ino == mapping->ino && entry->gen == mapping->gen &&
		    entry->id.size == id.size &&
		    memcmp(entry->id.bytes, id.bytes, entry->id.size) == 0)
			return &entry->public;
	entry = make_entry(mapping, &id, path);
	if (!entry)
		return NULL;
	if (store->dir)
		entry->public.cfi = open_from_dir(store, entry, mapping, &entry->error);
	if (!entry->public.cfi && store->finder)
		entry->public.cfi = open_from_finder(store, entry, mapping->pid, &entry->error);
	if (entry->public.cfi)
		jp_fail(&entry->error, ENOEXEC, "%s: built for another machine", entry->path);
	return &entry->public;
}

struct jp_elf_entry *jp_elf_store_next(struct jp_elf_store *store, struct jp_elf_entry *previous)
{
	struct entry *entry = (struct entry *)previous;
	struct jp_text *path = entry ? entry->text : NULL;

	if (entry && entry->next)
		return &entry->next->public;
	for (path = path ? path->next : store->paths.first; path; path = path->next)
		if (path->value)
			return &((struct entry *)path->value)->public;
	return NULL;
}
