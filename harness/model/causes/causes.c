// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/causes/causes.h"

#include <stdio.h>
#include <string.h>

const char *const jp_cause_costs_text[] = {
	[JP_COSTS_STACKS] = "stacks",
	[JP_COSTS_NAMES] = "names",
	[JP_COSTS_BOTH] = "both",
	[JP_COSTS_SAMPLES] = "samples",
};

static const struct jp_cause causes[] = {
	/* causes of broken stacks: mappings */
	{"older-code", "code was mapped before the recording began, and no record announces it",
	 "preexisting", JP_COSTS_STACKS},
	{"attach-window", "code was mapped while the profiler attached, and no record announces it",
	 "attach", JP_COSTS_STACKS},
	{"exec-while-disabled", "the process called exec while the events were off", "process-tree",
	 JP_COSTS_STACKS},
	/* causes of broken stacks: the walk along the stack */
	{"jit-no-frame-pointer", "emitted code does not keep the frame pointer", "frame-pointers",
	 JP_COSTS_STACKS},
	{"library-no-frame-pointer", "the code of a file does not keep the frame pointer",
	 "frame-pointers", JP_COSTS_STACKS},
	/* The order decides between causes of equal cost. Where both cost as much, a larger dump
	 * alone repairs nothing, so this cause precedes dump-too-small. */
	{"no-cfi-for-jit", "code has no call frame information to unwind by", "frame-pointers",
	 JP_COSTS_STACKS},
	{"dump-too-small", "stacks go on outside of the stack dumps", "frame-pointers",
	 JP_COSTS_STACKS},
	{"empty-dump", "stack dumps end before the stacks do: the kernel could not read a page",
	 "frame-pointers", JP_COSTS_STACKS},
	{"depth-limit", "callchains end at the most addresses that a sample stores",
	 "frame-pointers", JP_COSTS_STACKS},
	{"missing-file", "a file with samples is gone, or is not the recorded one",
	 "frame-pointers", JP_COSTS_BOTH},
	/* names */
	{"stripped-symbols", "a file has no symbols for the sampled addresses", NULL,
	 JP_COSTS_NAMES},
	{"no-name-source", "emitted code has neither a perf map nor a jitdump", "growth",
	 JP_COSTS_NAMES},
	{"map-not-read-for-memfd", "perf takes no names from a perf map for such a mapping",
	 "growth", JP_COSTS_NAMES},
	{"map-stale", "the perf map is older than the code, or of another process", NULL,
	 JP_COSTS_NAMES},
	{"map-partial", "the perf map lacks code that ran", NULL, JP_COSTS_NAMES},
	{"map-wrong-owner", "the perf map is a FIFO, a link, unreadable or another user's", NULL,
	 JP_COSTS_NAMES},
	{"pid-namespace-map", "the perf map has the pid inside a container in its name", NULL,
	 JP_COSTS_NAMES},
	{"jitdump-not-injected", "a jitdump exists, but was not injected", "growth",
	 JP_COSTS_NAMES},
	{"jitdump-file-gone", "the process mapped a jitdump that is gone", "growth",
	 JP_COSTS_NAMES},
	{"damaged-jitdump", "a jitdump is damaged, lacks the code, or has values that perf refuses",
	 NULL, JP_COSTS_NAMES},
	{"empty-jitdump", "a jitdump has no record of code", NULL, JP_COSTS_NAMES},
	{"jitdump-wrong-clock", "the recording and the jitdump have different clocks", NULL,
	 JP_COSTS_NAMES},
	{"jitdump-hidden", "a later mapping record covers injected code", "growth", JP_COSTS_NAMES},
	{"interpreter", "stacks show an interpreter's functions, not the program's", NULL,
	 JP_COSTS_NAMES},
	/* losses */
	{"lost-records", "the kernel lost mapping records that samples need", "loss",
	 JP_COSTS_BOTH},
	{"lost-samples", "the kernel lost samples", "loss", JP_COSTS_SAMPLES},
	{"throttled", "the kernel throttled the events", "loss", JP_COSTS_SAMPLES},
	{"no-samples", "no event took a sample", NULL, JP_COSTS_SAMPLES},
	{"unreadable-by-perf", "perf refuses a compressed record of the file", NULL,
	 JP_COSTS_SAMPLES},
	{"failed-inject", "perf inject failed and left a header without contents", NULL,
	 JP_COSTS_SAMPLES},
	{"no-call-graph", "the recording did not ask for stacks", NULL, JP_COSTS_STACKS},
	{"kernel-only", "the recording did not ask for user space", NULL, JP_COSTS_STACKS},
};

static const struct jp_cause_word words[] = {
	/* no mapping: controls and real gaps */
	{"snapshot", "older-code", "the capture read no maps of the process", NULL},
	{"pathless", "older-code", "the capture skipped mappings without a path", NULL},
	{"no-record", "older-code", "no record covers the code, for an unknown reason", NULL},
	{"no-mapping", "older-code", "a frame without a name lies in no mapping", NULL},
	{"window", "attach-window",
	 "code was mapped after /proc/PID/maps was read and before the events were enabled", NULL},
	{"gate", "exec-while-disabled", "code was mapped while the gate had the events disabled",
	 NULL},
	/* ends of walks along a stack */
	{"complete", NULL, "call frame information wrongly ends the stack", "broken.dump"},
	{"complete", NULL, "call frame information wrongly ends the stack", "broken.dump_cfi"},
	{"bad-frame", NULL, "the walk leads to another stack, which the dump does not contain",
	 "broken.dump"},
	{"bad-frame", NULL, "the walk leads to another stack, which the dump does not contain",
	 "broken.dump_cfi"},
	{"max-stack", "depth-limit", "the chain has as many addresses as a sample stores", NULL},
	{"dump-end", "dump-too-small", "the walk needs stack that a full dump does not contain",
	 NULL},
	{"dump-short", "empty-dump", "the walk needs stack that an incomplete dump lacks", NULL},
	{"untouched", "empty-dump", "the thread had not used this page of its stack before", NULL},
	{"copied", "empty-dump", "the kernel was copying this page of the stack after a fork",
	 NULL},
	{"no-cfi", "no-cfi-for-jit", "the walk enters code without call frame information", NULL},
	{"no-elf", "missing-file", "the walk enters code of a file that is missing", NULL},
	{"no-data", "empty-dump", "the sample has neither a callchain nor a stack dump", NULL},
	{"bad-frame", "jit-no-frame-pointer", "a frame pointer leads to no stack", NULL},
	{"complete", "jit-no-frame-pointer", "the walk ends early: it takes a frame for the root",
	 NULL},
	/* names */
	{"no-map", "no-name-source", "the process has no perf map", NULL},
	{"not-elf", "no-name-source", "the mapped file is no ELF file", NULL},
	{"not-anonymous", "map-not-read-for-memfd",
	 "perf takes no names from a perf map for this mapping", NULL},
	{"not-published", "map-partial", "neither a perf map nor a jitdump contains the code",
	 NULL},
	{"not-in-map", "map-partial", "no line of the perf map contains the address", NULL},
	{"stale", "map-stale", "the name is of earlier code at the address", NULL},
	{"later", "map-stale", "the name is of later code at the address", NULL},
	{"overlapped", "map-stale", "lines of the perf map overlap, and perf finds none", NULL},
	{"bad-map", "map-wrong-owner", "the map is a FIFO, a link, or unreadable", NULL},
	{"not-injected", "jitdump-not-injected", "a load of the jitdump is in no injected record",
	 NULL},
	{"hidden", "jitdump-hidden", "a mapping record came after the injected one", NULL},
	{"missing-file", "missing-file", "the mapped file does not exist", NULL},
	{"other-file", "missing-file", "the mapped file has another build id", NULL},
	{"bad-file", "missing-file", "the mapped file cannot be read", NULL},
	{"stripped", "stripped-symbols", "the mapped file has no symbols", NULL},
	/* Causes that a capture alone cannot show. */
	{"closed", NULL, "mprotect() had removed the permission to execute the code", NULL},
	{"mremap", NULL,
	 "mremap() moved the code, and the kernel records no moves, so no record has the new "
	 "address",
	 NULL},
	{"not-watched", NULL,
	 "the process is older than the capture, which attached to another one", NULL},
	{"shared-mm", NULL,
	 "the process shares another's memory (CLONE_VM) and mapped no code itself; the kernel "
	 "records the clone like a fork",
	 NULL},
	{"bad-cfi", NULL,
	 "wrong call frame information of a file leads the walk to a plausible caller, where it "
	 "ends",
	 NULL},
	{"other-code", NULL,
	 "the jitdump's code differs from memory at the caller, so no call precedes the return "
	 "address",
	 NULL},
	{"kernel-walk", NULL,
	 "the kernel's walk ended early, because a page of the stack was being copied", NULL},
	{"not-came", NULL, "the kernel deferred the chain, and the thread ended before it came",
	 NULL},
	{"wrong-frame", NULL, "an impossible frame, whose address is in code", NULL},
	{"hole", NULL, "a caller is missing in the middle, and the stack reaches its root", NULL},
	{"late", NULL, "the name was published after the sample was taken", NULL},
	{"wrong-owner", NULL, "the name is of another process's code", NULL},
	{"other-name", NULL, "the name belongs to no code in the truth", NULL},
	{"other-function", NULL, "the name is of code that was never there", NULL},
	{"no-symbol", NULL, "the address lies between a file's symbols", NULL},
	/* Walks of an external profiler, which reports no more about the cause. */
	{"no-name", NULL, "an external profiler gave no name", NULL},
	{"unmapped", NULL, "an external profiler knows no mapping there", NULL},
	{"single", NULL, "an external profiler gave the sampled address alone", NULL},
	{"short", NULL, "an external profiler's stack ends early", NULL},
	/* What other programs show of a file (docs/readers.md). */
	{"unreadable", NULL, "the reader shows no sample of the file", NULL},
	{"process", NULL, "the reader shows no sample of the process", NULL},
	{"absent", NULL, "the reader does not show the sample", NULL},
	{"invented", NULL, "the reader shows a sample that the file does not have", NULL},
	{"reader-failed", NULL, "the reader showed all samples, and then failed", NULL},
	{"no-address", NULL, "the reader shows no address of the sample", NULL},
	{"other-address", NULL, "the reader shows another address", NULL},
	{"next-function", NULL, "the reader shows the name of the next function", NULL},
	{"fewer-listed", NULL, "the reader's profile counts more samples than it lists", NULL},
	{"more-listed", NULL, "the reader's profile counts fewer samples than it lists", NULL},
	{"other-offset", NULL, "the reader shows another offset in the function", NULL},
	{"ours-lacks", NULL, "the reader shows a name where perf's rules find none", NULL},
	{"no-frames", NULL, "the reader shows no frame of the stack", NULL},
	{"cut", NULL, "the reader shows the stack's inner frames alone", NULL},
	{"missing-frame", NULL, "the reader leaves out a frame", NULL},
	{"extra-frame", NULL, "the reader shows an additional frame", NULL},
	{"frame-order", NULL, "the reader shows two frames in the other order", NULL},
	{"other-frame", NULL, "the reader shows another address of a frame", NULL},
	/* Known defects of readers: ids of results/FINDINGS.md. */
	{"perf.inject-outside-tmp", NULL,
	 "perf finds no frame beyond code of an injected file outside of /tmp", NULL},
	{"perf.inject-text-offset", NULL, "perf unwinds injected code by the tables of other code",
	 NULL},
	{"perf.unwind-no-elf", NULL, "perf finds no frame beyond code without an ELF file", NULL},
	{"perf.unwind-reused", NULL,
	 "perf finds no frame beyond code that was loaded at the address of older code", NULL},
	{"perf.marker", NULL,
	 "perf drops a callchain if an address equals one of its PERF_CONTEXT markers", NULL},
	{"perf.unwind-beyond", NULL, "perf shows a frame ffffffffffffffff behind the dump", NULL},
	{"perf.unwind-maps", NULL, "perf reads no unwinding table without a mapping record of it",
	 NULL},
	{"perf.inject-threads", NULL, "perf does not read the folder that its inject wrote", NULL},
	{"perf.unwind-no-chain", NULL, "perf unwinds no dump of an event without callchains", NULL},
	{"perf.first-event", NULL, "perf requires PERF_SAMPLE_IP of an event that takes no samples",
	 NULL},
	{"perf.pipe-last-feature", NULL,
	 "perf misreads the end of the features in an older perf's pipe as a feature", NULL},
	{"perf.pipe-finished-init", NULL, "perf 5.10 stops at a record that later perfs write",
	 NULL},
	{"perf.build-id-size", NULL, "perf refuses the build ids that an older perf inject wrote",
	 NULL},
	{"perf.compressed-type", NULL, "perf before 6.16 reads no later perf's compressed records",
	 NULL},
	{"perf.compressed-block", NULL,
	 "perf refuses a compressed record that holds a part of a block only", NULL},
	{"perf.script-thread-gone", NULL, "perf script has forgotten the process's mappings", NULL},
	{"perf.report-overlap", NULL, "perf report counts samples for an overlapping function",
	 NULL},
	{"perf.inject-vdso", NULL, "perf inject made perf forget the vDSO", NULL},
	{"kernel.build-id", NULL, "a build id of more than 20 bytes overflows perf's stack", NULL},
	{"hotspot.inject-names", NULL, "hotspot places the code of an injected file too low", NULL},
	{"hotspot.attach-fork", NULL,
	 "hotspot forgets the mappings of a process that perf attached to", NULL},
	{"hotspot.shared-names", NULL, "hotspot gives one name to all code at the same offset",
	 NULL},
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

const struct jp_cause_word *jp_cause_word_at(size_t index)
{
	return index < sizeof(words) / sizeof(*words) ? &words[index] : NULL;
}

const struct jp_cause_word *jp_cause_word(const char *metric, const char *word)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i].word, word) == 0 &&
		    (!words[i].metric || strcmp(words[i].metric, metric) == 0))
			return &words[i];
	return NULL;
}

bool jp_cause_is_of_metric(const char *metric)
{
	static const char *const kinds[] = {"broken",          "names.unnamed", "names.wrong",
					    "callers.unnamed", "callers.wrong", "load.unnamed",
					    "load.wrong",      "shown"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const size_t length = strlen(kinds[i]);

		if (strncmp(metric, kinds[i], length) == 0 &&
		    (!metric[length] || metric[length] == '.'))
			return true;
	}
	return false;
}

const struct jp_cause *jp_cause_of_word(const char *metric, const char *word)
{
	const struct jp_cause_word *known =
		jp_cause_is_of_metric(metric) ? jp_cause_word(metric, word) : NULL;

	return known && known->id ? jp_cause_find(known->id) : NULL;
}

const char *jp_cause_text(const char *metric, const char *word, char *text, size_t size)
{
	const struct jp_cause *cause = jp_cause_of_word(metric, word);

	if (cause && strcmp(cause->id, word) != 0)
		snprintf(text, size, "%s (%s)", cause->id, word);
	else
		snprintf(text, size, "%s", word);
	return text;
}

bool jp_cause_names(const char *metric, const char *name, const char *word)
{
	const struct jp_cause *cause;

	if (strcmp(name, word) == 0)
		return true;
	cause = jp_cause_of_word(metric, word);
	return cause && strcmp(cause->id, name) == 0;
}

bool jp_cause_is_judged(const struct jp_cause *cause)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (words[i].id && strcmp(words[i].id, cause->id) == 0)
			return true;
	/* Only this cause follows from the case's options publish and inject. */
	return strcmp(cause->id, "jitdump-file-gone") == 0;
}
