// SPDX-License-Identifier: GPL-2.0-only
#include "validators/shown_held.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/order.h"
#include "harness/model/oracle/tables.h"
#include "harness/model/space/mapping_name.h"

/* Returns whether @load has tables that lead from @code to its caller. Wrong tables mislead each
 * reader in its own way. */
static bool has_right_tables(struct jp_holder *holder, const struct jp_truth_code *code,
			     const struct jp_code_load *load)
{
	enum jp_tables *tables = &holder->tables[load - holder->loads->loads];

	if (*tables == JP_TABLES_UNREAD)
		*tables = jp_truth_has_right_tables(holder->truth.machine, code, holder->jit, load)
				  ? JP_TABLES_RIGHT
				  : JP_TABLES_WRONG;
	return *tables == JP_TABLES_RIGHT;
}

/* Returns whether the current file has right unwinding tables for @code: inject copies the tables
 * of the jitdump, unless it left the code out, which then lies in no file. Notes the first frame
 * whose tables no mapping record covers. A callback of struct jp_truth_stack. */
static bool has_unwind_info(void *context, const struct jp_truth_code *code, uint64_t time)
{
	struct jp_holder *holder = context;
	const struct jp_code_load *load = jp_jit_cfi_at(holder->jit, code->pid, code->addr, time);
	const struct jp_mapping *mapping;

	if (!holder->view->in_injected || !load || !has_right_tables(holder, code, load))
		return false;
	mapping = jp_replay_find_as_perf(holder->view->spaces, code->pid, code->addr);
	if (!mapping || jp_mapping_backing(mapping->name) != JP_BACKING_FILE)
		return false;
	if (!holder->nr_mapped && (!load->mapped_size || mapping->end <= code->addr + code->size))
		holder->nr_mapped = holder->truth.nr_seen;
	return true;
}

/* Returns whether the capture shows the mapping behind @mapping's code, in which linkers place the
 * unwinding tables of a file. The vDSO has one mapping. */
static bool has_mapped_tables(const struct jp_holder *holder, uint32_t pid,
			      const struct jp_mapping *mapping)
{
	const struct jp_mapping *next = jp_replay_find(holder->view->spaces, pid, mapping->end);

	return *mapping->name != '/' || (next && strcmp(next->name, mapping->name) == 0);
}

/* Returns whether the file mapped at @addr of @pid no longer existed when readers needed it. Notes
 * the first frame whose tables no mapping record covers. A callback of struct jp_truth_stack. */
static bool lacks_file(void *context, uint32_t pid, uint64_t addr)
{
	struct jp_holder *holder = context;
	const struct jp_mapping *mapping = jp_replay_find(holder->view->spaces, pid, addr);

	if (mapping && !holder->nr_mapped && !has_mapped_tables(holder, pid, mapping))
		holder->nr_mapped = holder->truth.nr_seen;
	return !mapping || jp_shown_is_gone(holder->files, mapping->name);
}

int jp_holder_init(struct jp_holder *holder)
{
	holder->jit = jp_jit_cfi_new(holder->loads, holder->view->evidence->truth->e_machine);
	holder->tables = calloc(holder->loads->count + 1, sizeof(*holder->tables));
	holder->truth.has_unwind_info = has_unwind_info;
	holder->truth.lacks_file = lacks_file;
	holder->truth.context = holder;
	return holder->jit && holder->tables ? 0 : -ENOMEM;
}

/* Frees the state that describes one file. */
static void free_file_state(struct jp_holder *holder)
{
	jp_jit_cfi_free(holder->jit);
	free(holder->tables);
	holder->jit = NULL;
	holder->tables = NULL;
	jp_map_free(&holder->exited);
	jp_map_free(&holder->late);
}

void jp_holder_free(struct jp_holder *holder)
{
	jp_truth_stack_free(&holder->truth);
	free_file_state(holder);
}

/* Stores @value for @key. Returns 0 or -ENOMEM. */
static int set_flag(struct jp_map *map, uint32_t key, bool value)
{
	bool *flag = jp_map_at(map, key, sizeof(*flag));

	if (!flag)
		return -ENOMEM;
	*flag = value || (!key && *flag);
	return 0;
}

static bool get_flag(const struct jp_map *map, uint32_t key)
{
	const bool *flag = jp_map_find(map, key);

	return flag && *flag;
}

/* Notes the exit of a main thread, and which threads start after that. */
static int follow_main_thread(struct jp_holder *holder, const struct jp_event *event)
{
	const bool main = event->pid == event->tid;

	if (event->type == JP_EVENT_EXIT && main)
		return set_flag(&holder->exited, event->pid, true)
			       ?: (event->pid ? 0 : set_flag(&holder->late, 0, true));
	if (event->type != JP_EVENT_FORK)
		return 0;
	return (main ? set_flag(&holder->exited, event->pid, false) : 0)
		       ?: set_flag(&holder->late, event->tid,
				   !main && get_flag(&holder->exited, event->pid));
}

int jp_holder_apply_event(struct jp_holder *holder, const struct jp_event *event)
{
	if (holder->view->in_injected && !holder->in_injected) {
		holder->in_injected = true;
		free_file_state(holder);
		if (jp_holder_init(holder))
			return -ENOMEM;
	}
	return follow_main_thread(holder, event) ?: jp_jit_cfi_apply(holder->jit, event);
}

bool jp_holder_is_late(const struct jp_holder *holder, uint32_t tid)
{
	return get_flag(&holder->late, tid);
}

/* Returns how many frames of @truth a walk of the stack dump of @event can find. @sp: the sampled
 * stack pointer. perf cannot read the last word of a dump (results/FINDINGS.md). */
static uint32_t count_dumped_entries(const struct jp_truth_stack *truth,
				     const struct jp_event *event, uint64_t sp)
{
	const bool is_complete = event->sample.stack_size < event->sample.stack_asked;
	uint32_t count = truth->nr_seen ? 1 : 0;

	while (count < truth->nr_seen &&
	       (truth->return_addrs[count]
			? truth->return_addrs[count] - sp + 16 <= event->sample.stack_size
			: is_complete))
		count++;
	return count;
}

/* Returns whether the capture shows a mapping of an existing file in process @pid, other than a
 * jitdump. perf unwinds no dump of a process without an ELF file, from which it learns the machine:
 * maps__addr_space() in util/unwind-libunwind.c, and dwfl_attach_state(), which
 * util/unwind-libdw.c calls. */
static bool has_elf_file(const struct jp_holder *holder, uint32_t pid)
{
	const struct jp_mapping *mapping;

	for (uint64_t addr = 0;
	     (mapping = jp_replay_find_at_or_above(holder->view->spaces, pid, addr));
	     addr = mapping->end)
		if (jp_mapping_backing(mapping->name) == JP_BACKING_FILE &&
		    fnmatch("*/jit-*.dump", mapping->name, 0) != 0 &&
		    !jp_shown_is_gone(holder->files, mapping->name))
			return true;
	return false;
}

/* Stores in @held the frames that a walk of the dump finds, according to the truth. Stores only the
 * first frame if call frame information is wrong, which misleads each reader in its own way. */
static void find_dump(struct jp_holder *holder, struct jp_held *held, uint64_t ip, uint64_t sp)
{
	const struct jp_evidence *evidence = holder->view->evidence;
	const struct jp_event *event = held->event;
	struct jp_truth_stack *truth = &holder->truth;

	holder->nr_mapped = 0;
	if (!has_elf_file(holder, event->pid) ||
	    !jp_truth_code_at(evidence->truth, event->pid, ip, event->time) ||
	    jp_truth_stack_at(evidence->truth, event->pid, event->tid, event->time,
			      evidence->info.slack, ip, sp, JP_DUMP_CFI, truth) != JP_STACK_FOUND)
		return;
	held->dump = truth->expected;
	held->nr_dump = truth->end == JP_END_ROOT || truth->end == JP_END_NO_CFI
				? count_dumped_entries(truth, event, sp)
				: 1;
	held->nr_mapped = holder->nr_mapped;
	held->reaches_root = truth->end == JP_END_ROOT && held->nr_dump == truth->nr_seen;
}

void jp_holder_find(struct jp_holder *holder, const struct jp_event *event, struct jp_held *held)
{
	uint64_t ip, sp;

	*held = (struct jp_held){.event = event, .ip = event->sample.ip};
	held->is_late = jp_holder_is_late(holder, event->tid);
	held->chained = event->sample.chain && !event->sample.kernel_chain;
	if (held->chained)
		held->nr_user = (uint32_t)jp_event_user_chain(event, &held->user_chain);
	for (uint32_t i = 0; i < held->nr_user; i++)
		held->garbage |= held->user_chain[i] >= JP_CONTEXT_MAX;
	if (!jp_machine_user(holder->view->machine, event, &ip, &sp))
		return;
	held->has_dump = event->sample.stack_asked > 0;
	if (held->has_dump)
		find_dump(holder, held, ip, sp);
}

bool jp_shown_frame_has_address(const struct jp_shown_frame *frame, uint64_t addr, bool caller,
				const struct jp_mapping *mapping)
{
	const uint64_t shift = mapping ? mapping->start - mapping->pgoff : 0;

	return frame->addr == addr || frame->addr == addr - shift ||
	       (caller && (frame->addr == addr - 1 || frame->addr == addr - 1 - shift));
}

struct comparison {
	struct jp_replay *spaces;
	uint32_t pid;
	const struct jp_shown_frame *shown;
	const uint64_t *held;
	uint32_t nr_shown, nr_held;
};

/* Returns whether the shown frame number @i is the file's frame number @j. */
static bool is_same(const struct comparison *comparison, uint32_t i, uint32_t j)
{
	const bool is_caller = j > 0;

	if (i >= comparison->nr_shown || j >= comparison->nr_held)
		return false;
	/* A reader that shows only names still shows the number of frames. */
	if (!comparison->shown[i].placed)
		return true;
	/* perf looks for a caller of a callchain at its address, for an unwound one before it. */
	for (uint64_t before = 0; before <= is_caller; before++) {
		const uint64_t addr = comparison->held[j] - before;

		if (jp_shown_frame_has_address(
			    &comparison->shown[i], comparison->held[j], is_caller,
			    jp_replay_find_as_perf(comparison->spaces, comparison->pid, addr)))
			return true;
	}
	return false;
}

/* Compares all frames. @ends: no further shown frame may follow those of the file. */
static struct jp_shown_fault compare_frames(const struct comparison *comparison, bool ends)
{
	struct jp_shown_fault fault = {.nr_shown = comparison->nr_shown,
				       .nr_recorded = comparison->nr_held};
	const uint32_t min = (uint32_t)jp_min(comparison->nr_shown, comparison->nr_held);
	uint32_t index = 0;

	while (index < min && is_same(comparison, index, index))
		index++;
	fault.frame = index;
	if (index == comparison->nr_held)
		fault.cause = ends && comparison->nr_shown > index ? "extra-frame" : NULL;
	else if (index == comparison->nr_shown)
		fault.cause = index ? "cut" : "no-frames";
	else if (is_same(comparison, index, index + 1) && is_same(comparison, index + 1, index))
		fault.cause = "frame-order";
	else if (is_same(comparison, index, index + 1))
		fault.cause = "missing-frame";
	else if (is_same(comparison, index + 1, index))
		fault.cause = "extra-frame";
	else
		fault.cause = "other-frame";
	return fault;
}

struct jp_shown_fault jp_shown_compare(struct jp_replay *spaces, const struct jp_held *held,
				       const struct jp_shown_frame *frames, uint32_t count)
{
	const bool both = held->chained && held->has_dump;
	const struct comparison chain = {.spaces = spaces,
					 .pid = held->event->pid,
					 .shown = frames,
					 .nr_shown = count,
					 .held = held->user_chain,
					 .nr_held = held->nr_user};
	struct comparison dump = chain;
	struct jp_shown_fault fault = {0}, unwound;

	if (held->chained)
		fault = compare_frames(&chain, !both);
	if (!held->dump)
		return fault;
	dump.held = held->dump;
	dump.nr_held = held->nr_dump;
	if (both && !fault.cause) {
		dump.shown += held->nr_user;
		dump.nr_shown -= held->nr_user;
	}
	unwound = compare_frames(&dump, held->reaches_root);
	unwound.is_unwound = true;
	/* A reader may show the frames of the dump alone, but then it must show all of them. */
	return fault.cause && unwound.cause ? fault : unwound;
}
