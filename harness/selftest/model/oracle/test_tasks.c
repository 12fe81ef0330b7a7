// SPDX-License-Identifier: GPL-2.0-only
/* Lifetimes and names of tasks, from acts in order of time. */
#include "harness/model/oracle/tasks.h"

#include <string.h>

#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_events.h"

enum { A = 30, B = 20, THREAD = 10, SPAWNED = 35 };

static struct jp_event acts[] = {
	MADE_ACT(EXEC, A, A, 5, 6, .task = {.start_kind = JP_START_LAUNCH}),
	MADE_ACT(COMM, A, A, 7, 8, .comm = {.name = "first"}),
	MADE_ACT(FORK, A, THREAD, 20, 22, .task = {.ppid = A, .ptid = A}),
	MADE_ACT(COMM, A, THREAD, 24, 25, .comm = {.name = "thread"}),
	MADE_ACT(FORK, B, B, 30, 32, .task = {.ppid = A, .ptid = A}),
	MADE_ACT(COMM, B, B, 34, 35, .comm = {.name = "child"}),
	MADE_ACT(COMM, A, A, 40, 41, .comm = {.name = "second"}),
	MADE_ACT(EXIT, A, THREAD, 50, 50),
	MADE_ACT(GONE, A, THREAD, 51, 55),
	MADE_ACT(FORK, A, THREAD, 60, 61, .task = {.ppid = A, .ptid = A}),
	MADE_ACT(EXEC, A, A, 70, 75, .task = {.start_kind = JP_START_EXEC, .exec_tid = A}),
	/* posix_spawn() hides its fork: the exec is the first act. */
	MADE_ACT(EXEC, SPAWNED, SPAWNED, 90, 99,
		 .task = {.start_kind = JP_START_EXEC, .exec_tid = SPAWNED, .ppid = B, .ptid = B}),
	MADE_ACT(COMM, SPAWNED, SPAWNED, 100, 101, .comm = {.name = "spawned"}),
	MADE_ACT(END, B, B, 110, 110),
};

static void test_inherited_name(const struct jp_tasks *tasks)
{
	const struct jp_task_name *name = jp_tasks_name(tasks, SPAWNED, 95);

	check(name && name->exec && name->after == 99 && !strcmp(name->text, "spawned"),
	      "the exec names a new process");
	check(name && name > tasks->names && name[-1].tid == SPAWNED && !name[-1].exec &&
		      name[-1].after == 90 && !strcmp(name[-1].text, "child"),
	      "until then it has its creator's name");
}

static void test_lives(const struct jp_tasks *tasks)
{
	const struct jp_task *task = jp_tasks_at(tasks, A, 4);

	check(task && task->before == 0 && task->ending == UINT64_MAX,
	      "a launched process lives through its exec");
	task = jp_tasks_at(tasks, THREAD, 20);
	check(task && task->pid == A && task->before == 20 && task->after == 22 &&
		      task->is_forked && task->ending == 50 && task->ended == 55,
	      "a thread has an end and a later release of its tid");
	check(jp_tasks_at(tasks, THREAD, 59) == task, "until the next fork its tid belongs to it");
	check(!jp_tasks_at(tasks, THREAD, 19), "before its fork its tid is unused");
	task = jp_tasks_at(tasks, THREAD, 60);
	check(task && task->before == 60 && task->ending == 70 && task->ended == 75,
	      "another thread ends with its process's exec");
	task = jp_tasks_at(tasks, B, 120);
	check(task && task->ppid == A && task->ending == 110 && task->ended == UINT64_MAX,
	      "a child with END but without GONE has an unknown release");
}

enum { C = 40, OTHER = 41, THIRD = 42, D = 50, BOTH = 60 };

/* Adds processes without a recorded end, threads that call exec, and repeated names. */
static struct jp_event odd[] = {
	/* C has no act before its exec, so it is new. */
	MADE_ACT(EXEC, C, C, 5, 7, .task = {.start_kind = JP_START_EXEC, .exec_tid = C}),
	MADE_ACT(FORK, C, OTHER, 10, 11, .task = {.ppid = C, .ptid = C}),
	MADE_ACT(FORK, C, THIRD, 12, 13, .task = {.ppid = C, .ptid = OTHER}),
	MADE_ACT(COMM, C, OTHER, 14, 15, .comm = {.name = "name"}),
	MADE_ACT(COMM, C, OTHER, 16, 17, .comm = {.name = "name"}),
	MADE_ACT(COMM, C, OTHER, 18, 19, .comm = {.name = "another"}),
	MADE_ACT(COMM, D, D, 18, 19, .comm = {.name = "unknown"}),
	/* Adds an exec by a thread that is not the leader. */
	MADE_ACT(EXEC, C, C, 20, 25, .task = {.start_kind = JP_START_EXEC, .exec_tid = OTHER}),
	/* Adds exits of an unknown thread, and of a thread of another process. */
	MADE_ACT(EXIT, C, 77, 30, 30),
	MADE_ACT(EXIT, D, C, 31, 31),
	MADE_ACT(GONE, C, 77, 32, 33),
	MADE_ACT(MAP, C, C, 34, 35),
	/* Adds a new process with pid C: its earlier process must have ended. */
	MADE_ACT(FORK, C, C, 40, 41, .task = {.ppid = D, .ptid = D}),
	MADE_ACT(FORK, C, OTHER, 42, 43, .task = {.ppid = C, .ptid = C}),
	MADE_ACT(EXIT, C, OTHER, 44, 44),
	MADE_ACT(END, C, C, 50, 50),
	MADE_ACT(GONE, C, C, 52, 53),
	MADE_ACT(GONE, D, D, 54, 55),
	/* Adds a process with the id of another process's thread, which only a broken file
	 * contains. */
	MADE_ACT(FORK, D, BOTH, 56, 57, .task = {.ppid = D, .ptid = D}),
	MADE_ACT(EXEC, BOTH, BOTH, 58, 59, .task = {.start_kind = JP_START_EXEC, .exec_tid = BOTH}),
};

static void test_odd_lives(const struct jp_tasks *tasks)
{
	const struct jp_task *task = jp_tasks_at(tasks, C, 6);

	check(task && task->is_forked && task->before == 5 && task->ending == 20 &&
		      task->ended == 25,
	      "the leader ends when another thread execs");
	task = jp_tasks_at(tasks, OTHER, 15);
	check(task && !task->exits && task->ended == 25, "the thread gives up its own tid");
	task = jp_tasks_at(tasks, THIRD, 15);
	check(task && task->exits && task->ptid == OTHER && task->ended == 25, "others end too");
	task = jp_tasks_at(tasks, C, 30);
	check(task && !task->is_forked && task->start_kind == JP_START_EXEC && task->ending == 40 &&
		      task->ended == 41,
	      "it becomes the leader, until its pid is reused");
	task = jp_tasks_at(tasks, C, 45);
	check(task && task->is_forked && task->ppid == D && task->ending == 50 && task->ended == 53,
	      "the process that reuses the pid has an end and a release");
	task = jp_tasks_at(tasks, OTHER, 45);
	check(task && task->ending == 44 && task->ended == 53,
	      "its thread ended before, and is released with it");
	check(!jp_tasks_at(tasks, D, 60), "a name alone makes no task");
	task = jp_tasks_at(tasks, BOTH, 60);
	check(task && task->pid == BOTH && task->before == 58,
	      "an id belongs to the last task that claims it");
}

TEST(tasks)
{
	struct jp_truth truth = {.acts = acts, .nr_acts = sizeof(acts) / sizeof(*acts)};
	struct jp_tasks tasks;

	if (check(jp_tasks_collect(&truth, &tasks) == 0 && tasks.count == 5,
		  "five tasks are found")) {
		test_lives(&tasks);
		test_inherited_name(&tasks);
	}
	jp_tasks_free(&tasks);
	truth = (struct jp_truth){.acts = odd, .nr_acts = sizeof(odd) / sizeof(*odd)};
	if (check(jp_tasks_collect(&truth, &tasks) == 0 && tasks.count == 8,
		  "eight odd tasks are found")) {
		test_odd_lives(&tasks);
	}
	jp_tasks_free(&tasks);
}
