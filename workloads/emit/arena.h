/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "workloads/emit/region.h"

/* An arena: memory for code that is mapped and made executable as a whole. The truth records each
 * operation on it, with the times before and after. */
enum jp_protect {
	JP_PROTECT_RWX,   /* writable and executable at once */
	JP_PROTECT_FLIP,  /* written RW, then mprotect to RX */
	JP_PROTECT_VIEWS, /* memfd: an RW view and an RX view, MAP_SHARED */
};
struct jp_arena {
	unsigned char *write; /* address for writing code */
	unsigned char *exec;  /* address for running code */
	size_t size, used;
	enum jp_protect protect;
	int executable; /* FLIP: 1 if the arena is RX now */
	struct jp_region region;
};

/* Maps an arena of @size bytes. @name: name of the memfd for JP_PROTECT_VIEWS ("doublemapper" in
 * .NET). Returns 0 or -errno. */
int jp_arena_map(struct jp_arena *arena, enum jp_protect protect, size_t size, const char *name);
/* Makes @arena of the @count pages from page @first on of @region, which the caller maps and
 * protects. */
void jp_arena_use_region(struct jp_arena *arena, const struct jp_region *region, size_t first,
			 size_t count);
/* Makes all emitted code executable: with mprotect() for FLIP; does nothing for other kinds. */
int jp_arena_make_executable(struct jp_arena *arena);
/* Moves the arena to a new address and @size by mremap(MAYMOVE). */
int jp_arena_remap(struct jp_arena *arena, size_t size);
void jp_arena_unmap(struct jp_arena *arena);
