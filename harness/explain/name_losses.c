// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/name_losses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/map.h"
#include "harness/base/text_pool.h"
#include "harness/explain/changed_files.h"
#include "harness/explain/code.h"
#include "harness/explain/loss_sets.h"
#include "harness/explain/remapped.h"
#include "harness/explain/same_frames.h"
#include "harness/format/perfdata/format.h"
#include "harness/model/space/mapping_name.h"

/* Cache entry: the loss at one address. Valid while the address space has the same generation. */
struct known_loss {
	uint64_t addr, generation;     /* generation 0: free entry */
	struct jp_name_process *named; /* process whose perf map names @addr; NULL: none */
	struct jp_name_loss *loss;     /* NULL: the address has a name */
};

enum { KNOWN = 16384 };
struct jp_name_losses {
	struct jp_replay *replay, *kept; /* @kept: what inject wrote, and the programs' text */
	struct jp_file_finder *finder;
	struct jp_names *names;
	struct jp_map by_key;    /* struct jp_name_loss *, by key_of() */
	struct jp_map processes; /* struct jp_name_process *, by pid */
	struct jp_text_pool files;
	struct jp_changed_files *changed;
	const struct jp_ends *ends;
	uint64_t pid_namespace, mount_namespace; /* namespaces of the first process that has
						    recorded ones; 0: none */
	struct jp_name_loss **list;
	size_t count, capacity;
	struct jp_loss_sets sets;
	uint64_t samples;
	struct jp_same_frames last; /* outermost frames of the previous sample */
	uint64_t clean;             /* number of these frames that are known to have names */
	struct known_loss known[KNOWN];
};

struct jp_name_losses *jp_name_losses_new(struct jp_replay *replay, struct jp_file_finder *finder,
					  struct jp_names *names, struct jp_changed_files *changed,
					  const struct jp_ends *ends)
{
	struct jp_name_losses *losses = calloc(1, sizeof(*losses));

	if (!losses)
		return NULL;
	losses->replay = replay;
	losses->finder = finder;
	losses->changed = changed;
	losses->ends = ends;
	losses->kept = jp_replay_new();
	losses->names = names;
	if (losses->kept)
		return losses;
	jp_name_losses_free(losses);
	return NULL;
}

void jp_name_losses_free(struct jp_name_losses *losses)
{
	struct jp_name_process **process;

	if (!losses)
		return;
	for (size_t i = 0; i < losses->count; i++)
		free(losses->list[i]);
	free(losses->list);
	for (size_t at = 0; (process = jp_map_next(&losses->processes, &at, NULL));)
		free(*process);
	jp_map_free(&losses->processes);
	jp_map_free(&losses->by_key);
	jp_text_pool_free(&losses->files);
	jp_loss_sets_free(&losses->sets);
	if (losses->kept)
		jp_replay_free(losses->kept);
	free(losses);
}

static struct jp_name_process *get_process(struct jp_name_losses *losses, uint32_t pid)
{
	struct jp_name_process **known = jp_map_at(&losses->processes, pid, sizeof(*known));

	if (known && !*known && (*known = calloc(1, sizeof(**known))))
		(*known)->pid = pid;
	return known ? *known : NULL;
}

static int handle_map(struct jp_name_losses *losses, const struct jp_event *event)
{
	const bool injected = jp_file_finder_injected(losses->finder, event->map.name);
	struct jp_name_process *process;

	if (event->kernel_map)
		return 0;
	if (!injected && !jp_mapping_jitdump_number(event->map.name))
		return jp_images_is_program(&losses->ends->images, event->pid, event->map.name)
			       ? jp_replay_apply(losses->kept, event)
			       : 0;
	process = get_process(losses, event->pid);
	if (!process)
		return -ENOMEM;
	if (injected) {
		if (!process->injected++ || event->time < process->injected_first)
			process->injected_first = event->time;
		if (event->time > process->injected_last)
			process->injected_last = event->time;
		return jp_replay_apply(losses->kept, event);
	}
	if (!process->marker || process->marker_pid != event->pid) {
		process->marker = jp_replay_text(losses->replay, event->map.name);
		process->marker_pid = event->pid;
		process->marked = event->time;
	}
	return process->marker ? 0 : -ENOMEM;
}

/* Returns whether a loss with @fault belongs to a file, in all processes, and not to the emitted
 * code of one process. */
static bool is_in_file(unsigned int fault)
{
	return (fault >= JP_NAME_NO_FILE && fault < JP_NAME_SOURCES) || fault == JP_NAME_CHANGED;
}

/* Returns the process whose published names the code of @mapping in process @pid needs: that which
 * mapped it, or a forked child with a jitdump of its own. */
static uint32_t find_publisher(struct jp_name_losses *losses, uint32_t pid,
			       const struct jp_mapping *mapping)
{
	struct jp_name_process **process = jp_map_find(&losses->processes, pid);

	return process && *process && (*process)->marker_pid == pid ? pid : mapping->pid;
}

static struct jp_name_loss *get_loss(struct jp_name_losses *losses, unsigned int fault,
				     uint32_t pid, const struct jp_mapping *mapping)
{
	const uint32_t publisher = find_publisher(losses, pid, mapping);
	uint64_t key = (uint64_t)publisher << 8 | fault;
	struct jp_name_loss **known, **added;
	struct jp_text *file;

	if (is_in_file(fault)) {
		file = jp_text_keep(&losses->files, mapping->name, strlen(mapping->name));
		if (!file)
			return NULL;
		key = UINT64_C(1) << 63 | file->number << 8 | fault;
	}
	known = jp_map_at(&losses->by_key, key, sizeof(*known));
	if (!known || *known)
		return known ? *known : NULL;
	added = jp_array_push(&losses->list, &losses->count, &losses->capacity);
	if (!added)
		return NULL;
	*added = calloc(1, sizeof(**added));
	if (!*added) {
		losses->count--;
		return NULL;
	}
	**added = (struct jp_name_loss){.number = (uint32_t)losses->count,
					.fault = fault,
					.pid = publisher,
					.name = mapping->name,
					.since = mapping->since};
	/* The functions with which all threads begin need no name, unless the sample is there. */
	(*added)->leaf = fault == JP_NAME_STRIPPED ||
			 (is_in_file(fault) && jp_code_is_c_library(mapping->name));
	if (mapping->build_id && mapping->build_id_size <= sizeof((*added)->id.bytes)) {
		(*added)->id.size = mapping->build_id_size;
		memcpy((*added)->id.bytes, mapping->build_id, mapping->build_id_size);
	}
	return *known = *added;
}

static void note_place(struct jp_name_loss *loss, const struct jp_mapping *mapping, uint64_t addr)
{
	size_t i;

	if (mapping->since < loss->since)
		loss->since = mapping->since;
	for (i = 0; i < loss->nr_addrs && loss->addrs[i] != addr; i++)
		;
	if (i == loss->nr_addrs && i < JP_LOSS_ADDRS)
		loss->addrs[loss->nr_addrs++] = addr;
	for (i = 0; i < loss->nr_ranges && loss->ranges[i].start != mapping->start; i++)
		;
	if (i == loss->nr_ranges && i < JP_LOSS_RANGES)
		loss->ranges[loss->nr_ranges++] =
			(struct jp_blame_range){mapping->start, mapping->end};
}

/* Returns whether a JIT emitted code into the file of @mapping, which it removed before: the loader
 * shares no file. */
static bool is_removed_code(const struct jp_mapping *mapping)
{
	return mapping->flags & JP_MAP_SHARED && *mapping->name == '/' &&
	       mapping->name[jp_mapping_name_length(mapping->name)];
}

/* Returns whether @mapping is memory that may hold code although its record states no protection,
 * as simpleperf's do. */
static bool is_unstated_memory(const struct jp_mapping *mapping)
{
	return mapping->code && !mapping->prot && mapping->backing == JP_BACKING_ANON;
}

/* Returns what is wrong with the name of @addr; JP_NAME_ELF: nothing; JP_NAME_FAULTS: out of
 * memory. */
static unsigned int find_fault(struct jp_name_losses *losses, uint32_t pid,
			       const struct jp_mapping *mapping, uint64_t addr,
			       struct known_loss *known)
{
	struct jp_name name = jp_names_find(losses->names, mapping, addr);
	const struct jp_perf_map *map;

	if ((name.source == JP_NAME_ELF || name.source == JP_NAME_NO_SYMBOL ||
	     name.source == JP_NAME_STRIPPED) &&
	    jp_changed_files_has(losses->changed, mapping))
		return JP_NAME_CHANGED;

	if (name.source == JP_NAME_MAP) {
		known->named = get_process(losses, mapping->pid);
		if (!known->named)
			return JP_NAME_FAULTS;
		map = jp_names_map(losses->names, mapping->pid, NULL);
		return jp_perf_map_is_ambiguous(map, addr) ? JP_NAME_AGAIN : JP_NAME_ELF;
	}
	/* A missing mapping, or a gap between symbols, is no loss of a name. */
	if (name.source < JP_NAME_NAMED || name.source == JP_NAME_NO_MAPPING ||
	    name.source == JP_NAME_NO_SYMBOL)
		return JP_NAME_ELF;
	if (!(mapping->prot & JP_PROT_EXEC) && !is_unstated_memory(mapping))
		return JP_NAME_ELF;
	if (!is_in_file(name.source) && (jp_name_losses_injected(losses, pid, addr) ||
					 jp_name_losses_injected(losses, mapping->pid, addr)))
		return JP_NAME_HIDDEN;
	/* A program or library that was loaded from a memfd or /dev/shm is not emitted code. */
	if (name.source == JP_NAME_NOT_ANONYMOUS &&
	    (mapping->backing == JP_BACKING_MEMFD || mapping->backing == JP_BACKING_SHM) &&
	    (jp_code_is_library(mapping) ||
	     jp_images_is_program(&losses->ends->images, pid, mapping->name)))
		return JP_NAME_NO_FILE;
	/* Special mappings of the kernel, such as [vsyscall]. */
	if (name.source == JP_NAME_NOT_ANONYMOUS && *mapping->name == '[' &&
	    strncmp(mapping->name, "[anon:", 6) != 0)
		return JP_NAME_ELF;
	if (is_in_file(name.source) && *mapping->name == '[')
		return JP_NAME_ELF;
	if (name.source == JP_NAME_NO_FILE && is_removed_code(mapping))
		return JP_NAME_NOT_ANONYMOUS;
	if (is_in_file(name.source) && jp_file_finder_injected(losses->finder, mapping->name))
		return JP_NAME_NOT_THERE;
	return name.source;
}

static int fill_known_loss(struct jp_name_losses *losses, uint32_t pid, uint64_t addr,
			   uint64_t generation, struct known_loss *known)
{
	const struct jp_mapping *mapping = jp_replay_find_as_perf(losses->replay, pid, addr);
	const struct jp_mapping *program = jp_replay_find(losses->kept, pid, addr);
	struct jp_mapping text;
	unsigned int fault;

	*known = (struct known_loss){.addr = addr, .generation = generation};
	fault = mapping ? find_fault(losses, pid, mapping, addr, known) : JP_NAME_ELF;
	if (fault == JP_NAME_ELF)
		return 0;
	if ((fault == JP_NAME_NO_MAP || fault == JP_NAME_NOT_IN_MAP) &&
	    (program || jp_is_remapped_text(losses->replay, pid, mapping, &text)))
		fault = JP_NAME_REMAPPED;
	known->loss = fault == JP_NAME_FAULTS ? NULL : get_loss(losses, fault, pid, mapping);
	if (!known->loss)
		return -ENOMEM;
	if (fault == JP_NAME_REMAPPED)
		known->loss->file = program ? program->name : text.name;
	note_place(known->loss, mapping, addr);
	return 0;
}

static int count_loss(struct jp_name_losses *losses, const struct known_loss *known, bool leaf,
		      uint64_t time, size_t *set)
{
	struct jp_name_process *process = known->named;
	struct jp_name_loss *loss = known->loss;

	if (process) {
		if (process->counted != losses->samples && !process->named++)
			process->named_first = time;
		process->counted = losses->samples;
	}
	if (!loss || (loss->leaf && !leaf) || loss->counted == losses->samples)
		return 0;
	loss->counted = losses->samples;
	if (!loss->samples++)
		loss->first = time;
	loss->last = time;
	return jp_loss_sets_add(&losses->sets, set, loss->number, &loss->blame);
}

static int handle_sample(struct jp_name_losses *losses, const struct jp_event *event,
			 const struct jp_stack *stack)
{
	const uint64_t generation = jp_replay_generation(losses->replay, event->pid);
	struct jp_name_process *process = get_process(losses, event->pid);
	const uint64_t same =
		jp_count_same_frames(&losses->last, generation, stack->frames, stack->count);
	const uint64_t news = stack->count - (same < losses->clean ? same : losses->clean);
	int failed = process ? 0 : -ENOMEM;
	size_t set = 0;

	losses->samples++;
	losses->clean = stack->count;
	if (process && !process->first)
		process->first = event->time;
	if (process)
		process->last = event->time;
	for (uint64_t i = 0; !failed && i < news; i++) {
		const uint64_t addr = stack->frames[i];
		struct known_loss *known =
			&losses->known[((addr ^ generation << 32) * UINT64_C(0x9e3779b97f4a7c15)) >>
				       50];

		if (known->addr != addr || known->generation != generation || !generation)
			failed = fill_known_loss(losses, event->pid, addr, generation, known);
		if (failed || (!known->loss && !known->named))
			continue;
		failed = count_loss(losses, known, i == 0, event->time, &set);
		losses->clean = stack->count - 1 - i;
	}
	if (set)
		jp_loss_sets_count(&losses->sets, set);
	return failed;
}

static int handle_start(struct jp_name_losses *losses, const struct jp_event *event)
{
	const bool fork = event->type == JP_EVENT_FORK;
	struct jp_name_process *process = get_process(losses, event->pid),
			       *parent = fork ? get_process(losses, event->task.ppid) : NULL;

	if (!process || (fork && !parent))
		return -ENOMEM;
	if (fork) {
		process->parent = event->task.ppid;
		process->forked = event->time;
	}
	process->execed = fork ? 0 : event->time;
	/* A forked child has its parent's code and jitdump until it calls exec. */
	if (process->marker_pid != event->pid) {
		process->marker = fork ? parent->marker : NULL;
		process->marker_pid = fork ? parent->marker_pid : 0;
		process->marked = fork ? parent->marked : 0;
	}
	return jp_replay_apply(losses->kept, event);
}

static int handle_namespaces(struct jp_name_losses *losses, const struct jp_event *event)
{
	struct jp_name_process *process;

	if (event->record_type != JP_PERF_RECORD_NAMESPACES || !event->namespaces.pid)
		return 0;
	process = get_process(losses, event->pid);
	if (!process)
		return -ENOMEM;
	process->pid_namespace = event->namespaces.pid;
	process->mount_namespace = event->namespaces.mnt;
	if (!losses->pid_namespace) {
		losses->pid_namespace = event->namespaces.pid;
		losses->mount_namespace = event->namespaces.mnt;
	}
	return 0;
}

int jp_name_losses_handle(struct jp_name_losses *losses, const struct jp_event *event,
			  const struct jp_stack *stack)
{
	if (stack)
		return handle_sample(losses, event, stack);
	if (event->type == JP_EVENT_MAP)
		return handle_map(losses, event);
	if (event->type == JP_EVENT_OTHER)
		return handle_namespaces(losses, event);
	return jp_event_starts_process(event) ? handle_start(losses, event) : 0;
}

const struct jp_mapping *jp_name_losses_injected(const struct jp_name_losses *losses, uint32_t pid,
						 uint64_t addr)
{
	const struct jp_mapping *mapping = jp_replay_find(losses->kept, pid, addr);

	return mapping && jp_file_finder_injected(losses->finder, mapping->name) ? mapping : NULL;
}

struct jp_name_loss *jp_name_losses_next(const struct jp_name_losses *losses, size_t *at)
{
	return *at < losses->count ? losses->list[(*at)++] : NULL;
}

int jp_name_losses_join(const struct jp_name_losses *losses)
{
	return jp_loss_sets_join(&losses->sets);
}

const struct jp_name_process *jp_name_losses_next_process(const struct jp_name_losses *losses,
							  size_t *at)
{
	struct jp_name_process *const *process = jp_map_next(&losses->processes, at, NULL);

	return process ? *process : NULL;
}

const struct jp_name_process *jp_name_losses_process(struct jp_name_losses *losses, uint32_t pid)
{
	return get_process(losses, pid);
}

bool jp_name_process_is_in_other_namespace(const struct jp_name_losses *losses,
					   const struct jp_name_process *process)
{
	return process->pid_namespace && (process->pid_namespace != losses->pid_namespace ||
					  process->mount_namespace != losses->mount_namespace);
}
