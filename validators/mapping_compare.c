// SPDX-License-Identifier: GPL-2.0-only
#include "validators/mapping_compare.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"
#include "harness/model/space/mapping_name.h"

/* A mapping, and which of its attributes are known. */
struct stated_mapping {
	const struct jp_mapping *mapping;
	bool prot, sharing, identity;
	bool any_offset; /* the offset of memory without a file is unknown */
};

static bool has_file(const struct jp_procmap *line)
{
	return line->ino || line->maj || line->min;
}

/* Returns whether mapping records may show the memory without a name. Before v6.6 the kernel named
 * a mapping [heap] only if it was the whole heap, else //anon; only /proc/PID/maps shows
 * [anon:NAME] (v5.17). */
static bool is_nameless(enum jp_backing backing)
{
	return backing == JP_BACKING_ANON || backing == JP_BACKING_HEAP;
}

/* Returns the attribute that differs for memory that no mark of the truth describes: it must be
 * private and without a file. */
static const char *find_private_difference(const struct jp_executable *truth,
					   const struct stated_mapping *stated_fields,
					   uint64_t addr)
{
	const struct jp_mapping *mapping = stated_fields->mapping;
	uint64_t offset = mapping->pgoff + (addr - mapping->start);

	if (stated_fields->sharing && jp_mapping_is_shared(mapping->flags))
		return "sharing";
	if (!stated_fields->any_offset && offset != addr && offset != addr - truth->distance)
		return "offset";
	if (stated_fields->identity && (mapping->maj || mapping->min))
		return "device";
	return stated_fields->identity && mapping->ino ? "inode" : NULL;
}

static const char *find_difference(const struct jp_memory *memory,
				   const struct jp_executable *truth,
				   const struct stated_mapping *stated_fields, uint64_t addr)
{
	const struct jp_mapping *mapping = stated_fields->mapping;
	const struct jp_procmap *line = memory->line;
	enum jp_backing backing = jp_mapping_backing(memory->line  ? memory->line->name
						     : memory->act ? memory->act->map.name
								   : "");
	uint64_t offset = mapping->pgoff + (addr - mapping->start);

	if (stated_fields->prot && mapping->prot != truth->prot)
		return "protection";
	if (mapping->backing != backing && !(is_nameless(backing) && is_nameless(mapping->backing)))
		return "kind";
	if (!line)
		return is_nameless(backing) ? find_private_difference(truth, stated_fields, addr)
					    : NULL;
	if (stated_fields->sharing && jp_mapping_is_shared(mapping->flags) != (line->shared == 's'))
		return "sharing";
	if (!is_nameless(backing) && !jp_mapping_same_name(mapping->name, line->name))
		return "name";
	if ((has_file(line) || !is_nameless(backing)) &&
	    offset != addr - truth->distance + memory->shift)
		return "offset";
	/* Private memory that moved keeps its first address as offset, if it was ever written. */
	if (!has_file(line) && is_nameless(backing) && !stated_fields->any_offset &&
	    offset != addr && offset != addr - truth->distance)
		return "offset";
	if (stated_fields->identity && (mapping->maj != line->maj || mapping->min != line->min))
		return "device";
	if (stated_fields->identity && mapping->ino != line->ino)
		return "inode";
	return NULL;
}

const char *jp_mapping_differs(const struct jp_memory *memory, const struct jp_executable *truth,
			       const struct jp_mapping *mapping, uint64_t addr)
{
	/* Synthesized records have offset 0 for private memory. Flags are 0 if the record had
	 * neither protection nor flags. */
	const struct stated_mapping stated_fields = {.mapping = mapping,
						     .prot = mapping->flags,
						     .sharing = mapping->flags,
						     .identity = mapping->ino && !mapping->build_id,
						     .any_offset = true};

	return find_difference(memory, truth, &stated_fields, addr);
}

const char *jp_mapping_record_differs(const struct jp_memory *memory,
				      const struct jp_executable *truth,
				      const struct jp_event *record, bool is_live, uint64_t addr)
{
	const struct jp_mapping mapping = {.start = record->map.addr,
					   .end = record->map.addr + record->map.len,
					   .pgoff = record->map.pgoff,
					   .maj = record->map.maj,
					   .min = record->map.min,
					   .ino = record->map.ino,
					   .prot = record->map.prot & 7,
					   .flags = record->map.flags,
					   .backing = jp_mapping_backing(record->map.name),
					   .name = record->map.name};
	/* MMAP2 has protection, flags, and the file or its build id. */
	const bool is_mmap2 = record->map.has_identity || record->map.build_id;
	const struct stated_mapping stated_fields = {
		.mapping = &mapping,
		.prot = is_mmap2,
		.sharing = is_mmap2,
		.identity = record->map.has_identity,
		/* For memory without a file, /proc/PID/maps has
		 * offset 0, and a live record has the address. */
		.any_offset = !is_live && !record->map.pgoff};

	return find_difference(memory, truth, &stated_fields, addr);
}

static int add_point(struct jp_mapping_points *points, uint32_t pid, uint64_t time, bool mark)
{
	return jp_array_append(&points->list, &points->count, &points->capacity,
			       (struct jp_mapping_point){time, pid, mark});
}

/* Stores in *@from_ns and *@to_ns the next time range in which the capture has records of
 * @image. Returns false at the end. */
static bool find_next_window(const struct jp_mapping_points *points,
			     const struct jp_truth_incarnation *image, size_t *cursor,
			     uint64_t *from_ns, uint64_t *to_ns)
{
	return jp_evidence_next_known_window(points->evidence, image->pid, image->before,
					     image->after, cursor, from_ns, to_ns);
}

static int find_points(struct jp_mapping_points *points, const struct jp_truth_incarnation *image)
{
	const uint64_t slack = points->evidence->info.slack;
	uint64_t from_ns, to_ns;
	int failed = 0;

	for (size_t cursor = 0;
	     !failed && find_next_window(points, image, &cursor, &from_ns, &to_ns);) {
		const uint64_t end = jp_min(to_ns, image->until);

		if (from_ns >= end)
			continue;
		failed = add_point(points, image->pid, from_ns, false);
		for (size_t i = 0; !failed && i < points->truth->nr_marks; i++) {
			const struct jp_mark *mark = &points->truth->marks[i];

			if (mark->pid == image->pid && mark->after + slack > from_ns &&
			    mark->after < end && mark->after + slack <= to_ns)
				failed = add_point(points, image->pid, mark->after + slack, true);
		}
		/* An image that ended earlier has its last mark at its end. */
		if (!failed && image->until > to_ns + slack)
			failed = add_point(points, image->pid, to_ns, false);
	}
	return failed;
}

/* Returns whether the truth contains the maps of @image at least once. */
static bool has_mark(const struct jp_mapping_points *points,
		     const struct jp_truth_incarnation *image)
{
	for (size_t i = 0; i < points->truth->nr_marks; i++) {
		const struct jp_mark *mark = &points->truth->marks[i];

		if (mark->pid == image->pid && mark->before >= image->before &&
		    mark->after <= image->until)
			return true;
	}
	return false;
}

/* Fails if the truth has no maps of a process that ran code while it was watched. */
static int require_marks(const struct jp_mapping_points *points, struct jp_error *err)
{
	const struct jp_truth *truth = points->evidence->truth;
	jp_cleanup_free bool *has_run = calloc(truth->nr_incarnations ?: 1, sizeof(*has_run));
	uint64_t from_ns, to_ns;

	if (!has_run)
		return -ENOMEM;
	for (size_t i = 0; i < truth->nr_activations; i++) {
		const struct jp_truth_activation *activation = &truth->activations[i];
		const struct jp_truth_incarnation *image = truth->incarnations;
		size_t n;

		jp_search(n, truth->nr_incarnations,
			  image[n].pid < activation->pid || (image[n].pid == activation->pid &&
							     image[n].before <= activation->enter));
		if (!n || image[n - 1].pid != activation->pid || has_run[n - 1])
			continue;
		for (size_t cursor = 0;
		     find_next_window(points, &image[n - 1], &cursor, &from_ns, &to_ns);)
			has_run[n - 1] |= activation->enter < to_ns && activation->leave > from_ns;
	}
	for (size_t i = 0; i < truth->nr_incarnations; i++) {
		const struct jp_truth_incarnation *image = &truth->incarnations[i];

		if (has_run[i] && !has_mark(points, image))
			return jp_fail(err, ENODATA,
				       "pid %u from %" PRIu64 " ran code while it was watched, and "
				       "the truth has no maps of it",
				       image->pid, image->after);
	}
	return 0;
}

/* Returns whether an operation of the truth must have mapped the memory of @line: code outside of
 * workloads maps only files and kernel pages as executable. */
static bool needs_act(const struct jp_procmap *line)
{
	return *line->name != '[' && (jp_mapping_backing(line->name) != JP_BACKING_FILE ||
				      fnmatch("*/jit-*.dump*", line->name, 0) == 0);
}

/* Returns whether a process mapped the mapping @executable from a file, such as its program in a
 * memfd. */
static bool is_of_file(const struct jp_truth *truth, const struct jp_executable *executable)
{
	const struct jp_box box = {executable->start, executable->end, executable->open_before,
				   executable->close_before};
	struct jp_truth_files_at cursor = {0};
	struct jp_truth_file file;

	return jp_truth_next_file(truth, executable->pid, &box, &cursor, &file);
}

/* Returns whether the mapping @executable ever contained emitted code. */
static bool holds_code(const struct jp_truth *truth, const struct jp_executable *executable)
{
	size_t i;

	jp_search(i, truth->nr_codes,
		  (jp_compare(truth->codes[i].pid, executable->pid)
			   ?: jp_compare(truth->codes[i].addr, executable->start)) < 0);
	for (; i < truth->nr_codes && truth->codes[i].pid == executable->pid &&
	       truth->codes[i].addr < executable->end;
	     i++)
		if (truth->codes[i].loaded > executable->open_before &&
		    truth->codes[i].ready < executable->close_before)
			return true;
	return false;
}

/* Fails if the truth's maps contain memory that no operation of the truth mapped. */
static int require_acts(const struct jp_mapping_points *points, struct jp_error *err)
{
	const struct jp_executables *executables = points->truth;
	const struct jp_truth *truth = points->evidence->truth;

	for (size_t i = 0; i < executables->count; i++) {
		const struct jp_executable *executable = &executables->list[i];
		const struct jp_memory *memory = &executables->memories[executable->memory];

		if (memory->act || !memory->line || *memory->line->name == '[' ||
		    !((needs_act(memory->line) && !is_of_file(truth, executable)) ||
		      holds_code(truth, executable)))
			continue;
		return jp_fail(err, ENODATA,
			       "pid %u has %" PRIx64 "-%" PRIx64 " %.200s executable in its maps,"
			       " but no operation of the truth mapped it",
			       executable->pid, executable->start, executable->end,
			       *memory->line->name ? memory->line->name : "(no name)");
	}
	return 0;
}

JP_ORDER(compare_by_time, struct jp_mapping_point,
	 jp_compare(a->time, b->time) ?: jp_compare(a->pid, b->pid));

int jp_mapping_points_find(struct jp_mapping_points *points, struct jp_error *err)
{
	const struct jp_truth *truth = points->evidence->truth;
	int failed = require_marks(points, err) ?: require_acts(points, err);

	for (size_t i = 0; !failed && i < truth->nr_incarnations; i++)
		failed = find_points(points, &truth->incarnations[i]);
	jp_sort(points->list, points->count, compare_by_time);
	return failed;
}
