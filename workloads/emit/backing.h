/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/format/truth/format.h"

/* An address range whose memory has one kind of backing. */
struct jp_region {
	const struct jp_backing_kind *kind;
	unsigned char
		*exec; /* address at which code runs; NULL: nothing is mapped or reserved yet */
	unsigned char
		*write; /* address at which code is written; equal to @exec if there is one view */
	size_t size, page;      /* @page: bytes of a page, the smallest part to map or protect */
	size_t nr_mapped_bytes; /* bytes from exec[0] to the end of the part that was ever mapped */
	int fd;                 /* -1: the region has no file */
	uint64_t offset;        /* offset of exec[0] in the backing's file */
	uint32_t name;          /* id of the name in the truth; 0: the backing has no name */
	int reserved; /* the address space is reserved, so MAP_FIXED may replace mappings in it */
};

/* A kind of memory for code. */
struct jp_backing_kind {
	const char *name;        /* value of --backing= */
	enum jp_backing backing; /* value in the truth */
	int flags;               /* flags for mmap() */
	/* Opens the backing, with @name if each region has a file of its own. NULL: there is
	 * nothing to open. Returns 0 or -errno. */
	int (*open)(struct jp_region *region, const char *name);
	/* Maps [@at, @at + @size) of @region at address @wanted (NULL: anywhere) and stores the
	 * address in *@got. NULL: use mmap() with @flags. Returns 0 or -errno. */
	int (*map)(struct jp_region *region, size_t at, size_t size, int prot,
		   unsigned char *wanted, unsigned char **got);
	int error; /* -errno of the calls on a machine without support for this backing */
	const char *missing_feature; /* the feature that such a machine lacks */
};

/* All kinds; the first is the default, an empty entry marks the end. */
extern const struct jp_backing_kind jp_backing_kinds[];
/* Returns the kind that --backing= names, or NULL. */
const struct jp_backing_kind *jp_backing_find(const char *name);
/* Prints the names of all kinds, a line each. */
void jp_backing_print(FILE *out);
/* Returns whether code of @kind is written at another address than the one at which it runs. */
bool jp_backing_has_views(const struct jp_backing_kind *kind);
/* Maps with mmap() and the kind's flags, for kinds without a function of their own. Returns 0 or
 * -errno. */
int jp_backing_map(struct jp_region *region, size_t offset, size_t size, int prot,
		   unsigned char *hint, unsigned char **mapped_at);
