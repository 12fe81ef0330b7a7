/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What a trace knows and finds of one executed instruction. */

/* Where in its function it lies, as far as calls show. */
enum jp_trace_place { JP_PLACE_ENTRY, JP_PLACE_BODY, JP_PLACE_CALL, JP_PLACE_EXIT, JP_PLACES };

/* What a way to find the caller finds. */
enum jp_trace_caller {
	JP_CALLER_NONE,    /* there is no such information for the function */
	JP_CALLER_RIGHT,   /* the true return address */
	JP_CALLER_SKIPPED, /* frame pointers alone: the caller's frame; the function has none yet,
			      or none at all */
	JP_CALLER_WRONG,
	JP_CALLERS
};

/* What a published file states of the address, at the time of the instruction. */
enum jp_trace_name {
	JP_NAME_NONE, /* the process has no such file */
	JP_NAME_RIGHT,
	JP_NAME_MISSING, /* no entry, neither then nor later in the trace */
	JP_NAME_LATE,    /* no entry then, but later */
	JP_NAME_WRONG,   /* readers find an older entry than the last one */
	JP_NAME_STALE,   /* the entry is of code that is no longer there: the byte differs */
	JP_NAMES
};

enum jp_trace_source { JP_SOURCE_MAP, JP_SOURCE_DUMP, JP_SOURCES };

struct jp_trace_insn {
	uint32_t pid, tid, burst;
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	uint64_t ip, sp, fp;
	bool forked;             /* in a process that was forked and called no exec */
	bool emitted;            /* in executable memory that is no file's */
	bool known;              /* a seen call entered its function: the next five are valid */
	uint64_t at, ret, start; /* address of the return address; that; the function's entry */
	enum jp_trace_place place;
	enum jp_trace_caller by_fp, by_dump;
	enum jp_trace_name name[JP_SOURCES];
	const char *names[JP_SOURCES]; /* valid during the visit */
};

/* Handles an instruction. */
typedef void jp_trace_visit(void *context, const struct jp_trace_insn *insn);
