/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "harness/base/error.h"
#include "harness/format/elf/elf_image.h"
#include "harness/format/event.h"

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

/* Finds the files whose paths a capture records: in a folder that the user names, then on this
 * machine or below a copied root, in perf's search order. Files are untrusted: opens only regular
 * files, follows no link at the end of a path, and refuses a file with another build id than the
 * recorded one. */
struct jp_file_finder;
struct jp_file_finder *jp_file_finder_new(void);
/* Returns a finder of the files of run directory @dir: its perf maps and the files that inject made
 * of jitdumps, and no other file of this machine. Returns NULL if there is no memory. */
struct jp_file_finder *jp_file_finder_of_run(const char *dir);
bool jp_file_finder_is_of_run(const struct jp_file_finder *finder);
/* Returns whether the finder searches this machine's own files, not a run directory, folder or
 * copied root. */
bool jp_file_finder_is_native(const struct jp_file_finder *finder);
/* Makes the finder search the user's folder @elf first (harness/model/files/elf_folder.h; NULL:
 * none), and search below @root instead of this machine's root (NULL: this machine's root). No ".."
 * and no link leads out of @root. Returns 0, or -errno and a message if either is not a folder. */
int jp_file_finder_open(struct jp_file_finder *finder, const char *elf, const char *root,
			struct jp_error *err);
void jp_file_finder_free(struct jp_file_finder *finder);

/* Stores the build id of a JP_EVENT_BUILD_ID @event; ignores other events. Returns 0 or -ENOMEM. */
int jp_file_finder_add_build_id(struct jp_file_finder *finder, const struct jp_event *event);
/* Returns the build id that the capture's header gives to @path, or NULL. */
const struct jp_build_id *jp_file_finder_build_id(struct jp_file_finder *finder, const char *path);

struct jp_found_file {
	int fd;            /* -1: the file is in memory */
	const void *image; /* the file's bytes if @fd is -1 */
	uint64_t size;
	enum jp_file_place place;
	char path[4096];
};
/* Finds the first file with the wanted path and build id in @place or a later place; to continue,
 * pass found->place + 1. Returns 0, or the error for the recorded path itself: -ENOENT; -EACCES
 * ...; -EINVAL or -ELOOP: not a regular file; -ESTALE: another build id; -ENODATA: no build id, or
 * not an ELF file. */
int jp_file_find(struct jp_file_finder *finder, const struct jp_wanted_file *wanted_file,
		 enum jp_file_place place, struct jp_found_file *file, struct jp_error *err);
/* Returns whether the file at the wanted path on this machine was created or written after
 * @start_time, so that it cannot be the recorded file. Only checks this if no build id is known;
 * otherwise returns false. */
bool jp_file_finder_changed(struct jp_file_finder *finder, const struct jp_wanted_file *wanted_file,
			    const struct timespec *start_time);
/* Opens the file at @path in the mount namespace of @pid. Returns 0 or -errno. */
int jp_file_find_path(struct jp_file_finder *finder, uint32_t pid, const char *path,
		      struct jp_found_file *file);
/* Opens the perf map of @pid: in the mount namespace of @pid, under the pid that it has there, else
 * in this process's /tmp. Returns 0 or -errno. */
int jp_file_find_map(struct jp_file_finder *finder, uint32_t pid, struct jp_found_file *file);
/* Calls @visit for each perf map, up to a limit, in the /tmp that @pid sees. @map_pid: the pid in
 * the map's name. Stops if @visit returns another value than 0, and returns that value. */
int jp_file_find_maps(struct jp_file_finder *finder, uint32_t pid,
		      int (*visit)(void *context, uint32_t map_pid,
				   const struct jp_found_file *file),
		      void *context);
/* Returns whether @path looks like the name of an ELF file that inject makes of a jitdump. */
bool jp_file_finder_injected(const struct jp_file_finder *finder, const char *path);
/* Returns a number that is equal for processes that see the same files; 0: those that this process
 * sees. */
uint32_t jp_file_finder_residence(struct jp_file_finder *finder, uint32_t pid);
/* Closes @file; a second call does nothing. */
void jp_found_file_close(struct jp_found_file *file);
