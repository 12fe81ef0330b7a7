/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "workloads/emit/program.h"
#include "workloads/emit/schedule.h"
#include "workloads/emit/workload.h"

/*
 * A code heap that something happens to while threads run in it: on each page of its region one
 * program, and all their paths on a schedule.
 */
struct jp_code_heap {
	struct jp_plan plan; /* of its programs' paths; its threads */
	const struct jp_backing_kind *backing;
	unsigned pages, compilers;
	unsigned period; /* ms between two acts; 0: only on request */
	struct jp_region region;
	struct jp_program *programs; /* by page */
	struct jp_schedule schedule;
};

/* @count pages: unless an option says otherwise. */
#define JP_CODE_HEAP(count)                                                                        \
	{                                                                                          \
		.plan = JP_PLAN(), .backing = jp_backing_kinds, .pages = (count), .compilers = 1,  \
		.period = 50                                                                       \
	}
/* The rows of a command line for the struct jp_code_heap @heap. */
const struct jp_option *jp_code_heap_rows(void *heap);

/* Makes the region, with nothing mapped; its pages are as large as a program may be. 0 or -errno.
 */
int jp_code_heap_open(struct jp_code_heap *heap);
int jp_code_heap_open_region(const struct jp_code_heap *heap, struct jp_region *region);
/* Writes a program on @page, which must be writable. */
int jp_code_heap_write(struct jp_code_heap *heap, unsigned page, unsigned variant);
/* Tells of it, and makes its paths. */
int jp_code_heap_load(struct jp_code_heap *heap, unsigned page);
/* Lets threads run it, on @group of the schedule; it is executable. */
int jp_code_heap_show(struct jp_code_heap *heap, unsigned page, unsigned group);
/* The protections (PROT_*) of code that is being written, without and with execute permission: with
 * two views it is written elsewhere, and never writable where it runs. */
int jp_code_heap_writable(const struct jp_code_heap *heap);
int jp_code_heap_both(const struct jp_code_heap *heap);

/* act(context, n) for each n below heap->compilers, all at once on as many threads. 0 or the first
 * error. */
int jp_code_heap_compile(const struct jp_code_heap *heap, int (*act)(void *context, unsigned n),
			 void *context);

/*
 * @begin makes the first code; then threads run, and steps[0] is done every period. Ends the heap.
 * Returns the exit status.
 */
int jp_code_heap_run(const char *workload, struct jp_code_heap *heap, int (*begin)(void *context),
		     const struct jp_step *steps, void *context);
