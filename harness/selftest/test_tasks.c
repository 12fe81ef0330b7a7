// SPDX-License-Identifier: GPL-2.0-only
/* Who was there and how it was called, by acts in the order of time. */
#include <string.h>

#include "harness/model/oracle/tasks.h"
#include "harness/selftest/check.h"

enum { A = 30, B = 20, THREAD = 10 };

static struct jp_event acts[] = {
	{.type = JP_EVENT_EXEC,
	 .pid = A,
	 .tid = A,
	 .before = 5,
	 .after = 6,
	 .task = {.how = JP_HOW_LAUNCH}},
	{.type = JP_EVENT_COMM,
	 .pid = A,
	 .tid = A,
	 .before = 7,
	 .after = 8,
	 .comm = {.name = "first"}},
	{.type = JP_EVENT_FORK,
	 .pid = A,
	 .tid = THREAD,
	 .before = 20,
	 .after = 22,
	 .task = {.ppid = A, .ptid = A}},
	{.type = JP_EVENT_COMM,
	 .pid = A,
	 .tid = THREAD,
	 .before = 24,
	 .after = 25,
	 .comm = {.name = "thread"}},
	{.type = JP_EVENT_FORK,
	 .pid = B,
	 .tid = B,
	 .before = 30,
	 .after = 32,
	 .task = {.ppid = A, .ptid = A}},
	{.type = JP_EVENT_COMM,
	 .pid = B,
	 .tid = B,
	 .before = 34,
	 .after = 35,
	 .comm = {.name = "child"}},
	{.type = JP_EVENT_COMM,
	 .pid = A,
	 .tid = A,
	 .before = 40,
	 .after = 41,
	 .comm = {.name = "second"}},
	{.type = JP_EVENT_EXIT, .pid = A, .tid = THREAD, .before = 50, .after = 50},
	{.type = JP_EVENT_GONE, .pid = A, .tid = THREAD, .before = 51, .after = 55},
	{.type = JP_EVENT_FORK,
	 .pid = A,
	 .tid = THREAD,
	 .before = 60,
	 .after = 61,
	 .task = {.ppid = A, .ptid = A}},
	{.type = JP_EVENT_EXEC,
	 .pid = A,
	 .tid = A,
	 .before = 70,
	 .after = 75,
	 .task = {.how = JP_HOW_EXEC, .by = A}},
	{.type = JP_EVENT_END, .pid = B, .tid = B, .before = 80, .after = 80},
};

static void calls(const struct jp_tasks *tasks, uint32_t tid, uint64_t time, const char *text)
{
	const struct jp_task_name *name = jp_tasks_name(tasks, tid, time);
	const char *found = !name ? "nobody" : name->text ? name->text : "untold";

	check(strcmp(found, text) == 0, "%u at %d is called %s", tid, (int)time, found);
}

static void names(const struct jp_tasks *tasks)
{
	calls(tasks, A, 0, "first");
	calls(tasks, A, 39, "first");
	calls(tasks, A, 40, "second");
	calls(tasks, A, 70, "untold");
	calls(tasks, THREAD, 19, "nobody");
	calls(tasks, THREAD, 20, "thread");
	calls(tasks, B, 29, "nobody");
	calls(tasks, B, 90, "child");
	calls(tasks, 25, 90, "nobody");
}

static void lives(const struct jp_tasks *tasks)
{
	const struct jp_task *task = jp_tasks_at(tasks, A, 4);

	check(task && task->before == 0 && task->ending == UINT64_MAX,
	      "the first was launched at any time, and lives through its exec");
	task = jp_tasks_at(tasks, THREAD, 20);
	check(task && task->pid == A && task->before == 20 && task->after == 22 && task->forked &&
		      task->ending == 50 && task->ended == 55,
	      "its thread ends, and is gone later");
	check(jp_tasks_at(tasks, THREAD, 59) == task, "nobody has its number until then");
	check(!jp_tasks_at(tasks, THREAD, 19), "nor had it before");
	task = jp_tasks_at(tasks, THREAD, 60);
	check(task && task->before == 60 && task->ending == 70 && task->ended == 75,
	      "another ends with an exec");
	task = jp_tasks_at(tasks, B, 100);
	check(task && task->ppid == A && task->ending == 80 && task->ended == UINT64_MAX,
	      "the child tells of its own end, and is gone at some time");
}

int main(void)
{
	struct jp_truth truth = {.acts = acts, .nr_acts = sizeof(acts) / sizeof(*acts)};
	struct jp_tasks tasks;

	if (check(jp_tasks_of(&truth, &tasks) == 0 && tasks.count == 4, "four tasks")) {
		names(&tasks);
		lives(&tasks);
	}
	jp_tasks_free(&tasks);
	return check_done();
}
