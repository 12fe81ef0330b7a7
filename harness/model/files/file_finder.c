// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/files/file_finder.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/map.h"
#include "harness/base/number.h"
#include "harness/base/path.h"
#include "harness/base/text_pool.h"
#include "harness/base/untrusted_file.h"
#include "harness/format/elf/elf_file.h"
#include "harness/model/files/elf_folder.h"
#include "harness/model/files/residence.h"
#include "harness/model/space/mapping_name.h"

int jp_file_build_path_in_run(const char *run, enum jp_file_place place, const char *recorded_path,
			      char *path, size_t size)
{
	const char *base = jp_path_base(recorded_path);

	if (*base && place == JP_FILE_CACHE)
		return jp_path_build(path, size, NULL, "%s/jit/%s", run, base);
	if (place == JP_FILE_ITSELF && strncmp(base, "jitted-", 7) == 0)
		return jp_path_build(path, size, NULL, "%s/%s", run, base);
	return -ENOENT;
}

/* Builds in @path the path of the file that the .gnu_debuglink of @wanted_file names. */
static int build_link_path(enum jp_file_place place, const struct jp_wanted_file *wanted_file,
			   char *path, size_t size)
{
	const int folder = (int)(jp_path_base(wanted_file->path) - wanted_file->path);

	if (!wanted_file->link)
		return -ENOENT;
	return jp_path_build(path, size, NULL, "%s%.*s%s%s",
			     place == JP_FILE_LINK_SYSTEM ? "/usr/lib/debug" : "", folder,
			     wanted_file->path, place == JP_FILE_LINK_DEBUG ? ".debug/" : "",
			     wanted_file->link);
}

int jp_file_build_path(enum jp_file_place place, const struct jp_wanted_file *wanted_file,
		       char *path, size_t size)
{
	const bool vdso = strcmp(wanted_file->path, "[vdso]") == 0;
	const char *home = getenv("HOME");
	char id[41];

	if (place <= JP_FILE_CACHE_DEBUG || place == JP_FILE_DEBUG_ID) {
		if (!wanted_file->id.size)
			return -ENOENT;
		jp_build_id_text(&wanted_file->id, id);
	}
	if (place <= JP_FILE_CACHE_DEBUG && !home)
		return -ENOENT;
	if (vdso && place != JP_FILE_CACHE && place != JP_FILE_ITSELF)
		return -ENOENT;
	if (*wanted_file->path != '/' && !vdso)
		return -ENOENT;
	switch (place) {
	case JP_FILE_LINK:
	case JP_FILE_LINK_DEBUG:
	case JP_FILE_LINK_SYSTEM:
		return build_link_path(place, wanted_file, path, size);
	case JP_FILE_CACHE:
		return jp_path_build(path, size, NULL, "%s/.debug/.build-id/%.2s/%s/%s", home, id,
				     id + 2, vdso ? "vdso" : "elf");
	case JP_FILE_CACHE_DEBUG:
		return jp_path_build(path, size, NULL, "%s/.debug/.build-id/%.2s/%s/debug", home,
				     id, id + 2);
	case JP_FILE_DEBUG_SUFFIX:
		return jp_path_build(path, size, NULL, "/usr/lib/debug%s.debug", wanted_file->path);
	case JP_FILE_DEBUG_PATH:
		return jp_path_build(path, size, NULL, "/usr/lib/debug%s", wanted_file->path);
	case JP_FILE_DEBUG_ID:
		return jp_path_build(path, size, NULL, "/usr/lib/debug/.build-id/%.2s/%s.debug", id,
				     id + 2);
	default:
		return jp_path_build(path, size, NULL, "%s", wanted_file->path);
	}
}

enum { MAX_IMAGE = 1 << 20 };

/* Returns this process's vDSO, an ELF image in memory, and stores its size, which only its headers
 * state. Returns NULL and a message if there is none. */
static const void *get_own_vdso(size_t *size, struct jp_error *err)
{
	const unsigned char *image = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)image;
	const Elf64_Phdr *segment;
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t sections;

	*size = 0;
	if (!image || head->e_ident[EI_CLASS] != ELFCLASS64) {
		jp_fail(err, ENOENT, "this process has no vDSO");
		return NULL;
	}
	segment = (const Elf64_Phdr *)(image + head->e_phoff);
	for (size_t i = 0; i < head->e_phnum; i++)
		if (segment[i].p_type == PT_LOAD &&
		    segment[i].p_offset + segment[i].p_filesz > *size)
			*size = segment[i].p_offset + segment[i].p_filesz;
	/* Section headers follow the segment, in its last page. */
	sections = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize;
	if (sections > *size && sections <= ((*size + page - 1) & -page))
		*size = sections;
	if (*size > MAX_IMAGE) {
		jp_fail(err, EINVAL, "this process's vDSO states a size of %zu bytes", *size);
		return NULL;
	}
	return image;
}

/* Limits for the perf maps that are read from one /tmp: largest number, and largest sum of
 * bytes. */
enum { MOST_MAPS = 4096, MOST_OF_MAPS = 64 << 20 };

struct jp_file_finder {
	char *run; /* run directory that contains all files to find; NULL: this machine does */
	struct jp_elf_folder *elf_folder; /* the user's folder of ELF files, or NULL */
	int root;                         /* copied root directory; -1: this machine's own root */
	struct jp_text_pool headed;       /* path -> build id in the capture's header */
	struct jp_map residences;         /* struct jp_residence, by pid */
};

struct jp_file_finder *jp_file_finder_new(void)
{
	struct jp_file_finder *finder = calloc(1, sizeof(*finder));

	if (finder)
		finder->root = -1;
	return finder;
}

int jp_file_finder_open(struct jp_file_finder *finder, const char *elf, const char *root,
			struct jp_error *err)
{
	if (elf && !(finder->elf_folder = jp_elf_folder_open(elf, err)))
		return -EINVAL;
	if (root) {
		finder->root = jp_untrusted_open_folder(AT_FDCWD, root);
		if (finder->root < 0)
			return jp_fail(err, errno, "%s: expected the folder of a copied root: %s",
				       root, strerror(errno));
	}
	return 0;
}

struct jp_file_finder *jp_file_finder_of_run(const char *dir)
{
	struct jp_file_finder *finder = jp_file_finder_new();

	if (finder && !(finder->run = strdup(dir))) {
		free(finder);
		return NULL;
	}
	return finder;
}

bool jp_file_finder_is_of_run(const struct jp_file_finder *finder)
{
	return finder->run;
}

bool jp_file_finder_is_native(const struct jp_file_finder *finder)
{
	return !finder->run && !finder->elf_folder && finder->root < 0;
}

void jp_file_finder_free(struct jp_file_finder *finder)
{
	const struct jp_residence *residence;

	if (!finder)
		return;
	for (struct jp_text *path = finder->headed.first; path; path = path->next)
		free(path->value);
	jp_text_pool_free(&finder->headed);
	for (size_t cursor = 0; (residence = jp_map_next(&finder->residences, &cursor, NULL));)
		if (residence->root >= 0)
			close(residence->root);
	jp_map_free(&finder->residences);
	free(finder->run);
	jp_elf_folder_free(finder->elf_folder);
	if (finder->root >= 0)
		close(finder->root);
	free(finder);
}

int jp_file_finder_add_build_id(struct jp_file_finder *finder, const struct jp_event *event)
{
	struct jp_build_id *id;
	struct jp_text *path;

	if (event->type != JP_EVENT_BUILD_ID || event->kernel_map || !event->map.build_id_size ||
	    event->map.build_id_size > sizeof(id->bytes))
		return 0;
	path = jp_text_keep(&finder->headed, event->map.name, strlen(event->map.name));
	if (!path || (!path->value && !(path->value = malloc(sizeof(*id)))))
		return -ENOMEM;
	id = path->value;
	id->size = event->map.build_id_size;
	memcpy(id->bytes, event->map.build_id, id->size);
	return 0;
}

const struct jp_build_id *jp_file_finder_build_id(struct jp_file_finder *finder, const char *path)
{
	struct jp_text *headed =
		finder->headed.count ? jp_text_keep(&finder->headed, path, strlen(path)) : NULL;

	return headed ? headed->value : NULL;
}

static const struct jp_residence *find_residence(struct jp_file_finder *finder, uint32_t pid)
{
	struct jp_residence *residence = jp_map_find(&finder->residences, pid);

	if (residence)
		return residence;
	residence = jp_map_at(&finder->residences, pid, sizeof(*residence));
	if (!residence)
		return NULL;
	*residence = (struct jp_residence){.root = -1, .inner = pid};
	/* The processes of this machine have no files of a copied root. */
	if (pid && !finder->run && finder->root < 0)
		jp_residence_read(pid, residence);
	return residence;
}

uint32_t jp_file_finder_residence(struct jp_file_finder *finder, uint32_t pid)
{
	const struct jp_residence *residence = find_residence(finder, pid);

	return residence && residence->root >= 0 ? pid : 0;
}

bool jp_file_finder_injected(const struct jp_file_finder *finder, const char *path)
{
	/* In a run directory, all ELF files are those that inject made. */
	return finder->run || jp_mapping_injected(path);
}

/* Returns the descriptor of @pid's root directory; -1: this process's own root. */
static int find_root(struct jp_file_finder *finder, uint32_t pid)
{
	const struct jp_residence *residence = find_residence(finder, pid);

	return residence && residence->root >= 0 ? residence->root : finder->root;
}

static int open_path_below(int root, struct jp_found_file *file, struct jp_error *err)
{
	file->fd = root >= 0 ? jp_untrusted_open_in(root, file->path, -1, &file->size, err)
			     : jp_untrusted_open(file->path, -1, &file->size, err);
	return file->fd < 0 ? file->fd : 0;
}

static int open_path(struct jp_file_finder *finder, const struct jp_wanted_file *wanted_file,
		     struct jp_found_file *file, struct jp_error *err)
{
	struct stat st;
	size_t size = 0;
	int ret;

	if (strcmp(file->path, "[vdso]") == 0) {
		/* For another machine's capture, use our vDSO only if the build ids match. */
		file->image =
			finder->root < 0 || wanted_file->id.size ? get_own_vdso(&size, err) : NULL;
		file->size = size;
		return file->image ? 0 : jp_fail(err, ENOENT, "[vdso]: built for another machine");
	}
	/* The user's build-id cache is outside of any recorded root. */
	ret = open_path_below(
		file->place <= JP_FILE_CACHE_DEBUG ? -1 : find_root(finder, wanted_file->pid), file,
		err);
	if (ret || file->place != JP_FILE_ITSELF || wanted_file->id.size || !wanted_file->ino ||
	    finder->root >= 0)
		return ret;
	if (fstat(file->fd, &st) || st.st_ino != wanted_file->ino)
		return jp_fail(err, ESTALE, "%s: inode %ju now, %ju in the record", file->path,
			       (uintmax_t)st.st_ino, (uintmax_t)wanted_file->ino);
	return 0;
}

static int check_build_id(const struct jp_found_file *file, const struct jp_build_id *wanted_id,
			  struct jp_error *err)
{
	struct jp_build_id id;
	char id_text[41], wanted_text[41];

	if (!wanted_id->size)
		return 0;
	if (jp_elf_build_id(file->fd, file->image, file->size, &id, NULL))
		return jp_fail(err, ENODATA, "%s: no build id, expected %s", file->path,
			       jp_build_id_text(wanted_id, wanted_text));
	if (id.size != wanted_id->size || memcmp(id.bytes, wanted_id->bytes, id.size) != 0)
		return jp_fail(err, ESTALE, "%s: build id %s, expected %s", file->path,
			       jp_build_id_text(&id, id_text),
			       jp_build_id_text(wanted_id, wanted_text));
	return 0;
}

static int find_in_place(struct jp_file_finder *finder, const struct jp_wanted_file *wanted_file,
			 struct jp_found_file *file, struct jp_error *err)
{
	int ret;

	if (file->place < JP_FILE_CACHE) {
		file->fd = jp_elf_folder_find(finder->elf_folder, wanted_file->path,
					      &wanted_file->id, file->place - JP_FILE_GIVEN,
					      file->path, &file->size, err);
		ret = file->fd < 0 ? file->fd : 0;
	} else {
		ret = finder->run ? jp_file_build_path_in_run(finder->run, file->place,
							      wanted_file->path, file->path,
							      sizeof(file->path))
				  : jp_file_build_path(file->place, wanted_file, file->path,
						       sizeof(file->path));
		if (ret)
			jp_fail(err, -ret, "%s: not the path of a file", wanted_file->path);
		else
			ret = open_path(finder, wanted_file, file, err);
	}
	return ret ?: check_build_id(file, &wanted_file->id, err);
}

static int find_from_place(struct jp_file_finder *finder, const struct jp_wanted_file *wanted_file,
			   enum jp_file_place place, struct jp_found_file *file,
			   struct jp_error *err)
{
	struct jp_error ambiguous = {""};
	int failed = -ENOENT;

	for (; place < JP_FILE_PLACES; place++) {
		if (!finder->elf_folder && place < JP_FILE_CACHE)
			place = JP_FILE_CACHE;
		*file = (struct jp_found_file){.fd = -1, .place = place};
		failed = find_in_place(finder, wanted_file, file, err);
		if (!failed)
			return 0;
		jp_found_file_close(file);
		if (failed == -EEXIST && err)
			ambiguous = *err;
		if (place > JP_FILE_GIVEN && place < JP_FILE_CACHE)
			place = JP_FILE_CACHE - 1; /* skip the folder's other candidates */
	}
	if (*ambiguous.text)
		*err = ambiguous;
	return failed;
}

int jp_file_find(struct jp_file_finder *finder, const struct jp_wanted_file *wanted_file,
		 enum jp_file_place place, struct jp_found_file *file, struct jp_error *err)
{
	const size_t length = jp_mapping_name_length(wanted_file->path);
	struct jp_wanted_file sought = *wanted_file;
	char path[4096];

	if (wanted_file->id.size && wanted_file->path[length] && length < sizeof(path)) {
		/* The name itself may end with " (deleted)". */
		if (!find_from_place(finder, wanted_file, place, file, NULL))
			return 0;
		/* A removed file may have a copy or be installed again: its build id identifies
		 * it. */
		snprintf(path, sizeof(path), "%.*s", (int)length, wanted_file->path);
		sought.path = path;
	}
	return find_from_place(finder, &sought, place, file, err);
}

bool jp_file_finder_changed(struct jp_file_finder *finder, const struct jp_wanted_file *wanted_file,
			    const struct timespec *start_time)
{
	struct jp_found_file file;
	struct stat st;
	bool is_changed;

	if (!jp_file_finder_is_native(finder) || wanted_file->id.size || !wanted_file->ino ||
	    jp_file_find_path(finder, wanted_file->pid, wanted_file->path, &file))
		return false;
	is_changed = !fstat(file.fd, &st) &&
		     jp_clock_is_earlier(start_time,
					 st.st_ino == wanted_file->ino ? &st.st_mtim : &st.st_ctim);
	jp_found_file_close(&file);
	return is_changed;
}

int jp_file_find_path(struct jp_file_finder *finder, uint32_t pid, const char *path,
		      struct jp_found_file *file)
{
	*file = (struct jp_found_file){.fd = -1, .place = JP_FILE_ITSELF};
	return jp_path_build(file->path, sizeof(file->path), NULL, "%s", path)
		       ?: open_path_below(find_root(finder, pid), file, NULL);
}

int jp_file_find_map(struct jp_file_finder *finder, uint32_t pid, struct jp_found_file *file)
{
	const struct jp_residence *residence = find_residence(finder, pid);
	char path[64];
	int ret;

	if (residence && residence->root >= 0) {
		snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", residence->inner);
		if (!jp_file_find_path(finder, pid, path, file))
			return 0;
	}
	*file = (struct jp_found_file){.fd = -1, .place = JP_FILE_ITSELF};
	ret = jp_path_build(file->path, sizeof(file->path), NULL, "%s/perf-%" PRIu32 ".map",
			    finder->run ?: "/tmp", pid);
	return ret ?: open_path_below(finder->root, file, NULL);
}

/* Returns the pid in "perf-PID.map", or 0 for another name. */
static uint32_t parse_map_pid(const char *name)
{
	uint64_t pid;

	if (strncmp(name, "perf-", 5) != 0)
		return 0;
	name += 5;
	return jp_number_take(&name, 10, UINT32_MAX, &pid) && strcmp(name, ".map") == 0
		       ? (uint32_t)pid
		       : 0;
}

int jp_file_find_maps(struct jp_file_finder *finder, uint32_t pid,
		      int (*visit)(void *context, uint32_t map_pid,
				   const struct jp_found_file *file),
		      void *context)
{
	const int root = find_root(finder, pid), flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	jp_cleanup_close int fd =
		root >= 0 ? openat(root, "tmp", flags | O_NOFOLLOW) : open("/tmp", flags);
	jp_cleanup_closedir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	uint64_t remaining = MOST_OF_MAPS;
	const struct dirent *entry;
	int ret = 0;

	if (!dir)
		return 0;
	fd = -1;
	for (int count = 0; !ret && count < MOST_MAPS && (entry = readdir(dir));) {
		struct jp_found_file file = {.fd = -1, .place = JP_FILE_ITSELF};
		const uint32_t map_pid = parse_map_pid(entry->d_name);

		if (!map_pid)
			continue;
		count++;
		snprintf(file.path, sizeof(file.path), "/tmp/perf-%" PRIu32 ".map", map_pid);
		if (open_path_below(root, &file, NULL))
			continue;
		if (file.size <= remaining) {
			remaining -= file.size;
			ret = visit(context, map_pid, &file);
		}
		jp_found_file_close(&file);
	}
	return ret;
}

void jp_found_file_close(struct jp_found_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}
