/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "workloads/emit/backing.h"

/* Regions, mapped and protected page by page or at once. Every act is recorded in the truth with
 * its bracket. */

/* A region of @pages pages, with nothing mapped; its page is at least @grain of the machine's.
 * @name: of a memfd. 0 or -errno. */
int jp_region_open(struct jp_region *region, const struct jp_backing_kind *kind, size_t pages,
		   unsigned grain, const char *name);
/* The same in bytes; no more than fit. */
int jp_region_open_bytes(struct jp_region *region, const struct jp_backing_kind *kind, size_t size,
			 const char *name);
/* Address space for all of it, so that its parts can be mapped one by one (the heap has its own).
 */
int jp_region_reserve(struct jp_region *region);
/* Whether it is written elsewhere than it runs. */
int jp_region_views(const struct jp_region *region);
/*
 * Maps [@first, @first + @count) pages with @prot (PROT_*). Without a reservation only the whole of
 * it, at @at or anywhere. 0 or -errno.
 */
int jp_region_map_at(struct jp_region *region, int prot, void *at);
int jp_region_map(struct jp_region *region, size_t first, size_t count, int prot);
int jp_region_protect(struct jp_region *region, size_t first, size_t count, int prot);
/* Unmaps all of it, reservation included; it can be reserved or mapped again (not the heap:
 * -EOPNOTSUPP). */
int jp_region_unmap(struct jp_region *region);
/* mremap(MAYMOVE) of the whole to a new place and @size; it must be one mapping. The writable view
 * of two activations. */
int jp_region_remap(struct jp_region *region, size_t size);
void jp_region_close(struct jp_region *region);
