// SPDX-License-Identifier: GPL-2.0-only
/* Thread names: compares COMM records, and the name of each thread when it is sampled, with the
 * truth. A thread has its creator's name until a COMM record changes that. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/map.h"
#include "harness/base/text_pool.h"
#include "harness/judge/validator.h"
#include "harness/model/oracle/tasks.h"
#include "validators/gate_names.h"
#include "validators/sample_class.h"

#define PERF "perf"

/* The name of a thread according to the capture. */
struct thread_name {
	const char *text;              /* NULL: none */
	const struct jp_task *sampled; /* the thread with this tid that was sampled last */
	bool is_reported;              /* a fault of @sampled has been reported */
};

static const struct jp_role wrong_names = {.column = "tasks"};

struct comm {
	struct jp_view *view;
	struct jp_tasks tasks;
	struct jp_map names; /* tid -> struct thread_name */
	struct jp_text_pool texts;
	bool in_later_file; /* perf record --switch-output names the tasks anew in each file */
	uint64_t records, wrong_records, threads, wrong_threads;
};

/* Returns whether thread @tid may have had the name @text at @time: its name at that time or,
 * within the bracket of a change, the previous name. Stores the later name in *@name. */
static bool may_have_had_name(const struct comm *comm, uint32_t tid, uint64_t time,
			      const char *text, const struct jp_task_name **name)
{
	const uint64_t slack = comm->view->evidence->info.slack;
	const struct jp_task_name *task_name = jp_tasks_name(&comm->tasks, tid, time + slack);

	*name = task_name;
	for (; task_name && task_name->tid == tid; task_name--) {
		if (task_name->text && strcmp(task_name->text, text) == 0)
			return true;
		if (time > task_name->after + slack || task_name == comm->tasks.names)
			return false;
	}
	return false;
}

/* Returns whether the exec flag (PERF_RECORD_MISC_COMM_EXEC) of @event is right: with it, readers
 * drop all mappings of the process. @is_synthesized: the record was synthesized from /proc and must
 * not have the flag. Accepts records that a gate backfills, which gate_names.c judges, and events
 * that a control left out, which have no record. */
static bool has_right_exec_flag(const struct comm *comm, const struct jp_task_name *name,
				const struct jp_event *event, bool is_synthesized)
{
	const uint64_t slack = comm->view->evidence->info.slack;
	bool is_exec = false, had_other_name = false;

	if (!event->record || jp_gate_find_backfill(comm->view->evidence, event))
		return true;
	if (is_synthesized)
		return !event->comm.exec;
	for (const struct jp_task_name *task_name = name; task_name->tid == event->tid;
	     task_name--) {
		bool is_possible = task_name->before <= event->time + slack &&
				   event->time <= task_name->after + slack;

		is_exec |= is_possible && (task_name->exec || task_name->launch);
		had_other_name |= is_possible && !task_name->exec;
		if (task_name == comm->tasks.names)
			break;
	}
	return event->comm.exec ? is_exec : !is_exec || had_other_name;
}

/* Returns whether @text is the launcher's name before its exec: perf-exec for perf's child
 * (tools/perf/util/evlist.c), before 5.15 perf's own name, which Debian extends as in perf_5.10. */
static bool is_launcher(const struct jp_task_name *name, const char *text)
{
	const char *suffix = text + strlen(PERF);

	return name && name->launch && strncmp(text, PERF, strlen(PERF)) == 0 &&
	       (!*suffix || *suffix == '_' || strcmp(suffix, "-exec") == 0);
}

static int judge_record(struct comm *comm, const struct jp_event *event)
{
	const struct jp_capture_info *info = &comm->view->evidence->info;
	/* Records that our capture synthesized describe any time before sampling began. perf's have
	 * time 0; perf may enable its events before it reports that. */
	bool is_synthesized = event->time < (info->first_enabled ?: 1);
	const struct jp_task_name *name;
	const char *cause;
	bool is_right = may_have_had_name(
		comm, event->tid,
		!is_synthesized       ? jp_gate_reported_time(comm->view->evidence, event)
		: comm->in_later_file ? UINT64_MAX - info->slack
				      : info->sampling,
		event->comm.name, &name);

	for (const struct jp_task_name *task_name = name;
	     task_name && is_synthesized && !is_right && task_name > comm->tasks.names &&
	     task_name[-1].tid == event->tid;
	     task_name--)
		is_right = task_name[-1].text && strcmp(task_name[-1].text, event->comm.name) == 0;
	is_right |= is_synthesized && is_launcher(name, event->comm.name);
	comm->records++;
	cause = !name || name->pid != event->pid
			? jp_sample_stranger_cause(comm->view->evidence, event->pid)
		: !is_right                                               ? "other-text"
		: !has_right_exec_flag(comm, name, event, is_synthesized) ? "other-exec"
									  : NULL;
	comm->wrong_records += cause != NULL;
	return !cause ? 0
		      : jp_findings_count_failure(
				&comm->view->findings, "comm.records", cause,
				"thread %u/%u at %" PRIu64
				": the capture calls it '%.20s'%s, it was '%.20s'",
				event->pid, event->tid, event->time, event->comm.name,
				event->comm.exec ? " by an exec" : "",
				name && name->text ? name->text : "");
}

static int set_name(struct comm *comm, uint32_t tid, const char *text)
{
	struct jp_text *stored = jp_text_keep(&comm->texts, text, strlen(text));
	struct thread_name *name = jp_map_at(&comm->names, tid, sizeof(*name));

	if (!stored || !name)
		return -ENOMEM;
	name->text = stored->bytes;
	return 0;
}

static int judge_sample(struct comm *comm, const struct jp_event *event)
{
	const struct jp_task *task = jp_tasks_at(&comm->tasks, event->tid, event->time);
	const uint64_t slack = comm->view->evidence->info.slack;
	struct thread_name *known = jp_map_at(&comm->names, event->tid, sizeof(*known));
	const struct jp_task_name *name;
	const struct jp_control *control;

	if (!known)
		return -ENOMEM;
	if (!task || !known->text) /* processes.c reports threads without a name */
		return 0;
	if (known->sampled != task) {
		known->sampled = task;
		known->is_reported = false;
		comm->threads++;
	}
	if (known->is_reported ||
	    may_have_had_name(comm, event->tid, event->time, known->text, &name))
		return 0;
	/* An exec enables events before it sets the name (begin_new_exec() in fs/exec.c). */
	if (is_launcher(name, known->text) && event->time <= name->after + slack)
		return 0;
	known->is_reported = true;
	comm->wrong_threads++;
	control = name ? jp_control_find_missing_exec(comm->view->evidence, name->pid, name->before,
						      name->after)
		       : NULL;
	return jp_findings_count_failure(&comm->view->findings, "comm.threads",
					 control ? control->name : "other-text",
					 "thread %u/%u, sampled at %" PRIu64
					 ": the capture calls it '%.20s', it was '%.20s'",
					 event->pid, event->tid, event->time, known->text,
					 name && name->text ? name->text : "");
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct comm *comm = view->state;
	const struct thread_name *parent;

	comm->in_later_file |= view->summary->in_parts && event->time;
	switch (event->type) {
	case JP_EVENT_COMM:
		return judge_record(comm, event) ?: set_name(comm, event->tid, event->comm.name);
	case JP_EVENT_FORK:
		parent = jp_map_find(&comm->names, event->task.ptid);
		return parent && parent->text ? set_name(comm, event->tid, parent->text) : 0;
	case JP_EVENT_SAMPLE:
		return event->tid ? judge_sample(comm, event) : 0;
	default:
		return 0;
	}
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	struct comm *comm = view->state;

	if (view->evidence->truth->version < 3)
		return 1;
	return jp_tasks_collect(view->evidence->truth, &comm->tasks);
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct comm *comm = view->state;

	jp_findings_add_role_rate(&view->findings, &wrong_names, "comm.records",
				  comm->wrong_records, comm->records);
	jp_findings_add_role_rate(&view->findings, &wrong_names, "comm.threads",
				  comm->wrong_threads, comm->threads);
	return 0;
}

static void free_comm(void *state)
{
	struct comm *comm = state;

	jp_tasks_free(&comm->tasks);
	jp_map_free(&comm->names);
	jp_text_pool_free(&comm->texts);
}

JP_DEFINE(validator, comm_validator) = {
	.name = "comm",
	.traits = JP_LACKS_RECORDS | JP_LACKS_REGISTERS | JP_LACKS_NAMES | JP_LACKS_MAPPINGS |
		  JP_LACKS_ADDRESSES,
	.state_size = sizeof(struct comm),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_comm,
};
