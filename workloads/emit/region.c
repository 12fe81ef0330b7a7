// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/region.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/format/truth/write.h"

static size_t compute_page_size(const struct jp_backing_kind *kind, unsigned grain)
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
	*region =
		(struct jp_region){.kind = kind, .fd = -1, .page = compute_page_size(kind, grain)};
	region->size = pages * region->page;
	return kind->open ? kind->open(region, name ? name : "jitproof") : 0;
}

int jp_region_open_bytes(struct jp_region *region, const struct jp_backing_kind *kind, size_t size,
			 const char *name)
{
	size_t page = compute_page_size(kind, 1);

	return jp_region_open(region, kind, (size + page - 1) / page, 1, name);
}

static unsigned get_truth_prot(int prot)
{
	return (prot & PROT_READ ? JP_PROT_READ : 0) | (prot & PROT_WRITE ? JP_PROT_WRITE : 0) |
	       (prot & PROT_EXEC ? JP_PROT_EXEC : 0);
}

static void record_map(uint64_t before, const struct jp_region *region, unsigned char *pos,
		       size_t size, int prot)
{
	uint64_t offset =
		region->fd < 0 ? 0 : region->offset + (region->exec ? pos - region->exec : 0);

	jp_truth_map(before, jp_clock_now(),
		     &(struct jp_truth_mapping){.addr = (uintptr_t)pos,
						.len = size,
						.prot = get_truth_prot(prot),
						.backing = region->kind->backing,
						.name = region->name,
						.offset = offset});
}

/* Reserves @size bytes of inaccessible memory at an address aligned to the region's pages and
 * stores the address in *@mapped_at. A guard page on either side stays inaccessible: without it, an
 * unrelated mapping could merge with ours or share its anon_vma, and the kernel's records would
 * vary from run to run. */
static int reserve_space(struct jp_region *region, size_t size, unsigned char **mapped_at)
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
	*mapped_at = memory + guard;
	jp_truth_map(before, jp_clock_now(),
		     &(struct jp_truth_mapping){.addr = (uintptr_t)*mapped_at, .len = size});
	return 0;
}

int jp_region_reserve(struct jp_region *region)
{
	int ret;

	if (region->kind->backing == JP_BACKING_HEAP)
		return 0;
	ret = reserve_space(region, region->size, &region->exec);
	region->reserved = !ret;
	return ret;
}

/* Maps pages by the map() function of the region's kind, and then gives them @prot, because not
 * every such function takes a protection. */
static int map_pages(struct jp_region *region, size_t offset, size_t size, int prot,
		     unsigned char *hint)
{
	int (*map_view)(struct jp_region *, size_t, size_t, int, unsigned char *,
			unsigned char **) = region->kind->map ? region->kind->map : jp_backing_map;
	int mapped_prot = prot;
	uint64_t before = jp_clock_now();
	unsigned char *mapped_at;
	int ret = map_view(region, offset, size, prot, hint, &mapped_at);

	if (ret)
		return ret;
	if (region->kind->backing == JP_BACKING_HEAP ||
	    (region->kind->backing == JP_BACKING_SYSV && !prot))
		mapped_prot = PROT_READ | PROT_WRITE;
	if (!region->exec)
		region->exec = mapped_at;
	if (!region->write)
		region->write = region->exec;
	if (region->nr_mapped_bytes < offset + size)
		region->nr_mapped_bytes = offset + size;
	record_map(before, region, mapped_at, size, mapped_prot);
	if (mapped_prot == prot)
		return 0;
	return jp_region_protect(region, offset / region->page, size / region->page, prot);
}

int jp_region_map_at(struct jp_region *region, int prot, void *addr)
{
	return map_pages(region, 0, region->size, prot, region->exec ? region->exec : addr);
}

int jp_region_map(struct jp_region *region, size_t first, size_t count, int prot)
{
	return map_pages(region, first * region->page, count * region->page, prot,
			 region->exec ? region->exec + first * region->page : NULL);
}

int jp_region_protect(struct jp_region *region, size_t first, size_t count, int prot)
{
	unsigned char *pos = region->exec + first * region->page;
	uint64_t before = jp_clock_now();

	if (mprotect(pos, count * region->page, prot) < 0)
		return -errno;
	jp_truth_protect(before, jp_clock_now(), (uintptr_t)pos, count * region->page,
			 get_truth_prot(prot));
	return 0;
}

static int unmap_range(void *addr, size_t size)
{
	uint64_t before = jp_clock_now();

	if (munmap(addr, size) < 0)
		return -errno;
	jp_truth_unmap(before, jp_clock_now(), (uintptr_t)addr, size);
	return 0;
}

int jp_region_unmap(struct jp_region *region)
{
	int ret;

	if (region->kind->backing == JP_BACKING_HEAP)
		return -EOPNOTSUPP; /* only the upper end of the program break's heap can be freed,
				       and malloc() may use that part */
	ret = unmap_range(region->exec, region->size);
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
	int views = jp_backing_has_views(region->kind);
	unsigned char *target;
	uint64_t before;
	void *new_exec;
	int ret;

	size = (size + region->page - 1) & -region->page;
	/* MREMAP_MAYMOVE alone may leave the mapping at its address: reserve the new place
	 * first. */
	ret = reserve_space(region, size, &target);
	if (ret)
		return ret;
	before = jp_clock_now();
	new_exec = mremap(region->exec, region->size, size, MREMAP_MAYMOVE | MREMAP_FIXED, target);
	if (new_exec == MAP_FAILED) {
		ret = -errno;
		unmap_range(target, size);
		return ret;
	}
	jp_truth_remap(before, jp_clock_now(), (uintptr_t)region->exec, region->size,
		       (uintptr_t)new_exec, size);
	region->exec = new_exec;
	if (!views) {
		region->write = new_exec;
		region->size = size;
	}
	/* Views: the writable view stays, so the writable size does not grow. */
	return 0;
}

void jp_region_close(struct jp_region *region)
{
	if (region->kind && jp_backing_has_views(region->kind) && region->write)
		unmap_range(region->write, region->size);
	/* Protect only up to @reached: at unmapped memory, mprotect() fails after it has changed
	 * the memory before. */
	if (region->exec && jp_region_unmap(region) == -EOPNOTSUPP)
		jp_region_protect(region, 0, region->nr_mapped_bytes / region->page,
				  PROT_READ | PROT_WRITE);
	if (region->fd >= 0)
		close(region->fd);
	memset(region, 0, sizeof(*region));
	region->fd = -1;
}
