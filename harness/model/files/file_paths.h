/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/format/elf/elf_image.h"

struct jp_wanted_file {
	const char *path;      /* path as recorded */
	struct jp_build_id id; /* expected build id; size 0: any build id */
	uint64_t ino; /* expected inode on this machine, if no build id is known; 0: any inode */
	const char *link; /* contents of the file's .gnu_debuglink; NULL: unknown */
	uint32_t pid;     /* process that mapped the file, whose mount namespace is searched */
};
/* Places of an ELF file or of its symbols, in perf's order. */
enum jp_file_place {
	JP_FILE_GIVEN, /* in the user's folder: each value below the next place is one candidate
			  there */
	JP_FILE_CACHE = 16,   /* ~/.debug/.build-id/XX/YY/elf */
	JP_FILE_CACHE_DEBUG,  /* ~/.debug/.build-id/XX/YY/debug */
	JP_FILE_DEBUG_SUFFIX, /* /usr/lib/debug/PATH.debug */
	JP_FILE_DEBUG_PATH,   /* /usr/lib/debug/PATH */
	JP_FILE_DEBUG_ID,     /* /usr/lib/debug/.build-id/XX/YY.debug */
	JP_FILE_LINK,         /* .gnu_debuglink of PATH, beside it */
	JP_FILE_LINK_DEBUG,   /* .gnu_debuglink in the folder .debug beside PATH */
	JP_FILE_LINK_SYSTEM,  /* .gnu_debuglink in PATH's folder below /usr/lib/debug */
	JP_FILE_ITSELF,       /* PATH; for [vdso] this process's own vDSO */
	JP_FILE_PLACES
};

/* Builds in @path the path of file @wanted_file in @place. Returns 0, or -ENOENT if the file cannot
 * be in that place. */
int jp_file_build_path(enum jp_file_place place, const struct jp_wanted_file *wanted_file,
		       char *path, size_t size);
/* Builds in @path the path of the recorded file @recorded_path in run directory @run: files of
 * jitproof's inject are in jit/, those of perf's inject beside the jitdump. Ignores the recorded
 * directory, since the run directory may have been moved. */
int jp_file_build_path_in_run(const char *run, enum jp_file_place place, const char *recorded_path,
			      char *path, size_t size);
