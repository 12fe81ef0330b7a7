/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What a trace finds about one executed instruction. */

/* Position of an instruction in its function: the first instruction, a call, a return, or any other
 * one. */
enum jp_trace_place { JP_PLACE_ENTRY, JP_PLACE_BODY, JP_PLACE_CALL, JP_PLACE_EXIT, JP_PLACES };

/* Result of one way to find the caller: frame pointers, or the tables in a jitdump. */
enum jp_trace_caller {
	JP_CALLER_NONE,    /* the function has no such tables */
	JP_CALLER_RIGHT,   /* the true return address */
	JP_CALLER_SKIPPED, /* only for frame pointers: finds the caller's caller, because the
			      function has no frame (yet) */
	JP_CALLER_WRONG,
	JP_CALLERS
};

/* Result for the name that a published file gives to the address at the time of the instruction. */
enum jp_trace_name {
	JP_NAME_NONE, /* the process has no such file */
	JP_NAME_RIGHT,
	JP_NAME_MISSING, /* the file has no entry, neither then nor later in the trace */
	JP_NAME_LATE,    /* the file had no entry then, but got one later */
	JP_NAME_WRONG,   /* perf finds an older entry than the last one that the process wrote */
	JP_NAME_STALE,   /* the entry belongs to older code: the instruction's first byte differs */
	JP_NAMES
};

enum jp_trace_source { JP_SOURCE_MAP, JP_SOURCE_DUMP, JP_SOURCES };

struct jp_trace_insn {
	uint32_t pid, tid, burst;
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	uint64_t ip, sp, fp;
	bool is_forked; /* the process was forked and has not called exec since */
	bool emitted;   /* the instruction is in executable memory that maps no file */
	bool is_known;  /* the trace saw the call that entered the function: the next five members
			are  valid */
	uint64_t ret_addr, ret,
		start; /* @ret_addr: where the return address lies; @ret: the return address;
		    @start: the function's entry */
	enum jp_trace_place place;
	enum jp_trace_caller by_fp, by_dump;
	enum jp_trace_name name[JP_SOURCES];
	const char *names[JP_SOURCES]; /* valid during the visit */
};

/* Handles one executed instruction. */
typedef void jp_trace_visit(void *context, const struct jp_trace_insn *insn);
