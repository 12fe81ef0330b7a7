// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/changed_files.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "harness/base/clock.h"
#include "harness/base/map.h"

enum file_state { UNSEEN_FILE, SAME_FILE, CHANGED_FILE };

struct jp_changed_files {
	struct jp_replay *replay;
	struct jp_file_finder *finder;
	struct timespec recorded;
	struct jp_map states; /* enum file_state, by address of the name */
};

struct jp_changed_files *jp_changed_files_new(struct jp_replay *replay,
					      struct jp_file_finder *finder,
					      struct timespec recorded)
{
	struct jp_changed_files *files = calloc(1, sizeof(*files));

	if (files)
		*files = (struct jp_changed_files){
			.replay = replay, .finder = finder, .recorded = recorded};
	return files;
}

void jp_changed_files_free(struct jp_changed_files *files)
{
	if (files)
		jp_map_free(&files->states);
	free(files);
}

/* Reads the status of the file at @mapping's path. Returns false if there is no file, or if it is
 * not on the recorded device. */
static bool stat_recorded_path(const struct jp_changed_files *files,
			       const struct jp_mapping *mapping, struct stat *st)
{
	struct jp_found_file found;
	bool there;

	if (!mapping->ino || jp_file_find_path(files->finder, mapping->pid, mapping->name, &found))
		return false;
	/* Do not compare files with other device numbers: for overlayfs and btrfs, the numbers in
	 * records differ from those of stat(). */
	there = !fstat(found.fd, st) && st->st_dev == makedev(mapping->maj, mapping->min);
	jp_found_file_close(&found);
	return there;
}

static bool is_file(const struct jp_mapping *mapping)
{
	return mapping->backing == JP_BACKING_FILE && *mapping->name == '/';
}

/* Returns whether we seem to run on the machine of the recording: another file of the process is
 * unchanged here. */
static bool is_this_machine(const struct jp_changed_files *files, const struct jp_mapping *mapping)
{
	const struct jp_mapping *other = jp_replay_find_at_or_above(files->replay, mapping->pid, 0);
	struct stat st;

	for (; other; other = jp_replay_find_at_or_above(files->replay, mapping->pid, other->end))
		if (is_file(other) && other->ino != mapping->ino &&
		    stat_recorded_path(files, other, &st) && st.st_ino == other->ino)
			return true;
	return false;
}

/* Returns whether the process had mapped one file at this path, and the recorder later found
 * another file there, because of a mount namespace or an upgrade. Then the build id in the header
 * belongs to the later file, which has another inode and is not newer than the end of the
 * recording. */
static bool had_another_file(const struct jp_changed_files *files, const struct jp_mapping *mapping)
{
	struct stat st;

	return stat_recorded_path(files, mapping, &st) && st.st_ino != mapping->ino &&
	       jp_clock_is_earlier(&st.st_ctim, &files->recorded) &&
	       is_this_machine(files, mapping);
}

static bool is_changed(const struct jp_changed_files *files, const struct jp_mapping *mapping)
{
	const struct jp_wanted_file wanted = {
		.path = mapping->name, .ino = mapping->ino, .pid = mapping->pid};

	if (jp_file_finder_build_id(files->finder, mapping->name))
		return had_another_file(files, mapping);
	return jp_file_finder_changed(files->finder, &wanted, &files->recorded);
}

bool jp_changed_files_has(struct jp_changed_files *files, const struct jp_mapping *mapping)
{
	uint64_t *state;

	if (!files->recorded.tv_sec || !jp_file_finder_is_native(files->finder) ||
	    !is_file(mapping) || mapping->build_id_size)
		return false;
	state = jp_map_at(&files->states, (uintptr_t)mapping->name, sizeof(*state));
	if (!state)
		return false;
	if (*state == UNSEEN_FILE)
		*state = is_changed(files, mapping) ? CHANGED_FILE : SAME_FILE;
	return *state == CHANGED_FILE;
}
