// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/arena.h"

#include <string.h>
#include <sys/mman.h>

static void copy_addresses(struct jp_arena *arena)
{
	arena->write = arena->region.write;
	arena->exec = arena->region.exec;
	arena->size = arena->region.size;
}

int jp_arena_map(struct jp_arena *arena, enum jp_protect protect, size_t size, const char *name)
{
	static const int prots[] = {
		[JP_PROTECT_RWX] = PROT_READ | PROT_WRITE | PROT_EXEC,
		[JP_PROTECT_FLIP] = PROT_READ | PROT_WRITE,
		[JP_PROTECT_VIEWS] = PROT_READ | PROT_EXEC,
	};
	const char *backing = protect == JP_PROTECT_VIEWS ? "memfd-views" : "anon";
	int ret;

	memset(arena, 0, sizeof(*arena));
	arena->protect = protect;
	arena->executable = protect != JP_PROTECT_FLIP;
	ret = jp_region_open_bytes(&arena->region, jp_backing_find(backing), size, name)
		      ?: jp_region_map_at(&arena->region, prots[protect], NULL);
	if (ret)
		jp_region_close(&arena->region);
	copy_addresses(arena);
	return ret;
}

void jp_arena_use_region(struct jp_arena *arena, const struct jp_region *region, size_t first,
			 size_t count)
{
	*arena = (struct jp_arena){.write = region->write + first * region->page,
				   .exec = region->exec + first * region->page,
				   .size = count * region->page,
				   .protect = JP_PROTECT_RWX,
				   .executable = 1,
				   .region = {.fd = -1}};
}

int jp_arena_make_executable(struct jp_arena *arena)
{
	int ret;

	if (arena->executable)
		return 0;
	ret = jp_region_protect(&arena->region, 0, arena->region.size / arena->region.page,
				PROT_READ | PROT_EXEC);
	arena->executable = !ret;
	return ret;
}

int jp_arena_remap(struct jp_arena *arena, size_t size)
{
	int ret = jp_region_remap(&arena->region, size);

	copy_addresses(arena);
	return ret;
}

void jp_arena_unmap(struct jp_arena *arena)
{
	jp_region_close(&arena->region);
	memset(arena, 0, sizeof(*arena));
}
