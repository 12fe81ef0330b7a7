/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* How a workload publishes the names of its functions to profilers: not at all, in a perf map
 * (DIR/perf-PID.map), in a jitdump (DIR/jit-PID.dump), or in both. `jitproof workload --publish=HOW
 * --publish-dir=DIR` selects it for every workload; jp_emit() publishes what it loads. Each file of
 * workloads/publish/ is a publisher that registers itself (JP_PUBLISHER). */
struct jp_published {
	const char *name;
	uint64_t addr, size;
	const void *code;      /* readable copy of the function's bytes */
	uint32_t index;        /* id of the function in the truth */
	const void *unwinding; /* .eh_frame and .eh_frame_hdr, or NULL */
	size_t unwinding_size, unwinding_hdr_size;
	/* Bytes of @unwinding that are also in memory, from the end of the code rounded up to 8. */
	size_t unwinding_mapped;
};

struct jp_publisher {
	const char *name; /* "map", "jitdump" */
	const char *help;
	const char
		*faults; /* faults that the publisher can make, separated by blanks; NULL: none */
	/* The functions return 0 or -errno. open() creates the file in @dir and makes @fault (NULL:
	 * none) in it. It returns -EPERM if the fault needs root. */
	int (*open)(const char *dir, const char *fault);
	int (*load)(const struct jp_published *code);
	/* Publishes that code moved from address @from. NULL: the format cannot express moves. */
	int (*move)(const struct jp_published *code, uint64_t from);
	int (*close)(void);
};

/* Returns the place of @fault in @faults (a publisher's list), 1 for the first; 0 for NULL. */
unsigned jp_publish_fault(const char *faults, const char *fault);

/* Data that a publisher adds to names and code if its format has room. */
enum jp_publish_extra {
	JP_PUBLISH_DEBUG = 1,       /* lines of an invented source file */
	JP_PUBLISH_DEBUG_SHORT = 2, /* like DEBUG, but the file's name is written only once */
	JP_PUBLISH_UNWINDING =
		4, /* exact call frame information, also in the process's memory after the code */
	JP_PUBLISH_UNWINDING_APART =
		8, /* exact call frame information, not in the process's memory */
};
/* Selects extras for jp_publish_begin(). @list: "debug", "debug-short", "unwinding",
 * "unwinding-apart", separated by commas. Returns 0, or -errno with a line on stderr. */
int jp_publish_select_extras(const char *list);
/* Prints the names of all extras, a line each. */
void jp_publish_print_extras(FILE *out);
/* Returns bits of enum jp_publish_extra; 0 if nothing is published. */
unsigned jp_publish_extras(void);

/* Opens the publishers of @publishers: "none", "map", "jitdump" or "both", with ":FAULT" to make a
 * fault, in directory @dir. Call before the workload runs. Returns 0, or -errno with a line on
 * stderr. */
int jp_publish_begin(const char *publishers, const char *dir);
/* Opens the publishers' files again in a forked child, with its own pid in their names. Returns 0,
 * or -errno with a line on stderr. */
int jp_publish_forked(void);
/* Makes forked children, and their children, publish as @publishers states (as for
 * jp_publish_begin()); NULL: like the parent. Call before any fork. Keeps the pointer @publishers.
 */
void jp_publish_children(const char *publishers);
/* Returns the value of --publish for a child that execs; NULL: the child does not publish. */
const char *jp_publish_get_choice(void);
/* Returns the value of --publish-dir for a child that execs, or NULL. */
const char *jp_publish_dir(void);
/* Publishes loaded code. Threads may call this at the same time. Returns 0 or -errno. */
int jp_publish_load(const struct jp_published *code);
/* Publishes that code moved from address @old_addr. Threads may call this at the same time. Returns
 * 0 or -errno. */
int jp_publish_move(const struct jp_published *code, uint64_t old_addr);
int jp_publish_end(void);
