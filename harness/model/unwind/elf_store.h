/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/files/file_finder.h"
#include "harness/model/unwind/cfi.h"
#include "harness/model/space/replay.h"

/*
 * Finds the ELF file whose call frame information serves a mapping. Opens each file once, and
 * remembers failures too.
 *
 * @dir is a run directory's elf/: BUILDID files, and `index` with lines
 * "BUILDID MAJ:MIN INO #DIGEST PATH" that tie a mapping's recorded path and inode to one (the
 * vDSO's line is "BUILDID 0:0 0 #DIGEST [vdso]"; a newline in PATH is written \012; older captures
 * wrote no digest). A mapping whose record has a build id
 * needs no index. What is not there is left to @finder (NULL: it is missing), with the build id
 * that the capture's header gives where the record has none. (Device numbers are not compared: on
 * overlayfs and btrfs the kernel records others than stat() gives.)
 */
struct jp_elf_store;
struct jp_elf_store *jp_elf_store_new(const char *dir, struct jp_file_finder *finder);
void jp_elf_store_free(struct jp_elf_store *store);

/* One file, or why it cannot be opened. Lives as long as the store. */
struct jp_elf_entry {
	struct jp_cfi *cfi; /* NULL: @why */
	const char *why;
	const char *path;             /* as recorded */
	const struct jp_build_id *id; /* size 0: nobody tells */
	uint64_t stops;               /* walks that ended for want of it */
};
/* NULL: no memory. mapping->file may keep the result. */
struct jp_elf_entry *jp_elf_store_get(struct jp_elf_store *store, const struct jp_mapping *mapping);
/* The files that were looked up, one after @after (NULL: the first); NULL: no more. */
struct jp_elf_entry *jp_elf_store_next(struct jp_elf_store *store, struct jp_elf_entry *after);

/* A line of elf/index: a file that the capture kept. */
struct jp_elf_line {
	char *build_id; /* hex */
	uint32_t maj, min;
	uint64_t ino, gen; /* gen 0: unknown, unless ... */
	bool known;        /* ... the file has no other */
	bool snapshot;     /* of a mapping whose record has no generation */
	bool digested;     /* the capture said what the file's bytes are */
	uint64_t digest;
	char *path;
};
/* The @i-th; NULL: there are no more. */
const struct jp_elf_line *jp_elf_store_line(const struct jp_elf_store *store, size_t i);
/* Whether the file can be read and is what its name and its digest say; -EINVAL and why not,
 * -EBADMSG for the digest. */
int jp_elf_store_check(const struct jp_elf_store *store, const struct jp_elf_line *line,
		       struct jp_error *err);
