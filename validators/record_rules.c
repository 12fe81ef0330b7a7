// SPDX-License-Identifier: GPL-2.0-only
/* Record rules: a record's fields must agree with its event's attributes and with the running
 * thread (kernel/events/core.c). Records synthesized from /proc have neither time nor running
 * thread. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "harness/base/digest.h"
#include "harness/base/map.h"
#include "harness/base/page.h"
#include "harness/format/perfdata/format.h"
#include "harness/judge/validator.h"
#include "validators/gate_names.h"
#include "validators/record_fields.h"
#include "validators/sample_class.h"

enum { RECORD_MOST = UINT16_MAX };

/* Times of a thread's records so far, in ns. The thread's next record must have a later time. */
struct record_order {
	uint64_t born;   /* time at which its FORK was complete */
	uint64_t wrote;  /* time at which its last FORK or EXIT record was complete */
	uint64_t ended;  /* time of its own EXIT; its events end before that. 0: it runs */
	uint64_t time;   /* time of its last sideband record */
	uint64_t digest; /* digest of the record at @time */
};

struct record_rules {
	struct jp_view *view;
	struct jp_map places;    /* an event's id -> struct event_place */
	struct jp_map ids;       /* attr and CPU -> number of ids in @places */
	struct jp_map threads;   /* tid -> struct record_order */
	struct jp_map events;    /* tid, attr and CPU -> the event's id */
	struct jp_map addresses; /* addresses of breakpoints -> numbers that replace the attr's */
	uint64_t records, nr_bad;
};

/* Returns whether the kernel wrote the record; synthesized records have no event. */
static bool is_from_kernel(const struct jp_event *event)
{
	return event->time && !event->kernel_map && (event->id || !event->asked->ids) &&
	       !(event->type == JP_EVENT_FORK && event->task.was_running);
}

/* Returns the cause if the event did not request records of this type (perf_iterate_sb()). The
 * build id bit proves nothing: events of other profilers leave it set (results/FINDINGS.md). */
static const char *check_type(const struct jp_event *event)
{
	return (event->id || is_from_kernel(event)) && !event->kernel_map &&
			       event->record_type <= JP_PERF_RECORD_CALLCHAIN_DEFERRED &&
			       !(event->asked->records >> event->record_type & 1)
		       ? "not-asked"
		       : NULL;
}

/* Returns whether records of this type can be synthesized from /proc. */
static bool is_readable(const struct jp_event *event)
{
	return event->type == JP_EVENT_MAP || event->type == JP_EVENT_COMM ||
	       event->type == JP_EVENT_FORK;
}

/* Returns whether our capture writes the record with an event's id: all except those synthesized at
 * an attach, and counts of lost records. */
static bool has_event(const struct record_rules *rules, const struct jp_event *event)
{
	const struct jp_capture_info *info = &rules->view->evidence->info;

	return info->first_enabled && event->asked->ids && !event->kernel_map &&
	       event->type != JP_EVENT_LOST_SAMPLES &&
	       (!is_readable(event) || event->time >= info->first_enabled);
}

/* Returns whether the kernel wrote the record, not jitproof for a process that announced itself. */
static bool is_live(const struct record_rules *rules, const struct jp_event *event)
{
	return has_event(rules, event) &&
	       !(is_readable(event) && jp_gate_find_backfill(rules->view->evidence, event));
}

/* Returns the cause if the running task (perf_event_header__init_id()) is not the task that maps,
 * execs, forks or exits. Other programs may name their threads from another thread: comm_write()
 * (fs/proc/base.c). */
static const char *check_task(const struct record_rules *rules, const struct jp_event *event)
{
	uint32_t pid = event->pid, tid = event->tid;

	switch (event->type) {
	case JP_EVENT_FORK:
		pid = event->task.ppid;
		tid = event->task.ptid;
		break;
	case JP_EVENT_COMM:
		if (!jp_sample_is_watched(rules->view->evidence, pid, UINT64_MAX))
			tid = event->by_tid;
		break;
	case JP_EVENT_MAP:
	case JP_EVENT_EXIT:
		break;
	default:
		return NULL;
	}
	return event->by_pid != pid || event->by_tid != tid ? "other-task" : NULL;
}

/* Returns whether the event is a breakpoint of jitproof, which opens one event for each thread, CPU
 * and address. */
static bool is_breakpoint(const struct record_rules *rules, const struct jp_event *event)
{
	return rules->view->evidence->info.breakpoints &&
	       event->asked->clock == JP_CLOCK_BREAKPOINT;
}

/* Counts a new id of the attr and CPU of @event. Our captures open one event there for each thread,
 * and inherited events have its id (primary_event_id()). Returns 0 or -ENOMEM. */
static int check_new_id(struct record_rules *rules, const struct jp_event *event,
			const char **cause)
{
	const struct jp_capture_info *info = &rules->view->evidence->info;
	uint64_t *number;

	if (!info->threads || info->breakpoints)
		return 0;
	number = jp_map_at(&rules->ids, (uint64_t)event->attr << 32 | event->cpu, sizeof(*number));
	if (!number)
		return -ENOMEM;
	if (++*number > info->threads)
		*cause = "other-cpu";
	return 0;
}

/* Compares CPU and breakpoint address with earlier records of the event: perf_mmap() refuses an
 * inherited event of all CPUs, so each id has one CPU. Returns 0 or -ENOMEM. */
static int check_place(struct record_rules *rules, const struct jp_event *event, const char **cause)
{
	struct event_place {
		uint64_t cpu, ip; /* 1 + the event's CPU; the address of a breakpoint */
	} * place;
	const bool breakpoint = event->type == JP_EVENT_SAMPLE && is_breakpoint(rules, event);
	struct event_place seen = {event->cpu + UINT64_C(1), breakpoint ? event->sample.ip : 0};
	bool is_new;

	if (!event->asked->inherit && !breakpoint)
		return 0;
	place = jp_map_at(&rules->places, event->id, sizeof(*place));
	if (!place)
		return -ENOMEM;
	if (place->cpu && place->cpu != seen.cpu)
		*cause = "other-cpu";
	else if (breakpoint && place->ip && place->ip != seen.ip)
		*cause = "other-address";
	seen.ip = seen.ip ?: place->ip;
	is_new = !place->cpu;
	*place = seen;
	return is_new ? check_new_id(rules, event, cause) : 0;
}

/* Returns the cause if the stack dump is too short. perf_sample_ustack_size() grants the requested
 * size unless the record or the address space ends before. perf_output_sample_ustack() copies the
 * granted size, or less if a page is not present; on some machines the copy ends some bytes before
 * that page. */
static const char *check_dump(const struct record_rules *rules, const struct jp_event *event)
{
	const struct jp_perf_record *record = event->record;
	const uint64_t requested_value = event->asked->stack,
		       granted_size = event->sample.stack_asked;
	const uint64_t copied = event->sample.stack_size;
	uint64_t ip, sp;

	if (!event->sample.stack || !jp_machine_user(rules->view->machine, event, &ip, &sp))
		return NULL;
	if (granted_size > requested_value ||
	    (granted_size < requested_value && (sp + granted_size) % JP_PAGE_SMALLEST != 0 &&
	     record->size + requested_value - granted_size <= RECORD_MOST))
		return "dump-granted";
	return copied && copied < granted_size &&
			       -(sp + copied) % JP_PAGE_SMALLEST >
				       rules->view->machine->frames->undumped
		       ? "dump-copied"
		       : NULL;
}

/* Returns whether tasks inherit the events with attr.inherit. perf also sets it in events for a
 * CPU, but lets no such event start at an exec. */
static bool has_events_of_tasks(const struct jp_view *view)
{
	return view->evidence->info.first_enabled || view->summary->on_exec;
}

/* Returns whether @event, a sample with the number of a thread that wrote its EXIT record, is
 * impossible. do_exit() does not return to user space, and perf_event_exit_task_context() stops a
 * task's events before it writes the record. Two kinds of kernel samples are possible. An event for
 * a CPU samples the thread until it leaves that CPU. A thread that calls exec gets the number of
 * the first thread in de_thread(), and its COMM record follows. */
static bool is_impossible_after_exit(const struct record_rules *rules, const struct jp_event *event)
{
	return event->sample.user || (event->asked->inherit && event->tid != event->pid &&
				      has_events_of_tasks(rules->view));
}

/* Returns the cause if the thread's records are out of order. A task does not run before its FORK
 * is written, and the thread that writes it does nothing else meanwhile: perf_event_task_output()
 * sets the record's time first, then the time in its body. */
static const char *find_disorder(const struct record_rules *rules, struct record_order *order,
				 const struct jp_event *event)
{
	const uint64_t slack = rules->view->evidence->info.slack, time = event->time + slack;
	const bool task = event->type == JP_EVENT_FORK || event->type == JP_EVENT_EXIT;
	uint64_t digest;

	if (time < order->born)
		return "before-fork"; /* Only for our events, which tasks inherit: events for CPUs
					 exist longer than a task. */
	if (event->type == JP_EVENT_SAMPLE)
		return order->ended && order->ended + slack < event->time &&
				       is_impossible_after_exit(rules, event)
			       ? "after-exit"
			       : NULL;
	if (time < order->wrote)
		return "before-fork";
	if (task && event->task.time < event->time)
		return "other-time";
	order->wrote = task ? event->task.time : 0;
	digest = jp_digest_bytes(0, event->record,
				 ((const struct jp_perf_record *)event->record)->size);
	if (event->time == order->time && digest == order->digest)
		return "twice";
	order->time = event->time;
	order->digest = digest;
	if (event->type == JP_EVENT_EXIT)
		order->ended = event->time;
	else if (event->type == JP_EVENT_COMM && event->comm.exec)
		order->ended = 0;
	return NULL;
}

/* Checks the order of records. Returns 0 or -ENOMEM. */
static int check_order(struct record_rules *rules, const struct jp_event *event, const char **cause)
{
	const uint32_t tid = event->type == JP_EVENT_SAMPLE ? event->tid : event->by_tid;
	struct record_order *order;

	/* Tasks outside of the profiler's pid namespace have no number (perf_event_pid_type()). */
	if (tid == 0)
		return 0;
	order = jp_map_at(&rules->threads, tid, sizeof(*order));
	if (!order)
		return -ENOMEM;
	*cause = find_disorder(rules, order, event);
	if (event->type != JP_EVENT_FORK)
		return 0;
	order = jp_map_at(&rules->threads, event->tid, sizeof(*order));
	if (!order)
		return -ENOMEM;
	*order = (struct record_order){.born = event->task.time};
	return 0;
}

/* Checks the event's id: on each CPU, a task has one event of each attr, or for breakpoints one of
 * each address. Skips the check if the capture dropped duplicate samples, because tasks created
 * during the attach have two events. */
static int check_event(struct record_rules *rules, const struct jp_event *event, const char **cause)
{
	struct task_event {
		uint64_t id, born;
	} * task_event;
	const struct record_order *order = jp_map_find(&rules->threads, event->tid);
	const bool breakpoint = is_breakpoint(rules, event);
	uint64_t attr = event->attr, *number;

	if (rules->view->evidence->info.duplicates || !order ||
	    (event->asked->clock == JP_CLOCK_BREAKPOINT && !breakpoint))
		return 0;
	if (breakpoint) {
		number = jp_map_at(&rules->addresses, event->sample.ip, sizeof(*number));
		if (!number)
			return -ENOMEM;
		attr = *number = *number ?: rules->addresses.count;
		if (attr > UINT16_MAX)
			return 0;
	}
	task_event = jp_map_at(&rules->events,
			       (uint64_t)event->tid << 32 | attr << 16 | (event->cpu & UINT16_MAX),
			       sizeof(*task_event));
	if (!task_event)
		return -ENOMEM;
	if (task_event->id && task_event->id != event->id && task_event->born == order->born)
		*cause = "other-event";
	*task_event = (struct task_event){event->id, order->born};
	return 0;
}

/* Checks a record that the kernel wrote. */
static int check_live_record(struct record_rules *rules, const struct jp_event *event,
			     const char **cause)
{
	const bool is_sample = event->type == JP_EVENT_SAMPLE;
	const uint32_t cpus = rules->view->evidence->watched.cpus;
	const bool is_located =
		event->asked->cpus && (is_sample ? event->asked->ids : is_live(rules, event));
	int failed;

	*cause = jp_record_check_live_fields(event)
			 ?: (is_sample ? check_dump(rules, event)
				       : check_task(rules, event)); /* perf_event_mmap_match() */
	if (!*cause && event->type == JP_EVENT_MAP && !(event->map.prot & JP_PROT_EXEC) &&
	    !event->asked->data && is_live(rules, event))
		*cause = "not-asked";
	if (!*cause && event->asked->cpus && cpus && event->cpu >= cpus)
		*cause = "no-such-cpu";
	failed = !*cause && is_located ? check_place(rules, event, cause) : 0;
	failed = failed ?: !*cause && event->asked->threads ? check_order(rules, event, cause) : 0;
	return failed ?: !*cause && is_sample && is_located ? check_event(rules, event, cause) : 0;
}

static int report(struct record_rules *rules, const char *cause, const struct jp_event *event)
{
	rules->nr_bad++;
	return jp_findings_count_failure(&rules->view->findings, "records.bad", cause,
					 "record of type %" PRIu32 " at %" PRIu64 " of %" PRIu32
					 "/%" PRIu32 ", event %" PRIu32 " with id %" PRIu64
					 " on CPU %" PRIu32,
					 event->record_type, event->time, event->pid, event->tid,
					 event->attr, event->id, event->cpu);
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	const struct jp_evidence *evidence = view->evidence;
	struct record_rules *rules = view->state;
	const char *cause;
	int failed = 0;

	if (!event->asked || !event->record || event->record_type >= JP_PERF_RECORD_USER)
		return 0;
	rules->records++;
	cause = check_type(event) ?: jp_record_check_fields(event, evidence->info.first_enabled);
	if (!cause && !event->id && has_event(rules, event))
		cause = "no-event";
	if (!cause && is_from_kernel(event))
		failed = check_live_record(rules, event, &cause);
	return cause && !failed ? report(rules, cause, event) : failed;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct record_rules *rules = view->state;

	jp_findings_add_rate(&view->findings, "records.bad", rules->nr_bad, rules->records);
	return 0;
}

static void free_rules(void *state)
{
	struct record_rules *rules = state;

	jp_map_free(&rules->places);
	jp_map_free(&rules->ids);
	jp_map_free(&rules->threads);
	jp_map_free(&rules->events);
	jp_map_free(&rules->addresses);
}

JP_DEFINE(validator, record_rules) = {
	.name = "record_rules",
	.state_size = sizeof(struct record_rules),
	.handle = handle_event,
	.end = end,
	.free = free_rules,
};
