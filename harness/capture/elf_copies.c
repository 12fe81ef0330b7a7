// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/elf_copies.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/file.h"
#include "harness/base/map.h"
#include "harness/base/path.h"
#include "harness/capture/session.h"
#include "harness/format/elf/elf_file.h"
#include "harness/format/procmaps/procmaps.h"
#include "harness/format/truth/format.h"

/*
 * A mapped file to copy. The thread that handles a mapping opens the file at once, because the root
 * folder and the deleted files of a process vanish when it exits. Another thread copies the file,
 * because rings could overflow meanwhile.
 *
 * Late copies imitate tools that search for files after the capture: by the recorded paths, in our
 * own root.
 *
 */
struct wanted {
	struct wanted *next;
	int fd;
	void *image; /* copy of a file that exists only in memory (a vDSO); else NULL */
	size_t size;
	uint32_t maj, min;
	uint64_t ino, gen;
	bool is_gen_known;    /* @gen was read from the file, and may be 0 */
	bool is_gen_recorded; /* the kernel's mapping record stated the generation */
	char name[];
};

struct jp_elf_copies {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	struct wanted *first, **last;
	bool open_at_end, finished;
	struct jp_map queued; /* files queued so far, by hash_mapping(); under the session's lock */
	char *dir, index_path[PATH_MAX];
	FILE *index;
	struct jp_error err;
	int error;
};

static void write_line(struct jp_elf_copies *copies, const char *build_id, uint64_t digest,
		       const struct wanted *file)
{
	fprintf(copies->index, "%s %x:%x %llu", build_id, file->maj, file->min,
		(unsigned long long)file->ino);
	if (file->is_gen_known)
		fprintf(copies->index, ".%llu%s", (unsigned long long)file->gen,
			file->is_gen_recorded ? "" : "s");
	fprintf(copies->index, " #%016llx ", (unsigned long long)digest);
	/* /proc/PID/maps writes a newline as \012 but does not escape a backslash, so there a name
	 * with "\012" is ambiguous; here it is not. */
	for (const char *name = file->name; *name; name++) {
		if (*name == '\n')
			fputs("\\012", copies->index);
		else if (*name == '\\')
			fputs("\\134", copies->index);
		else
			fputc(*name, copies->index);
	}
	fputc('\n', copies->index);
}

static void save_copy(struct jp_elf_copies *copies, int fd, const void *image, size_t size,
		      const struct wanted *file)
{
	struct jp_build_id id = {0};
	struct jp_error err;
	char text[41];
	uint64_t digest = 0;
	int ret = jp_elf_save(fd, image, size, copies->dir, &id, &err);

	/* Digest the saved file, which may be another file with the same build id that was saved
	 * first. */
	if (ret == 0)
		ret = jp_elf_digest(copies->dir, jp_build_id_text(&id, text), &digest, &err);
	if (ret == 0) {
		write_line(copies, text, digest, file);
	} else if ((ret == -ENOSPC || ret == -EDQUOT || ret == -EROFS || ret == -EIO) &&
		   !copies->error) {
		/* Ignore other errors: they mean that no unwinder can use the file, because it is
		 * not ELF or lacks a build id or call frame information. */
		copies->error = -ret;
		copies->err = err;
	}
}

/* Saves the vDSO of this process, which is the same for all 64-bit processes. */
static void save_vdso(struct jp_elf_copies *copies)
{
	static const struct wanted file = {.name = "[vdso]"};
	const ElfW(Ehdr) *image = (const void *)getauxval(AT_SYSINFO_EHDR);

	if (image)
		save_copy(copies, -1, image,
			  image->e_shoff + (size_t)image->e_shnum * image->e_shentsize, &file);
}

/* Stores in *@gen the generation of the inode, which distinguishes successive files with the same
 * inode number. Returns false and stores 0 if the file system has no generations. */
static bool read_generation(int fd, uint64_t *gen)
{
	long version = 0;
	bool is_known = !ioctl(fd, FS_IOC_GETVERSION, &version);

	*gen = is_known ? (uint32_t)version : 0;
	return is_known;
}

/* Opens @path if it is a regular file with the mapping's inode. Does not compare devices: some file
 * systems report another device in mappings than in stat(). @gen 0: unknown. */
static int open_if_same(const char *path, uint64_t ino, uint64_t gen)
{
	jp_cleanup_close int fd = -1;
	uint64_t found_gen;
	struct stat st;

	/* Check the type before opening, because opening a device may have effects. */
	if (stat(path, &st) || !S_ISREG(st.st_mode) || st.st_ino != ino)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_ino != ino)
		return -1;
	read_generation(fd, &found_gen);
	return gen && found_gen && found_gen != gen ? -1 : jp_steal_fd(&fd);
}

static void *copy_thread(void *context)
{
	struct jp_elf_copies *copies = context;

	save_vdso(copies);
	pthread_mutex_lock(&copies->lock);
	while (copies->first || !copies->finished) {
		struct wanted *file = copies->first;

		if (!file || (copies->open_at_end && !copies->finished)) {
			pthread_cond_wait(&copies->changed, &copies->lock);
			continue;
		}
		copies->first = file->next;
		if (!copies->first)
			copies->last = &copies->first;
		pthread_mutex_unlock(&copies->lock);
		if (copies->open_at_end) {
			file->fd = open_if_same(file->name, file->ino, file->gen);
			file->is_gen_known = file->fd >= 0 && read_generation(file->fd, &file->gen);
		}
		if (file->fd >= 0 || file->image)
			save_copy(copies, file->fd, file->image, file->size, file);
		if (file->fd >= 0)
			close(file->fd);
		free(file->image);
		free(file);
		pthread_mutex_lock(&copies->lock);
	}
	pthread_mutex_unlock(&copies->lock);
	return NULL;
}

/* Creates the folder @dir/elf and the file `index` in it. Returns 0, or -errno and a message. */
static int make_folder(struct jp_elf_copies *copies, const char *dir, struct jp_error *err)
{
	if (asprintf(&copies->dir, "%s/elf", dir) < 0) {
		copies->dir = NULL;
		return jp_fail(err, ENOMEM, "%s/elf: out of memory", dir);
	}
	if (mkdir(copies->dir, 0775) && errno != EEXIST)
		return jp_fail(err, errno, "%s: %s", copies->dir, strerror(errno));
	if (jp_path_build(copies->index_path, sizeof(copies->index_path), err, "%s/index",
			  copies->dir))
		return -ENAMETOOLONG;
	copies->index = jp_file_create(copies->index_path, true, err);
	return copies->index ? 0 : -EIO;
}

struct jp_elf_copies *jp_elf_copies_start(const char *dir, bool open_at_end, struct jp_error *err)
{
	struct jp_elf_copies *copies = calloc(1, sizeof(*copies));
	int failed = copies ? make_folder(copies, dir, err)
			    : jp_fail(err, ENOMEM, "%s/elf: out of memory", dir);

	if (failed)
		goto fail;
	copies->open_at_end = open_at_end;
	copies->last = &copies->first;
	pthread_mutex_init(&copies->lock, NULL);
	pthread_cond_init(&copies->changed, NULL);
	if (!jp_thread_start(&copies->thread, copy_thread, copies, err))
		return copies;
fail:
	if (copies && copies->index)
		fclose(copies->index);
	free(copies ? copies->dir : NULL);
	free(copies);
	return NULL;
}

static int open_mapped_file(pid_t pid, const struct jp_procmap *map, uint64_t gen)
{
	char root[PATH_MAX + 64], range[96], exe[32];
	/* Try the process's own root first: it may have another mount namespace. The last path is
	 * for a process that has ended. */
	const char *const paths[] = {root, range, exe, map->name};
	int fd = -1;

	snprintf(root, sizeof(root), "/proc/%d/root%s", pid, map->name);
	snprintf(range, sizeof(range), "/proc/%d/map_files/%llx-%llx", pid,
		 (unsigned long long)map->start, (unsigned long long)map->end);
	snprintf(exe, sizeof(exe), "/proc/%d/exe", pid);
	for (size_t i = 0; fd < 0 && i < sizeof(paths) / sizeof(paths[0]); i++)
		fd = open_if_same(paths[i], map->ino, gen);
	return fd;
}

/* Returns the key of a mapped file in jp_elf_copies.seen. It includes the name, because the index
 * is searched by name, and a later file may reuse the inode of a deleted file. */
static uint64_t hash_mapping(const struct jp_procmap *map, uint64_t gen)
{
	uint64_t key =
		map->ino ^ ((uint64_t)map->maj << 52) ^ ((uint64_t)map->min << 40) ^ gen << 20;

	for (const char *c = map->name; *c; c++)
		key = (key ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
	return key;
}

/* Hands @file to the copying thread. */
static void request_copy(struct jp_elf_copies *copies, struct wanted *file)
{
	pthread_mutex_lock(&copies->lock);
	*copies->last = file;
	copies->last = &file->next;
	pthread_cond_signal(&copies->changed);
	pthread_mutex_unlock(&copies->lock);
}

/* Reads the @size bytes at @addr of process @pid. Returns NULL on failure. */
static void *read_memory(pid_t pid, uint64_t addr, size_t size)
{
	jp_cleanup_close int fd = -1;
	void *bytes = malloc(size);
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (bytes && fd >= 0 && pread(fd, bytes, size, (off_t)addr) == (ssize_t)size)
		return bytes;
	free(bytes);
	return NULL;
}

/* Queues the vDSO of 32-bit processes, which exists only in their memory. */
static void queue_compat_vdso(struct jp_elf_copies *copies, pid_t pid, const struct jp_procmap *map)
{
	enum { MOST = 1 << 20 };
	const size_t size = map->end - map->start;
	struct wanted *file;
	bool *is_known = jp_map_at(&copies->queued, hash_mapping(map, 0), sizeof(*is_known));
	void *image;

	if (!is_known || *is_known || copies->open_at_end || size > MOST)
		return;
	image = read_memory(pid, map->start, size);
	file = image ? calloc(1, sizeof(*file) + sizeof(JP_ELF_COMPAT_VDSO)) : NULL;
	if (!file) {
		free(image);
		return;
	}
	*is_known = true;
	*file = (struct wanted){.fd = -1, .image = image, .size = size};
	strcpy(file->name, JP_ELF_COMPAT_VDSO);
	request_copy(copies, file);
}

void jp_elf_copies_request(struct jp_elf_copies *copies, pid_t pid, const struct jp_procmap *map,
			   uint64_t gen)
{
	size_t length = strlen(map->name);
	jp_cleanup_close int fd = -1;
	struct wanted *file;
	bool *is_known;

	if (jp_elf_index_name(map->name, map->end) != map->name)
		queue_compat_vdso(copies, pid, map);
	if (!(map->prot & JP_PROT_EXEC) || !map->ino || map->name[0] != '/' || map->name[1] == '/')
		return;
	is_known = jp_map_at(&copies->queued, hash_mapping(map, gen), sizeof(*is_known));
	if (!is_known || *is_known)
		return;
	fd = copies->open_at_end ? -1 : open_mapped_file(pid, map, gen);
	/* If the file cannot be opened, do not mark it as seen: opening it through another mapping
	 * may succeed. */
	if (fd < 0 && !copies->open_at_end)
		return;
	file = calloc(1, sizeof(*file) + length + 1);
	if (!file)
		return;
	*is_known = true;
	*file = (struct wanted){.maj = map->maj,
				.min = map->min,
				.ino = map->ino,
				.gen = gen,
				.is_gen_recorded = gen != 0};
	if (!copies->open_at_end)
		file->is_gen_known = read_generation(fd, &file->gen);
	file->fd = jp_steal_fd(&fd);
	memcpy(file->name, map->name, length);
	request_copy(copies, file);
}

int jp_elf_copies_finish(struct jp_elf_copies *copies, struct jp_error *err)
{
	int error;

	if (!copies)
		return 0;
	pthread_mutex_lock(&copies->lock);
	copies->finished = true;
	pthread_cond_signal(&copies->changed);
	pthread_mutex_unlock(&copies->lock);
	pthread_join(copies->thread, NULL);
	error = copies->error;
	if (error && err)
		*err = copies->err;
	if (jp_file_finish(copies->index, copies->index_path, error ? NULL : err) && !error)
		error = EIO;
	jp_map_free(&copies->queued);
	pthread_cond_destroy(&copies->changed);
	pthread_mutex_destroy(&copies->lock);
	free(copies->dir);
	free(copies);
	return -error;
}
