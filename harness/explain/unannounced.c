// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/explain/lost.h"
#include "harness/explain/recorder.h"

/* Samples of one image in code that no recorded mapping contains. */
struct unannounced {
	struct jp_image *image;
	uint64_t samples;
	uint64_t before_loss; /* part of @samples: in pages with samples before the first loss */
	uint64_t starts;      /* part of @samples: the caller of main() is in no mapping */
	const struct jp_end *worst;
};

/* Evidence to decide why mapping records are missing: they were lost, the events were disabled, or
 * the profiler did not read the state from before its start. */
struct missing_records {
	struct jp_lost lost;
	struct unannounced *list; /* one for each image with such samples */
	size_t count, capacity;
	struct jp_map at; /* index + 1 in @list, by address of the image */
	bool reads_anon;  /* the profiler knew some older emitted code */
	bool on_cpus;     /* records have CPU numbers, and are no single thread's */
};

static void free_state(void *context)
{
	struct missing_records *state = context;

	free(state->list);
	jp_map_free(&state->at);
}

static int handle_event(struct jp_explain_view *view, const struct jp_event *event,
			const struct jp_stack *stack)
{
	struct missing_records *state = view->state;

	(void)stack;
	state->on_cpus |= event->asked && event->asked->cpus && event->asked->inherit;
	jp_lost_handle(&state->lost, event);
	return 0;
}

/* Returns the number of samples of @end that have an address in no mapping. If the program is
 * unknown, the addresses that follow known code in a chain count, too. */
static uint64_t count_unknown(const struct jp_end *end)
{
	if (end->kind == JP_END_UNMAPPED || end->kind == JP_END_CALLER)
		return end->samples;
	if (jp_end_has_unknown_caller(end))
		return end->again;
	if (!jp_image_was_replaced(end->image) ||
	    (end->kind != JP_END_SINGLE && end->kind != JP_END_HERE))
		return 0;
	return end->garbage;
}

static int add_end(struct missing_records *state, const struct jp_end *end)
{
	const uint64_t samples = count_unknown(end);
	size_t *at = samples ? jp_map_at(&state->at, (uintptr_t)end->image, sizeof(*at)) : NULL;
	struct unannounced *one;

	if (!samples)
		return 0;
	if (!at)
		return -ENOMEM;
	if (!*at) {
		one = jp_array_push(&state->list, &state->count, &state->capacity);
		if (!one)
			return -ENOMEM;
		*at = state->count;
		one->image = end->image;
	}
	one = &state->list[*at - 1];
	one->samples += samples;
	one->starts += end->code == JP_CODE_PROGRAM && jp_end_has_unknown_caller(end) ? samples : 0;
	one->before_loss += end->time < state->lost.first ? samples : 0;
	if (!one->worst || samples > count_unknown(one->worst))
		one->worst = end;
	return 0;
}

/* Returns whether inject made files of a jitdump of @pid, before or after an exec. */
static bool was_injected(const struct jp_explain_view *view, uint32_t pid)
{
	const struct jp_images *images = &view->ends->images;

	for (size_t i = 0; i < images->count; i++)
		if (images->all[i]->pid == pid && images->all[i]->injected)
			return true;
	return false;
}

/* Returns whether perf inject removed the records of the image's memory: it leaves only those from
 * before the process mapped its jitdump, such as a page that a JVM maps when it starts. */
static bool was_removed(const struct jp_explain_view *view, const struct jp_image *image)
{
	if (jp_recorder_is_inject(view->summary))
		return image->exec || !image->memory || was_injected(view, image->pid);
	return !image->memory && was_injected(view, image->pid);
}

static const char *find_cause(const struct jp_explain_view *view,
			      const struct missing_records *state, const struct unannounced *one)
{
	const struct jp_image *image = one->image;
	/* perf reads every executable line of /proc/PID/maps by default. */
	const bool reads_all =
		state->reads_anon || isdigit((unsigned char)view->summary->version[0]);

	if (state->lost.records[true] + state->lost.samples[true] &&
	    one->before_loss * 2 < one->samples)
		return "lost-records";
	/* The recorded mappings belong to another program: an exec was not recorded. */
	if (image->files && jp_image_was_replaced(image))
		return "exec-while-disabled";
	/* After an exec of the same program, the program's own addresses may be the same, but not
	 * libc's. */
	if (image->libc && !image->exec && one->starts * 2 >= one->samples)
		return "exec-while-disabled";
	/* If the profiler had read the state of the process, or recorded its exec, it would have
	 * recorded its name. */
	if (!image->files && !*image->process && (image->anon || state->count > 1))
		return "exec-while-disabled";
	if (was_removed(view, image))
		return image->injected && image->uninjected == image->samples
			       ? "jitdump-wrong-clock"
			       : "damaged-jitdump";
	if ((image->exec && (image->files || image->memory)) || (image->synthesized && reads_all))
		return "attach-window";
	return "older-code";
}

/* Returns whether the cause may also be attach-window when find_cause() returns older-code: the
 * profiler recorded older files but no anonymous memory of any program. Either it skips anonymous
 * memory, or there was none. */
static bool may_be_attach_window(const struct unannounced *one, const char *id)
{
	return strcmp(id, "older-code") == 0 && one->image->synthesized;
}

/* Returns whether the recording covers a part of the CPUs (perf record -C). Before Linux 6.7, perf
 * then opens no event on the others: records of processes that map memory there are missing. */
static bool covers_some_cpus(const struct jp_explain_view *view)
{
	const struct missing_records *state = view->state;

	return state->on_cpus && view->summary->last_ids < view->summary->cpus_on;
}

static const char *describe_reason(const struct jp_explain_view *view, const char *id,
				   const struct jp_image *image)
{
	if (strcmp(id, "lost-records") == 0)
		return "records were lost before these samples: perf report --stats shows how many";
	if (strcmp(id, "exec-while-disabled") == 0)
		return image->files
			       ? "the recorded files belong to another program: neither the "
				 "libraries nor the program fit"
			       : "the recording has neither files nor a name of the process: its "
				 "exec was not recorded";
	if (strcmp(id, "damaged-jitdump") == 0 && image->injected)
		return "the recording has only files that inject made from a jitdump: perf inject "
		       "removes the records of that memory, and the jitdump lacks this code";
	if (strcmp(id, "damaged-jitdump") == 0)
		return was_injected(view, image->pid)
			       ? "in a process with a jitdump, perf inject removes the records of "
				 "such memory of all its programs; the program after an exec "
				 "truncated the jitdump"
			       : "perf inject wrote this file, since it has no FINISHED_ROUND "
				 "record: it removes the records of such memory, and found no "
				 "load in the jitdump, or none that it accepts";
	if (strcmp(id, "jitdump-wrong-clock") == 0)
		return "all files that inject made from the jitdump have times after the last "
		       "sample, and perf inject removes the other records of that memory";
	if (strcmp(id, "attach-window") == 0)
		return image->exec ? "the process's exec and later mappings were recorded: either "
				     "the events were off for a while, or a thread that was not "
				     "recorded (-t, --no-inherit) mapped the code, or mremap "
				     "moved it, which the kernel does not record; perf record "
				     "from the start shows which"
				   : "the recording has the mappings from before its start, "
				     "including emitted code if there was any";
	if (image->exec)
		return "the recording has the process's exec, but no mapping of it: its events did "
		       "not ask for mapping records (mmap: 1 in perf evlist -v), or a tool removed "
		       "them";
	return image->synthesized ? "the recording knows the files that the process had mapped "
				    "before, but no anonymous memory: either the profiler skips "
				    "such lines of /proc/PID/maps (older-code), or the process "
				    "mapped this memory between that reading and the first event "
				    "(attach-window); perf record -p, which skips no line, shows "
				    "which"
				  : "the recording knows no mapping from before it began: the "
				    "profiler did not read /proc/PID/maps";
}

static const char *find_remedy(const struct jp_explain_view *view, const char *id,
			       const struct jp_image *image)
{
	if (strcmp(id, "lost-records") == 0)
		return "perf record -m 16M, a lower frequency (-F), one process (-p) instead of "
		       "all (-a)";
	if (strcmp(id, "exec-while-disabled") == 0)
		return "enable the events before the exec, or attach afterwards: perf record -p "
		       "PID";
	if (strcmp(id, "damaged-jitdump") == 0 && image->injected)
		return "let the runtime write all code into the jitdump; jitproof inject "
		       "--anon=cut keeps the records of the other code";
	if (strcmp(id, "damaged-jitdump") == 0)
		return was_injected(view, image->pid)
			       ? "let the program before the exec write its jitdump into another "
				 "folder; jitproof inject --anon=cut keeps the records of its "
				 "memory"
			       : "`jitproof lint jit-PID.dump` names the defect; jitproof inject, "
				 "from the file that was recorded, goes on behind invalid bytes "
				 "and keeps the records";
	if (strcmp(id, "jitdump-wrong-clock") == 0)
		return "record again with -k mono; the runtime has to write times of "
		       "CLOCK_MONOTONIC, at the time when it emits the code";
	if (strcmp(id, "attach-window") == 0)
		return "start the recording before the process, or attach without a delay (-D) "
		       "when it has warmed up: jitproof record -p PID; and record all its threads: "
		       "neither -t nor --no-inherit";
	if (image->exec)
		return "record with perf record or jitproof record, which ask for mapping records";
	return "jitproof record -p PID, or perf record -p PID without --synth, which read every "
	       "executable mapping; or start the recording before the process";
}

/* Blames the samples of the image on @reason, the result of find_cause(). */
static void blame_unannounced(struct jp_explain_view *view, const struct unannounced *one,
			      const char *id, const char *reason)
{
	const struct jp_image *image = one->image;
	struct jp_blame *blame =
		jp_blame(view->blames, id, image->pid, image->process, NULL, one->samples);

	blame->unnamed = true;
	if (blame->cause->costs != JP_COSTS_NAMES || one->worst->dump)
		blame->stacks = blame->samples;
	jp_blame_evidence(blame,
			  "%" PRIu64 " of %" PRIu64
			  " samples run code in no mapping, most at %" PRIx64
			  ": perf script -i %s --show-mmap-events --pid %u has no record of it",
			  one->samples, image->samples, one->worst->addr, view->path, image->pid);
	jp_blame_evidence(blame,
			  "first at time %" PRIu64 ".%09" PRIu64
			  ", tid %u; the recording's first sample at %" PRIu64 ".%09" PRIu64,
			  one->worst->time / 1000000000, one->worst->time % 1000000000,
			  one->worst->tid, view->ends->first_sample / 1000000000,
			  view->ends->first_sample % 1000000000);
	if (covers_some_cpus(view) && strcmp(id, "lost-records") != 0) {
		jp_blame_evidence(blame,
				  "the recording covers %" PRIu64 " of %" PRIu32
				  " CPUs (-C): it has no records of the others",
				  view->summary->last_ids, view->summary->cpus_on);
		jp_blame_remedy(blame, "perf record -a, or perf 6.7 or later, which records "
				       "mappings on all CPUs");
		return;
	}
	jp_blame_evidence(blame, "%s", describe_reason(view, reason, image));
	jp_blame_remedy(blame, "%s", find_remedy(view, id, image));
}

/* Adds the pages with samples to each blame. Call it when all blames exist. */
static void add_ranges(struct jp_explain_view *view, const struct missing_records *state)
{
	for (size_t i = 0; i < view->ends->count; i++) {
		const struct jp_end *end = &view->ends->list[i];
		const size_t *at = jp_map_find(&state->at, (uintptr_t)end->image);
		const struct unannounced *one = at && *at ? &state->list[*at - 1] : NULL;

		if (one && (end->kind == JP_END_UNMAPPED || end->kind == JP_END_CALLER))
			jp_blame_range(jp_blame(view->blames, find_cause(view, state, one),
						one->image->pid, one->image->process, NULL, 0),
				       end->start, end->end);
	}
}

static int blame_all(struct jp_explain_view *view, struct jp_error *err)
{
	struct missing_records *state = view->state;
	uint64_t harm = 0;
	int ret = 0;

	for (size_t i = 0; i < view->ends->images.count; i++)
		state->reads_anon |= view->ends->images.all[i]->anon_before;
	for (size_t i = 0; i < view->ends->count && !ret; i++)
		ret = add_end(state, &view->ends->list[i]);
	if (ret)
		return jp_fail(err, -ret, "no memory");
	for (size_t i = 0; i < state->count; i++) {
		const struct unannounced *one = &state->list[i];
		const char *id = find_cause(view, state, one);

		blame_unannounced(view, one, id, id);
		if (may_be_attach_window(one, id))
			blame_unannounced(view, one, "attach-window", id);
		harm += strcmp(id, "lost-records") == 0 ? one->samples : 0;
	}
	add_ranges(view, state);
	jp_lost_blame(&state->lost, view, harm);
	return 0;
}

JP_DEFINE(explainer, unannounced) = {
	.name = "unannounced",
	.state_size = sizeof(struct missing_records),
	.handle = handle_event,
	.end = blame_all,
	.free = free_state,
};
