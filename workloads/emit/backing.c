// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/backing.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <unistd.h>

#include "harness/format/truth/write.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA           0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

/* malloc() also moves the program break and would split our memory. Makes malloc() allocate enough
 * in advance that it does not move the break again. */
static int open_heap(struct jp_region *region, const char *name)
{
#ifndef M_MMAP_THRESHOLD /* musl: sbrk() does not move the break */
	return -ENOSYS;
#else
	enum { AHEAD = 8 << 20 };
	void *next_heap;

	if (!mallopt(M_MMAP_THRESHOLD, 4 * AHEAD) || !mallopt(M_TRIM_THRESHOLD, 4 * AHEAD))
		return -EINVAL;
	next_heap = malloc(AHEAD);
	if (!next_heap)
		return -ENOMEM;
	free(next_heap);
	return 0;
#endif
}

/* Maps by moving the program break, which grows only upwards. brk(2) takes no protection, so @prot
 * is not used. */
static int map_heap(struct jp_region *region, size_t offset, size_t size, int prot,
		    unsigned char *hint, unsigned char **mapped_at)
{
	unsigned char *end = sbrk(0);
	size_t padding = -(uintptr_t)end & (region->page - 1);

	if (hint && hint != end)
		return -EBUSY;
	if (sbrk(hint ? size : padding + size) == (void *)-1)
		return -errno;
	*mapped_at = end + (hint ? 0 : padding);
	return 0;
}

/* Prepares System V shared memory, in which each mapping is a segment of its own. The kernel gives
 * all private segments the same name. */

static int open_sysv(struct jp_region *region, const char *name)
{
	region->name = jp_truth_text("/SYSV00000000 (deleted)");
	return 0;
}

static int map_sysv(struct jp_region *region, size_t offset, size_t size, int prot,
		    unsigned char *hint, unsigned char **mapped_at)
{
	int flags = (prot & PROT_WRITE || !prot ? 0 : SHM_RDONLY) |
		    (prot & PROT_EXEC ? SHM_EXEC : 0) | (hint ? SHM_REMAP : 0);
	int id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0700), ret = 0;
	void *memory;

	if (id < 0)
		return -errno;
	memory = shmat(id, hint, flags);
	if (memory == (void *)-1)
		ret = -errno;
	else
		*mapped_at = memory;
	shmctl(id, IPC_RMID, NULL); /* the segment continues to exist until it is detached */
	return ret;
}

/* Makes @fd the file of the region, which begins at @offset of the file. Extends the file if
 * necessary. */
static int set_file(struct jp_region *region, int fd, uint64_t offset, const char *name)
{
	if (fd < 0)
		return -errno;
	if (offset + region->size > 0 && ftruncate(fd, offset + region->size) < 0) {
		int ret = -errno;

		close(fd);
		return ret;
	}
	region->fd = fd;
	region->offset = offset;
	region->name = jp_truth_text(name);
	return 0;
}

static int open_memfd(struct jp_region *region, const char *name)
{
	return set_file(region, memfd_create(name, MFD_CLOEXEC), 0, name);
}

static int open_shm(struct jp_region *region, const char *name)
{
	static unsigned opened;
	char path[64], deleted_path[80];
	int fd;

	snprintf(path, sizeof(path), "/dev/shm/jitproof-%d-%u", getpid(), opened++);
	snprintf(deleted_path, sizeof(deleted_path), "%s (deleted)", path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		unlink(path);
	return set_file(region, fd, 0, deleted_path);
}

static int open_zero(struct jp_region *region, const char *name)
{
	region->fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	return region->fd < 0 ? -errno : 0;
}

/* Maps as .NET does: a process has one memfd, and each region maps the next unused part of the
 * memfd twice. */
static int open_views(struct jp_region *region, const char *name)
{
	static int fd = -1;
	static uint64_t length;
	static pid_t owner;
	uint64_t before;
	void *view;
	int ret;

	if (fd < 0 ||
	    owner != getpid()) { /* a forked child must not write into its parent's memfd */
		int memfd = memfd_create(name, MFD_CLOEXEC);

		if (memfd < 0)
			return -errno;
		if (fd >= 0)
			close(fd);
		fd = memfd;
		length = 0;
		owner = getpid();
	}
	ret = set_file(region, fcntl(fd, F_DUPFD_CLOEXEC, 0), length, name);
	if (ret)
		return ret;
	before = jp_clock_now();
	view = mmap(NULL, region->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, length);
	if (view == MAP_FAILED)
		return -errno;
	jp_truth_map(before, jp_clock_now(),
		     &(struct jp_truth_mapping){.addr = (uintptr_t)view,
						.len = region->size,
						.prot = JP_PROT_READ | JP_PROT_WRITE,
						.backing = JP_BACKING_MEMFD,
						.name = region->name,
						.offset = length});
	region->write = view;
	length += region->size;
	return 0;
}

int jp_backing_map(struct jp_region *region, size_t offset, size_t size, int prot,
		   unsigned char *hint, unsigned char **mapped_at)
{
	int flags = region->kind->flags,
	    fixed_flag = region->reserved ? MAP_FIXED : MAP_FIXED_NOREPLACE;
	/* Each shared mapping of /dev/zero gets a file of its own, so that its offset is 0. */
	bool is_first = region->fd < 0 || (region->kind->open == open_zero && (flags & MAP_SHARED));
	void *memory = mmap(hint, size, prot, flags | (hint ? fixed_flag : 0), region->fd,
			    is_first ? 0 : region->offset + offset);

	if (memory == MAP_FAILED)
		return -errno;
	if (hint && memory != hint) { /* before v4.17 the flag is only a hint */
		munmap(memory, size);
		return -EEXIST;
	}
	*mapped_at = memory;
	return 0;
}

static int map_named_memory(struct jp_region *region, size_t offset, size_t size, int prot,
			    unsigned char *hint, unsigned char **mapped_at)
{
	int ret = jp_backing_map(region, offset, size, prot, hint, mapped_at);

	if (ret || !prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, *mapped_at, size, "jitproof"))
		return ret;
	ret = -errno;
	munmap(*mapped_at, size);
	return ret;
}

const struct jp_backing_kind jp_backing_kinds[] = {
	{.name = "anon", .backing = JP_BACKING_ANON, .flags = MAP_PRIVATE | MAP_ANONYMOUS},
	{.name = "named",
	 .backing = JP_BACKING_ANON,
	 .flags = MAP_PRIVATE | MAP_ANONYMOUS,
	 .map = map_named_memory,
	 .error = -EINVAL,
	 .missing_feature = "names of anonymous mappings (CONFIG_ANON_VMA_NAME)"},
	{.name = "memfd", .backing = JP_BACKING_MEMFD, .flags = MAP_SHARED, .open = open_memfd},
	{.name = "memfd-views",
	 .backing = JP_BACKING_MEMFD,
	 .flags = MAP_SHARED,
	 .open = open_views},
	{.name = "zero", .backing = JP_BACKING_ZERO, .flags = MAP_SHARED | MAP_ANONYMOUS},
	{.name = "zero-file", .backing = JP_BACKING_ZERO, .flags = MAP_SHARED, .open = open_zero},
	{.name = "zero-private",
	 .backing = JP_BACKING_ZERO,
	 .flags = MAP_PRIVATE,
	 .open = open_zero},
	{.name = "shm",
	 .backing = JP_BACKING_SHM,
	 .flags = MAP_SHARED,
	 .open = open_shm,
	 .error = -EPERM,
	 .missing_feature = "executable mappings of /dev/shm (it is mounted noexec)"},
	{.name = "sysv",
	 .backing = JP_BACKING_SYSV,
	 .open = open_sysv,
	 .map = map_sysv,
	 .error = -ENOSYS,
	 .missing_feature = "System V shared memory (CONFIG_SYSVIPC)"},
	{.name = "hugetlb",
	 .backing = JP_BACKING_HUGETLB,
	 .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB,
	 .error = -ENOMEM,
	 .missing_feature = "free huge pages (vm.nr_hugepages)"},
	{.name = "heap",
	 .backing = JP_BACKING_HEAP,
	 .open = open_heap,
	 .map = map_heap,
	 .error = -ENOSYS,
	 .missing_feature = "a C library whose sbrk() moves the program break"},
	{.name = NULL},
};

const struct jp_backing_kind *jp_backing_find(const char *name)
{
	const struct jp_backing_kind *kind = jp_backing_kinds;

	while (kind->name && strcmp(kind->name, name))
		kind++;
	return kind->name ? kind : NULL;
}

void jp_backing_print(FILE *out)
{
	for (const struct jp_backing_kind *kind = jp_backing_kinds; kind->name; kind++)
		fprintf(out, "%s\n", kind->name);
}

bool jp_backing_has_views(const struct jp_backing_kind *kind)
{
	return kind->open == open_views;
}
