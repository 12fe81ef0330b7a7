// SPDX-License-Identifier: GPL-2.0-only
/* Records of jitdumps: each LOAD and MOVE must agree with the truth about its code. A dump that
 * contains any function of its process must contain all functions that the process loaded or moved.
 * jit_order.c reports code that the truth does not have. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/map.h"
#include "harness/base/search.h"
#include "harness/format/elf/cfi_check.h"
#include "harness/format/jit/code_loads.h"
#include "harness/judge/validator.h"
#include "validators/images.h"

/* The bytes of the first function with one layout, in the launched image or in later ones. */
struct layout_bytes {
	const unsigned char *bytes; /* NULL: none seen yet */
	uint64_t size;
};

struct jitdump_records {
	struct jp_view *view;
	struct jp_jitdump_folder folder;
	/* State within the current dump: the debug lines and unwinding tables for the next LOAD
	 * (@at 0: none), and whether a CLOSE came. */
	struct jp_jitdump_record lines, tables;
	bool closed;
	uint64_t loads, lined; /* number of LOADs; of LOADs with debug lines */
	bool *described;       /* for each code of the truth: whether a record describes it */
	struct jp_map dumps;   /* by process: whether it has a dump that contains its code */
	struct jp_map layouts; /* by key of the layout: struct layout_bytes */
	uint64_t records, bad_records, codes, absent_codes;
};

static int report(struct jitdump_records *state, const struct jp_jitdump_record *record,
		  const char *cause, const char *name)
{
	state->bad_records++;
	return jp_findings_count_failure(&state->view->findings, "jitdump.records", cause,
					 "offset %" PRIu64 " of a jitdump, of %" PRIu64 ": %.100s",
					 record->offset, record->time, name);
}

/* Returns the index of the first code of @pid in the truth that lies at @addr or above. */
static size_t find_codes_from(const struct jp_truth *truth, uint32_t pid, uint64_t addr)
{
	const struct jp_truth_code *codes = truth->codes;
	size_t i;

	jp_search(i, truth->nr_codes,
		  codes[i].pid != pid ? codes[i].pid < pid : codes[i].addr < addr);
	return i;
}

/* Returns the code that the process of @record loaded at @addr or moved there, or NULL. If there
 * are several, returns the last that existed at the record's time. */
static const struct jp_truth_code *find_code(const struct jp_truth *truth,
					     const struct jp_jitdump_record *record, uint64_t addr,
					     uint64_t size, const char *name)
{
	const struct jp_truth_code *latest = NULL;

	for (size_t i = find_codes_from(truth, record->pid, addr);
	     i < truth->nr_codes && truth->codes[i].pid == record->pid &&
	     truth->codes[i].addr == addr;
	     i++) {
		const struct jp_truth_code *code = &truth->codes[i];

		if (code->by_pid == record->pid && code->size == size &&
		    (!name || strcmp(code->name, name) == 0) &&
		    (!latest || code->loaded <= record->time))
			latest = code;
	}
	return latest;
}

/* Returns a cause id if @record contradicts the truth about @code, else NULL. A workload publishes
 * code after it was written and before it runs, and uses the function's id in the truth as its
 * index (workloads/emit/publish.h). */
static const char *find_contradiction(const struct jp_truth_code *code,
				      const struct jp_jitdump_record *record, uint64_t vma,
				      uint64_t index)
{
	if (record->time < code->loaded || record->time > code->ready)
		return "other-time";
	if (vma != code->addr)
		return "other-vma";
	if (record->tid != code->by_tid)
		return "other-thread";
	return index != code->id ? "other-index" : NULL;
}

/* Returns whether the debug lines are those that workloads/publish/jitdump.c writes. */
static bool are_lines_right(const struct jp_jitdump_record *lines,
			    const struct jp_jitdump_record *load)
{
	struct jp_jitdump_line line, previous = {.line = 0};
	char file[512];
	size_t cursor = 0;

	snprintf(file, sizeof(file), "/jitproof/%.400s.jit", load->load.name);
	for (; jp_jitdump_next_line(lines, &cursor, &line); previous = line)
		if (line.line <= previous.line || line.addr < previous.addr ||
		    line.addr - load->load.addr >= load->load.size || strcmp(line.file, file) != 0)
			return false;
	return lines->debug.addr == load->load.addr && previous.line;
}

/* Returns whether the unwinding tables, placed after the code, are consistent and describe it. */
static bool are_tables_right(const struct jp_jitdump_record *tables,
			     const struct jp_jitdump_record *load)
{
	const uint64_t size = tables->unwinding.size, hdr_size = tables->unwinding.hdr_size;
	const struct jp_cfi_section frame = {tables->unwinding.eh_frame, size - hdr_size,
					     (load->load.addr + load->load.size + 7) &
						     ~UINT64_C(7)};
	const struct jp_cfi_section index = {tables->unwinding.eh_frame_hdr, hdr_size,
					     frame.addr + frame.size};
	struct jp_cfi_sound checked;
	int32_t to_frame, to_code;

	if ((tables->unwinding.mapped_size && tables->unwinding.mapped_size != size) ||
	    jp_cfi_check(&frame, &index, &checked, NULL) || !checked.index)
		return false;
	/* A valid index has at least one entry. */
	memcpy(&to_frame, index.bytes + 4, sizeof(to_frame));
	memcpy(&to_code, index.bytes + 12, sizeof(to_code));
	return index.addr + 4 + (uint64_t)(int64_t)to_frame == frame.addr &&
	       index.addr + (uint64_t)(int64_t)to_code == load->load.addr;
}

/* Stores in *@is_right whether @bytes are those of earlier functions with the same layout, except
 * for code that embeds addresses, and have a call where the layout has one. Later images may
 * publish in another way than the launched one, so they are compared apart. Returns 0 or -ENOMEM.
 */
static int judge_bytes(struct jitdump_records *state, const struct jp_truth_code *code,
		       const unsigned char *bytes, bool *is_right)
{
	const struct jp_machine *machine = state->view->machine;
	const struct jp_truth_layout *layout = code->layout;
	const bool is_launched = jp_is_of_launched_image(state->view->evidence->truth, code);
	const uint64_t key = (uint64_t)is_launched << 32 | layout->id;
	struct layout_bytes *first = jp_map_at(&state->layouts, key, sizeof(*first));

	if (!first)
		return -ENOMEM;
	*is_right = layout->returns == UINT32_MAX ||
		    layout->insns[layout->returns].offset > code->size ||
		    machine->frames->follows_call(bytes, layout->insns[layout->returns].offset);
	if (!*is_right || code->frames)
		return 0;
	if (!first->bytes)
		*first = (struct layout_bytes){bytes, code->size};
	*is_right = first->size == code->size && memcmp(first->bytes, bytes, code->size) == 0;
	return 0;
}

/* Marks @code as described by @record. Reports @cause if it is not NULL, or else a second record
 * that describes @code. */
static int mark_described(struct jitdump_records *state, const struct jp_jitdump_record *record,
			  const struct jp_truth_code *code, const char *cause)
{
	const struct jp_truth *truth = state->view->evidence->truth;
	bool *described = &state->described[code - truth->codes];

	if (!jp_map_at(&state->dumps, code->pid, 1))
		return -ENOMEM;
	cause = cause ?: *described ? "twice" : NULL;
	*described = true;
	return cause ? report(state, record, cause, code->name) : 0;
}

static int judge_load(struct jitdump_records *state, const struct jp_jitdump_record *record)
{
	const struct jp_truth_code *code =
		find_code(state->view->evidence->truth, record, record->load.addr,
			  record->load.size, record->load.name);
	const struct jp_jitdump_record lines = state->lines, tables = state->tables;
	const char *cause;
	bool is_right = true;
	int failed;

	state->lines.offset = state->tables.offset = 0;
	state->loads++;
	state->lined += lines.offset != 0;
	if (!code)
		return 0;
	failed = judge_bytes(state, code, record->load.code, &is_right);
	cause = find_contradiction(code, record, record->load.vma, record->load.index);
	if (!cause && lines.offset && !are_lines_right(&lines, record))
		cause = "other-lines";
	if (!cause && tables.offset && !are_tables_right(&tables, record))
		cause = "other-tables";
	if (!cause && !is_right)
		cause = "other-code";
	return failed ?: mark_described(state, record, code, cause);
}

static bool was_moved_from(const struct jp_truth *truth, const struct jp_truth_code *code,
			   uint64_t old_addr)
{
	for (size_t i = find_codes_from(truth, code->pid, old_addr);
	     i < truth->nr_codes && truth->codes[i].pid == code->pid &&
	     truth->codes[i].addr == old_addr;
	     i++)
		if (truth->codes[i].id == code->id && truth->codes[i].ending == code->loaded)
			return true;
	return false;
}

static int judge_move(struct jitdump_records *state, const struct jp_jitdump_record *record)
{
	const struct jp_truth *truth = state->view->evidence->truth;
	const struct jp_truth_code *code =
		find_code(truth, record, record->move.new_addr, record->move.size, NULL);
	const char *cause;

	if (!code)
		return 0;
	cause = find_contradiction(code, record, record->move.vma, record->move.index);
	if (!cause && !was_moved_from(truth, code, record->move.old_addr))
		cause = "other-origin";
	return mark_described(state, record, code, cause);
}

/* Stores a record of debug lines or unwinding tables in *@next, for the next LOAD. Reports an
 * earlier such record that no LOAD followed. */
static int keep_for_load(struct jitdump_records *state, struct jp_jitdump_record *next,
			 const struct jp_jitdump_record *record)
{
	const struct jp_jitdump_record lost = *next;

	*next = *record;
	return lost.offset ? report(state, &lost, "no-load", "no LOAD follows") : 0;
}

static int end_dump(struct jitdump_records *state)
{
	static const struct jp_jitdump_record no_record;
	const struct jp_jitdump_record lines = state->lines;
	int failed = keep_for_load(state, &state->tables, &no_record)
			     ?: keep_for_load(state, &state->lines, &no_record);

	/* A workload publishes lines of either all or none of its functions. */
	if (!failed && state->lined && state->lined != state->loads)
		failed = report(state, &lines, "other-lines",
				"some LOADs have line numbers, others none");
	state->closed = false;
	state->loads = state->lined = 0;
	return failed;
}

/* Judges the header. The workload takes times from CLOCK_MONOTONIC, so the flag that states times
 * of a CPU counter is wrong. */
static int judge_header(struct jitdump_records *state, const struct jp_jitdump_header *header)
{
	const struct jp_jitdump_record machine = {
		.offset = offsetof(struct jp_jitdump_header, elf_mach), .time = header->timestamp};
	const struct jp_jitdump_record clock = {.offset = offsetof(struct jp_jitdump_header, flags),
						.time = header->timestamp};
	int failed = 0;

	if (header->elf_mach != state->view->evidence->truth->e_machine)
		failed = report(state, &machine, "other-machine", "the header's elf_mach");
	if (!failed && header->flags & JP_JITDUMP_ARCH_TIMESTAMP)
		failed = report(state, &clock, "other-clock", "the header's flags");
	return failed;
}

static int visit(void *context, const struct jp_jitdump_header *header,
		 const struct jp_jitdump_record *record)
{
	struct jitdump_records *state = context;
	bool after_close = state->closed;

	if (!record)
		return end_dump(state) ?: judge_header(state, header);
	state->records++;
	state->closed |= record->type == JP_JITDUMP_CLOSE;
	if (after_close)
		return report(state, record, "behind-close", "a reader may stop at CLOSE");
	switch (record->type) {
	case JP_JITDUMP_LOAD:
		return judge_load(state, record);
	case JP_JITDUMP_MOVE:
		return judge_move(state, record);
	case JP_JITDUMP_DEBUG_INFO:
		return keep_for_load(state, &state->lines, record);
	case JP_JITDUMP_UNWINDING_INFO:
		return keep_for_load(state, &state->tables, record);
	default:
		return 0;
	}
}

static int judge_absent_codes(struct jitdump_records *state)
{
	const struct jp_truth *truth = state->view->evidence->truth;
	uint64_t image_start = 0;
	int failed = 0;

	for (size_t i = 0; i < truth->nr_codes && !failed; i++) {
		const struct jp_truth_code *code = &truth->codes[i];

		if (!i || code->pid != code[-1].pid)
			image_start = jp_find_last_exec(truth, code->pid);
		if (code->by_pid != code->pid || code->in_file || code->loaded < image_start ||
		    !jp_map_find(&state->dumps, code->pid))
			continue;
		state->codes++;
		if (state->described[i])
			continue;
		state->absent_codes++;
		failed = jp_findings_count_failure(
			&state->view->findings, "jitdump.absent", "no-record",
			"%.100s of pid %u at %" PRIx64 ", there from %" PRIu64
			": the process has a jitdump, and no record names it",
			code->name, code->pid, code->addr, code->loaded);
	}
	return failed;
}

/* Judges all dumps at once, because they do not depend on events. */
static int begin(struct jp_view *view, struct jp_error *err)
{
	struct jitdump_records state = {.view = view};
	int failed;

	if (!view->asked->names || view->added_back)
		return 0;
	state.described = calloc(view->evidence->truth->nr_codes + 1, sizeof(*state.described));
	failed = state.described ? jp_jitdump_folder_read(view->evidence->dir, &state.folder, visit,
							  &state, err)
				 : -ENOMEM;
	failed = failed ?: end_dump(&state) ?: judge_absent_codes(&state);
	if (!failed && state.folder.count) {
		jp_findings_add_rate(&view->findings, "jitdump.records", state.bad_records,
				     state.records);
		jp_findings_add_rate(&view->findings, "jitdump.absent", state.absent_codes,
				     state.codes);
	}
	jp_jitdump_folder_free(&state.folder);
	jp_map_free(&state.dumps);
	jp_map_free(&state.layouts);
	free(state.described);
	return failed;
}

JP_DEFINE(validator, jitdump_records) = {
	.name = "jitdump_records",
	.traits = JP_LACKS_ALL,
	.begin = begin,
};
