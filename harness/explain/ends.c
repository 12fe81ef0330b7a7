// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/ends.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/explain/remapped.h"
#include "harness/model/unwind/elf_store.h"

enum {
	PAGE = 4096,
	/* Largest number of garbage addresses at a program's start. The C library calls main() with
	 * any value in the frame pointer. If the value is argv, the chain continues with a pointer
	 * to an argument and with bytes of a string, and ends there. */
	MOST_AT_START = 2,
	/* Largest number of addresses in a chain that emitted code may have broken. If it uses the
	 * frame pointer for other data, that leads to few addresses of code. */
	MOST_FROM_JIT = 5,
};

struct jp_ends *jp_ends_new(struct jp_replay *spaces, const char *elf_dir,
			    struct jp_file_finder *finder, struct jp_changed_files *changed,
			    const struct jp_perfdata_summary *summary)
{
	struct jp_ends *ends = calloc(1, sizeof(*ends));

	if (!ends)
		return NULL;
	ends->places = ends->codes.places = ends->images.places = jp_places_new(spaces);
	ends->changed = changed;
	ends->stacks = jp_stacks_new(elf_dir, finder, summary);
	ends->store = jp_elf_store_new(elf_dir, finder);
	if (ends->store)
		ends->sites = jp_call_sites_new(ends->store, finder);
	if (!ends->places || !ends->stacks || !ends->sites) {
		jp_ends_free(ends);
		return NULL;
	}
	return ends;
}

void jp_ends_free(struct jp_ends *ends)
{
	if (!ends)
		return;
	free(ends->list);
	jp_images_free(&ends->images);
	jp_map_free(&ends->both);
	jp_map_free(&ends->at);
	jp_map_free(&ends->codes.files);
	jp_call_sites_free(ends->sites);
	jp_elf_store_free(ends->store);
	jp_stacks_free(ends->stacks);
	jp_places_free(ends->places);
	free(ends);
}

/* Returns whether the caller in @stack keeps the frame pointer and is in the same file as @leaf.
 * Then the other functions of the file probably keep the frame pointer, too, except leaves. */
static bool does_caller_keep_frame_pointer(struct jp_ends *ends, const struct jp_end *leaf,
					   const struct jp_places_process *process,
					   const struct jp_stack *stack)
{
	const uint64_t caller = stack->frames[1] - 1;
	struct jp_mapping text;
	const struct jp_mapping *mapping =
		jp_remapped_find(ends->places->replay, process->pid, caller, &text);

	return mapping && mapping->name == leaf->file &&
	       jp_frame_use(ends->store, mapping, caller) == JP_FRAME_LINKED;
}

static uint64_t find_vaddr(struct jp_ends *ends, const struct jp_mapping *mapping, uint64_t addr)
{
	const struct jp_elf_entry *entry = jp_elf_store_get(ends->store, mapping);
	const uint64_t offset = addr - mapping->start + mapping->pgoff;
	const uint64_t vaddr = entry && entry->cfi ? jp_cfi_vaddr(entry->cfi, offset) : UINT64_MAX;

	return vaddr == UINT64_MAX ? offset : vaddr;
}

/* Appends a new end to @ends, with the facts about its place. Returns NULL if out of memory. */
static struct jp_end *add_new_end(struct jp_ends *ends, const struct jp_places_process *process,
				  struct jp_image *image, enum jp_end_kind kind, uint64_t addr,
				  const struct jp_stack *stack)
{
	struct jp_end *end = jp_array_push(&ends->list, &ends->count, &ends->capacity);
	struct jp_stretch *stretch = jp_places_at(ends->places, process, addr);
	const struct jp_mapping *mapping;
	struct jp_mapping text;

	if (!end)
		return NULL;
	*end = (struct jp_end){.image = image, .kind = kind, .addr = addr};
	snprintf(image->process, sizeof(image->process), "%s",
		 jp_replay_comm(ends->places->replay, image->pid));
	image->program = process->program;
	end->start = addr & ~(uint64_t)(PAGE - 1);
	end->end = end->start + PAGE;
	if (stretch->place == JP_PLACE_UNMAPPED)
		return end;
	mapping = jp_remapped_find(ends->places->replay, process->pid, addr, &text);
	if (!mapping)
		return end;
	end->remapped = mapping == &text;
	end->code = jp_code_at(&ends->codes, process, stretch);
	end->file = mapping->name;
	end->start = mapping->start;
	end->end = mapping->end;
	if (end->code != JP_CODE_EMITTED)
		end->vaddr = find_vaddr(ends, mapping, addr);
	end->changed = jp_changed_files_has(ends->changed, mapping);
	/* A return address may be outside of the function's section: look up the byte before. */
	if (end->code != JP_CODE_EMITTED && !end->changed &&
	    (kind == JP_END_SINGLE || kind == JP_END_HERE || kind == JP_END_LEAF)) {
		const struct jp_elf_entry *entry = jp_elf_store_get(ends->store, mapping);

		end->use = jp_frame_use(ends->store, mapping, addr - (kind == JP_END_HERE));
		end->bare = end->use == JP_FRAME_UNKNOWN && entry && entry->cfi;
		end->has_fp = jp_frame_kept(ends->store, mapping) ||
			      (kind == JP_END_LEAF &&
			       does_caller_keep_frame_pointer(ends, end, process, stack));
		end->frameless_call = kind == JP_END_HERE && end->use == JP_FRAME_LINKED &&
				      jp_frame_is_absent(ends->store, mapping, addr - 1) &&
				      jp_frame_is_absent(ends->store, mapping, addr);
	}
	return end;
}

/* Returns the end at @addr of @image, and creates it if necessary. Unmapped memory has one end for
 * each page. */
static struct jp_end *get_end(struct jp_ends *ends, const struct jp_places_process *process,
			      struct jp_image *image, enum jp_end_kind kind, uint64_t addr,
			      const struct jp_stack *stack)
{
	const bool page = kind == JP_END_UNMAPPED || kind == JP_END_CALLER;
	const uint64_t place = page ? addr / PAGE : addr;
	uint64_t key = (place * JP_END_KINDS + kind) ^ (uintptr_t)image << 16;

	for (;; key += UINT64_C(0x9e3779b97f4a7c15)) {
		size_t *at = jp_map_at(&ends->at, key, sizeof(*at));
		struct jp_end *end;

		if (!at)
			return NULL;
		if (!*at) {
			end = add_new_end(ends, process, image, kind, addr, stack);
			*at = end ? ends->count : 0;
			return end;
		}
		end = &ends->list[*at - 1];
		if (end->image == image && end->kind == kind &&
		    (page ? end->addr / PAGE : end->addr) == place)
			return end;
	}
}

/* Returns whether the sample at @end is of the kernel, which libc called. */
static bool is_system_call(const struct jp_end *end, const struct jp_event *event)
{
	return end->code == JP_CODE_LIBC && !event->sample.user;
}

static void count_sample(struct jp_end *end, const struct jp_event *event,
			 const struct jp_stack *stack, const struct jp_ending *ending)
{
	const enum jp_unwind_stop other = stack->other && stack->method == JP_DUMP_CFI
						  ? stack->other->stop
						  : JP_UNWIND_NO_DATA;

	if (!end->samples++) {
		end->time = event->time;
		end->tid = event->tid;
		end->frames = stack->count;
		end->dump = event->sample.stack_size;
		end->limit = event->asked ? event->asked->max_stack : 0;
	}
	end->nr_frames += stack->count;
	end->blank += !event->sample.user && !event->sample.stack_size;
	end->cut += other == JP_UNWIND_DUMP_END;
	end->hollow += other == JP_UNWIND_DUMP_SHORT;
	end->switched += stack->switched;
	end->from_jit += ending->in_jit && stack->count <= MOST_FROM_JIT;
	end->starting += !end->image->in_jit;
	end->system += is_system_call(end, event);
	end->circles += ending->circle;
	end->skips += ending->skips;
	if (ending->next && !end->garbage++)
		end->next = ending->next;
	end->again += ending->next && ending->next == end->next;
	end->astray += ending->nr_next > MOST_AT_START;
	end->main += event->tid == event->pid;
	/* The function of glibc that calls main() and exit() saves no registers. */
	if (end->kind == JP_END_HERE && end->code == JP_CODE_LIBC && end->use != JP_FRAME_USED &&
	    end->use != JP_FRAME_UNKNOWN && end->main)
		end->image->main_root = true;
}

static void extend_range(struct jp_image *image, uint64_t addr)
{
	image->low = !image->low || addr < image->low ? addr : image->low;
	image->high = addr > image->high ? addr : image->high;
}

static void count_image(struct jp_image *image, const struct jp_ending *ending)
{
	const bool whole = ending->kind == JP_END_ROOT || ending->kind == JP_END_HERE;

	image->samples++;
	if (ending->file) {
		image->in_files++;
		image->unmapped_since = 0;
	} else if (ending->kind == JP_END_UNMAPPED) {
		image->unmapped_since++;
		image->elsewhere += ending->far || (ending->addr < JP_LOW_END && !image->low_file);
		extend_range(image, ending->addr);
		if (ending->next)
			extend_range(image, ending->next);
	}
	if (ending->caller)
		jp_image_note_caller(image, ending->caller);
	image->unmapped += ending->kind == JP_END_UNMAPPED;
	image->recursion |= ending->recursion;
	image->in_jit += ending->in_jit;
	image->starting += !image->in_jit;
	image->calls_jit += ending->calls_jit;
	image->skips_stub += ending->skips_stub;
	image->whole += whole;
	/* The inner frames of a dump that ends too early are right. */
	if ((whole || ending->kind == JP_END_DUMP || ending->kind == JP_END_EMPTY) &&
	    ending->interpreter && !ending->emitted) {
		image->interpreted++;
		image->interpreter = ending->interpreter;
	}
}

static struct jp_end *add_sample(struct jp_ends *ends, const struct jp_places_process *process,
				 struct jp_image *image, const struct jp_event *event,
				 const struct jp_stack *stack, const struct jp_ending *ending)
{
	struct jp_end *end = get_end(ends, process, image, ending->kind, ending->addr, stack);

	if (end)
		count_sample(end, event, stack, ending);
	return end;
}

/* Returns whether @stack skips the caller of the code in its frame @at: it shows the caller's
 * caller, which must have called a function that has a frame, and not at frame @at. */
static bool skips_caller(struct jp_ends *ends, const struct jp_places_process *process,
			 const struct jp_stack *stack, uint64_t at)
{
	const struct jp_mapping *mapping;
	struct jp_mapping text;
	enum jp_code_kind code;
	uint64_t caller, callee;

	if (at + 1 >= stack->count)
		return false;
	caller = stack->frames[at + 1];
	mapping = jp_remapped_find(ends->places->replay, process->pid, caller - 1, &text);
	if (!mapping || jp_changed_files_has(ends->changed, mapping))
		return false;
	code = jp_code_classify(mapping->backing, mapping->name);
	if (code == JP_CODE_LIBC)
		return jp_call_sites_main_behind(ends->sites, mapping, caller);
	callee =
		code == JP_CODE_FILE ? jp_call_sites_frame_behind(ends->sites, mapping, caller) : 0;
	return callee && stack->frames[at] - callee > JP_FRAME_NEAR;
}

/* Returns whether a probe or breakpoint took the sample where a file's function has no frame, as at
 * its entry. Tracepoints of system calls take samples elsewhere. */
static bool is_probed(struct jp_ends *ends, const struct jp_places_process *process,
		      const struct jp_event *event, const struct jp_stack *stack)
{
	const struct jp_mapping *mapping;
	struct jp_mapping text;

	if (!event->asked || !event->asked->at_code || !event->sample.user)
		return false;
	mapping = jp_remapped_find(ends->places->replay, process->pid, stack->frames[0], &text);
	return mapping && jp_frame_is_absent(ends->store, mapping, stack->frames[0]);
}

/* Adds the sample to the end of kind JP_END_LEAF at the sampled function. @here: index of the end
 * at which the stack itself ends. */
static int add_leaf(struct jp_ends *ends, const struct jp_places_process *process,
		    struct jp_image *image, const struct jp_event *event,
		    const struct jp_stack *stack, const struct jp_ending *ending, size_t here)
{
	struct jp_end *end = add_sample(ends, process, image, event, stack, ending);
	uint64_t *both;
	bool skipping, system;

	if (!end)
		return -ENOMEM;
	system = is_system_call(end, event);
	skipping = ending->skips_stub ||
		   ((ending->in_jit ? !ending->calls_jit
				    : end->bare || is_probed(ends, process, event, stack)) &&
		    skips_caller(ends, process, stack, 0));
	end->stubbed += ending->from_stub;
	end->skips += skipping;
	if ((skipping || ending->from_stub) && !end->skipped)
		end->skipped = stack->frames[1];
	if (!skipping && (system || !jp_end_has_no_frame(end)))
		return 0;
	both = jp_map_at(&ends->both, (uint64_t)here << 32 | (uint64_t)(end - ends->list),
			 sizeof(*both));
	if (both)
		++*both;
	return both ? 0 : -ENOMEM;
}

/* Counts emitted code that has called the sampled function as a JP_END_LEAF. */
static int add_emitted_caller(struct jp_ends *ends, const struct jp_places_process *process,
			      struct jp_image *image, const struct jp_event *event,
			      const struct jp_stack *stack, struct jp_ending *ending)
{
	struct jp_end *end;

	ending->addr = stack->frames[ending->outermost];
	end = add_sample(ends, process, image, event, stack, ending);
	if (!end)
		return -ENOMEM;
	if (skips_caller(ends, process, stack, ending->outermost) && !end->skips++)
		end->skipped = stack->frames[ending->outermost + 1];
	return 0;
}

static int add_all_ends(struct jp_ends *ends, const struct jp_places_process *process,
			struct jp_image *image, const struct jp_event *event,
			const struct jp_stack *stack, struct jp_ending *ending)
{
	struct jp_ending beside = {.kind = JP_END_KINDS};
	struct jp_end *end;

	if (ending->kind == JP_END_KINDS)
		return 0;
	end = add_sample(ends, process, image, event, stack, ending);
	if (!end)
		return -ENOMEM;
	if (ending->kind == JP_END_HERE) {
		image->here[end->code]++;
		ending->kind = JP_END_LEAF;
		ending->addr = stack->frames[0];
		if (add_leaf(ends, process, image, event, stack, ending,
			     (size_t)(end - ends->list)))
			return -ENOMEM;
		if (ending->emitted && !ending->in_jit &&
		    add_emitted_caller(ends, process, image, event, stack, ending))
			return -ENOMEM;
	}
	if (stack->method == JP_CHAIN &&
	    jp_end_of_dump_beside(&ends->codes, process, stack, &beside) &&
	    !add_sample(ends, process, image, event, stack->other, &beside))
		return -ENOMEM;
	return 0;
}

bool jp_end_has_unknown_caller(const struct jp_end *end)
{
	enum { FEW = 10, LEAST = 5, LOWEST = 0x1000 };

	/* Garbage would differ between samples. */
	return end->kind == JP_END_HERE && end->use == JP_FRAME_LINKED && end->again >= LEAST &&
	       end->again * FEW >= end->samples * (FEW - 1) && end->next >= LOWEST &&
	       end->next < UINT64_C(1) << 47;
}

/* Returns whether perf with libunwind loses @stack behind code without call frame information: it
 * guesses the caller by the frame pointer and keeps a wrong stack pointer (unw_step() in
 * libunwind's src/x86_64/Gstep.c), by which most code without frame pointers finds its frame. */
static bool loses_stack_pointer(struct jp_ends *ends, const struct jp_places_process *process,
				const struct jp_stack *stack)
{
	bool lost = true;

	for (uint64_t i = stack->informed; stack->loses_sp && i < stack->count; i++) {
		const struct jp_mapping *mapping =
			jp_replay_find(ends->places->replay, process->pid, stack->frames[i] - 1);
		const enum jp_frame_use use =
			mapping ? jp_frame_use(ends->store, mapping, stack->frames[i] - 1)
				: JP_FRAME_UNKNOWN;

		if (lost && (use == JP_FRAME_KEPT || use == JP_FRAME_USED))
			return true;
		lost = use == JP_FRAME_UNKNOWN;
	}
	return false;
}

/* Returns whether the kernel is executing another program in @image's process at this moment:
 * registers still belong to the old program, whose memory is gone. */
static bool is_in_exec(struct jp_image *image, const struct jp_event *event,
		       const struct jp_ending *ending)
{
	const bool mapped = ending->kind != JP_END_UNMAPPED && ending->kind != JP_END_EMPTY;

	image->begun |= event->sample.user || mapped;
	return image->exec && !image->begun;
}

static int handle_sample(struct jp_ends *ends, const struct jp_event *event,
			 const struct jp_stack *stack)
{
	struct jp_ending ending = {.kind = JP_END_KINDS};
	struct jp_places_process *process;
	struct jp_image *image;

	if (!ends->first_sample)
		ends->first_sample = event->time;
	if (!stack->count || jp_places_has_no_process(event))
		return 0;
	process = jp_places_get_process(ends->places, event->pid);
	image = process ? jp_image_get(&ends->images, event->pid) : NULL;
	if (!image)
		return -ENOMEM;
	if (process->checked != ends->places->applied)
		jp_places_update_epoch(ends->places, process);
	if (stack->method == JP_CHAIN)
		jp_end_of_chain(&ends->codes, process, stack, &ending);
	else
		jp_end_of_dump(&ends->codes, process, stack, &ending);
	if (stack->informed && (skips_caller(ends, process, stack, stack->informed - 1) ||
				loses_stack_pointer(ends, process, stack))) {
		ending.kind = JP_END_NO_CFI;
		ending.addr = stack->frames[stack->informed - 1];
		ending.skips = true;
	}
	if (is_in_exec(image, event, &ending))
		return 0;
	image->hollow |= ending.kind == JP_END_EMPTY && event->sample.user;
	count_image(image, &ending);
	return add_all_ends(ends, process, image, event, stack, &ending);
}

int jp_ends_handle(struct jp_ends *ends, const struct jp_event *event, struct jp_stack *stack)
{
	int ret;

	if (event->type == JP_EVENT_SAMPLE) {
		jp_stacks_read(ends->stacks, ends->places->replay, event, stack);
		return handle_sample(ends, event, stack);
	}
	ret = jp_places_apply(ends->places, event);
	return ret ?: jp_images_handle(&ends->images, event, ends->first_sample);
}
