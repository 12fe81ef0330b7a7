/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "harness/base/error.h"
#include "harness/format/event.h"
#include "harness/model/files/file_paths.h"

/*
 * Where the files are that a capture names: in a folder that the user gave, then on this machine,
 * or below a copied root, in the order in which perf looks for them. Files are untrusted: nothing
 * is opened that is no regular file, no link is followed at the end of a path, and what has another
 * build id than the recorded one is not it.
 */
struct jp_file_finder;
struct jp_file_finder *jp_file_finder_new(void);
/* The same of a run directory: its perf maps, files that inject made of jitdumps, and nothing else
 * of this machine. */
struct jp_file_finder *jp_file_finder_of_run(const char *dir);
bool jp_file_finder_is_of_run(const struct jp_file_finder *finder);
/* Whether all files are this machine's own. */
bool jp_file_finder_is_native(const struct jp_file_finder *finder);
/* Looks in @elf first (harness/model/files/elf_folder.h; NULL: none), and below @root in place of
 * this machine's own (NULL): no ".." and no link leads out of it. -errno and a message: it is no
 * folder. */
int jp_file_finder_from(struct jp_file_finder *finder, const char *elf, const char *root,
			struct jp_error *err);
void jp_file_finder_free(struct jp_file_finder *finder);

/* Takes in what @event says of build ids (JP_EVENT_BUILD_ID); passes over others. 0 or -ENOMEM. */
int jp_file_finder_see(struct jp_file_finder *finder, const struct jp_event *event);
/* The build id that the capture's header gives to @path, or NULL. */
const struct jp_build_id *jp_file_finder_build_id(struct jp_file_finder *finder, const char *path);

struct jp_found_file {
	int fd;            /* -1: it is in memory */
	const void *image; /* then */
	uint64_t size;
	enum jp_file_place place;
	char path[4096]; /* where it was */
};
/*
 * The first file that is there at @place or later; the next look starts at found->place + 1. 0, or
 * why not, of what lies at the path itself: -ENOENT; -EACCES ...; -EINVAL, -ELOOP: no regular file;
 * -ESTALE: another build id; -ENODATA: it has none, or is no ELF file.
 */
int jp_file_find(struct jp_file_finder *finder, const struct jp_wanted_file *wanted,
		 enum jp_file_place place, struct jp_found_file *found, struct jp_error *err);
/* Whether this machine's file at the wanted path was put there, or written, after @since: it is
 * another than the recorded one, where no build id tells. */
bool jp_file_finder_changed(struct jp_file_finder *finder, const struct jp_wanted_file *wanted,
			    time_t since);
/* What @pid has at @path, of any kind. */
int jp_file_find_path(struct jp_file_finder *finder, uint32_t pid, const char *path,
		      struct jp_found_file *found, struct jp_error *err);
/* The perf map of @pid: in its own mount namespace with its own number there, else in /tmp. */
int jp_file_find_map(struct jp_file_finder *finder, uint32_t pid, struct jp_found_file *found,
		     struct jp_error *err);
/* The perf maps of all processes that see what @pid does, by the pid in their names: anything but 0
 * that @visit returns ends it, and is returned. It may look at so many only. */
int jp_file_find_maps(struct jp_file_finder *finder, uint32_t pid,
		      int (*visit)(void *context, uint32_t named,
				   const struct jp_found_file *found),
		      void *context);
/* Whether @path is called as the files that inject makes of jitdumps. */
bool jp_file_finder_injected(const struct jp_file_finder *finder, const char *path);
/* Equal for processes that see the same files; 0: those that we see. */
uint32_t jp_file_finder_residence(struct jp_file_finder *finder, uint32_t pid);
/* What is left of it afterwards is nothing. */
void jp_found_file_close(struct jp_found_file *found);
