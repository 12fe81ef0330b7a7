// SPDX-License-Identifier: GPL-2.0-only
/* Processes: the capture must contain each process, its name, its threads and its files. An image
 * is a process from one fork or exec to the next. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/map.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/judge/validator.h"
#include "validators/files.h"
#include "validators/gate_names.h"
#include "validators/sample_class.h"

struct image {
	const struct jp_truth_incarnation *incarnation;
	bool is_sampled, is_named;
	uint64_t samples;
};

struct thread {
	uint32_t tid, pid; /* @pid: process of its first sample */
	bool is_named;
	uint64_t samples, first;
};

static const struct jp_role known_images = {.faults = "tasks"};

struct processes {
	struct jp_view *view;
	struct jp_files *files;
	struct image *images; /* one for each process incarnation of the truth */
	size_t nr_images;
	struct thread *threads; /* in the order of their first record */
	size_t nr_threads, capacity;
	struct jp_map by_tid; /* index + 1 of a thread */
	uint64_t sideband;    /* number of records, not samples, after events were enabled */
};

static int list_images(struct processes *processes)
{
	const struct jp_truth *truth = processes->view->evidence->truth;

	processes->nr_images = truth->nr_incarnations;
	processes->images = calloc(truth->nr_incarnations + 1, sizeof(*processes->images));
	for (size_t i = 0; processes->images && i < processes->nr_images; i++)
		processes->images[i].incarnation = &truth->incarnations[i];
	return processes->images ? 0 : -ENOMEM;
}

/* Returns the image that @pid had at @time, within the slack of the clocks, or NULL. If two images
 * are possible, returns the later. */
static struct image *find_image(const struct processes *processes, uint32_t pid, uint64_t time)
{
	uint64_t slack = processes->view->evidence->info.slack;
	struct image *images = processes->images, *image;
	size_t i;

	jp_search(i, processes->nr_images,
		  images[i].incarnation->pid < pid ||
			  (images[i].incarnation->pid == pid &&
			   images[i].incarnation->before <= time + slack));
	image = i ? &images[i - 1] : NULL;
	if (!image || image->incarnation->pid != pid ||
	    (image->incarnation->until != UINT64_MAX && time > image->incarnation->until + slack))
		return NULL;
	return image;
}

/* Returns the thread, which may be new, or NULL if out of memory. */
static struct thread *get_thread(struct processes *processes, uint32_t tid)
{
	size_t *index = jp_map_at(&processes->by_tid, tid, sizeof(*index));
	struct thread *new_thread;

	if (!index || *index)
		return index ? &processes->threads[*index - 1] : NULL;
	new_thread =
		jp_array_push(&processes->threads, &processes->nr_threads, &processes->capacity);
	if (!new_thread)
		return NULL;
	*index = processes->nr_threads;
	new_thread->tid = tid;
	return new_thread;
}

/* Marks the image and the thread of @event as contained in the capture, and as named if @event
 * names them. Returns 0 or -ENOMEM. */
static int count_event(struct processes *processes, const struct jp_event *event)
{
	const uint64_t enabled = processes->view->evidence->info.enabled;
	/* A synthesized record describes the state when the capture began, whatever its time. */
	struct image *image = find_image(
		processes, event->pid,
		event->type == JP_EVENT_SAMPLE
			? event->time
			: jp_max(enabled, jp_gate_reported_time(processes->view->evidence, event)));
	struct thread *thread;

	processes->sideband += event->type != JP_EVENT_SAMPLE && event->time > enabled;
	if (image)
		image->is_sampled = true;
	switch (event->type) {
	case JP_EVENT_COMM:
		/* The process has the name of its exec or of its first thread. */
		if (image && (event->comm.exec || event->pid == event->tid))
			image->is_named = true;
		break;
	case JP_EVENT_FORK:
		/* A forked process has its parent's name until its exec. */
		if (image && image->incarnation->is_forked && event->pid != event->task.ppid)
			image->is_named = true;
		break;
	case JP_EVENT_SAMPLE:
		if (!image || !event->tid)
			return 0;
		image->samples++;
		/* Events are enabled and disabled one by one. Outside of the window the event of
		 * the CPU on which a thread starts may be off, and that of another one on. */
		if (jp_sample_is_bystander(processes->view->evidence, event) ||
		    !jp_sample_is_in_window(processes->view->evidence, event->time))
			return 0;
		break;
	default:
		return 0;
	}
	if (!image || !event->tid)
		return 0;
	thread = get_thread(processes, event->tid);
	if (!thread)
		return -ENOMEM;
	if (event->type == JP_EVENT_SAMPLE) {
		if (!thread->samples++) {
			thread->first = event->time;
			thread->pid = event->pid;
		}
	} else {
		thread->is_named = true;
	}
	return 0;
}

/* Returns whether @image existed while the events were enabled. */
static bool was_recordable(const struct processes *processes, const struct image *image)
{
	const struct jp_evidence *evidence = processes->view->evidence;
	const uint64_t slack = evidence->info.slack;
	uint64_t from_ns, to_ns;

	if (!jp_evidence_gates_records(evidence))
		return image->incarnation->after + slack < evidence->info.stopped &&
		       image->incarnation->until > evidence->info.enabled + slack;
	for (size_t cursor = 0;
	     jp_evidence_next_window(evidence, image->incarnation->pid, &cursor, &from_ns, &to_ns);)
		if (image->incarnation->after + slack < to_ns &&
		    image->incarnation->until > from_ns + slack)
			return true;
	return false;
}

/* Returns whether the process is older than a capture that attached to another one. Such a process
 * has samples if it was forked between the opening and the enabling of the events. */
static bool is_unwatched(const struct processes *processes, uint32_t pid, uint64_t time)
{
	return jp_evidence_is_process_older(processes->view->evidence, pid, time);
}

/* Returns the name of the control that left out the name, "not-watched" or "no-comm". */
static const char *find_nameless_cause(const struct processes *processes, const struct image *image)
{
	const struct jp_control *control =
		jp_control_find_missing_exec(processes->view->evidence, image->incarnation->pid,
					     image->incarnation->before, image->incarnation->until);

	/* A thread's record from after the exec could have named the process, too, so the control
	 * is the cause only if it left out both records. */
	return control && control == jp_control_find_missing_thread(processes->view->evidence,
								    image->incarnation->pid)
		       ? control->name
	       : is_unwatched(processes, image->incarnation->pid, image->incarnation->before)
		       ? "not-watched"
		       : "no-comm";
}

static int judge_images(struct processes *processes)
{
	struct jp_findings *findings = &processes->view->findings;
	uint64_t incarnations = 0, unseen = 0, nameless = 0, images = 0, reused = 0, sampled = 0;
	int failed = 0;

	for (size_t i = 0; i < processes->nr_images && !failed; i++) {
		const struct image *image = &processes->images[i];

		if (!i || image[-1].incarnation->pid != image->incarnation->pid)
			sampled = 0;
		/* A capture can confuse processes that use the same pid. */
		if (image->samples && (!sampled || image->incarnation->is_first))
			reused += ++sampled == 2;
		if (!was_recordable(processes, image))
			continue;
		images++;
		incarnations += image->incarnation->is_first;
		if (!image->is_sampled) {
			unseen++;
			failed = jp_findings_count_failure(
				findings, "processes.unseen",
				is_unwatched(processes, image->incarnation->pid,
					     image->incarnation->before)
					? "not-watched"
					: "no-record",
				"pid %u from %" PRIu64 ": the capture has no record of it",
				image->incarnation->pid, image->incarnation->after);
		} else if (!image->is_named) {
			nameless++;
			failed = jp_findings_count_failure(
				findings, "processes.nameless",
				find_nameless_cause(processes, image),
				"pid %u from %" PRIu64 ": %s, and no record gave its name",
				image->incarnation->pid, image->incarnation->after,
				image->incarnation->is_forked ? "forked" : "started by an exec");
		}
	}
	if (failed)
		return failed;
	jp_findings_add_count(findings, "processes", incarnations);
	jp_findings_add_count(findings, "processes.images", images);
	jp_findings_add_role_count(findings, &known_images, "processes.unseen", unseen);
	jp_findings_add_role_count(findings, &known_images, "processes.nameless", nameless);
	/* Without this metric, a case about reused pids becomes an ERROR. */
	if (reused)
		jp_findings_add_count(findings, "processes.reused", reused);
	return 0;
}

static int judge_threads(struct processes *processes)
{
	uint64_t threads = 0, nameless = 0;
	int failed = 0;

	for (size_t i = 0; i < processes->nr_threads && !failed; i++) {
		const struct thread *thread = &processes->threads[i];
		const struct jp_control *control;

		if (thread->tid == UINT32_MAX) /* released: the records have its number */
			continue;
		threads += thread->samples > 0;
		if (!thread->samples || thread->is_named)
			continue;
		control = jp_control_find_missing_thread(processes->view->evidence, thread->tid);
		if (control && control == processes->view->added_back)
			continue;
		nameless++;
		failed = jp_findings_count_failure(
			&processes->view->findings, "threads.nameless",
			control                                               ? control->name
			: is_unwatched(processes, thread->pid, thread->first) ? "not-watched"
									      : "no-record",
			"thread %u: %" PRIu64 " samples from %" PRIu64 " on, and no record of it",
			thread->tid, thread->samples, thread->first);
	}
	jp_findings_add_role_rate(&processes->view->findings, &jp_counts_some, "threads.nameless",
				  nameless, threads);
	return failed;
}

static void add_sideband(const struct processes *processes)
{
	const struct jp_capture_info *info = &processes->view->evidence->info;
	double seconds = (double)(info->stopped - info->enabled) / 1e9;

	jp_findings_add_count(&processes->view->findings, "sideband.records", processes->sideband);
	jp_findings_add_count(&processes->view->findings, "sideband.per_second",
			      seconds > 0 ? (uint64_t)(processes->sideband / seconds) : 0);
}

static bool is_seen(const void *context, uint32_t pid, uint64_t time)
{
	const struct image *image = find_image(context, pid, time);

	return image && image->is_sampled;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	struct processes *processes = view->state;

	processes->files = jp_files_begin(view);
	return processes->files ? list_images(processes) : -ENOMEM;
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct processes *processes = view->state;
	int failed = count_event(processes, event);

	return failed || event->type != JP_EVENT_SAMPLE ? failed
							: jp_files_sample(processes->files, event);
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct processes *processes = view->state;
	int failed = judge_images(processes) ?: judge_threads(processes);

	add_sideband(processes);
	return failed ?: jp_files_end(processes->files, is_seen, processes);
}

static void free_processes(void *state)
{
	struct processes *processes = state;

	jp_files_free(processes->files);
	free(processes->images);
	free(processes->threads);
	jp_map_free(&processes->by_tid);
}

JP_DEFINE(validator, processes_validator) = {
	.name = "processes",
	.traits = JP_LACKS_RECORDS | JP_LACKS_REGISTERS | JP_LACKS_NAMES,
	.state_size = sizeof(struct processes),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_processes,
};
