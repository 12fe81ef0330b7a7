// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/unwind/unwind.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/return_address.h"
#include "harness/model/unwind/elf_store.h"
#include "harness/model/unwind/jit_cfi.h"
#include "harness/model/unwind/known_steps.h"
#include "harness/model/machine/machine.h"

/* Bound on the nested signal stacks of a walk. */
enum { MOST_FALLS = 64 };
/* Largest distance in bytes of a frame above sp: the default limit of a stack's growth. */
enum { MOST_STACK = 8 << 20 };

struct jp_unwinder {
	struct jp_elf_store *store;
	struct jp_jit_cfi *jit; /* NULL: no unwind information for emitted code */
	uint64_t max_stack;
	bool frame_pointers;
	struct jp_known_steps steps;
};

/* State of one walk. */
struct unwinding {
	struct jp_unwinder *unwinder;
	struct jp_replay *replay;
	const struct jp_event *sample;
	const struct jp_machine *machine; /* machine of the registers */
	struct jp_regs regs;
	struct jp_stack_dump dump;
	uint64_t space;         /* generation of the address space */
	bool in_file;           /* the last address is in a file */
	bool is_return_address; /* the ip in @regs is a return address, so it follows the call */
	unsigned falls;         /* number of steps out of signal frames that did not go upwards */
	bool by_cfi;            /* the last step used call frame information */
	enum jp_unwind_stop stop;
	uint64_t stop_addr;
};

const char *jp_unwind_stop_text(enum jp_unwind_stop stop)
{
	static const char *const texts[JP_UNWIND_STOPS] = {
		[JP_UNWIND_ROOT] = "root",
		[JP_UNWIND_UNMAPPED] = "unmapped",
		[JP_UNWIND_NO_ELF] = "no-elf",
		[JP_UNWIND_NO_CFI] = "no-cfi",
		[JP_UNWIND_BAD_FRAME] = "bad-frame",
		[JP_UNWIND_BAD_CFI] = "bad-cfi",
		[JP_UNWIND_DUMP_END] = "dump-end",
		[JP_UNWIND_DUMP_SHORT] = "dump-short",
		[JP_UNWIND_MAX_STACK] = "max-stack",
		[JP_UNWIND_KERNEL] = "kernel-walk",
		[JP_UNWIND_MAX] = "max",
		[JP_UNWIND_NO_DATA] = "no-data",
		[JP_UNWIND_NOT_CAME] = "not-came",
	};

	return (unsigned)stop < JP_UNWIND_STOPS ? texts[stop] : "?";
}

struct jp_unwinder *jp_unwinder_new(const char *elf_dir, struct jp_file_finder *finder)
{
	struct jp_unwinder *unwinder = calloc(1, sizeof(*unwinder));

	if (!unwinder)
		return NULL;
	unwinder->max_stack = JP_USUAL_MAX_STACK;
	unwinder->store = jp_elf_store_new(elf_dir, finder);
	if (!unwinder->store) {
		free(unwinder);
		return NULL;
	}
	return unwinder;
}

void jp_unwinder_free(struct jp_unwinder *unwinder)
{
	if (!unwinder)
		return;
	jp_elf_store_free(unwinder->store);
	free(unwinder);
}

void jp_unwinder_frame_pointers(struct jp_unwinder *unwinder, bool follow)
{
	unwinder->frame_pointers = follow;
}

void jp_unwinder_filter_files(struct jp_unwinder *unwinder, jp_elf_may_be *may_be, void *context)
{
	jp_elf_store_filter(unwinder->store, may_be, context);
}

void jp_unwinder_jit(struct jp_unwinder *unwinder, struct jp_jit_cfi *jit)
{
	unwinder->jit = jit;
}

void jp_unwinder_max_stack(struct jp_unwinder *unwinder, uint64_t addresses)
{
	unwinder->max_stack = addresses;
}

static bool stop_walk(struct unwinding *walk, enum jp_unwind_stop stop)
{
	walk->stop = stop;
	return false;
}

/* Stops the walk because it needs memory outside of the dump; with reason @bad if no caller's frame
 * can be there. */
static bool stop_beyond_dump(struct unwinding *walk, enum jp_unwind_stop bad)
{
	const struct jp_stack_dump *dump = &walk->dump;

	if (dump->missed < dump->sp || dump->missed - dump->sp > MOST_STACK)
		return stop_walk(walk, bad);
	/* The kernel stops the dump at the first page that is not in memory. */
	return stop_walk(walk, dump->size < walk->sample->sample.stack_asked ? JP_UNWIND_DUMP_SHORT
									     : JP_UNWIND_DUMP_END);
}

/* Steps by the frame-pointer rule. Returns false and sets walk->stop if it cannot. */
static bool step_frame(struct unwinding *walk)
{
	switch (jp_machine_step(&walk->regs, jp_stack_dump_load, &walk->dump)) {
	case JP_FRAME_STEPPED:
		walk->is_return_address = true;
		walk->by_cfi = false;
		return true;
	case JP_FRAME_BEYOND:
		return stop_beyond_dump(walk, JP_UNWIND_BAD_FRAME);
	case JP_FRAME_END:
		return stop_walk(walk, JP_UNWIND_ROOT);
	default:
		return stop_walk(walk, JP_UNWIND_BAD_FRAME);
	}
}

/* Handles the answer of a step by call frame information. Returns whether it stepped. */
static bool handle_cfi_answer(struct unwinding *walk, enum jp_cfi_answer answer)
{
	switch (answer) {
	case JP_CFI_STEPPED:
	case JP_CFI_SIGNAL:
		walk->regs.r[walk->machine->ip] = jp_return_address(
			walk->regs.r[walk->machine->ip], walk->machine->frames->signature);
		walk->is_return_address = answer == JP_CFI_STEPPED;
		walk->by_cfi = true;
		return true;
	case JP_CFI_END:
		return stop_walk(walk, JP_UNWIND_ROOT);
	case JP_CFI_STACK:
		return stop_beyond_dump(walk, JP_UNWIND_BAD_CFI);
	default:
		return stop_walk(walk, JP_UNWIND_NO_CFI);
	}
}

static struct jp_elf_entry *find_file(struct jp_unwinder *unwinder, struct jp_mapping *mapping)
{
	if (!mapping->file)
		mapping->file = jp_elf_store_get(unwinder->store, mapping);
	return mapping->file;
}

/* Returns whether @mapping can hold a program or library as well as the code of a JIT. */
static bool is_in_shared_memory(const struct jp_mapping *mapping)
{
	return mapping->backing == JP_BACKING_MEMFD || mapping->backing == JP_BACKING_SHM;
}

/* Returns whether @mapping has the call frame information of a file, which a JIT's code in shared
 * memory lacks. */
static bool is_in_file(struct jp_unwinder *unwinder, struct jp_mapping *mapping)
{
	const struct jp_elf_entry *entry;

	if (!is_in_shared_memory(mapping))
		return mapping->backing == JP_BACKING_FILE;
	entry = find_file(unwinder, mapping);
	return entry && entry->cfi;
}

const struct jp_elf_entry *jp_unwinder_list_missing(struct jp_unwinder *unwinder,
						    const struct jp_elf_entry *after)
{
	struct jp_elf_entry *entry = (struct jp_elf_entry *)after;

	do
		entry = jp_elf_store_next(unwinder->store, entry);
	while (entry && !entry->stops);
	return entry;
}

bool jp_unwinder_lacks_file(struct jp_unwinder *unwinder, struct jp_replay *replay, uint32_t pid,
			    uint64_t addr)
{
	struct jp_mapping *mapping = jp_replay_find(replay, pid, addr);
	const struct jp_elf_entry *entry;
	struct jp_cfi_row row;
	uint64_t vaddr;

	if (!mapping || !is_in_file(unwinder, mapping))
		return false;
	entry = find_file(unwinder, mapping);
	if (!entry || !entry->cfi)
		return true;
	vaddr = jp_cfi_vaddr(entry->cfi, addr - mapping->start + mapping->pgoff);
	if (vaddr == UINT64_MAX)
		return true;
	jp_cfi_row_at(entry->cfi, vaddr, &row);
	return row.kind == JP_ROW_NONE;
}

bool jp_unwinder_takes_for_emitted(struct jp_unwinder *unwinder, struct jp_replay *replay,
				   uint32_t pid, uint64_t addr)
{
	struct jp_mapping *mapping = jp_replay_find(replay, pid, addr);

	return mapping && is_in_shared_memory(mapping) && !is_in_file(unwinder, mapping);
}

/* Looks up the rules for @addr in the call frame information of @mapping's file and stores them in
 * @step. Returns false and sets walk->stop on error. */
static bool find_rules(struct unwinding *walk, struct jp_mapping *mapping, uint64_t addr,
		       struct jp_known_step *step)
{
	struct jp_elf_entry *entry = find_file(walk->unwinder, mapping);
	uint64_t vaddr;

	if (!entry || !entry->cfi || jp_cfi_machine(entry->cfi) != walk->machine) {
		if (entry)
			entry->stops++;
		return stop_walk(walk, JP_UNWIND_NO_ELF);
	}
	vaddr = jp_cfi_vaddr(entry->cfi, addr - mapping->start + mapping->pgoff);
	if (vaddr == UINT64_MAX)
		return stop_walk(walk, JP_UNWIND_NO_CFI);
	*step = (struct jp_known_step){.addr = addr, .space = walk->space};
	step->rows = jp_cfi_row_at(entry->cfi, vaddr, &step->row);
	return true;
}

/* Returns whether a call may return to @ip: it must be in code, and follow a call if a jitdump has
 * the code's bytes. */
static bool is_return(struct unwinding *walk, uint64_t ip)
{
	struct jp_unwinder *unwinder = walk->unwinder;
	struct jp_mapping *mapping = jp_replay_find(walk->replay, walk->sample->pid, ip - 1);
	const struct jp_code_load *code;

	if (!mapping || !(mapping->prot & JP_PROT_EXEC))
		return false;
	if (is_in_file(unwinder, mapping))
		return true;
	code = jp_jit_cfi_at(unwinder->jit, walk->sample->pid, ip - 1, walk->sample->time);
	return !code || !code->code ||
	       walk->machine->frames->follows_call(code->code, ip - code->addr);
}

/* Steps by the unwind information of the JIT, or stops with NO_CFI if there is none. A step that
 * leads to no code shows that the information is wrong. */
static bool step_jit(struct unwinding *walk, uint64_t addr)
{
	struct jp_unwinder *unwinder = walk->unwinder;
	const struct jp_code_load *code = NULL;
	uint64_t ip;

	if (unwinder->jit)
		code = jp_jit_cfi_at(unwinder->jit, walk->sample->pid, addr, walk->sample->time);
	if (!code)
		return stop_walk(walk, JP_UNWIND_NO_CFI);
	if (!handle_cfi_answer(walk, jp_jit_cfi_step(unwinder->jit, code, addr, &walk->regs,
						     jp_stack_dump_load, &walk->dump)))
		return false;
	ip = walk->regs.r[walk->machine->ip];
	if (is_return(walk, ip))
		return true;
	walk->stop_addr = ip;
	return stop_walk(walk, JP_UNWIND_BAD_CFI);
}

/* Steps by call frame information. */
static bool step_by_cfi(struct unwinding *walk, uint64_t addr)
{
	struct jp_known_step *step = jp_known_step_at(&walk->unwinder->steps, addr);
	struct jp_mapping *mapping;

	walk->in_file = true;
	if (!jp_known_step_matches(step, addr, walk->space)) {
		mapping = jp_replay_find(walk->replay, walk->sample->pid, addr);
		if (!mapping)
			return stop_walk(walk, JP_UNWIND_UNMAPPED);
		walk->in_file = is_in_file(walk->unwinder, mapping);
		if (!walk->in_file)
			return step_jit(walk, addr);
		if (!find_rules(walk, mapping, addr, step))
			return false;
	}
	return handle_cfi_answer(walk,
				 jp_cfi_rows_step(step->rows, &step->row, walk->machine->sp,
						  &walk->regs, jp_stack_dump_load, &walk->dump));
}

static bool step_by_either(struct unwinding *walk, uint64_t addr)
{
	if (step_by_cfi(walk, addr))
		return true;
	if (walk->in_file ? walk->unwinder->frame_pointers && (walk->stop == JP_UNWIND_NO_ELF ||
							       walk->stop == JP_UNWIND_NO_CFI)
			  : walk->stop == JP_UNWIND_NO_CFI)
		return step_frame(walk);
	return false;
}

/* Steps by the function @exec_tid from the frame of the current ip to the caller's frame. */
static inline bool step_in_mapping(struct unwinding *walk,
				   bool (*exec_tid)(struct unwinding *walk, uint64_t addr))
{
	const struct jp_machine *machine = walk->machine;
	uint64_t addr = walk->regs.r[machine->ip] - walk->is_return_address,
		 sp = walk->regs.r[machine->sp];
	/* A leaf function may keep its return address in a register, as vfork() does. */
	uint64_t pushed = walk->is_return_address ? machine->frames->pushed : 0, caller_sp, unused;

	walk->stop_addr = addr;
	if (!exec_tid(walk, addr))
		return false;
	if (walk->regs.r[machine->ip] == 0)
		return stop_walk(walk, JP_UNWIND_ROOT);
	/* Each step must go upwards, or the walk might never end. But a signal handler may run on a
	 * stack of its own, and then the interrupted frame is outside of the dump. */
	caller_sp = walk->regs.r[machine->sp];
	if (caller_sp < sp + pushed &&
	    (walk->is_return_address || jp_stack_dump_load(&walk->dump, caller_sp, &unused)))
		return stop_walk(walk, walk->by_cfi ? JP_UNWIND_BAD_CFI : JP_UNWIND_BAD_FRAME);
	if (caller_sp <= sp && !walk->is_return_address && ++walk->falls > MOST_FALLS)
		return stop_walk(walk, JP_UNWIND_BAD_CFI);
	return true;
}

static bool step_by_cfi_then_frame_pointer(struct unwinding *walk)
{
	return step_in_mapping(walk, step_by_either);
}

static bool step_cfi(struct unwinding *walk)
{
	return step_in_mapping(walk, step_by_cfi);
}

/* Steps by the kernel's rule, which ignores mappings. */
static bool step_fp(struct unwinding *walk)
{
	walk->stop_addr = walk->regs.r[walk->machine->ip];
	return step_frame(walk);
}

/* Makes all steps from here whose rules are cached (known steps). Returns their number. */
static uint32_t walk_known_steps(struct unwinding *walk, uint64_t *frames, uint32_t size)
{
	const uint32_t count =
		jp_known_steps_walk(&walk->unwinder->steps, walk->space, &walk->regs,
				    walk->is_return_address, &walk->dump, frames, size);

	walk->is_return_address |= count > 0;
	return count;
}

static void walk_dump(struct unwinding *walk, bool (*step)(struct unwinding *walk),
		      uint64_t *capacity, uint32_t size, struct jp_unwound *out)
{
	const struct jp_event *sample = walk->sample;
	const struct jp_regs *regs = sample->sample.regs;
	const struct jp_machine *machine = regs ? regs->machine : NULL;

	out->frames = capacity;
	out->stop = walk->stop = JP_UNWIND_NO_DATA;
	if (!machine || !(regs->mask & UINT64_C(1) << machine->ip))
		return;
	if (walk->unwinder->steps.replay != walk->replay)
		walk->unwinder->steps = (struct jp_known_steps){.replay = walk->replay};
	walk->space = walk->replay ? jp_replay_generation(walk->replay, sample->pid) : 0;
	walk->machine = machine;
	walk->regs = *regs;
	if (sample->sample.stack && regs->mask & UINT64_C(1) << machine->sp)
		walk->dump = (struct jp_stack_dump){.bytes = sample->sample.stack,
						    .sp = regs->r[machine->sp],
						    .size = sample->sample.stack_size,
						    .narrow = machine->frames->narrow};
	do {
		if (out->count == size) {
			walk->stop = JP_UNWIND_MAX;
			break;
		}
		capacity[out->count++] = walk->regs.r[machine->ip];
		if (step != step_fp)
			out->count +=
				walk_known_steps(walk, capacity + out->count, size - out->count);
	} while (walk->dump.bytes && step(walk));
	out->stop = walk->stop;
	out->stop_addr = walk->stop_addr;
	out->is_incomplete = walk->stop == JP_UNWIND_DUMP_END &&
			     sample->sample.stack_size == sample->sample.stack_asked;
}

static void read_chain(const struct unwinding *walk, struct jp_unwound *out)
{
	const struct jp_event *sample = walk->sample;
	uint64_t nr_addresses = 0;

	out->count = jp_event_user_chain(sample, &out->frames);
	out->stop = JP_UNWIND_KERNEL;
	/* @limit also counts kernel frames. */
	for (uint64_t i = 0; i < sample->sample.nr_chain && !sample->sample.chain_deferred; i++)
		nr_addresses += sample->sample.chain[i] < JP_CONTEXT_MAX;
	if (sample->sample.chain_deferred && !sample->sample.deferred)
		out->stop = JP_UNWIND_NOT_CAME;
	if (nr_addresses >= jp_event_max_stack(sample, walk->unwinder->max_stack)) {
		out->is_incomplete = true;
		out->stop = JP_UNWIND_MAX_STACK;
	}
}

void jp_unwind(struct jp_unwinder *unwinder, struct jp_replay *replay,
	       const struct jp_event *sample, enum jp_method method, uint64_t *capacity,
	       uint32_t size, struct jp_unwound *out)
{
	static bool (*const steps[JP_METHODS])(struct unwinding * walk) = {
		[JP_DUMP] = step_by_cfi_then_frame_pointer,
		[JP_DUMP_FP] = step_fp,
		[JP_DUMP_CFI] = step_cfi,
	};
	struct unwinding walk = {.unwinder = unwinder, .replay = replay, .sample = sample};

	*out = (struct jp_unwound){.stop = JP_UNWIND_NO_DATA};
	if (steps[method])
		walk_dump(&walk, steps[method], capacity, size, out);
	else
		read_chain(&walk, out);
}

enum jp_unwind_stop jp_unwind_chain_stop(struct jp_unwinder *unwinder,
					 const struct jp_event *sample,
					 const struct jp_unwound *chain)
{
	struct unwinding walk = {.unwinder = unwinder, .sample = sample};
	uint64_t capacity[256];
	struct jp_unwound own_walk = {.frames = capacity};

	/* Without a dump the cause of the end is unknown. */
	if (chain->stop != JP_UNWIND_KERNEL || !sample->sample.stack_size || !chain->count ||
	    chain->count > sizeof(capacity) / sizeof(*capacity))
		return chain->stop;
	walk_dump(&walk, step_fp, capacity, chain->count, &own_walk);
	if (own_walk.count != chain->count ||
	    memcmp(capacity, chain->frames, own_walk.count * sizeof(*capacity)) != 0)
		return chain->stop;
	return own_walk.stop == JP_UNWIND_BAD_FRAME || own_walk.stop == JP_UNWIND_ROOT
		       ? own_walk.stop
		       : chain->stop;
}
