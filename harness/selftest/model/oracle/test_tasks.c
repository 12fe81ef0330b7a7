// SPDX-License-Identifier: GPL-2.0-only
/* Who was there and how it was called, by acts in the order of time. */
#include "harness/model/oracle/tasks.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_events.h"

enum { A = 30, B = 20, THREAD = 10 };

static struct jp_event acts[] = {
	MADE_ACT(EXEC, A, A, 5, 6, .task = {.how = JP_HOW_LAUNCH}),
	MADE_ACT(COMM, A, A, 7, 8, .comm = {.name = "first"}),
	MADE_ACT(FORK, A, THREAD, 20, 22, .task = {.ppid = A, .ptid = A}),
	MADE_ACT(COMM, A, THREAD, 24, 25, .comm = {.name = "thread"}),
	MADE_ACT(FORK, B, B, 30, 32, .task = {.ppid = A, .ptid = A}),
	MADE_ACT(COMM, B, B, 34, 35, .comm = {.name = "child"}),
	MADE_ACT(COMM, A, A, 40, 41, .comm = {.name = "second"}),
	MADE_ACT(EXIT, A, THREAD, 50, 50),
	MADE_ACT(GONE, A, THREAD, 51, 55),
	MADE_ACT(FORK, A, THREAD, 60, 61, .task = {.ppid = A, .ptid = A}),
	MADE_ACT(EXEC, A, A, 70, 75, .task = {.how = JP_HOW_EXEC, .by = A}),
	MADE_ACT(END, B, B, 80, 80),
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

enum { C = 40, OTHER = 41, THIRD = 42, D = 50, BOTH = 60 };

/* Processes whose end nobody told, threads that exec, names twice. */
static struct jp_event odd[] = {
	/* Nothing is told of C before it execs: it is new. */
	MADE_ACT(EXEC, C, C, 5, 7, .task = {.how = JP_HOW_EXEC, .by = C}),
	MADE_ACT(FORK, C, OTHER, 10, 11, .task = {.ppid = C, .ptid = C}),
	MADE_ACT(FORK, C, THIRD, 12, 13, .task = {.ppid = C, .ptid = OTHER}),
	MADE_ACT(COMM, C, OTHER, 14, 15, .comm = {.name = "name"}),
	MADE_ACT(COMM, C, OTHER, 16, 17, .comm = {.name = "name"}),
	MADE_ACT(COMM, C, OTHER, 18, 19, .comm = {.name = "another"}),
	MADE_ACT(COMM, D, D, 18, 19, .comm = {.name = "unknown"}),
	/* One that is not the first. */
	MADE_ACT(EXEC, C, C, 20, 25, .task = {.how = JP_HOW_EXEC, .by = OTHER}),
	/* The end of a thread that nobody knows, and of one in another process. */
	MADE_ACT(EXIT, C, 77, 30, 30),
	MADE_ACT(EXIT, D, C, 31, 31),
	MADE_ACT(GONE, C, 77, 32, 33),
	MADE_ACT(MAP, C, C, 34, 35),
	/* It is there again, so it was gone. */
	MADE_ACT(FORK, C, C, 40, 41, .task = {.ppid = D, .ptid = D}),
	MADE_ACT(FORK, C, OTHER, 42, 43, .task = {.ppid = C, .ptid = C}),
	MADE_ACT(EXIT, C, OTHER, 44, 44),
	MADE_ACT(END, C, C, 50, 50),
	MADE_ACT(GONE, C, C, 52, 53),
	MADE_ACT(GONE, D, D, 54, 55),
	/* A process has the number of another's thread: no kernel does that, and a file may say so.
	 */
	MADE_ACT(FORK, D, BOTH, 56, 57, .task = {.ppid = D, .ptid = D}),
	MADE_ACT(EXEC, BOTH, BOTH, 58, 59, .task = {.how = JP_HOW_EXEC, .by = BOTH}),
};

static void odd_lives(const struct jp_tasks *tasks)
{
	const struct jp_task *task = jp_tasks_at(tasks, C, 6);

	check(task && task->forked && task->before == 5 && task->ending == 20 && task->ended == 25,
	      "the first ends where another thread execs");
	task = jp_tasks_at(tasks, OTHER, 15);
	check(task && !task->exits && task->ended == 25, "whose number is never told of again");
	task = jp_tasks_at(tasks, THIRD, 15);
	check(task && task->exits && task->ptid == OTHER && task->ended == 25,
	      "the others end, too");
	task = jp_tasks_at(tasks, C, 30);
	check(task && !task->forked && task->how == JP_HOW_EXEC && task->ending == 40 &&
		      task->ended == 41,
	      "it goes on as the first, until its number is another's");
	task = jp_tasks_at(tasks, C, 45);
	check(task && task->forked && task->ppid == D && task->ending == 50 && task->ended == 53,
	      "that one ends, and is gone later");
	task = jp_tasks_at(tasks, OTHER, 45);
	check(task && task->ending == 44 && task->ended == 53,
	      "its thread ended before, and is gone with it");
	check(!jp_tasks_at(tasks, D, 60), "a name makes nobody");
	task = jp_tasks_at(tasks, BOTH, 60);
	check(task && task->pid == BOTH && task->before == 58,
	      "the last who is said to have a number");
}

static void odd_names(const struct jp_tasks *tasks)
{
	const struct jp_task_name *first = jp_tasks_name(tasks, OTHER, 13);

	calls(tasks, OTHER, 17, "name");
	check(first && first == jp_tasks_name(tasks, OTHER, 17), "the same name is no new one");
	calls(tasks, OTHER, 18, "another");
	calls(tasks, D, 18, "unknown");
	calls(tasks, OTHER, 45, "untold");
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
	truth = (struct jp_truth){.acts = odd, .nr_acts = sizeof(odd) / sizeof(*odd)};
	if (check(jp_tasks_of(&truth, &tasks) == 0 && tasks.count == 8, "eight more")) {
		odd_lives(&tasks);
		odd_names(&tasks);
	}
	jp_tasks_free(&tasks);
	return check_done();
}
