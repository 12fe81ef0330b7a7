// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/causes/causes.h"

#include <string.h>

static const struct jp_cause causes[] = {
	/* stacks: mappings */
	{"older-code", "code was mapped before the recording began, and no record announces it",
	 "preexisting"},
	{"attach-window", "code was mapped while the profiler attached, and no record announces it",
	 "attach"},
	{"exec-while-disabled", "the process called exec while the events were off",
	 "process-tree"},
	/* stacks: walks */
	{"jit-no-frame-pointer", "emitted code does not keep the frame pointer", "frame-pointers"},
	{"library-no-frame-pointer", "the code of a file does not keep the frame pointer",
	 "frame-pointers"},
	{"dump-too-small", "stacks are deeper than the stack dumps", "frame-pointers"},
	{"empty-dump", "stack dumps end before the stacks do: the kernel could not read a page",
	 "frame-pointers"},
	{"depth-limit", "callchains end at the most addresses that a sample stores",
	 "frame-pointers"},
	{"no-cfi-for-jit", "emitted code has no call frame information to unwind by",
	 "frame-pointers"},
	{"missing-file", "a file with samples is not what was recorded, or is gone",
	 "frame-pointers"},
	/* names */
	{"stripped-symbols", "a file has no symbols for the sampled addresses", NULL},
	{"no-name-source", "emitted code has neither a perf map nor a jitdump", "growth"},
	{"map-not-read-for-memfd", "perf asks no perf map for names in such a mapping", "growth"},
	{"map-stale", "the perf map is older than the code, or of another process", NULL},
	{"map-partial", "the perf map lists a part of the code", NULL},
	{"map-wrong-owner", "what lies at the perf map's path is no file of this user's", NULL},
	{"pid-namespace-map", "the perf map is that of the pid inside a container", NULL},
	{"jitdump-not-injected", "a jitdump is there, and was not injected", "growth"},
	{"jitdump-file-gone", "a jitdump was mapped, and is not there", "growth"},
	{"jitdump-wrong-clock", "the recording's clock is not the jitdump's", NULL},
	{"jitdump-hidden", "a later mapping record covers injected code", "growth"},
	{"interpreter", "stacks show an interpreter's functions, and not the program's", NULL},
	/* losses */
	{"lost-records", "lost records told of mappings that samples need", "loss"},
	{"lost-samples", "the kernel lost samples", "loss"},
	{"throttled", "the kernel throttled the events", "loss"},
	{"kernel-only", "the recording did not ask for user space", NULL},
};

const struct jp_cause *jp_cause_at(size_t index)
{
	return index < sizeof(causes) / sizeof(*causes) ? &causes[index] : NULL;
}

const struct jp_cause *jp_cause_find(const char *id)
{
	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++)
		if (strcmp(causes[i].id, id) == 0)
			return &causes[i];
	return NULL;
}
