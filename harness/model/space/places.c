// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/space/places.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/order.h"
#include "harness/base/path.h"
#include "harness/model/space/mapping_name.h"

const char *const jp_place_text[JP_PLACES] = {"file",     "anon",   "memfd", "other",
					      "unmapped", "kernel", "guest"};

enum jp_place jp_place_classify(enum jp_backing backing, const char *name)
{
	switch (backing) {
	case JP_BACKING_ANON:
		return JP_PLACE_ANON;
	case JP_BACKING_MEMFD:
		return JP_PLACE_MEMFD;
	case JP_BACKING_SHM: /* a path in /dev/shm: programs may run from it */
	case JP_BACKING_FILE:
		return *name == '/' ? JP_PLACE_FILE : JP_PLACE_OTHER;
	default:
		return JP_PLACE_OTHER;
	}
}

/* Returns whether @path is libc or ld.so of glibc or musl, where threads and programs start. */
static bool is_runtime(const char *path)
{
	static const char *const starts[] = {"libc.so", "libc.musl", "ld-linux",
					     "ld-musl", "ld64.so",   "ld.so"};
	const char *name = jp_path_base(path);

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (strncmp(name, starts[i], strlen(starts[i])) == 0)
			return true;
	return (strncmp(name, "libc-", 5) == 0 && isdigit((unsigned char)name[5])) ||
	       (strncmp(name, "ld-", 3) == 0 && isdigit((unsigned char)name[3]));
}

struct jp_places *jp_places_new(struct jp_replay *replay)
{
	struct jp_places *places = calloc(1, sizeof(*places));

	if (places)
		places->replay = replay;
	return places;
}

void jp_places_free(struct jp_places *places)
{
	struct jp_places_process **process;

	if (!places)
		return;
	for (size_t cursor = 0; (process = jp_map_next(&places->processes, &cursor, NULL));)
		free(*process);
	jp_map_free(&places->processes);
	free(places);
}

struct jp_places_process *jp_places_get_process(struct jp_places *places, uint32_t pid)
{
	struct jp_places_process *process = places->last, **slot;

	if (process && process->pid == pid)
		return process;
	slot = jp_map_at(&places->processes, pid, sizeof(*slot));
	if (!slot)
		return NULL;
	if (!*slot) {
		*slot = calloc(1, sizeof(**slot));
		if (!*slot)
			return NULL;
		(*slot)->pid = pid;
		(*slot)->checked = UINT64_MAX;
	}
	return places->last = *slot;
}

void jp_places_look_up(struct jp_places *places, const struct jp_places_process *process,
		       uint64_t addr, struct jp_stretch *stretch)
{
	const struct jp_mapping *mapping =
		jp_replay_find_at_or_above(places->replay, process->pid, addr);
	const struct jp_mapping *previous =
		jp_replay_find_below(places->replay, process->pid, addr);

	bool is_mapped = mapping && mapping->start <= addr;
	uint64_t end = is_mapped ? mapping->end : mapping ? mapping->start : JP_CONTEXT_MAX;

	stretch->epoch = process->epoch;
	stretch->start = is_mapped ? mapping->start : previous ? previous->end : 0;
	/* Code from before an exec is gone, but a jitdump's times may be from another clock. */
	if (!is_mapped && (mapping = jp_replay_find_as_perf(places->replay, process->pid, addr)) &&
	    jp_mapping_injected(mapping->name)) {
		stretch->start = jp_max(stretch->start, mapping->start);
		end = jp_min(end, mapping->end);
		is_mapped = true;
	}
	stretch->size = end - stretch->start;
	stretch->place = JP_PLACE_UNMAPPED;
	stretch->root = false;
	stretch->note = 0;
	stretch->name = NULL;
	/* perf record -d also records data mappings, which have no code. simpleperf records code
	 * without PROT_EXEC: the files of an Android JIT, and interpreted .vdex files. perf finds
	 * samples in any mapping (maps__find() in tools/perf/util/maps.c). */
	if (!is_mapped || !mapping->code)
		return;
	stretch->name = mapping->name;
	stretch->place = jp_place_classify(mapping->backing, mapping->name);
	stretch->root = (stretch->place == JP_PLACE_FILE && is_runtime(mapping->name)) ||
			(process->program && strcmp(mapping->name, process->program) == 0);
}

static void start_epoch(struct jp_places *places, struct jp_places_process *process)
{
	if (!++places->epochs) { /* overflow of the epoch: stale entries could look valid */
		memset(places->stretches, 0, sizeof(places->stretches));
		places->epochs = 1;
	}
	process->epoch = places->epochs;
}

void jp_places_update_epoch(struct jp_places *places, struct jp_places_process *process)
{
	uint64_t generation = jp_replay_generation(places->replay, process->pid);

	if (!process->epoch || generation != process->generation)
		start_epoch(places, process);
	process->generation = generation;
	process->checked = places->applied;
}

/* Returns whether process name @comm, which the kernel cuts, is the name of the file @path. */
static bool is_named_after(const char *path, const char *comm)
{
	enum { COMM_MOST = 15 };
	const char *name = jp_path_base(path);
	size_t length = strlen(comm);

	return length && strncmp(name, comm, length) == 0 &&
	       (length == COMM_MOST || !name[length] || strcmp(name + length, " (deleted)") == 0);
}

/* Sets the main program of a process to @name if that is the file that exec mapped first. If the
 * process existed before the capture, its main program is the file with the process's name, or else
 * the first mapped file. */
static void note_program(struct jp_places *places, struct jp_places_process *process,
			 const char *name)
{
	bool is_return = is_named_after(name, jp_replay_comm(places->replay, process->pid));

	if (process->program_known || (process->program && !is_return))
		return;
	process->program = name;
	process->program_known = process->execs || is_return;
	start_epoch(places, process);
}

/* Handles a mapping record after the replay has applied it, because the name belongs to the
 * replay. */
static int handle_map(struct jp_places *places, const struct jp_event *event)
{
	enum jp_place place =
		jp_place_classify(jp_mapping_backing(event->map.name), event->map.name);
	struct jp_places_process *process;
	const struct jp_mapping *mapping;

	if (event->kernel_map)
		return 0;
	process = jp_places_get_process(places, event->pid);
	if (!process)
		return -ENOMEM;
	/* After an exec, memory without a path can only be the program if it is a memfd
	 * (memfd_create() and fexecve()). */
	if (process->program_known || !jp_mapping_holds_code(event) ||
	    event->map.prot == JP_PROT_READ ||
	    (place != JP_PLACE_FILE && (place != JP_PLACE_MEMFD || !process->execs)))
		return 0;
	mapping = jp_replay_find(places->replay, event->pid, event->map.addr);
	if (mapping)
		note_program(places, process, mapping->name);
	return 0;
}

static int handle_fork(struct jp_places *places, const struct jp_event *event)
{
	const struct jp_places_process *parent;
	struct jp_places_process *child;
	const char *program;
	bool is_known;

	if (event->pid == event->task.ppid)
		return 0;
	parent = jp_places_get_process(places, event->task.ppid);
	if (!parent)
		return -ENOMEM;
	program = parent->program;
	is_known = parent->program_known;
	child = jp_places_get_process(places, event->pid);
	if (!child)
		return -ENOMEM;
	/* Like the replay, ignore a FORK at time 0, which perf synthesized, if the child is known
	 * already. */
	if (event->time == 0 && child->program)
		return 0;
	child->program = event->task.was_running ? NULL : program;
	child->program_known = !event->task.was_running && is_known;
	child->execs = false;
	start_epoch(places, child);
	return 0;
}

int jp_places_apply(struct jp_places *places, const struct jp_event *event)
{
	struct jp_places_process *process;
	int ret = jp_replay_apply(places->replay, event);

	if (ret)
		return ret;
	places->applied++;
	switch (event->type) {
	case JP_EVENT_MAP:
		return handle_map(places, event);
	case JP_EVENT_FORK:
		return handle_fork(places, event);
	case JP_EVENT_COMM:
		process = jp_places_get_process(places, event->pid);
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
