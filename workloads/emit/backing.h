/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_WORKLOADS_BACKING_H
#define JP_WORKLOADS_BACKING_H

#include <stddef.h>
#include <stdint.h>

#include "harness/format/truth/format.h"

/*
 * Backings: what the memory is made of that code stands in. A region is a stretch of address space
 * of one backing, mapped and protected page by page or at once. Every act on it is recorded in the
 * truth with its bracket.
 */
struct jp_region {
	const struct jp_backing_kind *kind;
	unsigned char *exec;  /* where code runs; NULL: nothing is mapped or reserved yet */
	unsigned char *write; /* where it is written: the same, but for a backing of two views */
	size_t size, page;    /* @page: what can be mapped or protected alone */
	int fd;               /* -1: none of its own */
	uint64_t offset;      /* of exec[0] in the backing's file */
	uint32_t name;        /* in the truth; 0: the backing has none */
	int reserved;         /* the address space is ours: mappings go over it */
};

struct jp_backing_kind {
	const char *name; /* of --backing= */
	const char *help;
	enum jp_backing backing; /* in the truth */
	int flags;               /* of mmap() */
	/* NULL: there is nothing to open. @name: of what has one of its own. 0 or -errno. */
	int (*open)(struct jp_region *region, const char *name);
	/* NULL: mmap() with @flags. [@at, @at + @size) of @region, at address @wanted; NULL:
	 * anywhere, *@got is set. 0 or -errno. */
	int (*map)(struct jp_region *region, size_t at, size_t size, int prot,
		   unsigned char *wanted, unsigned char **got);
	int error;           /* -errno by which the machine says that it has no such thing */
	const char *missing; /* what it lacks then */
};

/* All of them, an empty one at the end; the first is the usual one. */
extern const struct jp_backing_kind jp_backing_kinds[];
/* By the name of --backing=; NULL: there is none such. */
const struct jp_backing_kind *jp_backing_find(const char *name);
/* What this machine lacks for @kind, if @error (-errno) is how it says so; else NULL. */
const char *jp_backing_missing(const struct jp_backing_kind *kind, int error);

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

#endif
