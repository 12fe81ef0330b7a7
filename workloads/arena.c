// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/truth_write.h"

static uint64_t page_up(uint64_t size)
{
	uint64_t page = sysconf(_SC_PAGESIZE);

	return (size + page - 1) & -page;
}

static unsigned prot_of(int prot)
{
	return (prot & PROT_READ ? JP_PROT_READ : 0) | (prot & PROT_WRITE ? JP_PROT_WRITE : 0) |
	       (prot & PROT_EXEC ? JP_PROT_EXEC : 0);
}

/* mmap() with its record. */
static int map_one(void *at, size_t size, int prot, int flags, int fd, uint64_t offset,
		   enum jp_backing backing, uint32_t name, unsigned char **mapped)
{
	uint64_t before = jp_truth_now();
	void *got = mmap(at, size, prot, flags | (at ? MAP_FIXED_NOREPLACE : 0), fd, offset);
	uint64_t after = jp_truth_now();

	if (got == MAP_FAILED)
		return -errno;
	if (at && got != at) { /* before v4.17 the flag is only a hint */
		munmap(got, size);
		return -EEXIST;
	}
	jp_truth_put(JP_TRUTH_MAP, before, after, (uintptr_t)got, size,
		     prot_of(prot) | backing << 8 | (uint64_t)name << 32, offset);
	*mapped = got;
	return 0;
}

static int unmap_one(void *at, size_t size)
{
	uint64_t before = jp_truth_now();

	if (munmap(at, size) < 0)
		return -errno;
	jp_truth_put(JP_TRUTH_UNMAP, before, jp_truth_now(), (uintptr_t)at, size, 0, 0);
	return 0;
}

/* As .NET does it: one memfd per process, whose next unused stretch each arena shows twice. */
static int map_views(struct jp_arena *arena, const char *name, void *at)
{
	static int fd = -1;
	static uint64_t used;
	static pid_t owner;
	uint32_t text;
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
	if (ftruncate(fd, used + arena->size) < 0)
		return -errno;
	text = jp_truth_text(name);
	ret = map_one(at, arena->size, PROT_READ | PROT_EXEC, MAP_SHARED, fd, used,
		      JP_BACKING_MEMFD, text, &arena->exec);
	if (ret)
		return ret;
	ret = map_one(NULL, arena->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, used,
		      JP_BACKING_MEMFD, text, &arena->write);
	if (ret) {
		unmap_one(arena->exec, arena->size);
		return ret;
	}
	used += arena->size;
	return 0;
}

int jp_arena_map(struct jp_arena *arena, enum jp_protect protect, size_t size, const char *name,
		 void *at)
{
	int prot = PROT_READ | PROT_WRITE | (protect == JP_PROTECT_RWX ? PROT_EXEC : 0), ret;

	memset(arena, 0, sizeof(*arena));
	arena->size = page_up(size);
	arena->protect = protect;
	arena->executable = protect != JP_PROTECT_FLIP;
	if (protect == JP_PROTECT_VIEWS) {
		arena->backing = JP_BACKING_MEMFD;
		return map_views(arena, name, at);
	}
	arena->backing = JP_BACKING_ANON;
	ret = map_one(at, arena->size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, JP_BACKING_ANON, 0,
		      &arena->exec);
	arena->write = arena->exec;
	return ret;
}

int jp_arena_seal(struct jp_arena *arena)
{
	uint64_t before = jp_truth_now();

	if (arena->executable)
		return 0;
	if (mprotect(arena->exec, arena->size, PROT_READ | PROT_EXEC) < 0)
		return -errno;
	jp_truth_put(JP_TRUTH_PROTECT, before, jp_truth_now(), (uintptr_t)arena->exec, arena->size,
		     JP_PROT_READ | JP_PROT_EXEC, 0);
	arena->executable = 1;
	return 0;
}

int jp_arena_remap(struct jp_arena *arena, size_t size)
{
	unsigned char *target;
	uint64_t before;
	void *moved;
	int ret;

	size = page_up(size);
	/* MAYMOVE alone may stay where it is: the new place is reserved first. */
	ret = map_one(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0,
		      JP_BACKING_ANON, 0, &target);
	if (ret)
		return ret;
	before = jp_truth_now();
	moved = mremap(arena->exec, arena->size, size, MREMAP_MAYMOVE | MREMAP_FIXED, target);
	if (moved == MAP_FAILED) {
		ret = -errno;
		unmap_one(target, size);
		return ret;
	}
	jp_truth_put(JP_TRUTH_REMAP, before, jp_truth_now(), (uintptr_t)arena->exec, arena->size,
		     (uintptr_t)moved, size);
	if (arena->write == arena->exec) {
		arena->write = moved;
		arena->size = size;
	}
	/* VIEWS: the writable view stays, so what can be emitted into does not grow. */
	arena->exec = moved;
	return 0;
}

int jp_arena_unmap(struct jp_arena *arena)
{
	int ret = unmap_one(arena->exec, arena->size);

	if (!ret && arena->write != arena->exec)
		ret = unmap_one(arena->write, arena->size);
	memset(arena, 0, sizeof(*arena));
	return ret;
}
