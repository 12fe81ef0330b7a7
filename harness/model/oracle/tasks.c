// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/map.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"

/* Lists hold index + 1, where 0 means none. */
struct tasks_walk {
	struct jp_tasks *tasks;
	size_t *next_of_image; /* for tasks->tasks[i]: the next task of the same process image */
	size_t tasks_capacity, names_capacity, next_capacity, nr_next;
	struct jp_map of_process;  /* pid -> the head of its list */
	struct jp_map ended_tasks; /* pid -> head of its last ended image */
	struct jp_map of_thread;   /* tid -> its running task */
	struct jp_map ended;       /* tid -> its last ended task */
	struct jp_map named;       /* tid -> its last name */
};

/* Returns the start of the bracket of a task's creation; 0 for a launch, whose time is unknown. */
static uint64_t get_start(const struct jp_event *act)
{
	return act->type == JP_EVENT_EXEC && act->task.start_kind == JP_START_LAUNCH ? 0
										     : act->before;
}

static struct jp_task *add_task(struct tasks_walk *walk, const struct jp_event *act)
{
	struct jp_tasks *tasks = walk->tasks;
	size_t *head = jp_map_at(&walk->of_process, act->pid, sizeof(*head));
	size_t *thread = jp_map_at(&walk->of_thread, act->tid, sizeof(*thread));
	struct jp_task *task = jp_array_push(&tasks->tasks, &tasks->count, &walk->tasks_capacity);
	size_t *next = jp_array_push(&walk->next_of_image, &walk->nr_next, &walk->next_capacity);

	if (!head || !thread || !task || !next)
		return NULL;
	*task = (struct jp_task){.pid = act->pid,
				 .tid = act->tid,
				 .ppid = act->task.ppid,
				 .ptid = act->task.ptid,
				 .before = get_start(act),
				 .after = act->after,
				 .ending = UINT64_MAX,
				 .ended = UINT64_MAX,
				 .start_kind = act->type == JP_EVENT_EXEC ? act->task.start_kind
									  : JP_START_FORK,
				 .exits = true};
	*next = *head;
	*head = *thread = tasks->count;
	return task;
}

/* Adds a thread's name, which may still be unknown, set in [@act->before, @act->after]. */
static struct jp_task_name *add_name(struct tasks_walk *walk, const struct jp_event *act)
{
	size_t *last = jp_map_at(&walk->named, act->tid, sizeof(*last));
	struct jp_tasks *tasks = walk->tasks;
	struct jp_task_name *fresh =
		last ? jp_array_push(&tasks->names, &tasks->nr_names, &walk->names_capacity) : NULL;

	if (!fresh)
		return NULL;
	*fresh = (struct jp_task_name){.pid = act->pid,
				       .tid = act->tid,
				       .before = get_start(act),
				       .after = act->after,
				       .exec = act->type == JP_EVENT_EXEC,
				       .launch = act->type == JP_EVENT_EXEC &&
						 act->task.start_kind == JP_START_LAUNCH};
	*last = tasks->nr_names;
	return fresh;
}

static struct jp_task *find_living_task(const struct tasks_walk *walk, uint32_t tid)
{
	const size_t *index = jp_map_find(&walk->of_thread, tid);

	return index && *index ? &walk->tasks->tasks[*index - 1] : NULL;
}

/* Ends all threads of a process at @act, an exec or the end of the process. The threads are
 * certainly gone only after an act with a duration: a process that reports its own end still
 * exists. */
static int end_tasks(struct tasks_walk *walk, const struct jp_event *act)
{
	size_t *head = jp_map_find(&walk->of_process, act->pid);
	size_t *ended_tasks = jp_map_at(&walk->ended_tasks, act->pid, sizeof(*ended_tasks));
	uint64_t ended = act->after > act->before ? act->after : UINT64_MAX;

	for (size_t number = head ? *head : 0; number; number = walk->next_of_image[number - 1]) {
		struct jp_task *task = &walk->tasks->tasks[number - 1];
		size_t *thread = jp_map_find(&walk->of_thread, task->tid);

		if (task->ending == UINT64_MAX)
			task->ending = act->before;
		if (task->ended == UINT64_MAX)
			task->ended = ended;
		if (thread && *thread == number)
			*thread = 0;
	}
	if (ended_tasks && head && *head)
		*ended_tasks = *head;
	if (head)
		*head = 0;
	return ended_tasks ? 0 : -ENOMEM;
}

/* Sets the end of a thread, or of all threads of a process, that the kernel has removed. */
static void finish_tasks(struct tasks_walk *walk, const struct jp_event *act)
{
	const size_t *ended_tasks = jp_map_find(&walk->ended_tasks, act->pid);
	const size_t *last_task = jp_map_find(&walk->ended, act->tid);
	struct jp_task *task = last_task && *last_task ? &walk->tasks->tasks[*last_task - 1] : NULL;

	if (act->tid != act->pid && task && task->pid == act->pid && task->ended == UINT64_MAX)
		task->ended = act->after;
	for (size_t number = act->tid == act->pid && ended_tasks ? *ended_tasks : 0; number;
	     number = walk->next_of_image[number - 1])
		if (walk->tasks->tasks[number - 1].ended == UINT64_MAX)
			walk->tasks->tasks[number - 1].ended = act->after;
}

/* Adds the name that a new process, whose first event is the exec @act, had from its creator. */
static int add_inherited_name(struct tasks_walk *walk, const struct jp_event *act)
{
	const size_t *creators = jp_map_find(&walk->named, act->task.ptid);
	const char *text = creators ? walk->tasks->names[*creators - 1].text : NULL;
	struct jp_task_name *name = text ? add_name(walk, act) : NULL;

	if (!name)
		return text ? -ENOMEM : 0;
	name->text = text;
	name->after = name->before;
	name->exec = false;
	return 0;
}

/* Handles an exec: ends the other threads of the process. If a thread other than the main one calls
 * exec, it takes over the tid of the main thread (de_thread() in fs/exec.c): the main thread ends,
 * and the caller's own tid is not used again. */
static int apply_exec(struct tasks_walk *walk, const struct jp_event *act)
{
	struct jp_task *first = find_living_task(walk, act->pid),
		       *caller = find_living_task(walk, act->task.exec_tid);
	bool by_other_thread = caller && caller != first && caller->pid == act->pid;
	size_t *head = jp_map_find(&walk->of_process, act->pid), *thread;
	/* In a broken truth, a thread of another process may have this tid: keep no task in that
	 * case. */
	size_t keeps_task = first && first->pid == act->pid && !by_other_thread
				    ? (size_t)(first - walk->tasks->tasks) + 1
				    : 0;
	struct jp_task saved = keeps_task ? *first : (struct jp_task){0}, *fresh;

	if (by_other_thread)
		caller->exits = false;
	if (end_tasks(walk, act))
		return -ENOMEM;
	if (keeps_task) {
		walk->tasks->tasks[keeps_task - 1] = saved;
		walk->next_of_image[keeps_task - 1] = 0;
		*head = keeps_task;
		thread = jp_map_find(&walk->of_thread, act->pid);
		*thread = keeps_task;
		return 0;
	}
	fresh = add_task(walk, act);
	if (!fresh)
		return -ENOMEM;
	/* The task was created by the exec, so not forked, unless the exec is the only event of a
	 * new process. */
	fresh->is_forked = act->task.start_kind == JP_START_EXEC && !by_other_thread;
	return fresh->is_forked ? add_inherited_name(walk, act) : 0;
}

static int apply_act(struct tasks_walk *walk, const struct jp_event *act)
{
	struct jp_task_name *called;
	struct jp_task *task;
	size_t *last;

	switch (act->type) {
	case JP_EVENT_FORK:
		if (act->pid == act->tid && end_tasks(walk, act))
			return -ENOMEM;
		task = add_task(walk, act);
		if (!task || !add_name(walk, act))
			return -ENOMEM;
		task->is_forked = true;
		return 0;
	case JP_EVENT_EXEC:
		return apply_exec(walk, act) ?: add_name(walk, act) ? 0 : -ENOMEM;
	case JP_EVENT_COMM:
		last = jp_map_find(&walk->named, act->tid);
		called = last && *last ? &walk->tasks->names[*last - 1] : NULL;
		if (called && !called->text) {
			called->text = act->comm.name;
			return 0;
		}
		if (called && strcmp(called->text, act->comm.name) == 0)
			return 0;
		called = add_name(walk, act);
		if (called)
			called->text = act->comm.name;
		return called ? 0 : -ENOMEM;
	case JP_EVENT_EXIT:
		task = find_living_task(walk, act->tid);
		last = jp_map_at(&walk->ended, act->tid, sizeof(*last));
		if (!last)
			return -ENOMEM;
		if (task && task->pid == act->pid) {
			task->ending = act->before;
			*last = (size_t)(task - walk->tasks->tasks) + 1;
		}
		return 0;
	case JP_EVENT_END:
		return end_tasks(walk, act);
	case JP_EVENT_GONE:
		finish_tasks(walk, act);
		return 0;
	default:
		return 0;
	}
}

JP_ORDER(compare_by_tid, struct jp_task,
	 jp_compare(a->tid, b->tid) ?: jp_compare(a->before, b->before));

JP_ORDER(compare_names_by_tid, struct jp_task_name,
	 jp_compare(a->tid, b->tid) ?: jp_compare(a->before, b->before)
				       ?: jp_compare(a->after, b->after));

int jp_tasks_collect(const struct jp_truth *truth, struct jp_tasks *tasks)
{
	struct tasks_walk walk = {.tasks = tasks};
	int failed = 0;

	*tasks = (struct jp_tasks){0};
	for (size_t i = 0; i < truth->nr_acts && !failed; i++)
		failed = apply_act(&walk, &truth->acts[i]);
	free(walk.next_of_image);
	jp_map_free(&walk.of_process);
	jp_map_free(&walk.of_thread);
	jp_map_free(&walk.ended_tasks);
	jp_map_free(&walk.ended);
	jp_map_free(&walk.named);
	jp_sort(tasks->tasks, tasks->count, compare_by_tid);
	jp_sort(tasks->names, tasks->nr_names, compare_names_by_tid);
	return failed;
}

void jp_tasks_free(struct jp_tasks *tasks)
{
	free(tasks->tasks);
	free(tasks->names);
	*tasks = (struct jp_tasks){0};
}

struct jp_task *jp_tasks_at(const struct jp_tasks *tasks, uint32_t tid, uint64_t time)
{
	size_t i;

	jp_search(i, tasks->count,
		  tasks->tasks[i].tid < tid ||
			  (tasks->tasks[i].tid == tid && tasks->tasks[i].before <= time));
	return i && tasks->tasks[i - 1].tid == tid ? &tasks->tasks[i - 1] : NULL;
}

const struct jp_task_name *jp_tasks_name(const struct jp_tasks *tasks, uint32_t tid, uint64_t time)
{
	size_t i;

	jp_search(i, tasks->nr_names,
		  tasks->names[i].tid < tid ||
			  (tasks->names[i].tid == tid && tasks->names[i].before <= time));
	return i && tasks->names[i - 1].tid == tid ? &tasks->names[i - 1] : NULL;
}
