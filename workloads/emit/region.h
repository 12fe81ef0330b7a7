/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "workloads/emit/backing.h"

/* Maps and protects regions, page by page or as a whole, and records each operation with its
 * interval in the truth. */

/* Opens a region of @pages pages and maps nothing. Each page has at least @grain of the machine's
 * pages. @name: name of a memfd. Returns 0 or -errno. */
int jp_region_open(struct jp_region *region, const struct jp_backing_kind *kind, size_t pages,
		   unsigned grain, const char *name);
/* Does the same as jp_region_open() for @size bytes, rounded up to pages. */
int jp_region_open_bytes(struct jp_region *region, const struct jp_backing_kind *kind, size_t size,
			 const char *name);
/* Reserves address space for the whole region, so that parts can be mapped one by one (the heap
 * needs no reservation). Returns 0 or -errno. */
int jp_region_reserve(struct jp_region *region);
/* Maps the whole region with @prot (PROT_*) at address @addr; NULL: anywhere. Returns 0 or -errno.
 */
int jp_region_map_at(struct jp_region *region, int prot, void *addr);
/* Maps @count pages from page @first on with @prot. Without a reservation only the whole region can
 * be mapped. Returns 0 or -errno. */
int jp_region_map(struct jp_region *region, size_t first, size_t count, int prot);
int jp_region_protect(struct jp_region *region, size_t first, size_t count, int prot);
/* Unmaps the whole region and its reservation. The region can be reserved or mapped again. Returns
 * 0 or -errno (-EOPNOTSUPP: the heap cannot be unmapped). */
int jp_region_unmap(struct jp_region *region);
/* Moves the region, which must be one mapping, to a new address and @size by mremap(). A separate
 * writable view stays as it is. Returns 0 or -errno. */
int jp_region_remap(struct jp_region *region, size_t size);
void jp_region_close(struct jp_region *region);
