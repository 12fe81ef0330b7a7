// SPDX-License-Identifier: GPL-2.0-only
/* Tasks: each thread and process must have one FORK and one EXIT, at the right time and with the
 * right parent. Other tasks must not occur. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/order.h"
#include "harness/judge/validator.h"
#include "harness/model/oracle/tasks.h"
#include "validators/sample_class.h"

static const struct jp_role wrong_tasks = {.column = "tasks"};
static const struct jp_role strange_tasks = {.faults = "invented"};

struct task_records {
	bool fork, exit;
	uint64_t synthesized; /* 1 + the newest time before the last synthesized FORK; 0: none */
	bool has_name;        /* a COMM record can belong to this task */
	bool needs_fork;      /* its events wrote later records, so its FORK must exist, too */
	bool is_sampled;
};

struct task_state {
	struct jp_view *view;
	struct jp_tasks tasks;
	struct task_records *records; /* one for each task */
	bool has_attached;            /* the capture attached to a running process */
	uint32_t target; /* the process whose threads are watched, with their children */
	uint64_t newest; /* in a folder of files: newest time of the kernel's records so far */
	uint64_t forks, wrong_forks, exits, wrong_exits, samples, strangers;
};

static const struct jp_capture_info *get_capture_info(const struct task_state *state)
{
	return &state->view->evidence->info;
}

static struct task_records *get_task_records(const struct task_state *state,
					     const struct jp_task *task)
{
	return &state->records[task - state->tasks.tasks];
}

/* Returns whether the kernel wrote the record: our capture states when its first event was enabled;
 * for other profilers, any record with a time counts as the kernel's. */
static bool is_live(const struct task_state *state, const struct jp_event *event)
{
	const struct jp_capture_info *info = get_capture_info(state);

	return event->time >= (info->first_enabled ?: 1);
}

/* Returns whether @time may lie in [@from_ns, @to_ns], all in ns. */
static bool is_within(const struct task_state *state, uint64_t time, uint64_t from_ns,
		      uint64_t to_ns)
{
	const uint64_t slack = get_capture_info(state)->slack;

	return time + slack >= from_ns && (to_ns == UINT64_MAX || time <= to_ns + slack);
}

static const struct jp_task *find_previous_task(const struct task_state *state,
						const struct jp_task *task)
{
	return task > state->tasks.tasks && task[-1].tid == task->tid ? task - 1 : NULL;
}

static int report(struct task_state *state, const char *kind, const char *cause,
		  const struct jp_event *event)
{
	return jp_findings_count_failure(
		&state->view->findings, kind, cause, "%s of %u/%u by %u/%u at %" PRIu64,
		event->type == JP_EVENT_FORK ? "FORK" : "EXIT", event->pid, event->tid,
		event->task.ppid, event->task.ptid, event->time);
}

static const char *find_stranger_cause(const struct task_state *state, const struct jp_event *event)
{
	const struct jp_evidence *evidence = state->view->evidence;

	/* perf_event_pid_type() gives a thread this number after it was released. */
	return event->tid == UINT32_MAX && jp_sample_is_watched(evidence, event->pid, UINT64_MAX)
		       ? "released"
		       : jp_sample_stranger_cause(evidence, event->pid);
}

/* Returns whether @recorded, a record's parent, is right. @known: the true parent; 0: unknown. */
static bool is_parent(uint32_t recorded, uint32_t known)
{
	return !known || recorded == known;
}

/* Returns whether the times of a synthesized FORK are possible: 0, or while the task existed. In
 * our captures the time in its body is that of the start, before any event was enabled. */
static bool has_synthesized_time(const struct task_state *state, const struct jp_event *event,
				 const struct jp_task *task)
{
	const uint64_t first = get_capture_info(state)->first_enabled;

	if (event->time && !is_within(state, event->time, task->before, task->ended))
		return false;
	return !first || !state->view->evidence->watched.started ||
	       is_within(state, event->task.time, state->view->evidence->watched.started, first);
}

/* Returns the cause if a synthesized FORK is wrong, else NULL. Its parent is the parent process for
 * a first thread, and the first thread for others. perf record --switch-output states the running
 * tasks at the start of each file. */
static const char *check_synthesized(struct task_state *state, const struct jp_event *event)
{
	const struct jp_task *task =
		jp_tasks_at(&state->tasks, event->tid,
			    state->newest ? UINT64_MAX : get_capture_info(state)->sampling);
	uint32_t parent;

	if (!task || task->pid != event->pid)
		return find_stranger_cause(state, event);
	if (!has_synthesized_time(state, event, task))
		return "other-time";
	if (get_task_records(state, task)->synthesized == state->newest + 1)
		return "twice";
	get_task_records(state, task)->synthesized = state->newest + 1;
	parent = task->tid == task->pid ? task->ppid : task->pid;
	return is_parent(event->task.ppid, parent) && event->task.ptid == event->task.ppid
		       ? NULL
		       : "other-parent";
}

static const char *check_fork(struct task_state *state, const struct jp_event *event)
{
	const struct jp_task *task = jp_tasks_at(&state->tasks, event->tid,
						 event->time + get_capture_info(state)->slack);

	/* The brackets of two tasks with the same tid may overlap. */
	while (task && !(task->is_forked && !get_task_records(state, task)->fork) &&
	       find_previous_task(state, task) && is_within(state, event->time, 0, task->after) &&
	       is_within(state, event->time, find_previous_task(state, task)->before,
			 find_previous_task(state, task)->after))
		task = find_previous_task(state, task);
	if (!task || task->pid != event->pid)
		return find_stranger_cause(state, event);
	if (get_task_records(state, task)->fork)
		return "twice";
	if (!task->is_forked || !is_within(state, event->time, task->before, task->after) ||
	    !is_within(state, event->task.time, task->before, task->after))
		return "other-time";
	get_task_records(state, task)->fork = true;
	return is_parent(event->task.ppid, task->ppid) && is_parent(event->task.ptid, task->ptid)
		       ? NULL
		       : "other-parent";
}

/* Returns the parent of @task's process at @time; 0: unknown, as orphans get another parent. */
static uint32_t find_parent(const struct task_state *state, const struct jp_task *task,
			    uint64_t time)
{
	const struct jp_task *first = jp_tasks_at(&state->tasks, task->pid, time), *parent;

	while (first && !first->ppid && find_previous_task(state, first))
		first = find_previous_task(state, first);
	if (!first || first->pid != task->pid)
		return 0;
	parent = jp_tasks_at(&state->tasks, first->ppid, time);
	return parent && parent->ending <= time + get_capture_info(state)->slack ? 0 : first->ppid;
}

static const char *check_exit(struct task_state *state, const struct jp_event *event)
{
	const struct jp_task *task = jp_tasks_at(&state->tasks, event->tid,
						 event->time + get_capture_info(state)->slack);
	const struct jp_task *last = task;
	uint32_t parent;

	while (task && !(task->exits && !get_task_records(state, task)->exit &&
			 is_within(state, event->time, task->ending, task->ended)))
		task = find_previous_task(state, task);
	if (!last || last->pid != event->pid)
		return find_stranger_cause(state, event);
	if (!task)
		return get_task_records(state, last)->exit ? "twice" : "other-time";
	get_task_records(state, task)->exit = true;
	if (!is_within(state, event->task.time, task->ending, task->ended))
		return "other-time";
	if (!event->record)
		return NULL; /* streams of observations state no parent */
	/* perf_event_task() (kernel/events/core.c) writes the parent process as ppid and ptid. */
	parent = find_parent(state, task, event->time);
	return is_parent(event->task.ppid, parent) && event->task.ptid == event->task.ppid
		       ? NULL
		       : "other-parent";
}

static int judge_sample(struct task_state *state, const struct jp_event *event)
{
	const struct jp_task *task = jp_tasks_at(&state->tasks, event->tid,
						 event->time + get_capture_info(state)->slack);

	state->samples++;
	while (task && !is_within(state, event->time, task->before, task->ended))
		task = find_previous_task(state, task);
	if (task && task->pid == event->pid) {
		get_task_records(state, task)->is_sampled = true;
		return 0;
	}
	/* Profilers of the whole machine also sample other processes, so ignore these. */
	if (state->view->evidence->declared.system_wide &&
	    !jp_sample_is_watched(state->view->evidence, event->pid, UINT64_MAX))
		return 0;
	state->strangers++;
	return jp_findings_count_failure(
		&state->view->findings, "tasks.strangers", find_stranger_cause(state, event),
		"a sample of thread %u/%u at %" PRIu64 ": the workload has no such thread then",
		event->pid, event->tid, event->time);
}

/* Notes a COMM record about a name from before the events were enabled: a synthesized record, or a
 * record of the first enabled event. */
static void note_name(struct task_state *state, const struct jp_event *event)
{
	const struct jp_capture_info *info = get_capture_info(state);
	const struct jp_task *task = jp_tasks_at(&state->tasks, event->tid, info->sampling);

	if (event->time < (info->first_enabled ?: info->enabled) && task && task->pid == event->pid)
		get_task_records(state, task)->has_name = true;
}

/* Notes a COMM record of an exec: the process's FORK must exist, too, unless its events were
 * disabled or enabled in between. */
static void note_exec(struct task_state *state, const struct jp_event *event)
{
	const struct jp_intervals *intervals = &state->view->evidence->intervals;
	const struct jp_task *task = jp_tasks_at(&state->tasks, event->tid,
						 event->time + get_capture_info(state)->slack);
	const struct jp_task_name *name = jp_tasks_name(
		&state->tasks, event->tid, event->time + get_capture_info(state)->slack);
	bool is_switched = false;

	/* A synthesized name has another time. */
	if (!name || !name->exec || !is_within(state, event->time, name->before, name->after))
		return;
	if (!task ||
	    task->before <= get_capture_info(state)->enabled + get_capture_info(state)->slack)
		return;
	for (size_t i = 0; i < intervals->nr_intervals; i++)
		is_switched |= (intervals->intervals[i].enabled >= task->before &&
				intervals->intervals[i].enabling <= event->time) ||
			       (intervals->intervals[i].disabled >= task->before &&
				intervals->intervals[i].disabling <= event->time);
	get_task_records(state, task)->needs_fork |= !is_switched;
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct task_state *state = view->state;
	const char *cause;

	if (view->summary->in_parts && is_live(state, event))
		state->newest = jp_max(state->newest, event->time);
	switch (event->type) {
	case JP_EVENT_FORK:
		state->forks++;
		cause = is_live(state, event) ? check_fork(state, event)
					      : check_synthesized(state, event);
		state->wrong_forks += cause != NULL;
		return cause ? report(state, "fork.records", cause, event) : 0;
	case JP_EVENT_EXIT:
		state->exits++;
		cause = check_exit(state, event);
		state->wrong_exits += cause != NULL;
		return cause ? report(state, "exit.records", cause, event) : 0;
	case JP_EVENT_COMM:
		note_name(state, event);
		if (event->comm.exec && is_live(state, event) && event->record)
			note_exec(state, event);
		return 0;
	case JP_EVENT_SAMPLE:
		return judge_sample(state, event);
	default:
		return 0;
	}
}

/* Returns whether the sideband events were enabled all the time from @from_ns to @to_ns. */
static bool are_events_enabled(const struct task_state *state, uint64_t from_ns, uint64_t to_ns)
{
	const struct jp_evidence *evidence = state->view->evidence;
	const struct jp_intervals *intervals = &evidence->intervals;
	const uint64_t slack = evidence->info.slack;

	if (from_ns <= evidence->info.enabled + slack || to_ns == UINT64_MAX ||
	    to_ns + slack >= evidence->info.stopped)
		return false;
	if (!jp_evidence_gates_records(evidence))
		return true;
	/* Each interval enables the events of all processes. */
	for (size_t i = 0; i < intervals->nr_intervals; i++)
		if (from_ns > intervals->intervals[i].enabled + slack &&
		    to_ns + slack < intervals->intervals[i].disabling)
			return true;
	return false;
}

/* Returns whether the capture watches the task. An attach watches the threads of one process and
 * their later children. */
static bool is_watched(struct task_state *state, const struct jp_task *task, unsigned depth)
{
	const struct jp_task *maker;

	if (!state->has_attached)
		return true;
	if (task->after <= get_capture_info(state)->enabled)
		return task->pid == state->target;
	maker = jp_tasks_at(&state->tasks, task->ptid ?: task->ppid, task->before);
	return maker && maker != task && depth < 64 && is_watched(state, maker, depth + 1);
}

/* Returns whether the task existed before the events were enabled and after the attach, so that its
 * records must be synthesized. */
static bool must_be_synthesized(const struct task_state *state, const struct jp_task *task)
{
	const struct jp_capture_info *info = get_capture_info(state);
	uint64_t first = info->first_enabled ?: info->enabled;

	if (strcmp(info->order, "snapshot-first") == 0)
		first = state->view->evidence->watched.started;
	return state->has_attached && task->after + info->slack < first &&
	       task->ending > info->sampling + info->slack;
}

static int report_missing_record(struct task_state *state, const char *kind,
				 const struct jp_task *task, uint64_t from_ns, uint64_t to_ns)
{
	return jp_findings_count_failure(
		&state->view->findings, kind,
		jp_evidence_is_process_older(state->view->evidence, task->pid, from_ns)
			? "not-watched"
			: "no-record",
		"thread %u/%u, from %" PRIu64 " to %" PRIu64 " at most: no record states it",
		task->pid, task->tid, from_ns, to_ns);
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct task_state *state = view->state;
	uint64_t forks = 0, no_forks = 0, exits = 0, no_exits = 0, names = 0, no_names = 0;
	int failed = 0;

	for (size_t i = 0; i < state->tasks.count && !failed; i++) {
		const struct jp_task *task = &state->tasks.tasks[i];
		const struct task_records *records = &state->records[i];
		bool is_fork =
			task->is_forked && (records->needs_fork ||
					    are_events_enabled(state, task->before, task->after));
		/* Our capture synthesizes a FORK for each thread that it finds and opens events
		 * for. */
		bool is_forked = task->is_forked && records->is_sampled &&
				 get_capture_info(state)->first_enabled &&
				 strcmp(get_capture_info(state)->order, "enable-first") == 0 &&
				 !jp_evidence_is_gated(view->evidence);
		bool needs_name = must_be_synthesized(state, task);
		/* At an attach, perf synthesizes only names. */
		bool is_synthesized = needs_name && get_capture_info(state)->first_enabled;
		bool is_exit = task->exits && are_events_enabled(state, task->ending, task->ended);
		/* Our capture synthesizes both records for each thread that it finds. */
		bool are_both = state->has_attached &&
				(records->synthesized || records->has_name) &&
				get_capture_info(state)->first_enabled;

		is_synthesized |= are_both;
		needs_name |= are_both;
		if (!(is_fork || is_forked || needs_name || is_exit) || !is_watched(state, task, 0))
			continue;
		forks += is_fork || is_forked || is_synthesized;
		exits += is_exit;
		names += needs_name;
		if (needs_name && !records->has_name) {
			no_names++;
			failed = report_missing_record(state, "comm.missing", task, task->before,
						       task->after);
		}
		if (!failed &&
		    ((is_fork && !records->fork) || (is_synthesized && !records->synthesized) ||
		     (is_forked && !records->fork && !records->synthesized))) {
			no_forks++;
			failed = report_missing_record(state, "fork.missing", task, task->before,
						       task->after);
		}
		if (is_exit && !records->exit && !failed) {
			no_exits++;
			failed = report_missing_record(state, "exit.missing", task, task->ending,
						       task->ended);
		}
	}
	const struct {
		const char *name;
		uint64_t k, n;
		const struct jp_role *role;
	} rates[] = {{"fork.records", state->wrong_forks, state->forks, &wrong_tasks},
		     {"fork.missing", no_forks, forks, &wrong_tasks},
		     {"exit.records", state->wrong_exits, state->exits, &wrong_tasks},
		     {"exit.missing", no_exits, exits, &wrong_tasks},
		     {"comm.missing", no_names, names, &wrong_tasks},
		     {"tasks.strangers", state->strangers, state->samples, &strange_tasks}};

	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++)
		jp_findings_add_role_rate(&view->findings, rates[i].role, rates[i].name, rates[i].k,
					  rates[i].n);
	return failed;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	const struct jp_truth *truth = view->evidence->truth;
	const struct jp_event *launch = jp_evidence_get_launch(view->evidence);
	struct task_state *state = view->state;

	if (truth->version < JP_TRUTH_VERSION_CPU)
		return 1;
	if (jp_tasks_collect(truth, &state->tasks))
		return -ENOMEM;
	state->records = calloc(state->tasks.count + 1, sizeof(*state->records));
	if (launch) {
		state->target = launch->pid;
		state->has_attached = launch->before < view->evidence->info.enabled;
	}
	return state->records ? 0 : -ENOMEM;
}

static void free_tasks(void *context)
{
	struct task_state *state = context;

	jp_tasks_free(&state->tasks);
	free(state->records);
}

JP_DEFINE(validator, tasks_validator) = {
	.name = "tasks",
	.traits = JP_LACKS_RECORDS | JP_LACKS_REGISTERS | JP_LACKS_NAMES | JP_LACKS_MAPPINGS |
		  JP_LACKS_ADDRESSES,
	.state_size = sizeof(struct task_state),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_tasks,
};
