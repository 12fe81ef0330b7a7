// SPDX-License-Identifier: GPL-2.0-only
#include "harness/inject/inject_markers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/sort.h"
#include "harness/model/space/mapping_name.h"

/* Records in @known_paths that the process of @marker mapped @path, with the marker's inode, or
 * with any inode if @any_process. Returns 1, 0 if @known_paths contains that already, or -ENOMEM.
 */
static int note_mapping(struct jp_text_pool *known_paths, const struct jp_marker *marker,
			const char *path, bool any_process)
{
	const size_t count = known_paths->count;
	jp_cleanup_free char *key = NULL;
	int length = any_process
			     ? asprintf(&key, "%u - %s", marker->pid, path)
			     : asprintf(&key, "%u %" PRIu64 " %s", marker->pid, marker->ino, path);

	if (length < 0)
		key = NULL;
	if (!key || !jp_text_keep(known_paths, key, length))
		return -ENOMEM;
	return known_paths->count > count;
}

int jp_inject_marker(struct jp_inject_dumps *dumps, const struct jp_event *event,
		     const struct jp_perf_layout *layout)
{
	struct jp_marker *added, marker = {
					 .pid = event->pid,
					 .named_pid = jp_mapping_jitdump_number(event->map.name),
					 .has_identity = event->map.has_identity,
					 .ino = event->map.has_identity ? event->map.ino : 0,
					 .layout = *layout,
					 .cpu = event->cpu,
					 .id = event->id,
					 .nth = dumps->events,
				 };
	int is_new;

	if (event->kernel_map || !jp_mapping_holds_code(event) || !marker.named_pid ||
	    event->map.name[jp_mapping_name_length(event->map.name)])
		return 0;
	is_new = note_mapping(&dumps->paths, &marker, event->map.name, !marker.has_identity);
	if (is_new > 0 &&
	    note_mapping(&dumps->paths, &marker, event->map.name, marker.has_identity) < 0)
		is_new = -ENOMEM;
	if (is_new <= 0)
		return is_new;
	marker.path = strdup(event->map.name);
	added = jp_array_push(&dumps->markers, &dumps->nr_markers, &dumps->markers_capacity);
	if (!marker.path || !added) {
		free(marker.path);
		dumps->nr_markers -= added != NULL;
		return -ENOMEM;
	}
	*added = marker;
	dumps->timeless |= !layout->end_time;
	return 0;
}

/* Returns the path of the jitdump to which @marker leads, or NULL without memory. */
static char *build_dump_path(const struct jp_inject_read *reading, const struct jp_marker *marker)
{
	char *path;

	if (!reading->jitdumps)
		return strdup(marker->path);
	if (asprintf(&path, "%s%s", reading->jitdumps, strrchr(marker->path, '/')) < 0)
		return NULL;
	return path;
}

/* Key of a jitdump file to which markers lead. @is_named: the entry counts only markers whose
 * process has the pid in the file's name. */
struct dump_file {
	uint64_t dev, ino, is_named;
};

/* Returns the entry of the file @st, whose value is the file's first marker, or NULL without
 * memory. @is_named: as in struct dump_file. */
static struct jp_text *find_first_marker(struct jp_text_pool *files, const struct stat *st,
					 bool is_named)
{
	const struct dump_file file = {st->st_dev, st->st_ino, is_named};

	return jp_text_keep(files, &file, sizeof(file));
}

/* Returns whether the process mapped another file than is now at the path in @marker. Returns false
 * for copied jitdumps, since a copy has another inode. */
static bool is_other_file(const struct jp_marker *marker, const struct jp_inject_read *reading,
			  const struct stat *st)
{
	return !reading->jitdumps && reading->root < 0 && marker->has_identity &&
	       marker->ino != st->st_ino;
}

static int note_file(struct jp_text_pool *files, struct jp_marker *marker,
		     const struct jp_inject_read *reading)
{
	jp_cleanup_free char *path = build_dump_path(reading, marker);
	jp_cleanup_close int fd = -1;
	struct jp_error reason;
	struct stat st;
	uint64_t size;

	if (!path)
		return -ENOMEM;
	fd = jp_inject_open(reading, path, -1, &size, &reason);
	if (fd < 0 || fstat(fd, &st) || is_other_file(marker, reading, &st))
		return 0;
	for (int is_named = 0; is_named <= (marker->pid == marker->named_pid); is_named++) {
		struct jp_text *first = find_first_marker(files, &st, is_named);

		if (!first)
			return -ENOMEM;
		first->value = first->value ?: marker;
	}
	return 0;
}

/* Each jitdump is read for one marker only: the first whose process has the pid in the file's name,
 * else the first of all. Finds that marker for the file of @marker; stores NULL if it is @marker
 * itself. Returns 0 or -ENOMEM. */
static int find_owner(struct jp_text_pool *files, const struct jp_marker *marker,
		      const struct stat *st, const struct jp_marker **owner)
{
	const struct jp_text *owner_text = find_first_marker(files, st, true),
			     *any = find_first_marker(files, st, false);
	const bool is_own = marker->pid == marker->named_pid;
	const struct jp_marker *first;

	if (!owner_text || !any)
		return -ENOMEM;
	first = is_own || owner_text->value ? owner_text->value : any->value;
	*owner = first && (first < marker || (owner_text->value && !is_own)) ? first : NULL;
	return 0;
}

static int read_marker(struct jp_inject_dumps *dumps, size_t index, struct jp_text_pool *files,
		       const struct jp_inject_read *reading, struct jp_error *err)
{
	const struct jp_marker *marker = &dumps->markers[index], *owner = NULL;
	jp_cleanup_free char *path = build_dump_path(reading, marker);
	jp_cleanup_close int fd = -1;
	const uint64_t nr_before = reading->summary->jitdumps;
	struct jp_error reason = {""};
	struct stat st;
	uint64_t size;
	int ret = 0;

	if (!path)
		return jp_fail(err, ENOMEM, "out of memory for a jitdump's path");
	fd = jp_inject_open(reading, path, -1, &size, &reason);
	if (fd < 0)
		jp_inject_report(reading, "%s (jitdump of process %u)", reason.text, marker->pid);
	else if (fstat(fd, &st))
		ret = jp_fail(err, errno, "%s: %s", path, strerror(errno));
	else if (find_owner(files, marker, &st, &owner))
		ret = jp_fail(err, ENOMEM, "%s: out of memory", path);
	else if (owner && owner->pid == marker->pid && strcmp(owner->path, marker->path) != 0)
		; /* the file was read already by another path */
	else if (owner)
		jp_inject_report(reading,
				 "%s: process %u also mapped this jitdump, but did not write it",
				 path, marker->pid);
	else if (is_other_file(marker, reading, &st))
		jp_inject_report(reading,
				 "%s: another file than process %u mapped (inode %" PRIu64
				 ", not %" PRIu64
				 "): name the folder of the right one with --jitdump-dir",
				 path, marker->pid, (uint64_t)st.st_ino, marker->ino);
	else /* accept a file of root in a capture of any user, as perf accepts root's perf.data */
		ret = jp_inject_read_dump(dumps, index, path, st.st_uid == 0 ? 0 : reading->owner,
					  reading, err);
	reading->summary->refused += !owner && reading->summary->jitdumps == nr_before;
	return ret;
}

/* At equal times keep the order of the records in the jitdump. */
JP_ORDER(compare_by_time, struct jp_loaded_code,
	 jp_compare(a->time, b->time) ?: jp_compare(a->nth, b->nth));

static void sort_codes(struct jp_inject_dumps *dumps)
{
	bool is_sorted = true;

	for (size_t i = 1; i < dumps->nr_codes; i++)
		is_sorted &= compare_by_time(&dumps->codes[i - 1], &dumps->codes[i]) <= 0;
	if (!is_sorted)
		jp_sort(dumps->codes, dumps->nr_codes, compare_by_time);
}

int jp_inject_read(struct jp_inject_dumps *dumps, const struct jp_inject_read *reading,
		   struct jp_error *err)
{
	struct jp_text_pool files = {0};
	int ret = 0;

	for (size_t i = 0; !ret && i < dumps->nr_markers; i++)
		ret = note_file(&files, &dumps->markers[i], reading);
	if (ret)
		jp_fail(err, ENOMEM, "out of memory for the jitdumps' files");
	for (size_t i = 0; !ret && i < dumps->nr_markers; i++)
		ret = read_marker(dumps, i, &files, reading, err);
	jp_text_pool_free(&files);
	sort_codes(dumps);
	return ret;
}
