/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/format/truth/format.h"

/* A stretch of address space of one backing. */
struct jp_region {
	const struct jp_backing_kind *kind;
	unsigned char *exec;  /* where code runs; NULL: nothing is mapped or reserved yet */
	unsigned char *write; /* where it is written: the same, but for a backing of two views */
	size_t size, page;    /* @page: what can be mapped or protected alone */
	size_t reached;       /* where the heap ends that is mapped, from exec[0] on */
	int fd;               /* -1: none of its own */
	uint64_t offset;      /* of exec[0] in the backing's file */
	uint32_t name;        /* in the truth; 0: the backing has none */
	int reserved;         /* the address space is ours: mappings go over it */
};

/* What the memory is made of that code stands in. */
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
/* Whether it is written elsewhere than it runs. */
bool jp_backing_has_views(const struct jp_backing_kind *kind);
/* mmap() as the kind's flags want it: what maps where a kind has no call of its own. */
int jp_backing_map(struct jp_region *region, size_t at, size_t size, int prot,
		   unsigned char *wanted, unsigned char **got);
