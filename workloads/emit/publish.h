/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * How a workload tells profilers its names: nothing, perf map (DIR/perf-PID.map), jitdump
 * (DIR/jit-PID.dump), both. Chosen by `jitproof workload --publish=HOW --publish-dir=DIR` for every
 * workload alike; a workload that loads code through jp_emit() need not know. Writers are in
 * workloads/publish/, one per file, and register themselves (JP_PUBLISHER).
 */
struct jp_published {
	const char *name;
	uint64_t addr, size;
	const void *code;      /* readable copy of its bytes */
	uint32_t index;        /* the function's id in the truth */
	const void *unwinding; /* .eh_frame and .eh_frame_hdr, or NULL */
	size_t unwinding_size, unwinding_hdr_size;
	size_t unwinding_mapped; /* of them, in the process too, where the code's end is rounded up
				  * to 8 */
};

struct jp_publisher {
	const char *name; /* "map", "jitdump" */
	const char *help;
	const char *faults; /* names of what it can get wrong on request, with blanks; NULL: none */
	/* 0 or -errno each; open: -EPERM where a fault needs root. @fault NULL: a right one. */
	int (*open)(const char *dir, const char *fault);
	int (*load)(const struct jp_published *code);
	int (*move)(const struct jp_published *code, uint64_t from); /* NULL: it cannot tell */
	int (*close)(void);
};

/* The place of @fault among @faults (as a publisher has them), 1 the first; NULL: 0. */
unsigned jp_publish_fault(const char *faults, const char *fault);

/* What is published beside names and code, where the format has room for it. */
enum jp_publish_extra {
	JP_PUBLISH_DEBUG = 1,       /* some lines of an invented source file */
	JP_PUBLISH_DEBUG_SHORT = 2, /* the same, a file's name written once */
	JP_PUBLISH_UNWINDING = 4,   /* exact call frame information, in memory behind the code */
	JP_PUBLISH_UNWINDING_APART = 8, /* the same, in no memory of the process */
};
/* @list: "debug", "debug-short", "unwinding", "unwinding-apart", with commas. Before
 * jp_publish_begin(). 0 or -errno, and a line on stderr. */
int jp_publish_with(const char *list);
/* Bits of enum jp_publish_extra; 0 where nothing is published. */
unsigned jp_publish_extras(void);

/*
 * @how: "none", "map", "jitdump", "both", each with ":FAULT" if a writer shall go wrong. 0 or
 * -errno, and a line on stderr. Called before the workload runs, again by jp_publish_forked() in a
 * forked child (which has a pid, and thus files, of its own).
 */
int jp_publish_begin(const char *how, const char *dir);
int jp_publish_forked(void);
/* What children that we fork do instead: @how as above; NULL: the same as we. It stays theirs.
 * Before any fork. */
void jp_publish_children(const char *how);
/* For the command line of a child that is a new image: how and where it publishes. NULL: not. */
const char *jp_publish_how(void);
const char *jp_publish_dir(void);
/* Called by jp_emit() and by whoever moves code. Threads may call at once. 0 or -errno. */
int jp_publish_load(const struct jp_published *code);
int jp_publish_move(const struct jp_published *code, uint64_t from);
int jp_publish_end(void);
