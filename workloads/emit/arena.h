/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "workloads/emit/region.h"

/* A stretch of memory for code, mapped and made executable as a whole. Every act on it is recorded
 * in the truth with its bracket. */
enum jp_protect {
	JP_PROTECT_RWX,   /* writable and executable at once */
	JP_PROTECT_FLIP,  /* written RW, then mprotect to RX */
	JP_PROTECT_VIEWS, /* memfd: an RW view and an RX view, MAP_SHARED */
};
struct jp_arena {
	unsigned char *write; /* where code is written */
	unsigned char *exec;  /* where it runs */
	size_t size, used;
	enum jp_protect protect;
	int executable; /* FLIP: already RX */
	struct jp_region region;
};

/* 0 or -errno. VIEWS names its memfd @name ("doublemapper" as .NET does). @at: wanted address or
 * NULL. */
int jp_arena_map(struct jp_arena *arena, enum jp_protect protect, size_t size, const char *name,
		 void *at);
/* @count pages from @first on of a region that someone else keeps, and protects. */
void jp_arena_within(struct jp_arena *arena, const struct jp_region *region, size_t first,
		     size_t count);
/* Makes everything emitted executable (FLIP: mprotect; else nothing). */
int jp_arena_seal(struct jp_arena *arena);
int jp_arena_remap(struct jp_arena *arena, size_t size); /* mremap(MAYMOVE) to a new address */
int jp_arena_unmap(struct jp_arena *arena);
