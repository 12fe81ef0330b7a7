// SPDX-License-Identifier: GPL-2.0-only
#include "harness/judge/file_figures.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/map.h"
#include "harness/base/search.h"
#include "harness/format/perfdata/format.h"

const char *const jp_place_text[JP_PLACES] = {"file",     "anon",   "memfd", "other",
					      "unmapped", "kernel", "guest"};

/* A stretch of one address space, mapped or not, as an address in it was last looked up. */
struct stretch {
	uint64_t start, size;
	uint32_t epoch; /* 0: free */
	uint8_t place;  /* enum jp_place */
	bool root;
};

enum { STRETCHES = 4096 };
struct jp_file_figures {
	struct jp_replay *replay;
	struct jp_map processes; /* struct jp_process_figures *, by pid */
	struct jp_process_figures *last;
	const struct jp_process_figures **sorted;
	struct jp_figures nobody; /* records of the kernel's own mappings */
	uint64_t applied;
	uint32_t epochs;
	struct stretch stretches[STRETCHES];
};

static enum jp_place place_of(enum jp_backing backing, const char *name)
{
	switch (backing) {
	case JP_BACKING_ANON:
		return JP_PLACE_ANON;
	case JP_BACKING_MEMFD:
		return JP_PLACE_MEMFD;
	case JP_BACKING_SHM: /* a path too, and programs run from there */
	case JP_BACKING_FILE:
		return *name == '/' ? JP_PLACE_FILE : JP_PLACE_OTHER;
	default:
		return JP_PLACE_OTHER;
	}
}

/* libc or ld.so, of glibc old and new and of musl: where threads and programs begin. */
static bool is_runtime(const char *path)
{
	static const char *const starts[] = {"libc.so", "libc.musl", "ld-linux",
					     "ld-musl", "ld64.so",   "ld.so"};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (strncmp(name, starts[i], strlen(starts[i])) == 0)
			return true;
	return (strncmp(name, "libc-", 5) == 0 && isdigit((unsigned char)name[5])) ||
	       (strncmp(name, "ld-", 3) == 0 && isdigit((unsigned char)name[3]));
}

struct jp_file_figures *jp_file_figures_new(struct jp_replay *replay)
{
	struct jp_file_figures *all = calloc(1, sizeof(*all));

	if (all)
		all->replay = replay;
	return all;
}

void jp_file_figures_free(struct jp_file_figures *all)
{
	struct jp_process_figures **process;

	if (!all)
		return;
	for (size_t at = 0; (process = jp_map_next(&all->processes, &at, NULL));)
		free(*process);
	jp_map_free(&all->processes);
	free(all->sorted);
	free(all);
}

/* The process called @pid, made where it is new; NULL: no memory. */
static struct jp_process_figures *process_of(struct jp_file_figures *all, uint32_t pid)
{
	struct jp_process_figures *process = all->last, **known;

	if (process && process->pid == pid)
		return process;
	known = jp_map_at(&all->processes, pid, sizeof(*known));
	if (!known)
		return NULL;
	if (!*known) {
		*known = calloc(1, sizeof(**known));
		if (!*known)
			return NULL;
		(*known)->pid = pid;
		(*known)->checked = UINT64_MAX;
	}
	return all->last = *known;
}

/* --- looking addresses up ----------------------------------------------------------------- */

/* The slow way, into @found. */
static void look_up(struct jp_file_figures *all, const struct jp_process_figures *process,
		    uint64_t addr, struct stretch *found)
{
	const struct jp_mapping *mapping = jp_replay_from(all->replay, process->pid, addr);
	const struct jp_mapping *before = jp_replay_before(all->replay, process->pid, addr);

	const bool mapped = mapping && mapping->start <= addr;
	const uint64_t end = mapped ? mapping->end : mapping ? mapping->start : JP_CONTEXT_MAX;

	found->epoch = process->epoch;
	found->start = mapped ? mapping->start : before ? before->end : 0;
	found->size = end - found->start;
	found->place = JP_PLACE_UNMAPPED;
	found->root = false;
	/* Data is mapped too (perf record -d tells of it), and no code is there. */
	if (!mapped || !(mapping->prot & JP_PROT_EXEC))
		return;
	found->place = place_of(mapping->backing, mapping->name);
	found->root = found->place == JP_PLACE_FILE &&
		      (is_runtime(mapping->name) ||
		       (process->program && strcmp(mapping->name, process->program) == 0));
}

static inline const struct stretch *
stretch_of(struct jp_file_figures *all, const struct jp_process_figures *process, uint64_t addr)
{
	struct stretch *stretch =
		&all->stretches[(addr >> 12 ^ process->epoch * 2654435761u) % STRETCHES];

	if (__builtin_expect(
		    stretch->epoch != process->epoch || addr - stretch->start >= stretch->size, 0))
		look_up(all, process, addr, stretch);
	return stretch;
}

static void new_epoch(struct jp_file_figures *all, struct jp_process_figures *process)
{
	if (!++all->epochs) { /* after 2^32 changes: what the cache holds could be mistaken */
		memset(all->stretches, 0, sizeof(all->stretches));
		all->epochs = 1;
	}
	process->epoch = all->epochs;
}

/* Draws a new epoch if the address space of @process has changed since it was last looked at. */
static void check_space(struct jp_file_figures *all, struct jp_process_figures *process)
{
	uint64_t generation = jp_replay_generation(all->replay, process->pid);

	if (!process->epoch || generation != process->generation)
		new_epoch(all, process);
	process->generation = generation;
	process->checked = all->applied;
}

/* --- counting ----------------------------------------------------------------------------- */

/* Of a guest nothing here tells of the mappings; nor of a task that was gone already, whose pid is
 * -1: what such samples hold is none of any process. */
static bool of_no_process(struct jp_file_figures *all, const struct jp_event *event)
{
	const enum jp_cpu_mode mode = jp_event_cpu_mode(event);
	const bool guest = mode == JP_CPU_GUEST_KERNEL || mode == JP_CPU_GUEST_USER;

	if (!guest && event->pid != UINT32_MAX)
		return false;
	all->nobody.samples++;
	all->nobody.sampled[guest                ? JP_PLACE_GUEST
			    : event->sample.user ? JP_PLACE_UNMAPPED
						 : JP_PLACE_KERNEL]++;
	return true;
}

static int count_sample(struct jp_file_figures *all, const struct jp_event *event)
{
	uint64_t nr_user, addresses = 0, unmapped = 0;
	const struct stretch *stretch = NULL;
	struct jp_process_figures *process;
	struct jp_figures *figures;
	const uint64_t *user;

	if (of_no_process(all, event))
		return 0;
	process = process_of(all, event->pid);
	if (!process)
		return -ENOMEM;
	if (process->checked != all->applied)
		check_space(all, process);
	figures = &process->figures;
	figures->samples++;
	figures->sampled[event->sample.user ? stretch_of(all, process, event->sample.ip)->place
					    : JP_PLACE_KERNEL]++;
	nr_user = jp_event_user_chain(event, &user);
	for (uint64_t i = 0, first; i < nr_user;) {
		if (user[i] >= JP_CONTEXT_MAX) {
			i++;
			continue;
		}
		/* Neighbours in a chain mostly lie in one stretch, and no stretch holds a marker.
		 */
		stretch = stretch_of(all, process, user[i]);
		first = i;
		do
			i++;
		while (i < nr_user && user[i] - stretch->start < stretch->size);
		addresses += i - first;
		unmapped += stretch->place == JP_PLACE_UNMAPPED ? i - first : 0;
	}
	if (!addresses)
		return 0;
	figures->user_stacks++;
	figures->single_frame += addresses == 1;
	figures->addresses += addresses;
	figures->addresses_unmapped += unmapped;
	figures->rootless += !stretch->root; /* the last one that is an address */
	return 0;
}

/* Whether the file @path is called as the process is; the kernel cuts such names. */
static bool is_called(const char *path, const char *comm)
{
	enum { COMM_MOST = 15 };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t length = strlen(comm);

	return length && strncmp(name, comm, length) == 0 &&
	       (length == COMM_MOST || !name[length] || strcmp(name + length, " (deleted)") == 0);
}

/* The main program is what was exec'ed, which maps it before all else. Of a process that ran
 * already it is the file that it is called after, and where there is none, the first one told. */
static void note_program(struct jp_file_figures *all, struct jp_process_figures *process,
			 const char *name)
{
	bool called = is_called(name, jp_replay_comm(all->replay, process->pid));

	if (process->program_known || (process->program && !called))
		return;
	process->program = name;
	process->program_known = process->execs || called;
	new_epoch(all, process);
}

/* After @event was applied, so that the replay keeps the name. */
static int count_map(struct jp_file_figures *all, const struct jp_event *event)
{
	enum jp_place place = place_of(jp_mapping_backing(event->map.name), event->map.name);
	bool two = event->record_type == JP_PERF_RECORD_MMAP2;
	struct jp_process_figures *process;
	const struct jp_mapping *mapping;

	if (event->kernel_map) {
		all->nobody.mmap2[JP_PLACE_OTHER] += two;
		return 0;
	}
	process = process_of(all, event->pid);
	if (!process)
		return -ENOMEM;
	process->figures.mmap2[place] += two;
	if (process->program_known || place != JP_PLACE_FILE || !(event->map.prot & JP_PROT_EXEC))
		return 0;
	mapping = jp_replay_find(all->replay, event->pid, event->map.addr);
	if (mapping)
		note_program(all, process, mapping->name);
	return 0;
}

static int count_fork(struct jp_file_figures *all, const struct jp_event *event)
{
	const struct jp_process_figures *parent;
	struct jp_process_figures *child;
	const char *program;
	bool known;

	if (event->pid == event->task.ppid)
		return 0;
	parent = process_of(all, event->task.ppid);
	if (!parent)
		return -ENOMEM;
	program = parent->program;
	known = parent->program_known;
	child = process_of(all, event->pid);
	if (!child)
		return -ENOMEM;
	/* As the replay: what perf synthesized at time 0 does not undo what is known. */
	if (event->time == 0 && child->program)
		return 0;
	child->program = program;
	child->program_known = known;
	child->execs = false;
	new_epoch(all, child);
	return 0;
}

int jp_file_figures_count(struct jp_file_figures *all, const struct jp_event *event)
{
	struct jp_process_figures *process;
	int ret;

	if (event->type == JP_EVENT_SAMPLE)
		return count_sample(all, event);
	ret = jp_replay_apply(all->replay, event);
	if (ret)
		return ret;
	all->applied++;
	switch (event->type) {
	case JP_EVENT_MAP:
		return count_map(all, event);
	case JP_EVENT_FORK:
		return count_fork(all, event);
	case JP_EVENT_COMM:
		process = process_of(all, event->pid);
		if (!process)
			return -ENOMEM;
		if (event->comm.exec) {
			process->program = NULL;
			process->program_known = false;
			process->execs = true;
		}
		return 0;
	default:
		return 0;
	}
}

static void add(struct jp_figures *to, const struct jp_figures *from)
{
	to->samples += from->samples;
	to->user_stacks += from->user_stacks;
	to->single_frame += from->single_frame;
	to->addresses += from->addresses;
	to->addresses_unmapped += from->addresses_unmapped;
	to->rootless += from->rootless;
	for (size_t i = 0; i < JP_MAP_PLACES; i++)
		to->mmap2[i] += from->mmap2[i];
	for (size_t i = 0; i < JP_PLACES; i++)
		to->sampled[i] += from->sampled[i];
}

void jp_file_figures_total(const struct jp_file_figures *all, struct jp_figures *total)
{
	struct jp_process_figures *const *process;

	*total = all->nobody;
	for (size_t at = 0; (process = jp_map_next(&all->processes, &at, NULL));)
		if (*process)
			add(total, &(*process)->figures);
}

static bool has_figures(const struct jp_figures *figures)
{
	uint64_t sum = figures->samples;

	for (size_t i = 0; i < JP_MAP_PLACES; i++)
		sum += figures->mmap2[i];
	return sum;
}

static int by_pid(const void *left, const void *right)
{
	const struct jp_process_figures *const *a = left, *const *b = right;

	return jp_compare((*a)->pid, (*b)->pid);
}

const struct jp_process_figures *const *jp_file_figures_processes(struct jp_file_figures *all,
								  size_t *count)
{
	struct jp_process_figures *const *process;

	*count = 0;
	free(all->sorted);
	all->sorted = malloc((all->processes.count + 1) * sizeof(*all->sorted));
	if (!all->sorted)
		return NULL;
	for (size_t at = 0; (process = jp_map_next(&all->processes, &at, NULL));)
		if (*process && has_figures(&(*process)->figures))
			all->sorted[(*count)++] = *process;
	qsort(all->sorted, *count, sizeof(*all->sorted), by_pid);
	return all->sorted;
}
