/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "workloads/emit/program.h"
#include "workloads/emit/schedule.h"
#include "workloads/emit/workload.h"

/* A code heap that changes while threads run in it. Each page of its region holds one program; a
 * schedule runs the paths of all programs. */
struct jp_code_heap {
	struct jp_plan plan; /* the paths of its programs, and its threads */
	const struct jp_backing_kind *backing;
	unsigned pages, compilers;
	unsigned period; /* ms between two operations; 0: only on request */
	struct jp_region region;
	struct jp_program *programs; /* indexed by page */
	struct jp_schedule schedule;
};

/* Initializer of a struct jp_code_heap with @count pages, unless an option sets another number. */
#define JP_CODE_HEAP(count)                                                                        \
	{                                                                                          \
		.plan = JP_PLAN(), .backing = jp_backing_kinds, .pages = (count), .compilers = 1,  \
		.period = 50                                                                       \
	}
/* Returns the command-line options of the struct jp_code_heap @heap. */
const struct jp_option *jp_code_heap_options(void *heap);

/* Reserves the region without mapping anything. Its pages have the size of the largest program.
 * Returns 0 or -errno. */
int jp_code_heap_open(struct jp_code_heap *heap);
int jp_code_heap_open_region(const struct jp_code_heap *heap, struct jp_region *region);
/* Writes a program to @page, which must be writable. @variant: as for jp_program_write(). */
int jp_code_heap_write(struct jp_code_heap *heap, unsigned page, unsigned variant);
/* Records the program on @page in the truth and creates its paths. */
int jp_code_heap_load(struct jp_code_heap *heap, unsigned page);
/* Adds the paths of the program on @page, which must be executable, to @group of the schedule, so
 * that threads run them. */
int jp_code_heap_schedule(struct jp_code_heap *heap, unsigned page, unsigned group);
/* Returns the protection (PROT_*), without execute permission, of memory into which code is being
 * written. */
int jp_code_heap_prot_write(const struct jp_code_heap *heap);
/* Returns the protection of jp_code_heap_prot_write() plus execute permission. With two views, the
 * executable view is never writable. */
int jp_code_heap_prot_all(const struct jp_code_heap *heap);

/* Runs act(n) for each n below heap->compilers at the same time, each call on a thread of
 * its own. Returns 0 or the first error. */
int jp_code_heap_compile(const struct jp_code_heap *heap, int (*act)(unsigned n));

/* Calls @begin, which creates the first code, starts the threads, and serves the handshake with
 * @steps, as jp_handshake_with_period() does. Closes the heap at the end. Returns the exit status.
 */
int jp_code_heap_run(const char *workload, struct jp_code_heap *heap, int (*begin)(void),
		     const struct jp_step *steps);
