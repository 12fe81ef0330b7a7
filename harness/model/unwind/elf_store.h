/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/files/file_finder.h"
#include "harness/model/unwind/cfi.h"
#include "harness/model/space/replay.h"

/*
 * Finds the ELF file with the call frame information of a mapping. Opens each file once, and
 * remembers failures, too.
 *
 * @dir is a run directory's elf/ with files named BUILDID and `index`, whose lines "BUILDID MAJ:MIN
 * INO #DIGEST PATH" lead from a mapping's path and inode to a build id. Device numbers are not
 * compared: on overlayfs and btrfs the kernel records others than stat() returns. @finder (may be
 * NULL) finds files that are missing there.
 */
struct jp_elf_store;
struct jp_elf_store *jp_elf_store_new(const char *dir, struct jp_file_finder *finder);
void jp_elf_store_free(struct jp_elf_store *store);
/* Returns whether @mapping, whose record states neither the file's generation nor its build id, can
 * be of the file with @build_id (hexadecimal). */
typedef bool jp_elf_may_be(void *context, const struct jp_mapping *mapping, const char *build_id);
/* Sets the function that decides about kept files for such mappings; by default each may be. */
void jp_elf_store_filter(struct jp_elf_store *store, jp_elf_may_be *may_be, void *context);

/* A file, or the reason why it cannot be opened. Valid as long as the store. */
struct jp_elf_entry {
	struct jp_cfi *cfi; /* NULL: @reason states the reason */
	const char *reason;
	const char *path;             /* path as recorded */
	const struct jp_build_id *id; /* size 0: unknown build id */
	uint64_t stops;               /* number of walks that ended because the file is missing */
};
/* Returns the entry of @mapping, or NULL if there is no memory. The caller may keep it in
 * mapping->file. */
struct jp_elf_entry *jp_elf_store_get(struct jp_elf_store *store, const struct jp_mapping *mapping);
/* Returns the file that was looked up after @previous (NULL: the first one), or NULL after the
 * last. */
struct jp_elf_entry *jp_elf_store_next(struct jp_elf_store *store, struct jp_elf_entry *previous);

/* A line of elf/index, for a file that the capture kept a copy of. */
struct jp_elf_line {
	char *build_id; /* hexadecimal */
	uint32_t maj, min;
	uint64_t ino, gen;   /* @gen 0: unknown, unless @has_generation */
	bool has_generation; /* the line has a generation */
	bool snapshot;       /* the mapping is known from a snapshot, which has no generation */
	bool digested;       /* the line has a digest of the file's bytes */
	uint64_t digest;
	char *path;
};
/* Returns line @i, or NULL. */
const struct jp_elf_line *jp_elf_store_line(const struct jp_elf_store *store, size_t i);
/* Checks that the copy of @line's file is readable and matches its name and digest. Returns 0,
 * -EINVAL and a message, or -EBADMSG if the digest differs. */
int jp_elf_store_check(const struct jp_elf_store *store, const struct jp_elf_line *line,
		       struct jp_error *err);
