// SPDX-License-Identifier: GPL-2.0-only
#include "harness/inject/inject_markers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/number.h"
#include "harness/base/search.h"

/* perf's rule (util/jitdump.c, jit_detect()): .../jit-PID.dump. */
static bool marker_name(const char *path, uint32_t *pid)
{
	const char *name = strrchr(path, '/'), *at;
	uint64_t value;

	if (!name || strncmp(name, "/jit-", 5) != 0)
		return false;
	at = name + 5;
	if (!jp_number_take(&at, 10, INT32_MAX, &value) || strcmp(at, ".dump") != 0)
		return false;
	*pid = (uint32_t)value;
	return true;
}

/* Notes that the process of @marker mapped @path, with its inode or (@any) one that nobody told. 1;
 * 0: that was known; -ENOMEM. */
static int note(struct jp_text_pool *known, const struct jp_marker *marker, const char *path,
		bool any)
{
	const size_t count = known->count;
	jp_cleanup_free char *key = NULL;
	int length = any ? asprintf(&key, "%u - %s", marker->pid, path)
			 : asprintf(&key, "%u %" PRIu64 " %s", marker->pid, marker->ino, path);

	if (length < 0)
		key = NULL;
	if (!key || !jp_text_keep(known, key, length))
		return -ENOMEM;
	return known->count > count;
}

int jp_inject_marker(struct jp_inject_dumps *dumps, const struct jp_event *event,
		     const struct jp_perf_layout *layout)
{
	struct jp_marker *added, marker = {
					 .pid = event->pid,
					 .has_identity = event->map.has_identity,
					 .ino = event->map.has_identity ? event->map.ino : 0,
					 .layout = *layout,
					 .cpu = event->cpu,
					 .id = event->id,
				 };
	int fresh;

	if (event->kernel_map || !(event->map.prot & PROT_EXEC) ||
	    !marker_name(event->map.name, &marker.named))
		return 0;
	fresh = note(&dumps->known, &marker, event->map.name, !marker.has_identity);
	if (fresh > 0 && note(&dumps->known, &marker, event->map.name, marker.has_identity) < 0)
		fresh = -ENOMEM;
	if (fresh <= 0)
		return fresh;
	marker.path = strdup(event->map.name);
	added = jp_array_push(&dumps->markers, &dumps->nr_markers, &dumps->markers_capacity);
	if (!marker.path || !added) {
		free(marker.path);
		dumps->nr_markers -= added != NULL;
		return -ENOMEM;
	}
	*added = marker;
	return 0;
}

/* Where the dump of @marker is looked for. */
static char *path_of(const struct jp_inject_read *read, const struct jp_marker *marker)
{
	char *path;

	if (!read->jitdumps)
		return strdup(marker->path);
	if (asprintf(&path, "%s%s", read->jitdumps, strrchr(marker->path, '/')) < 0)
		return NULL;
	return path;
}

/*
 * Whether the dump at @path is that of @marker and not of another one that names the same place: a
 * process that has the pid of the file's name comes first, then the first one. Elsewhere than where
 * it was mapped, the inode tells nothing.
 */
static bool is_owner(const struct jp_inject_dumps *dumps, const struct jp_inject_read *read,
		     size_t index, const struct stat *st)
{
	const struct jp_marker *marker = &dumps->markers[index];
	const bool moved = read->jitdumps || read->root >= 0;

	for (size_t i = 0; i < dumps->nr_markers; i++) {
		const struct jp_marker *other = &dumps->markers[i];

		if (i == index || (read->jitdumps ? strcmp(strrchr(other->path, '/'),
							   strrchr(marker->path, '/')) != 0
						  : strcmp(other->path, marker->path) != 0))
			continue;
		if (!moved && other->has_identity && other->ino != st->st_ino)
			continue;
		if (marker->pid != marker->named && (other->pid == other->named || i < index))
			return false;
		if (marker->pid == marker->named && other->pid == marker->pid && i < index)
			return false;
	}
	return true;
}

static int read_marker(struct jp_inject_dumps *dumps, size_t index,
		       const struct jp_inject_read *read, struct jp_error *err)
{
	const struct jp_marker *marker = &dumps->markers[index];
	jp_cleanup_free char *path = path_of(read, marker);
	jp_cleanup_close int fd = -1;
	const uint64_t taken = read->summary->jitdumps;
	struct jp_error why = {""};
	bool others = false;
	struct stat st;
	uint64_t size;
	int ret = 0;

	if (!path)
		return jp_fail(err, ENOMEM, "no memory for a jitdump's path");
	fd = jp_inject_open(read, path, -1, &size, &why);
	if (fd < 0)
		jp_inject_say(read, "%s (jitdump of process %u)", why.text, marker->pid);
	else if (fstat(fd, &st))
		ret = jp_fail(err, errno, "%s: %s", path, strerror(errno));
	else if ((others = !is_owner(dumps, read, index, &st)))
		jp_inject_say(read, "%s: mapped by process %u too, whose code it is not", path,
			      marker->pid);
	else if (!read->jitdumps && read->root < 0 && marker->has_identity &&
		 marker->ino != st.st_ino)
		jp_inject_say(read,
			      "%s: another file than process %u mapped (inode %" PRIu64
			      ", not %" PRIu64
			      "): name the folder of the right one with --jitdump-dir",
			      path, marker->pid, (uint64_t)st.st_ino, marker->ino);
	else if (!marker->layout.end_time)
		jp_inject_say(read, "%s: the capture has no times of mapping records", path);
	else /* root's file is taken from anyone's capture, as perf takes root's perf.data */
		ret = jp_inject_read_dump(dumps, index, path, st.st_uid == 0 ? 0 : read->owner,
					  read, err);
	read->summary->refused += !others && read->summary->jitdumps == taken;
	return ret;
}

static int by_time(const void *left, const void *right)
{
	const struct jp_loaded_code *a = left, *b = right;

	/* Else in the order of the dump, which the place in a file need not be. */
	return jp_compare(a->time, b->time) ?: jp_compare(a->nth, b->nth);
}

static void sort_codes(struct jp_inject_dumps *dumps)
{
	bool sorted = true;

	for (size_t i = 1; i < dumps->nr_codes; i++)
		sorted &= by_time(&dumps->codes[i - 1], &dumps->codes[i]) <= 0;
	if (!sorted)
		qsort(dumps->codes, dumps->nr_codes, sizeof(*dumps->codes), by_time);
}

int jp_inject_read(struct jp_inject_dumps *dumps, const struct jp_inject_read *read,
		   struct jp_error *err)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < dumps->nr_markers; i++)
		ret = read_marker(dumps, i, read, err);
	sort_codes(dumps);
	return ret;
}
