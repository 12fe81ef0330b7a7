// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/unwind/elf_store.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/format/elf/elf_file.h"

enum { BUCKETS = 1024, MAX_INDEX = 64 << 20, MAX_IMAGE = 1 << 20 };

/* A line of elf/index. */
struct line {
	char *build_id;    /* hex */
	uint64_t ino, gen; /* gen 0: not told */
	bool snapshot;     /* of a mapping that was told without its generation */
	char *path;
};

/* What was asked for, and what serves it. */
struct entry {
	struct jp_elf_entry found; /* first: it is what callers hold */
	struct entry *next;
	uint64_t ino, gen;
	struct jp_build_id id;
	char *path;
	struct jp_error error;
};

struct jp_elf_store {
	char *dir;
	bool system;
	char *index; /* the text that lines point into */
	struct line *lines;
	size_t nr_lines;
	struct entry *entries[BUCKETS];
};

static uint32_t hash(const char *text, uint64_t number)
{
	uint32_t sum = 2166136261u ^ (uint32_t)number;

	for (; *text; text++)
		sum = (sum ^ (unsigned char)*text) * 16777619u;
	return sum % BUCKETS;
}

static bool is_hex(const char *text)
{
	size_t size = strspn(text, "0123456789abcdef");

	return size >= 2 && size <= 40 && size % 2 == 0 && !text[size];
}

/* A newline in a path stands as \012, a backslash as \134. */
static void decode(char *path)
{
	char *to = path;

	for (; *path; path++) {
		if (strncmp(path, "\\012", 4) == 0) {
			*to++ = '\n';
			path += 3;
		} else if (strncmp(path, "\\134", 4) == 0) {
			*to++ = '\\';
			path += 3;
		} else {
			*to++ = *path;
		}
	}
	*to = 0;
}

/* Lines that are not of the form are passed over: what they would have named is then missing, and
 * said to be when it is asked for. */
static void parse_index(struct jp_elf_store *store, char *text)
{
	size_t capacity = 0;
	char *rest = text, *at;

	while ((at = strsep(&rest, "\n"))) {
		struct line line = {.build_id = strsep(&at, " ")};
		char *device, *inode, *end;

		device = at ? strsep(&at, " ") : NULL;
		inode = at ? strsep(&at, " ") : NULL;
		if (!device || !inode || !at || !*at || !is_hex(line.build_id))
			continue;
		errno = 0;
		line.ino = strtoull(inode, &end, 10);
		if (*end == '.' && end != inode)
			line.gen = strtoull(end + 1, &end, 10);
		line.snapshot = *end == 's';
		end += line.snapshot;
		if (errno || end == inode || *end)
			continue;
		line.path = at;
		decode(line.path);
		if (store->nr_lines == capacity) {
			size_t more = capacity ? capacity * 2 : 64;
			struct line *bigger = realloc(store->lines, more * sizeof(*bigger));

			if (!bigger)
				return;
			store->lines = bigger;
			capacity = more;
		}
		store->lines[store->nr_lines++] = line;
	}
}

/* A regular file only, never through a link, never blocking on a FIFO that took its place. */
static int open_regular(const char *path, struct stat *st, struct jp_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return jp_fail(err, errno, "%s: %s", path, strerror(errno));
	if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
		return fd;
	close(fd);
	return jp_fail(err, EINVAL, "%s: not a regular file", path);
}

static void read_index(struct jp_elf_store *store)
{
	struct stat st;
	char path[4096];
	size_t got = 0;
	ssize_t some;
	int fd;

	if (snprintf(path, sizeof(path), "%s/index", store->dir) >= (int)sizeof(path))
		return;
	fd = open_regular(path, &st, NULL);
	if (fd < 0)
		return;
	if (st.st_size <= MAX_INDEX)
		store->index = malloc(st.st_size + 1);
	while (store->index && got < (size_t)st.st_size &&
	       (some = read(fd, store->index + got, st.st_size - got)) > 0)
		got += some;
	close(fd);
	if (!store->index)
		return;
	/* A NUL stands in no path: its line is broken, the next need not be. */
	for (size_t i = 0; i < got; i++)
		if (!store->index[i])
			store->index[i] = '\n';
	store->index[got] = 0;
	parse_index(store, store->index);
}

struct jp_elf_store *jp_elf_store_new(const char *dir, bool system)
{
	struct jp_elf_store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	store->system = system;
	if (!dir)
		return store;
	store->dir = strdup(dir);
	if (!store->dir) {
		free(store);
		return NULL;
	}
	read_index(store);
	return store;
}

void jp_elf_store_free(struct jp_elf_store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < BUCKETS; i++) {
		while (store->entries[i]) {
			struct entry *entry = store->entries[i];

			store->entries[i] = entry->next;
			jp_cfi_close(entry->found.cfi);
			free(entry->path);
			free(entry);
		}
	}
	free(store->lines);
	free(store->index);
	free(store->dir);
	free(store);
}

static bool same_id(const struct jp_build_id *id, const struct jp_build_id *other)
{
	return id->size == other->size && memcmp(id->bytes, other->bytes, id->size) == 0;
}

/* Opens elf/BUILDID; the file must be what its name says. */
static struct jp_cfi *open_saved(const struct jp_elf_store *store, const char *build_id,
				 struct jp_error *err)
{
	char path[4096], text[41];
	struct jp_cfi *cfi;
	struct stat st;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", store->dir, build_id) >= (int)sizeof(path))
		return NULL;
	fd = open_regular(path, &st, err);
	if (fd < 0)
		return NULL;
	cfi = jp_cfi_open(fd, err);
	close(fd);
	if (cfi && strcmp(jp_build_id_text(jp_cfi_build_id(cfi), text), build_id) != 0) {
		jp_fail(err, EINVAL, "%s: the file's build id is %s", path, text);
		jp_cfi_close(cfi);
		return NULL;
	}
	return cfi;
}

/* A file that was removed has a name that says so; with its inode it is the same one. */
static bool same_path(const struct line *line, const struct entry *entry)
{
	static const char deleted[] = " (deleted)";
	size_t one = strlen(line->path), other = strlen(entry->path);
	size_t shorter = one < other ? one : other;

	if (strncmp(line->path, entry->path, shorter) != 0)
		return false;
	return one == other ||
	       (entry->ino && entry->ino == line->ino &&
		strcmp((one < other ? entry->path : line->path) + shorter, deleted) == 0);
}

static struct jp_cfi *from_dir(const struct jp_elf_store *store, const struct entry *entry,
			       struct jp_error *err)
{
	char text[41];

	if (entry->id.size)
		return open_saved(store, jp_build_id_text(&entry->id, text), err);
	for (size_t i = 0; i < store->nr_lines; i++) {
		const struct line *line = &store->lines[i];

		/* Old records without identity have the path alone. */
		if (same_path(line, entry) && (!entry->ino || entry->ino == line->ino) &&
		    (!line->gen || (entry->gen ? entry->gen == line->gen : line->snapshot)))
			return open_saved(store, line->build_id, err);
	}
	jp_fail(err, ENOENT, "%s: not in %s/index", entry->path, store->dir);
	return NULL;
}

/* The vDSO that the kernel gave this process; its size is said nowhere but in its own headers. */
static struct jp_cfi *own_vdso(struct jp_error *err)
{
	const unsigned char *image = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)image;
	const Elf64_Phdr *segment;
	size_t size = 0, sections;

	if (!image || head->e_ident[EI_CLASS] != ELFCLASS64) {
		jp_fail(err, ENOENT, "this process has no vDSO");
		return NULL;
	}
	segment = (const Elf64_Phdr *)(image + head->e_phoff);
	for (size_t i = 0; i < head->e_phnum; i++)
		if (segment[i].p_type == PT_LOAD &&
		    segment[i].p_offset + segment[i].p_filesz > size)
			size = segment[i].p_offset + segment[i].p_filesz;
	/* Section headers lie behind the segment, in the last page that it takes. */
	sections = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize;
	if (sections > size && sections <= ((size + 4095) & ~(size_t)4095))
		size = sections;
	if (size > MAX_IMAGE) {
		jp_fail(err, EINVAL, "this process's vDSO claims %zu bytes", size);
		return NULL;
	}
	return jp_cfi_open_image(image, size, err);
}

static struct jp_cfi *from_system(const struct entry *entry, struct jp_error *err)
{
	struct jp_cfi *cfi;
	struct stat st;
	int fd;

	if (strcmp(entry->path, "[vdso]") == 0) {
		cfi = own_vdso(err);
	} else if (entry->path[0] != '/') {
		jp_fail(err, ENOENT, "%s: no file", entry->path);
		return NULL;
	} else {
		fd = open_regular(entry->path, &st, err);
		if (fd < 0)
			return NULL;
		if (!entry->id.size && entry->ino && entry->ino != st.st_ino) {
			jp_fail(err, ESTALE, "%s: inode %ju now, %ju in the record", entry->path,
				(uintmax_t)st.st_ino, (uintmax_t)entry->ino);
			close(fd);
			return NULL;
		}
		cfi = jp_cfi_open(fd, err);
		close(fd);
	}
	if (cfi && entry->id.size && !same_id(&entry->id, jp_cfi_build_id(cfi))) {
		jp_fail(err, ESTALE, "%s: its build id is not the record's", entry->path);
		jp_cfi_close(cfi);
		return NULL;
	}
	return cfi;
}

static struct entry *make_entry(const struct jp_mapping *mapping, const struct jp_build_id *id)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->ino = mapping->ino;
	entry->gen = mapping->gen;
	entry->id = *id;
	entry->path = strdup(mapping->name);
	if (!entry->path) {
		free(entry);
		return NULL;
	}
	jp_fail(&entry->error, ENOENT, "%s: neither a run directory nor the system is to be read",
		entry->path);
	entry->found.why = entry->error.text;
	return entry;
}

struct jp_elf_entry *jp_elf_store_get(struct jp_elf_store *store, const struct jp_mapping *mapping)
{
	uint32_t bucket = hash(mapping->name, mapping->ino);
	struct jp_build_id id = {0};
	struct entry *entry;

	if (mapping->build_id && mapping->build_id_size <= sizeof(id.bytes)) {
		id.size = mapping->build_id_size;
		memcpy(id.bytes, mapping->build_id, id.size);
	}
	for (entry = store->entries[bucket]; entry; entry = entry->next)
		if (entry->ino == mapping->ino && entry->gen == mapping->gen &&
		    same_id(&entry->id, &id) && strcmp(entry->path, mapping->name) == 0)
			return &entry->found;
	entry = make_entry(mapping, &id);
	if (!entry)
		return NULL;
	if (store->dir)
		entry->found.cfi = from_dir(store, entry, &entry->error);
	if (!entry->found.cfi && store->system)
		entry->found.cfi = from_system(entry, &entry->error);
	entry->next = store->entries[bucket];
	store->entries[bucket] = entry;
	return &entry->found;
}
