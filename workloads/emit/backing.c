// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/backing.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
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

/* The heap. */

/* Our memory must not be torn apart by malloc()'s: it gets so much that it asks for no more. */
static int open_heap(struct jp_region *region, const char *name)
{
	enum { AHEAD = 8 << 20 };
	void *ahead;

	if (!mallopt(M_MMAP_THRESHOLD, 4 * AHEAD) || !mallopt(M_TRIM_THRESHOLD, 4 * AHEAD))
		return -EINVAL;
	ahead = malloc(AHEAD);
	if (!ahead)
		return -ENOMEM;
	free(ahead);
	return 0;
}

/* The program break knows one direction and one protection. */
static int map_heap(struct jp_region *region, size_t at, size_t size, int prot,
		    unsigned char *wanted, unsigned char **got)
{
	unsigned char *end = sbrk(0);
	size_t more = -(uintptr_t)end & (region->page - 1);

	if (wanted && wanted != end)
		return -EBUSY;
	if (sbrk(wanted ? size : more + size) == (void *)-1)
		return -errno;
	*got = end + (wanted ? 0 : more);
	return 0;
}

/* System V: a segment per mapping, private to us, of the name that the kernel gives all such. */

static int open_sysv(struct jp_region *region, const char *name)
{
	region->name = jp_truth_text("/SYSV00000000 (deleted)");
	return 0;
}

static int map_sysv(struct jp_region *region, size_t at, size_t size, int prot,
		    unsigned char *wanted, unsigned char **got)
{
	int flags = (prot & PROT_WRITE || !prot ? 0 : SHM_RDONLY) |
		    (prot & PROT_EXEC ? SHM_EXEC : 0) | (wanted ? SHM_REMAP : 0);
	int id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0700), ret = 0;
	void *memory;

	if (id < 0)
		return -errno;
	memory = shmat(id, wanted, flags);
	if (memory == (void *)-1)
		ret = -errno;
	else
		*got = memory;
	shmctl(id, IPC_RMID, NULL); /* it lives as long as it is attached */
	return ret;
}

/* What is reached by a descriptor. */

/* Room for the region in @fd, from @offset on. */
static int open_file(struct jp_region *region, int fd, uint64_t offset, const char *name)
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
	return open_file(region, memfd_create(name, MFD_CLOEXEC), 0, name);
}

static int open_shm(struct jp_region *region, const char *name)
{
	static unsigned opened;
	char path[64], gone[80];
	int fd;

	snprintf(path, sizeof(path), "/dev/shm/jitproof-%d-%u", getpid(), opened++);
	snprintf(gone, sizeof(gone), "%s (deleted)", path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		unlink(path);
	return open_file(region, fd, 0, gone);
}

static int open_zero(struct jp_region *region, const char *name)
{
	region->fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	return region->fd < 0 ? -errno : 0;
}

/* As .NET does it: one memfd per process, whose next unused stretch each region shows twice. */
static int open_views(struct jp_region *region, const char *name)
{
	static int fd = -1;
	static uint64_t used;
	static pid_t owner;
	uint64_t before;
	void *view;
	int ret;

	if (fd < 0 || owner != getpid()) { /* a forked child must not write into its parent's */
		int fresh = memfd_create(name, MFD_CLOEXEC);

		if (fresh < 0)
			return -errno;
		if (fd >= 0)
			close(fd);
		fd = fresh;
		used = 0;
		owner = getpid();
	}
	ret = open_file(region, fcntl(fd, F_DUPFD_CLOEXEC, 0), used, name);
	if (ret)
		return ret;
	before = jp_clock_now();
	view = mmap(NULL, region->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, used);
	if (view == MAP_FAILED)
		return -errno;
	jp_truth_map(before, jp_clock_now(),
		     &(struct jp_truth_mapping){.addr = (uintptr_t)view,
						.len = region->size,
						.prot = JP_PROT_READ | JP_PROT_WRITE,
						.backing = JP_BACKING_MEMFD,
						.name = region->name,
						.offset = used});
	region->write = view;
	used += region->size;
	return 0;
}

/* By mmap(). */

static int map_plain(struct jp_region *region, size_t at, size_t size, int prot,
		     unsigned char *wanted, unsigned char **got)
{
	int flags = region->kind->flags, over = region->reserved ? MAP_FIXED : MAP_FIXED_NOREPLACE;
	/* Each shared mapping of /dev/zero is a file of its own, just as long as the mapping. */
	bool first = region->fd < 0 || (region->kind->open == open_zero && (flags & MAP_SHARED));
	void *memory = mmap(wanted, size, prot, flags | (wanted ? over : 0), region->fd,
			    first ? 0 : region->offset + at);

	if (memory == MAP_FAILED)
		return -errno;
	if (wanted && memory != wanted) { /* before v4.17 the flag is only a hint */
		munmap(memory, size);
		return -EEXIST;
	}
	*got = memory;
	return 0;
}

static int map_named(struct jp_region *region, size_t at, size_t size, int prot,
		     unsigned char *wanted, unsigned char **got)
{
	int ret = map_plain(region, at, size, prot, wanted, got);

	if (ret || !prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, *got, size, "jitproof"))
		return ret;
	ret = -errno;
	munmap(*got, size);
	return ret;
}

const struct jp_backing_kind jp_backing_kinds[] = {
	{.name = "anon",
	 .help = "private anonymous",
	 .backing = JP_BACKING_ANON,
	 .flags = MAP_PRIVATE | MAP_ANONYMOUS},
	{.name = "named",
	 .help = "private anonymous with a name (PR_SET_VMA_ANON_NAME)",
	 .backing = JP_BACKING_ANON,
	 .flags = MAP_PRIVATE | MAP_ANONYMOUS,
	 .map = map_named,
	 .error = -EINVAL,
	 .missing = "names of anonymous mappings (CONFIG_ANON_VMA_NAME)"},
	{.name = "memfd",
	 .help = "a memfd, mapped once",
	 .backing = JP_BACKING_MEMFD,
	 .flags = MAP_SHARED,
	 .open = open_memfd},
	{.name = "memfd-views",
	 .help = "a memfd, mapped twice: to write and to run",
	 .backing = JP_BACKING_MEMFD,
	 .flags = MAP_SHARED,
	 .open = open_views},
	{.name = "zero",
	 .help = "shared anonymous",
	 .backing = JP_BACKING_ZERO,
	 .flags = MAP_SHARED | MAP_ANONYMOUS},
	{.name = "zero-file",
	 .help = "/dev/zero, opened and mapped shared",
	 .backing = JP_BACKING_ZERO,
	 .flags = MAP_SHARED,
	 .open = open_zero},
	{.name = "zero-private",
	 .help = "/dev/zero, opened and mapped private",
	 .backing = JP_BACKING_ZERO,
	 .flags = MAP_PRIVATE,
	 .open = open_zero},
	{.name = "shm",
	 .help = "a file of /dev/shm, unlinked",
	 .backing = JP_BACKING_SHM,
	 .flags = MAP_SHARED,
	 .open = open_shm,
	 .error = -EPERM,
	 .missing = "executable mappings of /dev/shm (it is mounted noexec)"},
	{.name = "sysv",
	 .help = "System V shared memory (shmat)",
	 .backing = JP_BACKING_SYSV,
	 .open = open_sysv,
	 .map = map_sysv,
	 .error = -ENOSYS,
	 .missing = "System V shared memory (CONFIG_SYSVIPC)"},
	{.name = "hugetlb",
	 .help = "huge pages, private",
	 .backing = JP_BACKING_HUGETLB,
	 .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB,
	 .error = -ENOMEM,
	 .missing = "free huge pages (vm.nr_hugepages)"},
	{.name = "heap",
	 .help = "the program break's (brk)",
	 .backing = JP_BACKING_HEAP,
	 .open = open_heap,
	 .map = map_heap},
	{.name = NULL},
};

const struct jp_backing_kind *jp_backing_find(const char *name)
{
	const struct jp_backing_kind *kind = jp_backing_kinds;

	while (kind->name && strcmp(kind->name, name))
		kind++;
	return kind->name ? kind : NULL;
}

const char *jp_backing_missing(const struct jp_backing_kind *kind, int error)
{
	return error && error == kind->error ? kind->missing : NULL;
}

/* Regions. */

static size_t page_size(const struct jp_backing_kind *kind, unsigned grain)
{
	size_t kib = 0;
	char line[128];
	FILE *file;

	if (kind->backing != JP_BACKING_HUGETLB)
		return grain * sysconf(_SC_PAGESIZE);
	file = fopen("/proc/meminfo", "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Hugepagesize: %zu", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib ? kib << 10 : 2 << 20;
}

int jp_region_open(struct jp_region *region, const struct jp_backing_kind *kind, size_t pages,
		   unsigned grain, const char *name)
{
	*region = (struct jp_region){.kind = kind, .fd = -1, .page = page_size(kind, grain)};
	region->size = pages * region->page;
	return kind->open ? kind->open(region, name ? name : "jitproof") : 0;
}

int jp_region_open_bytes(struct jp_region *region, const struct jp_backing_kind *kind, size_t size,
			 const char *name)
{
	size_t page = page_size(kind, 1);

	return jp_region_open(region, kind, (size + page - 1) / page, 1, name);
}

static unsigned prot_of(int prot)
{
	return (prot & PROT_READ ? JP_PROT_READ : 0) | (prot & PROT_WRITE ? JP_PROT_WRITE : 0) |
	       (prot & PROT_EXEC ? JP_PROT_EXEC : 0);
}

static void put_map(uint64_t before, const struct jp_region *region, unsigned char *at, size_t size,
		    int prot)
{
	uint64_t offset =
		region->fd < 0 ? 0 : region->offset + (region->exec ? at - region->exec : 0);

	jp_truth_map(before, jp_clock_now(),
		     &(struct jp_truth_mapping){.addr = (uintptr_t)at,
						.len = size,
						.prot = prot_of(prot),
						.backing = region->kind->backing,
						.name = region->name,
						.offset = offset});
}

/*
 * Memory that nobody can touch, at an address that suits the region's pages. A page more on either
 * side stays so: whatever lies beyond could merge with ours, or lend it its anon_vma, and what the
 * kernel reports would be an accident.
 */
static int reserve(struct jp_region *region, size_t size, unsigned char **got)
{
	size_t guard = sysconf(_SC_PAGESIZE), capacity = size + region->page + guard, skip;
	uint64_t before = jp_clock_now();
	unsigned char *memory =
		mmap(NULL, capacity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	skip = -(uintptr_t)(memory + guard) & (region->page - 1);
	if (skip)
		munmap(memory, skip);
	memory += skip;
	if (capacity - skip > size + 2 * guard)
		munmap(memory + size + 2 * guard, capacity - skip - size - 2 * guard);
	*got = memory + guard;
	jp_truth_map(before, jp_clock_now(),
		     &(struct jp_truth_mapping){.addr = (uintptr_t)*got, .len = size});
	return 0;
}

int jp_region_reserve(struct jp_region *region)
{
	int ret;

	if (region->kind->backing == JP_BACKING_HEAP)
		return 0;
	ret = reserve(region, region->size, &region->exec);
	region->reserved = !ret;
	return ret;
}

int jp_region_views(const struct jp_region *region)
{
	return region->kind->open == open_views;
}

/* What a kind's own call has given, as @prot wants it: not every call takes a protection. */
static int map(struct jp_region *region, size_t at, size_t size, int prot, unsigned char *wanted)
{
	int (*by)(struct jp_region *, size_t, size_t, int, unsigned char *, unsigned char **) =
		region->kind->map ? region->kind->map : map_plain;
	int given = prot;
	uint64_t before = jp_clock_now();
	unsigned char *got;
	int ret = by(region, at, size, prot, wanted, &got);

	if (ret)
		return ret;
	if (region->kind->backing == JP_BACKING_HEAP ||
	    (region->kind->backing == JP_BACKING_SYSV && !prot))
		given = PROT_READ | PROT_WRITE;
	if (!region->exec)
		region->exec = got;
	if (!region->write)
		region->write = region->exec;
	put_map(before, region, got, size, given);
	if (given == prot)
		return 0;
	return jp_region_protect(region, at / region->page, size / region->page, prot);
}

int jp_region_map_at(struct jp_region *region, int prot, void *at)
{
	return map(region, 0, region->size, prot, region->exec ? region->exec : at);
}

int jp_region_map(struct jp_region *region, size_t first, size_t count, int prot)
{
	return map(region, first * region->page, count * region->page, prot,
		   region->exec ? region->exec + first * region->page : NULL);
}

int jp_region_protect(struct jp_region *region, size_t first, size_t count, int prot)
{
	unsigned char *at = region->exec + first * region->page;
	uint64_t before = jp_clock_now();

	if (mprotect(at, count * region->page, prot) < 0)
		return -errno;
	jp_truth_protect(before, jp_clock_now(), (uintptr_t)at, count * region->page,
			 prot_of(prot));
	return 0;
}

static int unmap(void *at, size_t size)
{
	uint64_t before = jp_clock_now();

	if (munmap(at, size) < 0)
		return -errno;
	jp_truth_unmap(before, jp_clock_now(), (uintptr_t)at, size);
	return 0;
}

int jp_region_unmap(struct jp_region *region)
{
	int ret;

	if (region->kind->backing == JP_BACKING_HEAP)
		return -EOPNOTSUPP; /* only its end can be given back, and malloc() may have it */
	ret = unmap(region->exec, region->size);
	if (ret)
		return ret;
	if (region->reserved) {
		size_t guard = sysconf(_SC_PAGESIZE);

		munmap(region->exec - guard, guard);
		munmap(region->exec + region->size, guard);
	}
	if (region->write == region->exec)
		region->write = NULL;
	region->exec = NULL;
	region->reserved = 0;
	return 0;
}

int jp_region_remap(struct jp_region *region, size_t size)
{
	int views = jp_region_views(region);
	unsigned char *target;
	uint64_t before;
	void *moved;
	int ret;

	size = (size + region->page - 1) & -region->page;
	/* MAYMOVE alone may stay where it is: the new place is reserved first. */
	ret = reserve(region, size, &target);
	if (ret)
		return ret;
	before = jp_clock_now();
	moved = mremap(region->exec, region->size, size, MREMAP_MAYMOVE | MREMAP_FIXED, target);
	if (moved == MAP_FAILED) {
		ret = -errno;
		unmap(target, size);
		return ret;
	}
	jp_truth_remap(before, jp_clock_now(), (uintptr_t)region->exec, region->size,
		       (uintptr_t)moved, size);
	region->exec = moved;
	if (!views) {
		region->write = moved;
		region->size = size;
	}
	/* Views: the writable one stays, so what can be written does not grow. */
	return 0;
}

void jp_region_close(struct jp_region *region)
{
	if (region->kind && jp_region_views(region) && region->write)
		unmap(region->write, region->size);
	if (region->exec && jp_region_unmap(region) == -EOPNOTSUPP)
		jp_region_protect(region, 0, region->size / region->page, PROT_READ | PROT_WRITE);
	if (region->fd >= 0)
		close(region->fd);
	memset(region, 0, sizeof(*region));
	region->fd = -1;
}
