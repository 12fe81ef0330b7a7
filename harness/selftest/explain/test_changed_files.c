// SPDX-License-Identifier: GPL-2.0-only
/* Tests detecting that a path has another file than the one whose build id is in the header. */
#include <sys/sysmacros.h>

#include "harness/explain/changed_files.h"
#include "harness/selftest/support/made_events.h"
#include "harness/selftest/support/scratch.h"

enum { PID = 9, RX = JP_PROT_READ | JP_PROT_EXEC };

static struct jp_replay *spaces;

static void map_file(uint64_t addr, const char *path, const struct stat *st, uint64_t ino)
{
	struct jp_event event = MADE_EVENT(MAP, PID, 1, MADE_MAP(addr, 0x1000, RX, path));

	event.map.has_identity = true;
	event.map.maj = major(st->st_dev);
	event.map.min = minor(st->st_dev);
	event.map.ino = ino;
	if (jp_replay_apply(spaces, &event))
		exit(99);
}

/* Returns whether the file mapped at @addr changed since the recording ended at @recorded. */
static bool is_changed(uint64_t addr, const char *headed, struct timespec recorded)
{
	static const unsigned char id[20] = {1};
	const struct jp_event event = {
		.type = JP_EVENT_BUILD_ID,
		.map = {.name = headed, .build_id = id, .build_id_size = sizeof(id)}};
	struct jp_file_finder *finder = jp_file_finder_new();
	struct jp_changed_files *files = jp_changed_files_new(spaces, finder, recorded);
	bool found;

	if (!finder || !files || jp_file_finder_add_build_id(finder, &event))
		exit(99);
	found = jp_changed_files_has(files, jp_replay_find(spaces, PID, addr));
	jp_changed_files_free(files);
	jp_file_finder_free(finder);
	return found;
}

TEST(changed_files)
{
	const char *path = scratch_make("library");
	static const struct {
		const char *when;
		int seconds, ns;
		bool changed;
	} rows[] = {
		{"1 ns after", 0, 1, true},
		{"1 s less 1 ns after", 1, -1, true},
		{"at the time of", 0, 0, false},
		{"1 ns before", 0, -1, false},
		{"1 s less 1 ns before", -1, 1, false},
	};
	struct stat st;

	spaces = jp_replay_new();
	if (!spaces || !scratch_write(path, "", 0) || stat(path, &st))
		exit(99);
	map_file(0x10000, path, &st, st.st_ino + 1000);
	check(!is_changed(0x10000, path, (struct timespec){st.st_ctim.tv_sec + 1, 0}),
	      "if no inode is as recorded, no file counts as changed");
	map_file(0x20000, path, &st, st.st_ino);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct timespec recorded = {st.st_ctim.tv_sec + rows[i].seconds,
						  st.st_ctim.tv_nsec + rows[i].ns};

		check(is_changed(0x10000, path, recorded) == rows[i].changed,
		      "another inode, recording ended %s its change: %s", rows[i].when,
		      rows[i].changed ? "changed" : "unchanged");
		check(!is_changed(0x20000, path, recorded), "the same inode is unchanged");
	}
	jp_replay_free(spaces);
}
