// SPDX-License-Identifier: GPL-2.0-only
/* Injected code: each record that inject added must describe code that its process has at that
 * time. If a jitdump was injected, each of its loads must have a record. */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/array.h"
#include "harness/base/file.h"
#include "harness/base/map.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"
#include "harness/format/jit/code_loads.h"
#include "harness/judge/validator.h"
#include "validators/sample_class.h"

static bool file_holds(int fd, uint64_t offset, const unsigned char *bytes, uint64_t size)
{
	unsigned char piece[4096];

	for (uint64_t compared = 0; compared < size;) {
		const uint64_t piece_size = jp_min(size - compared, sizeof(piece));

		if (offset > (uint64_t)INT64_MAX - size ||
		    jp_file_read_at(fd, "injected", piece, piece_size, offset + compared, NULL) ||
		    memcmp(piece, bytes + compared, piece_size) != 0)
			return false;
		compared += piece_size;
	}
	return true;
}

/* Returns whether the file contains @load's .eh_frame where @record maps it: after the code, at a
 * multiple of 8. Ignores the zeros that terminate and pad it. The file's .eh_frame_hdr is
 * elsewhere. */
static bool has_tables(int fd, const struct jp_event *record, const struct jp_code_load *load)
{
	const uint64_t behind = (load->size + 7) & ~UINT64_C(7);
	uint64_t size = load->eh_frame_size;

	while (size && !load->eh_frame[size - 1])
		size--;
	return !size || record->map.len < behind + size ||
	       file_holds(fd, record->map.pgoff + behind, load->eh_frame, size);
}

/* Compares the ELF file that inject made, which @record maps, with the jitdump's code @load.
 * Returns the first difference: "other-machine" (e_machine is not @e_machine), "other-bytes" or
 * "other-tables". Returns NULL if there is none or the file is missing; the validator of names
 * reports a missing file. */
static const char *compare_injected_bytes(struct jp_file_finder *finder,
					  const struct jp_event *record,
					  const struct jp_code_load *load, uint32_t e_machine)
{
	const struct jp_wanted_file wanted_file = {.path = record->map.name, .pid = record->pid};
	const Elf64_Half machine = (Elf64_Half)e_machine;
	struct jp_found_file file;
	const char *cause = NULL;

	if (!jp_file_finder_injected(finder, record->map.name) ||
	    jp_file_find(finder, &wanted_file, JP_FILE_GIVEN, &file, NULL))
		return NULL;
	/* In a run directory each file has a descriptor, unlike files in memory. */
	if (!file_holds(file.fd, offsetof(Elf64_Ehdr, e_machine), (const unsigned char *)&machine,
			sizeof(machine)))
		cause = "other-machine";
	else if (load->code && !file_holds(file.fd, record->map.pgoff, load->code, load->size))
		cause = "other-bytes";
	else if (!has_tables(file.fd, record, load))
		cause = "other-tables";
	jp_found_file_close(&file);
	return cause;
}

/* A mapping record of perf.data, which inject did not add. */
struct captured {
	uint64_t time, start, end;
	uint32_t pid;
};

struct injected_code {
	struct jp_view *view;
	struct captured *captured;
	size_t nr_captured, captured_capacity;
	bool sorted;
	uint64_t code_records, no_code;
	struct jp_file_finder *finder;
	struct jp_code_loads loads;
	bool *is_recorded;   /* for each load: whether inject added a record of it */
	struct jp_map dumps; /* by process that owns a dump: number of the dump's loads that have
				an added record */
};

JP_ORDER(compare_by_captured_record, struct captured,
	 jp_compare(a->time, b->time)
		 ?: jp_compare(a->pid, b->pid)
		 ?: jp_compare(a->start, b->start));

/* Returns whether @record is a record of perf.data, or a part of such a record. */
static bool is_captured(const struct injected_code *state, const struct jp_event *record)
{
	const uint64_t end = record->map.addr + record->map.len;
	const struct captured *captured = state->captured;
	size_t i;

	jp_search(i, state->nr_captured, captured[i].time < record->time);
	for (; i < state->nr_captured && captured[i].time == record->time; i++)
		if (captured[i].pid == record->pid && captured[i].start <= record->map.addr &&
		    end <= captured[i].end)
			return true;
	return false;
}

/* Returns the cause id if @record does not describe code that is loaded at its time, else NULL. */
static const char *find_contradiction(const struct injected_code *state,
				      const struct jp_event *record)
{
	const struct jp_truth *truth = state->view->evidence->truth;
	const uint64_t slack = state->view->evidence->info.slack;
	const struct jp_truth_code *codes = truth->codes;
	const char *cause = "no-code";
	size_t i;

	if (!jp_sample_is_watched(state->view->evidence, record->pid, UINT64_MAX))
		return "unwatched";
	jp_search(i, truth->nr_codes,
		  codes[i].pid != record->pid ? codes[i].pid < record->pid
					      : codes[i].addr < record->map.addr);
	for (; i < truth->nr_codes && codes[i].pid == record->pid &&
	       codes[i].addr == record->map.addr;
	     i++) {
		if (record->time + slack < codes[i].loaded ||
		    (codes[i].unloaded != UINT64_MAX && record->time > codes[i].unloaded + slack))
			cause = "other-time";
		else if (record->map.len >= codes[i].size) /* unwinding tables follow the code */
			return NULL;
		else
			cause = "shorter";
	}
	return cause;
}

/* Returns whether @record covers at most @load and its mapped unwinding tables, which begin at a
 * multiple of 8 after the code. */
static bool fits_load(const struct jp_code_load *load, const struct jp_event *record)
{
	return record->map.len <= load->size ||
	       record->map.len - load->size <= 7 + load->mapped_size;
}

/* Marks the loads with the time and address of @record. Stores a cause in *@cause if @record covers
 * more than the load or has other code. Returns 0 or -ENOMEM. */
static int mark_loads(struct injected_code *state, const struct jp_event *record,
		      const char **cause)
{
	const struct jp_code_load *loads = state->loads.loads;
	const char *difference = NULL;
	bool is_recorded = false, is_in_order = false;
	uint64_t *nr_recorded;
	size_t i;

	jp_search(i, state->loads.count,
		  loads[i].pid != record->pid         ? loads[i].pid < record->pid
		  : loads[i].addr != record->map.addr ? loads[i].addr < record->map.addr
						      : loads[i].time < record->time);
	for (; i < state->loads.count && loads[i].pid == record->pid &&
	       loads[i].addr == record->map.addr && loads[i].time == record->time;
	     i++) {
		nr_recorded = jp_map_at(&state->dumps, loads[i].owner, sizeof(*nr_recorded));
		if (!nr_recorded)
			return -ENOMEM;
		*nr_recorded += !state->is_recorded[i];
		state->is_recorded[i] = is_recorded = true;
		is_in_order |= fits_load(&loads[i], record);
		difference = compare_injected_bytes(state->finder, record, &loads[i],
						    state->view->evidence->truth->e_machine);
	}
	if (is_recorded)
		*cause = is_in_order ? difference : "longer";
	return 0;
}

/* Returns whether the record has the protection and flags that injectors write. jitproof's inject
 * writes those of a private executable mapping of the file; perf's (jit_repipe_code_load()) writes
 * the file's mode as protection, and a shared mapping. */
static bool has_injector_attributes(const struct jp_event *record)
{
	return record->map.flags == JP_MAP_SHARED
		       ? S_ISREG(record->map.prot)
		       : record->map.flags == JP_MAP_PRIVATE && record->tid == record->pid &&
				 record->map.prot == (JP_PROT_READ | JP_PROT_EXEC);
}

static int judge_added_record(struct injected_code *state, const struct jp_event *record)
{
	const char *cause;

	if (record->kernel_map || !(record->map.prot & JP_PROT_EXEC) || is_captured(state, record))
		return 0;
	state->code_records++;
	cause = find_contradiction(state, record);
	if (!cause && mark_loads(state, record, &cause))
		return -ENOMEM;
	if (!cause && !has_injector_attributes(record))
		cause = "other-protection";
	if (!cause)
		return 0;
	state->no_code++;
	return jp_findings_count_failure(&state->view->findings, "injected.mappings", cause,
					 "pid %u, injected record of %" PRIu64 ": %" PRIx64
					 "-%" PRIx64 " %.120s",
					 record->pid, record->time, record->map.addr,
					 record->map.addr + record->map.len, record->map.name);
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct injected_code *state = view->state;

	if (event->type != JP_EVENT_MAP)
		return 0;
	if (!view->in_injected)
		return jp_array_append(&state->captured, &state->nr_captured,
				       &state->captured_capacity,
				       (struct captured){.time = event->time,
							 .pid = event->pid,
							 .start = event->map.addr,
							 .end = event->map.addr + event->map.len});
	if (!state->sorted)
		jp_sort(state->captured, state->nr_captured, compare_by_captured_record);
	state->sorted = true;
	return judge_added_record(state, event);
}

/* Reports code loads for which inject added no mapping record, of injected jitdumps only. */
static int judge_absent_loads(struct injected_code *state)
{
	uint64_t absent = 0, nr_loads = 0;
	int failed = 0;

	for (size_t i = 0; i < state->loads.count && !failed; i++) {
		const struct jp_code_load *load = &state->loads.loads[i];

		if (!jp_map_find(&state->dumps, load->owner))
			continue;
		nr_loads++;
		if (state->is_recorded[i])
			continue;
		absent++;
		failed = jp_findings_count_failure(
			&state->view->findings, "injected.absent", "no-record",
			"%.100s of pid %u at %" PRIx64 ", loaded at %" PRIu64
			": its dump was injected, and no record names it",
			load->name, load->pid, load->addr, load->time);
	}
	jp_findings_add_rate(&state->view->findings, "injected.absent", absent, nr_loads);
	return failed;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct injected_code *state = view->state;

	if (!view->in_injected)
		return 0;
	jp_findings_add_rate(&view->findings, "injected.mappings", state->no_code,
			     state->code_records);
	return judge_absent_loads(state);
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	struct injected_code *state = view->state;
	int failed;

	if (!view->asked->injected)
		return 1;
	failed = jp_code_loads_read(view->evidence->dir, &state->loads, err);
	if (failed)
		return failed;
	state->is_recorded = calloc(state->loads.count + 1, sizeof(*state->is_recorded));
	state->finder = jp_file_finder_of_run(view->evidence->dir);
	return state->is_recorded && state->finder ? 0 : -ENOMEM;
}

static void free_code(void *context)
{
	struct injected_code *state = context;

	jp_file_finder_free(state->finder);
	jp_code_loads_free(&state->loads);
	jp_map_free(&state->dumps);
	free(state->is_recorded);
	free(state->captured);
}

JP_DEFINE(validator, injected_code) = {
	.name = "injected_code",
	.traits = JP_WANTS_INJECTED | JP_LACKS_REGISTERS,
	.state_size = sizeof(struct injected_code),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_code,
};
