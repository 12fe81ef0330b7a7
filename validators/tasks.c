// SPDX-License-Identifier: GPL-2.0-only
/* Tasks: each thread and process begins with one FORK and ends with one EXIT, at its time, by its
 * creator. The capture must not state any other task. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/judge/validator.h"
#include "harness/model/oracle/tasks.h"
#include "validators/sample_class.h"

static const struct jp_role wrong_tasks = {.column = "tasks"};

/* The records that the capture has for one task. */
struct task_told {
	bool fork, made, exit; /* made: a FORK for a task that existed before */
	bool named;            /* a COMM for a task that existed before */
	bool owed;             /* records that came after its FORK, from the same events, exist */
	bool sampled;
};

struct task_state {
	struct jp_view *view;
	struct jp_tasks tasks;
	struct task_told *told; /* one for each task */
	bool attached;          /* the capture attached to a running process */
	uint32_t target;        /* the process whose threads are watched, with their children */
	uint64_t forks, wrong_forks, exits, wrong_exits, samples, strangers;
};

static const struct jp_capture_info *info_of(const struct task_state *state)
{
	return &state->view->evidence->info;
}

static struct task_told *told_of(const struct task_state *state, const struct jp_task *task)
{
	return &state->told[task - state->tasks.tasks];
}

/* Returns whether the kernel wrote the record live, rather than a reader of /proc. Ours states when
 * its first event was on. Other profilers' events may be on before they report it, so each of their
 * records with a time is the kernel's. */
static bool live(const struct task_state *state, const struct jp_event *event)
{
	const struct jp_capture_info *info = info_of(state);

	return event->time >= (info->first_enabled ?: 1);
}

static bool happens(const struct task_state *state, uint64_t time, uint64_t from, uint64_t to)
{
	const uint64_t slack = info_of(state)->slack;

	return time + slack >= from && (to == UINT64_MAX || time <= to + slack);
}

/* Returns the task before @task with the same tid, or NULL. */
static const struct jp_task *earlier(const struct task_state *state, const struct jp_task *task)
{
	return task > state->tasks.tasks && task[-1].tid == task->tid ? task - 1 : NULL;
}

static int except(struct task_state *state, const char *kind, const char *cause,
		  const struct jp_event *event)
{
	return jp_findings_except(&state->view->findings, kind, cause,
				  "%s of %u/%u by %u/%u at %" PRIu64,
				  event->type == JP_EVENT_FORK ? "FORK" : "EXIT", event->pid,
				  event->tid, event->task.ppid, event->task.ptid, event->time);
}

static const char *stranger(const struct task_state *state, const struct jp_event *event)
{
	return jp_sample_stranger(state->view->evidence, event->pid);
}

/* Returns whether the stated parent is right; the truth does not know a parent of 0. */
static bool is_parent(uint32_t told, uint32_t known)
{
	return !known || told == known;
}

/* Returns whether the time in the record is possible: a reader of /proc states when it read, or 0.
 * Ours states when the capture began, before any event was on. */
static bool is_made_then(const struct task_state *state, const struct jp_event *event,
			 const struct jp_task *task)
{
	const uint64_t first = info_of(state)->first_enabled;

	if (event->time && !happens(state, event->time, task->before, task->ended))
		return false;
	return !first || !state->view->evidence->watched.started ||
	       happens(state, event->task.time, state->view->evidence->watched.started, first);
}

/* Returns what is wrong with a FORK for a task that existed before, or NULL. A reader of /proc sees
 * the parent process, and states a process's first thread as the creator of the others. */
static const char *made_fault(struct task_state *state, const struct jp_event *event)
{
	const struct jp_task *task =
		jp_tasks_at(&state->tasks, event->tid, info_of(state)->sampling);
	uint32_t parent;

	if (!task || task->pid != event->pid)
		return stranger(state, event);
	if (!is_made_then(state, event, task))
		return "other-time";
	if (told_of(state, task)->made)
		return "twice";
	told_of(state, task)->made = true;
	parent = task->tid == task->pid ? task->ppid : task->pid;
	return is_parent(event->task.ppid, parent) && event->task.ptid == event->task.ppid
		       ? NULL
		       : "other-parent";
}

static const char *fork_fault(struct task_state *state, const struct jp_event *event)
{
	const struct jp_task *task =
		jp_tasks_at(&state->tasks, event->tid, event->time + info_of(state)->slack);

	/* The brackets of two lives with one number may touch. */
	while (task && !(task->forked && !told_of(state, task)->fork) && earlier(state, task) &&
	       happens(state, event->time, 0, task->after) &&
	       happens(state, event->time, earlier(state, task)->before,
		       earlier(state, task)->after))
		task = earlier(state, task);
	if (!task || task->pid != event->pid)
		return stranger(state, event);
	if (told_of(state, task)->fork)
		return "twice";
	if (!task->forked || !happens(state, event->time, task->before, task->after) ||
	    !happens(state, event->task.time, task->before, task->after))
		return "other-time";
	told_of(state, task)->fork = true;
	return is_parent(event->task.ppid, task->ppid) && is_parent(event->task.ptid, task->ptid)
		       ? NULL
		       : "other-parent";
}

/* Returns the parent of @task's process at @time; 0: unknown. An orphan gets another parent. */
static uint32_t parent_at(const struct task_state *state, const struct jp_task *task, uint64_t time)
{
	const struct jp_task *first = jp_tasks_at(&state->tasks, task->pid, time), *parent;

	while (first && !first->ppid && earlier(state, first))
		first = earlier(state, first);
	if (!first || first->pid != task->pid)
		return 0;
	parent = jp_tasks_at(&state->tasks, first->ppid, time);
	return parent && parent->ending <= time + info_of(state)->slack ? 0 : first->ppid;
}

static const char *exit_fault(struct task_state *state, const struct jp_event *event)
{
	const struct jp_task *task =
		jp_tasks_at(&state->tasks, event->tid, event->time + info_of(state)->slack);
	const struct jp_task *last = task;
	uint32_t parent;

	while (task && !(task->exits && !told_of(state, task)->exit &&
			 happens(state, event->time, task->ending, task->ended)))
		task = earlier(state, task);
	if (!last || last->pid != event->pid)
		return stranger(state, event);
	if (!task)
		return told_of(state, last)->exit ? "twice" : "other-time";
	told_of(state, task)->exit = true;
	if (!happens(state, event->task.time, task->ending, task->ended))
		return "other-time";
	if (!event->record)
		return NULL; /* a stream of observations states no parent */
	/* perf_event_task() (kernel/events/core.c): both numbers are the process's parent. */
	parent = parent_at(state, task, event->time);
	return is_parent(event->task.ppid, parent) && event->task.ptid == event->task.ppid
		       ? NULL
		       : "other-parent";
}

static int judge_sample(struct task_state *state, const struct jp_event *event)
{
	const struct jp_task *task =
		jp_tasks_at(&state->tasks, event->tid, event->time + info_of(state)->slack);

	state->samples++;
	while (task && !happens(state, event->time, task->before, task->ended))
		task = earlier(state, task);
	if (task && task->pid == event->pid) {
		told_of(state, task)->sampled = true;
		return 0;
	}
	/* If the profiler watches the whole machine, other processes have samples too. */
	if (state->view->evidence->declared.system_wide &&
	    !jp_sample_watched(state->view->evidence, event->pid, UINT64_MAX))
		return 0;
	state->strangers++;
	return jp_findings_except(&state->view->findings, "tasks.strangers", stranger(state, event),
				  "a sample of thread %u/%u at %" PRIu64
				  ": the workload has no such thread then",
				  event->pid, event->tid, event->time);
}

/* Notes a name that was stated when the events were turned on: read from /proc, or by the first
 * event. */
static void note_made(struct task_state *state, const struct jp_event *event)
{
	const struct jp_capture_info *info = info_of(state);
	const struct jp_task *task = jp_tasks_at(&state->tasks, event->tid, info->sampling);

	if (event->time < (info->first_enabled ?: info->enabled) && task && task->pid == event->pid)
		told_of(state, task)->named = true;
}

/* Notes an exec: the process must have had records before, unless events were switched between. */
static void note_exec(struct task_state *state, const struct jp_event *event)
{
	const struct jp_intervals *intervals = &state->view->evidence->intervals;
	const struct jp_task *task =
		jp_tasks_at(&state->tasks, event->tid, event->time + info_of(state)->slack);
	const struct jp_task_name *name =
		jp_tasks_name(&state->tasks, event->tid, event->time + info_of(state)->slack);
	bool switched = false;

	/* A name that is read from /proc comes later. */
	if (!name || !name->exec || !happens(state, event->time, name->before, name->after))
		return;
	if (!task || task->before <= info_of(state)->enabled + info_of(state)->slack)
		return;
	for (size_t i = 0; i < intervals->nr_intervals; i++)
		switched |= (intervals->intervals[i].enabled >= task->before &&
			     intervals->intervals[i].enabling <= event->time) ||
			    (intervals->intervals[i].disabled >= task->before &&
			     intervals->intervals[i].disabling <= event->time);
	told_of(state, task)->owed |= !switched;
}

static int see(struct jp_view *view, const struct jp_event *event)
{
	struct task_state *state = view->state;
	const char *cause;

	switch (event->type) {
	case JP_EVENT_FORK:
		state->forks++;
		cause = live(state, event) ? fork_fault(state, event) : made_fault(state, event);
		state->wrong_forks += cause != NULL;
		return cause ? except(state, "fork.records", cause, event) : 0;
	case JP_EVENT_EXIT:
		state->exits++;
		cause = exit_fault(state, event);
		state->wrong_exits += cause != NULL;
		return cause ? except(state, "exit.records", cause, event) : 0;
	case JP_EVENT_COMM:
		note_made(state, event);
		if (event->comm.exec && live(state, event) && event->record)
			note_exec(state, event);
		return 0;
	case JP_EVENT_SAMPLE:
		return judge_sample(state, event);
	default:
		return 0;
	}
}

/* Returns whether the sideband events were on all the time from @from to @to. */
static bool on(const struct task_state *state, uint64_t from, uint64_t to)
{
	const struct jp_evidence *evidence = state->view->evidence;
	const struct jp_intervals *intervals = &evidence->intervals;
	const uint64_t slack = evidence->info.slack;

	if (from <= evidence->info.enabled + slack || to == UINT64_MAX ||
	    to + slack >= evidence->info.stopped)
		return false;
	if (!jp_evidence_gates_records(evidence))
		return true;
	/* During the interval of a process the events of all are enabled. */
	for (size_t i = 0; i < intervals->nr_intervals; i++)
		if (from > intervals->intervals[i].enabled + slack &&
		    to + slack < intervals->intervals[i].disabling)
			return true;
	return false;
}

/* Returns whether the capture watches the task: an attach watches the threads of one process and
 * their later children. */
static bool is_watched(struct task_state *state, const struct jp_task *task, unsigned depth)
{
	const struct jp_task *maker;

	if (!state->attached)
		return true;
	if (task->after <= info_of(state)->enabled)
		return task->pid == state->target;
	maker = jp_tasks_at(&state->tasks, task->ptid ?: task->ppid, task->before);
	return maker && maker != task && depth < 64 && is_watched(state, maker, depth + 1);
}

/* Returns whether the task existed before the events, and still when all was read. */
static bool to_be_made(const struct task_state *state, const struct jp_task *task)
{
	const struct jp_capture_info *info = info_of(state);
	uint64_t first = info->first_enabled ?: info->enabled;

	if (strcmp(info->order, "snapshot-first") == 0)
		first = state->view->evidence->watched.started;
	return state->attached && task->after + info->slack < first &&
	       task->ending > info->sampling + info->slack;
}

static int miss(struct task_state *state, const char *kind, const struct jp_task *task,
		uint64_t from, uint64_t to)
{
	return jp_findings_except(&state->view->findings, kind, "no-record",
				  "thread %u/%u, from %" PRIu64 " to %" PRIu64
				  " at most: no record tells of it",
				  task->pid, task->tid, from, to);
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct task_state *state = view->state;
	uint64_t forks = 0, no_forks = 0, exits = 0, no_exits = 0, names = 0, no_names = 0;
	int failed = 0;

	for (size_t i = 0; i < state->tasks.count && !failed; i++) {
		const struct jp_task *task = &state->tasks.tasks[i];
		const struct task_told *told = &state->told[i];
		bool fork = task->forked && (told->owed || on(state, task->before, task->after));
		/* Ours opens events for each thread that it finds, and writes a record for it. */
		bool found = task->forked && told->sampled && info_of(state)->first_enabled &&
			     strcmp(info_of(state)->order, "enable-first") == 0 &&
			     !jp_evidence_gated(view->evidence);
		bool named = to_be_made(state, task);
		/* At an attach perf writes names only. */
		bool made = named && info_of(state)->first_enabled;
		bool exit = task->exits && on(state, task->ending, task->ended);
		/* Ours writes both records for each thread that it finds, even if the thread ends
		 * during the search. */
		bool both = state->attached && (told->made || told->named) &&
			    info_of(state)->first_enabled;

		made |= both;
		named |= both;
		if (!(fork || found || named || exit) || !is_watched(state, task, 0))
			continue;
		forks += fork || found || made;
		exits += exit;
		names += named;
		if (named && !told->named) {
			no_names++;
			failed = miss(state, "comm.missing", task, task->before, task->after);
		}
		if (!failed && ((fork && !told->fork) || (made && !told->made) ||
				(found && !told->fork && !told->made))) {
			no_forks++;
			failed = miss(state, "fork.missing", task, task->before, task->after);
		}
		if (exit && !told->exit && !failed) {
			no_exits++;
			failed = miss(state, "exit.missing", task, task->ending, task->ended);
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
		     {"tasks.strangers", state->strangers, state->samples, NULL}};

	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++)
		jp_findings_add_as(&view->findings, rates[i].role,
				   jp_metric_rate(rates[i].name, rates[i].k, rates[i].n));
	return failed;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	const struct jp_truth *truth = view->evidence->truth;
	struct task_state *state;

	if (truth->version < JP_TRUTH_VERSION_CPU)
		return 0;
	state = view->state = calloc(1, sizeof(*state));
	if (!state || jp_tasks_of(truth, &state->tasks))
		return -ENOMEM;
	state->view = view;
	state->told = calloc(state->tasks.count + 1, sizeof(*state->told));
	for (size_t i = 0; i < truth->nr_acts; i++) {
		const struct jp_event *act = &truth->acts[i];

		if (act->type != JP_EVENT_EXEC || act->task.how != JP_HOW_LAUNCH)
			continue;
		state->target = act->pid;
		state->attached = act->before < view->evidence->info.enabled;
	}
	return state->told ? 0 : -ENOMEM;
}

static void free_tasks(void *context)
{
	struct task_state *state = context;

	jp_tasks_free(&state->tasks);
	free(state->told);
	free(state);
}

static const struct jp_validator tasks_validator = {
	.name = "tasks",
	.help = "has each thread and process its FORK and its EXIT, and is nobody invented?",
	.traits = JP_LACKS_RECORDS | JP_LACKS_REGISTERS | JP_LACKS_NAMES | JP_LACKS_MAPPINGS |
		  JP_LACKS_ADDRESSES,
	.begin = begin,
	.see = see,
	.end = end,
	.free = free_tasks,
};
JP_REGISTER(validator, tasks_validator);
