// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/unwind/jit_cfi.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/search.h"
#include "harness/format/elf/cfi_check.h"
#include "harness/format/jit/jit_layout.h"

enum {
	ALIGN = 16,          /* bytes between the starts of functions */
	PACK_MOST = 1 << 30, /* largest number of bytes of code with tables, whose distances have 32
				bits */
	/* Number of generations of ancestors that are searched for inherited code. */
	ANCESTORS = 64,
	BELOW_MOST =
		1024, /* largest number of starts examined below an address, for hostile jitdumps */
};

/* The start of a process as a copy of process @parent, or with a new program (@parent 0). */
struct start {
	uint32_t pid, parent;
	uint64_t time; /* time of the exec or fork; 0: unknown */
};

struct jp_jit_cfi {
	const struct jp_code_loads *loads;
	uint64_t *largest_ends; /* reach[i] is the largest end address of loads[0..i] of the same
				   pid */
	/* Address of the code of loads[i] in @cfi, where all functions follow each other; 0: the
	 * tables of that load are unusable. */
	uint64_t *vaddr;
	struct jp_cfi *cfi;   /* NULL: no tables */
	struct start *starts; /* sorted by time */
	size_t nr_starts, capacity;
	uint16_t machine;
	bool built;
	uint64_t nr_bad;
};

struct jp_jit_cfi *jp_jit_cfi_new(const struct jp_code_loads *loads, uint16_t machine)
{
	struct jp_jit_cfi *jit = calloc(1, sizeof(*jit));

	if (!jit)
		return NULL;
	jit->loads = loads;
	jit->machine = machine;
	jit->largest_ends = calloc(loads->count + 1, sizeof(*jit->largest_ends));
	jit->vaddr = calloc(loads->count + 1, sizeof(*jit->vaddr));
	if (!jit->largest_ends || !jit->vaddr) {
		jp_jit_cfi_free(jit);
		return NULL;
	}
	for (size_t i = 0; i < loads->count; i++) {
		const struct jp_code_load *load = &loads->loads[i];

		jit->largest_ends[i] = load->addr + load->size;
		if (i && load[-1].pid == load->pid &&
		    jit->largest_ends[i - 1] > jit->largest_ends[i])
			jit->largest_ends[i] = jit->largest_ends[i - 1];
	}
	return jit;
}

void jp_jit_cfi_free(struct jp_jit_cfi *jit)
{
	if (!jit)
		return;
	jp_cfi_close(jit->cfi);
	free(jit->largest_ends);
	free(jit->vaddr);
	free(jit->starts);
	free(jit);
}

int jp_jit_cfi_apply(struct jp_jit_cfi *jit, const struct jp_event *event)
{
	struct start start = {.pid = event->pid, .time = event->time};

	if (event->type == JP_EVENT_FORK && event->pid != event->task.ppid)
		start.parent = event->task.ppid;
	else if (event->type != JP_EVENT_COMM || !event->comm.exec)
		return 0;
	return jp_array_append(&jit->starts, &jit->nr_starts, &jit->capacity, start);
}

static const struct start *find_last_start(const struct jp_jit_cfi *jit, uint32_t pid)
{
	for (size_t i = jit->nr_starts; i; i--)
		if (jit->starts[i - 1].pid == pid)
			return &jit->starts[i - 1];
	return NULL;
}

static bool is_behind(const struct jp_code_load *load, uint32_t pid, uint64_t addr, uint64_t time)
{
	if (load->pid != pid)
		return load->pid > pid;
	return load->addr != addr ? load->addr > addr : load->time > time;
}

/* Returns the index of the first of loads[..high) that sorts after (@pid, @addr, @time). */
static size_t find_first_behind(const struct jp_code_loads *loads, size_t high, uint32_t pid,
				uint64_t addr, uint64_t time)
{
	size_t i;

	jp_search(i, high, !is_behind(&loads->loads[i], pid, addr, time));
	return i;
}

/* Returns the code load at @addr that @pid itself published until @time, or NULL. */
static const struct jp_code_load *find_own_load(const struct jp_jit_cfi *jit, uint32_t pid,
						uint64_t addr, uint64_t time)
{
	const struct jp_code_loads *loads = jit->loads;
	const struct jp_code_load *latest = NULL;
	size_t index = find_first_behind(loads, loads->count, pid, addr, UINT64_MAX);

	/* Search downwards from the nearest start below @addr while any load there extends to
	 * @addr. The load that came last covers the others. */
	for (int nr_tried = 0;
	     nr_tried < BELOW_MOST && index && loads->loads[index - 1].pid == pid &&
	     jit->largest_ends[index - 1] > addr;
	     nr_tried++) {
		uint64_t start = loads->loads[index - 1].addr;
		size_t next_index = find_first_behind(loads, index, pid, start, time);

		if (next_index) {
			const struct jp_code_load *load = &loads->loads[next_index - 1];

			if (load->pid == pid && load->addr == start && addr - start < load->size &&
			    (!latest || load->time > latest->time))
				latest = load;
		}
		index = start ? find_first_behind(loads, index, pid, start - 1, UINT64_MAX) : 0;
	}
	return latest;
}

const struct jp_code_load *jp_jit_cfi_at(const struct jp_jit_cfi *jit, uint32_t pid, uint64_t addr,
					 uint64_t time)
{
	const struct jp_code_load *load = find_own_load(jit, pid, addr, time);

	for (int i = 0; !load && jit->loads->count && i < ANCESTORS; i++) {
		const struct start *start = find_last_start(jit, pid);

		if (!start || !start->parent)
			break;
		pid = start->parent;
		time = start->time && start->time < time ? start->time : time;
		load = find_own_load(jit, pid, addr, time);
	}
	return load;
}

/* Combines the tables of all functions as inject does: libdw finds a rule among a hundred thousand
 * functions as fast as in a single one. */
static void build_tables(struct jp_jit_cfi *jit)
{
	const struct jp_code_loads *loads = jit->loads;
	struct jp_jit_frames frames = {0};
	uint64_t end = ALIGN, frame_addr, index_addr;
	struct jp_jit_function function = {0};

	jit->built = true;
	/* Tables contain distances to .eh_frame, so assign the code's addresses first. */
	for (size_t i = 0; i < loads->count; i++) {
		const struct jp_code_load *load = &loads->loads[i];

		if (!load->eh_frame || load->size > PACK_MOST - end)
			continue;
		jit->vaddr[i] = end;
		end = (end + load->size + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
	}
	frame_addr = end;
	for (size_t i = 0; i < loads->count; i++) {
		const struct jp_code_load *load = &loads->loads[i];

		if (!load->eh_frame)
			continue;
		function.size = load->size;
		function.offset = jit->vaddr[i];
		function.eh_frame = load->eh_frame;
		function.eh_frame_size = load->eh_frame_size;
		frames.nr_bad = 0;
		if (jit->vaddr[i])
			jp_jit_frames_add(&frames, &function, frame_addr);
		if (!jit->vaddr[i] || frames.nr_bad) {
			jit->vaddr[i] = 0;
			jit->nr_bad++;
		}
	}
	index_addr = (frame_addr + frames.frame.size + 4 + 3) & ~UINT64_C(3);
	jp_jit_frames_end(&frames, frame_addr, index_addr);
	if (frames.count && !frames.frame.failed && !frames.index.failed) {
		const struct jp_cfi_section frame = {frames.frame.bytes, frames.frame.size,
						     frame_addr};
		const struct jp_cfi_section index = {frames.index.bytes, frames.index.size,
						     index_addr};

		jit->cfi = jp_cfi_open_tables(jit->machine, 0, end, &frame, &index, NULL);
	}
	jp_jit_frames_free(&frames);
}

bool jp_jit_cfi_has_tables(struct jp_jit_cfi *jit, const struct jp_code_load *load)
{
	if (!jit->built && load->eh_frame)
		build_tables(jit);
	return load->eh_frame && jit->cfi && jit->vaddr[load - jit->loads->loads];
}

enum jp_cfi_answer jp_jit_cfi_step(struct jp_jit_cfi *jit, const struct jp_code_load *load,
				   uint64_t addr, struct jp_regs *regs, jp_stack_load read,
				   void *context)
{
	if (!jp_jit_cfi_has_tables(jit, load))
		return JP_CFI_NONE;
	return jp_cfi_step(jit->cfi, jit->vaddr[load - jit->loads->loads] + (addr - load->addr),
			   regs, read, context);
}

uint64_t jp_jit_cfi_count_bad(const struct jp_jit_cfi *jit)
{
	return jit->nr_bad;
}
