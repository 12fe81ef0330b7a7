/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/map.h"
#include "harness/model/space/replay.h"

/* The kind of memory at an address, by the name of the executable mapping. Mappings that are not
 * executable count as unmapped. */
enum jp_place {
	JP_PLACE_FILE,  /* a file with a path */
	JP_PLACE_ANON,  /* //anon, [anon:...], [stack], no name */
	JP_PLACE_MEMFD, /* /memfd:... */
	JP_PLACE_OTHER, /* vDSO, heap, /dev/zero, SysV, hugetlb, the kernel's own mappings */
	JP_PLACE_UNMAPPED,
	JP_PLACE_KERNEL, /* only for a sampled address, which is in the kernel */
	JP_PLACE_GUEST,  /* only for a sampled address, which is in a virtual machine */
	JP_PLACES,
	JP_MAP_PLACES = JP_PLACE_UNMAPPED, /* number of places that a mapping record can have */
};
extern const char *const jp_place_text[JP_PLACES];

/* A process and what the names of its mappings show about it. */
struct jp_places_process {
	uint32_t pid;
	const char *program; /* path of the main program */
	bool program_known;  /* @program is certain */
	bool execs;          /* the process's exec was recorded */
	/* State of the cache of stretches for this process. */
	uint64_t generation; /* generation of its address space when @epoch was assigned */
	uint64_t checked;    /* jp_places.applied at the last check */
	uint32_t epoch;      /* number of this state of this address space in the cache */
};

/* A stretch: a range of one address space that one mapping covers, or none. Cached. */
struct jp_stretch {
	uint64_t start, size;
	const char *name; /* name of the mapping, valid as long as the replay; NULL: unmapped */
	uint32_t epoch;   /* 0: free entry */
	uint8_t place;    /* enum jp_place */
	uint8_t note;     /* a value for the caller; 0: not set yet */
	bool root; /* threads and programs start in this mapping: main program, libc, ld.so */
};

/* Cached lookup of the kind of memory at addresses, for a capture without truth. */
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
/* Applies @event, which is not a sample, to the replay. Returns 0 or -ENOMEM. */
int jp_places_apply(struct jp_places *places, const struct jp_event *event);
/* Returns process @pid, which is added if it is new and never moves, or NULL if there is no
 * memory. */
struct jp_places_process *jp_places_get_process(struct jp_places *places, uint32_t pid);
enum jp_place jp_place_classify(enum jp_backing backing, const char *name);
/* Assigns a new epoch if the address space of @process changed since the last check. */
void jp_places_update_epoch(struct jp_places *places, struct jp_places_process *process);
/* Looks @addr up in the replay and fills @stretch. */
void jp_places_look_up(struct jp_places *places, const struct jp_places_process *process,
		       uint64_t addr, struct jp_stretch *stretch);

/* Returns whether @sample belongs to no known process: it is from a virtual machine, whose mappings
 * are not recorded, or from a task that had exited (pid -1). */
static inline bool jp_places_has_no_process(const struct jp_event *sample)
{
	const enum jp_cpu_mode mode = jp_event_cpu_mode(sample);

	return mode == JP_CPU_GUEST_KERNEL || mode == JP_CPU_GUEST_USER ||
	       sample->pid == UINT32_MAX;
}

/* Returns the stretch that contains @addr, valid until the next call. Call jp_places_update_epoch()
 * for
 * @process first if an event was applied since the last call. No stretch contains the value of a
 * context marker. */
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
