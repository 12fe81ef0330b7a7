/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/format/elf/elf_image.h"

struct jp_wanted_file {
	const char *path;      /* as recorded */
	struct jp_build_id id; /* size 0: any will do ... */
	uint64_t ino;          /* ... but on this machine itself only of this inode; 0: any */
	const char *link;      /* how it calls the file with its symbols; NULL: unknown */
	uint32_t pid;          /* who mapped it: where it lies in another mount namespace, there */
};
/* Where an ELF file, or one with its symbols, may lie; perf's order. */
enum jp_file_place {
	JP_FILE_GIVEN,        /* in the folder that was given; up to the next, one file each */
	JP_FILE_CACHE = 16,   /* ~/.debug/.build-id/XX/YY/elf */
	JP_FILE_CACHE_DEBUG,  /* ~/.debug/.build-id/XX/YY/debug */
	JP_FILE_DEBUG_SUFFIX, /* /usr/lib/debug/PATH.debug */
	JP_FILE_DEBUG_PATH,   /* /usr/lib/debug/PATH */
	JP_FILE_DEBUG_ID,     /* /usr/lib/debug/.build-id/XX/YY.debug */
	JP_FILE_LINK,         /* what PATH's .gnu_debuglink says, beside it */
	JP_FILE_LINK_DEBUG,   /* in .debug there */
	JP_FILE_LINK_SYSTEM,  /* in PATH's folder below /usr/lib/debug */
	JP_FILE_ITSELF,       /* PATH; for [vdso] our own */
	JP_FILE_PLACES
};

/* How files are called in each place. */

/* That of @wanted in @place, into @path; -ENOENT: it can be in no such place. */
int jp_file_path_in(enum jp_file_place place, const struct jp_wanted_file *wanted, char *path,
		    size_t size);
/* That of @recorded in the run directory @run: inject's files lie in jit/, perf's own beside the
 * jitdump. The record's folder is of no use: the run directory may have moved. */
int jp_file_path_in_run(const char *run, enum jp_file_place place, const char *recorded, char *path,
			size_t size);
/* Whether inject, ours or perf's, gives a file the name @path. */
bool jp_file_path_injected(const char *path);
