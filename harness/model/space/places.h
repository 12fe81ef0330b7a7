/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/map.h"
#include "harness/model/space/replay.h"

/* Where an address lies, by the name of the executable mapping; there is no code in others. */
enum jp_place {
	JP_PLACE_FILE,  /* a path */
	JP_PLACE_ANON,  /* //anon, [anon:...], [stack], no name */
	JP_PLACE_MEMFD, /* /memfd:... */
	JP_PLACE_OTHER, /* vDSO, heap, /dev/zero, SysV, hugetlb, the kernel's own mappings */
	JP_PLACE_UNMAPPED,
	JP_PLACE_KERNEL, /* of a sampled address only: not the user's */
	JP_PLACE_GUEST,  /* the same: a virtual machine's */
	JP_PLACES,
	JP_MAP_PLACES = JP_PLACE_UNMAPPED, /* those that a mapping record can have */
};
extern const char *const jp_place_text[JP_PLACES];

/* What the names of mappings tell of a process. */
struct jp_places_process {
	uint32_t pid;
	const char *program; /* the file of the main program */
	bool program_known;  /* that is no guess */
	bool execs;          /* its exec was seen */
	/* What follows serves the looking up. */
	uint64_t generation; /* of its address space when @epoch was drawn */
	uint64_t checked;    /* number of records applied by then */
	uint32_t epoch;      /* names this state of this address space in the cache */
};

/* A stretch of one address space, mapped or not, as an address in it was last looked up. */
struct jp_stretch {
	uint64_t start, size;
	const char *name; /* of its mapping; lives as long as the replay; NULL: there is none */
	uint32_t epoch;   /* 0: free */
	uint8_t place;    /* enum jp_place */
	uint8_t note;     /* what a caller made of it; 0: nothing yet */
	bool root;        /* threads and programs begin there: main program, libc, ld.so */
};

/* Where the addresses of a capture without truth lie, cached. */
struct jp_places {
	struct jp_replay *replay;
	struct jp_map processes; /* struct jp_places_process *, by pid */
	struct jp_places_process *last;
	uint64_t applied;
	uint32_t epochs;
	struct jp_stretch stretches[4096];
};

struct jp_places *jp_places_new(struct jp_replay *replay);
void jp_places_free(struct jp_places *places);
/* Applies @event, which is no sample, to the replay. 0 or -ENOMEM. */
int jp_places_apply(struct jp_places *places, const struct jp_event *event);
/* The process called @pid, made where it is new; stays where it is. NULL: no memory. */
struct jp_places_process *jp_places_of(struct jp_places *places, uint32_t pid);
enum jp_place jp_place_of(enum jp_backing backing, const char *name);
/* Draws a new epoch if the address space of @process has changed since it was last looked at. */
void jp_places_check(struct jp_places *places, struct jp_places_process *process);
/* The slow way, into @found. */
void jp_places_look_up(struct jp_places *places, const struct jp_places_process *process,
		       uint64_t addr, struct jp_stretch *found);

/* Whether @sample is of a guest, of whose mappings nothing here tells, or of a task that was gone
 * already, whose pid is -1: what such samples hold is none of any process. */
static inline bool jp_places_none(const struct jp_event *sample)
{
	const enum jp_cpu_mode mode = jp_event_cpu_mode(sample);

	return mode == JP_CPU_GUEST_KERNEL || mode == JP_CPU_GUEST_USER ||
	       sample->pid == UINT32_MAX;
}

/* The stretch that holds @addr; @process was checked since the last event was applied. Valid until
 * the next call. No stretch holds what looks like a context marker. */
static inline struct jp_stretch *
jp_places_at(struct jp_places *places, const struct jp_places_process *process, uint64_t addr)
{
	const size_t count = sizeof(places->stretches) / sizeof(*places->stretches);
	struct jp_stretch *stretch =
		&places->stretches[(addr >> 12 ^ process->epoch * 2654435761u) % count];

	if (__builtin_expect(
		    stretch->epoch != process->epoch || addr - stretch->start >= stretch->size, 0))
		jp_places_look_up(places, process, addr, stretch);
	return stretch;
}
