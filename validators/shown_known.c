// SPDX-License-Identifier: GPL-2.0-only
/* Known defects of readers: if one explains a difference, the finding's id replaces the cause. */
#include "validators/shown_known.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/path.h"
#include "harness/model/space/mapping_name.h"

/* Returns whether the reader's walk of the dump ended just before the frame whose mapping is
 * difference->where. */
static bool is_cut_short(const struct jp_shown_difference *difference)
{
	return difference->fault && difference->fault->is_unwound &&
	       (strcmp(difference->cause, "cut") == 0 ||
		strcmp(difference->cause, "no-frames") == 0);
}

static bool is_injected_file(const char *name)
{
	return strncmp(jp_path_base(name), "jitted-", 7) == 0;
}

static bool is_injected_outside_tmp(const char *name)
{
	return is_injected_file(name) && strncmp(name, "/tmp/jitted-", 12) != 0;
}

/* Returns whether the reader's walk of the dump took another way than the tables from the frame
 * before on. Without tables, libdw follows the frame pointer. */
static bool leaves_the_tables(const struct jp_shown_difference *difference)
{
	return difference->previous_mapping && difference->fault && difference->fault->is_unwound &&
	       (strcmp(difference->cause, "other-frame") == 0 ||
		strcmp(difference->cause, "missing-frame") == 0 ||
		(strcmp(difference->cause, "extra-frame") == 0 &&
		 difference->fault->frame < difference->fault->nr_recorded));
}

static bool is_outside_tmp(const struct jp_shown_difference *difference)
{
	return (is_cut_short(difference) && is_injected_outside_tmp(difference->mapping)) ||
	       (leaves_the_tables(difference) && difference->fault->frame == 1 &&
		is_injected_outside_tmp(difference->previous_mapping));
}

/* In files whose text offset is wrong, the reader finds the tables of other code. */
static bool is_behind_a_wrong_offset(const struct jp_shown_difference *difference)
{
	return leaves_the_tables(difference) && is_injected_file(difference->previous_mapping);
}

static bool lacks_name_of_injected_file(const struct jp_shown_difference *difference)
{
	return !difference->fault && difference->mapping && is_injected_file(difference->mapping) &&
	       strcmp(difference->cause, "other-offset") != 0;
}

static bool is_without_chain(const struct jp_shown_difference *difference)
{
	return is_cut_short(difference) && !difference->held->event->sample.chain;
}

static bool is_without_elf(const struct jp_shown_difference *difference)
{
	return is_cut_short(difference) &&
	       (difference->file_is_gone ||
		jp_mapping_backing(difference->mapping) != JP_BACKING_FILE);
}

static bool is_in_reused_memory(const struct jp_shown_difference *difference)
{
	return (is_cut_short(difference) || leaves_the_tables(difference)) && difference->reused;
}

/* Returns whether the user part of a callchain holds what looks like a marker, and the reader drops
 * the chain, or takes it for a marker that it knows and leaves it out. In place of a dropped chain,
 * it shows the frames of a stack dump, which may be unknown here. */
static bool has_marker(const struct jp_shown_difference *difference)
{
	const struct jp_shown_fault *fault = difference->fault;
	uint64_t lost;

	if (!fault || fault->is_unwound || !difference->held->garbage)
		return false;
	lost = fault->frame < difference->held->nr_user ? difference->held->user_chain[fault->frame]
							: 0;
	return !fault->nr_shown || (difference->held->has_dump && !difference->held->dump) ||
	       lost == JP_CONTEXT_HV || lost == JP_CONTEXT_KERNEL || lost == JP_CONTEXT_USER;
}

/* Returns whether the walk ended at the last word of a dump, which libunwind cannot read: its
 * caller is missing, or UINT64_MAX is in its place or behind it. */
static bool is_behind_the_dump(const struct jp_shown_difference *difference)
{
	const struct jp_shown_fault *fault = difference->fault;

	if (!fault)
		return false;
	if (difference->frame && difference->frame->addr == UINT64_MAX)
		return fault->frame + 1 >= fault->nr_recorded;
	return is_cut_short(difference) && fault->frame && fault->frame + 1 == fault->nr_recorded &&
	       difference->held->reaches_root;
}

static bool lacks_mapped_tables(const struct jp_shown_difference *difference)
{
	return difference->fault && difference->fault->is_unwound && difference->held->nr_mapped &&
	       difference->fault->frame >= difference->held->nr_mapped;
}

static bool is_unread_folder(const struct jp_shown_difference *difference)
{
	return !difference->held && difference->is_injected_folder &&
	       strcmp(difference->cause, "unreadable") == 0;
}

static bool is_cut_in_vdso(const struct jp_shown_difference *difference)
{
	return is_cut_short(difference) &&
	       (strcmp(difference->mapping, "[vdso]") == 0 ||
		strncmp(difference->mapping, "/tmp/perf-vdso.so-", 18) == 0);
}

static bool is_cut_after_attach(const struct jp_shown_difference *difference)
{
	return difference->has_attached && is_cut_short(difference);
}

/* perf script then knows no mapping of the process. perf report does. */
static bool lacks_mappings(const struct jp_shown_difference *difference)
{
	return difference->is_late && (strcmp(difference->cause, "no-name") == 0 ||
				       strcmp(difference->cause, "fewer-listed") == 0 ||
				       is_cut_short(difference) || leaves_the_tables(difference));
}

static bool counts_overlapping_names(const struct jp_shown_difference *difference)
{
	return difference->overlaps;
}

static bool has_name_of_other_code(const struct jp_shown_difference *difference)
{
	return !difference->fault && difference->mapping &&
	       jp_mapping_backing(difference->mapping) != JP_BACKING_FILE &&
	       strcmp(difference->cause, "other-offset") != 0;
}

/* The findings about readers, and which readers, in which versions, have the defect. */
static const struct known_defect {
	const char *id, *reader;
	unsigned int first[2], last[2];                             /* versions */
	bool (*fits)(const struct jp_shown_difference *difference); /* NULL: by @failure */
	const char *failure; /* text in the reader's failure (pattern as for fnmatch()) */
} defects[] = {
	{"perf.unwind-no-chain", "perf", {5, 10}, {7, 3}, is_without_chain, NULL},
	{"perf.inject-outside-tmp", "perf", {7, 2}, {7, 3}, is_outside_tmp, NULL},
	{"perf.inject-vdso", "perf", {7, 2}, {7, 3}, is_cut_in_vdso, NULL},
	{"perf.unwind-no-elf", "perf", {7, 2}, {7, 3}, is_without_elf, NULL},
	{"perf.unwind-reused", "perf", {7, 2}, {7, 3}, is_in_reused_memory, NULL},
	{"perf.marker", "perf", {5, 10}, {7, 3}, has_marker, NULL},
	{"perf.unwind-beyond", "perf", {5, 10}, {6, 12}, is_behind_the_dump, NULL},
	{"perf.inject-text-offset", "perf", {5, 10}, {5, 10}, is_behind_a_wrong_offset, NULL},
	{"perf.unwind-maps", "perf", {5, 10}, {6, 12}, lacks_mapped_tables, NULL},
	{"kernel.build-id", "perf", {6, 1}, {6, 12}, NULL, "*assertion failed at util/build-id.c*"},
	{"perf.inject-threads", "perf", {6, 1}, {7, 3}, is_unread_folder, NULL},
	{"perf.first-event", "perf", {5, 10}, {5, 10}, NULL, "*neither sample IP nor*"},
	/* Record type 80 is a feature of a pipe's header. */
	{"perf.pipe-last-feature", "perf", {6, 1}, {7, 3}, NULL, "*failed to process type: 80*"},
	{"perf.pipe-last-feature",
	 "perf",
	 {6, 1},
	 {7, 3},
	 NULL,
	 "*DOMAIN_INFO: section too small (0)*"},
	/* Record type 82 is PERF_RECORD_FINISHED_INIT, since 5.17. */
	{"perf.pipe-finished-init", "perf", {5, 10}, {5, 10}, NULL, "*failed to process type: 82*"},
	{"perf.build-id-size", "perf", {7, 2}, {7, 3}, NULL, "*BUILD_ID (67) *not 8-byte aligned*"},
	{"perf.compressed-type", "perf", {5, 10}, {6, 15}, NULL, "*failed to process type: 83*"},
	{"perf.compressed-block", "perf", {5, 10}, {7, 3}, NULL, "*Couldn't decompress data*"},
	{"perf.script-thread-gone", "perf", {6, 12}, {7, 3}, lacks_mappings, NULL},
	{"perf.report-overlap", "perf", {7, 2}, {7, 3}, counts_overlapping_names, NULL},
	{"hotspot.inject-names", "hotspot", {4, 12}, {4, 12}, lacks_name_of_injected_file, NULL},
	{"hotspot.attach-fork", "hotspot", {4, 12}, {4, 12}, is_cut_after_attach, NULL},
	{"hotspot.shared-names", "hotspot", {4, 12}, {4, 12}, has_name_of_other_code, NULL},
};

static bool is_of_reader(const struct known_defect *defect, const char *reader)
{
	const size_t length = strlen(defect->reader);
	unsigned int major, minor, version;

	if (strncmp(reader, defect->reader, length) != 0 ||
	    sscanf(reader + length, " %u.%u", &major, &minor) != 2)
		return false;
	version = major << 16 | minor;
	return version >= (defect->first[0] << 16 | defect->first[1]) &&
	       version <= (defect->last[0] << 16 | defect->last[1]);
}

static bool fits(const struct known_defect *defect, const struct jp_shown_difference *difference)
{
	if (defect->fits)
		return defect->fits(difference);
	return difference->failure && fnmatch(defect->failure, difference->failure, 0) == 0;
}

const char *jp_shown_find_known_defect(const struct jp_shown_difference *difference)
{
	for (size_t i = 0; i < sizeof(defects) / sizeof(*defects); i++)
		if (is_of_reader(&defects[i], difference->reader) && fits(&defects[i], difference))
			return defects[i].id;
	return difference->cause;
}
