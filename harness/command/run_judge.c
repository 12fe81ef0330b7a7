// SPDX-License-Identifier: GPL-2.0-only
#include "harness/command/run_judge.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/confine.h"
#include "harness/base/exits.h"
#include "harness/base/delegate.h"
#include "harness/base/new_file.h"
#include "harness/base/survivor.h"
#include "harness/command/command_line.h"
#include "harness/format/rundir/run_dir.h"

enum run_task_kind { JUDGE, UNJUDGED, CUT_SHORT, END };

struct run_task {
	enum run_task_kind kind;
	size_t index;
	bool watched;
	enum jp_outcome outcome; /* outcome of a case that is not to be judged */
	double seconds;
	char reason[2048];
	char dir[PATH_MAX];
};

struct run_answer {
	enum jp_outcome outcome;
	int status;
};

static void judge_case(struct jp_report *report, const struct run_task *task, int ktap,
		       struct run_answer *answer)
{
	const struct jp_case *cas = &report->cases->cases[task->index];
	struct jp_result *result = jp_report_next(report);

	if (task->watched) {
		jp_judge_case(cas, task->dir, result);
	} else {
		result->cas = cas;
		result->outcome = task->outcome;
		snprintf(result->reasons, sizeof(result->reasons), "%s", task->reason);
	}
	result->seconds = task->seconds;
	jp_report_add(report, ktap);
	answer->outcome = result->outcome;
}

/* Reports the case of @task in a run whose cases are not judged (--no-judge). */
static void report_unjudged_case(struct jp_report *report, const struct run_task *task)
{
	struct jp_result *result = jp_report_next(report);

	result->cas = &report->cases->cases[task->index];
	report->count++;
	printf("# %zu of %zu: %s: %s\n", report->count, report->plan, result->cas->name,
	       task->watched ? "watched" : jp_outcome_text(task->outcome));
	fflush(stdout);
}

/* Completes the HTML page @page, which then appears under its path. Returns 0, or -errno and a
 * message. */
static int keep_page(struct jp_report *report, const char *dir, struct jp_new_file *page,
		     struct jp_error *err)
{
	int failed;

	jp_report_write_page(report, dir);
	failed = jp_report_written(report, err);
	if (!report->html || failed)
		return failed;
	fclose(report->html);
	report->html = NULL;
	return jp_new_file_publish(page, err);
}

static int end_report(struct jp_report *report, const char *dir, int junit,
		      struct jp_new_file *page)
{
	struct jp_error err = {""};
	int status;

	report->junit = junit >= 0 ? fdopen(dup(junit), "w") : NULL;
	/* A run with --no-judge must not write results, which a program could mistake for
	 * verdicts. */
	status = report->is_unjudged ? JP_EXIT_OK : jp_report_end(report);
	if (!report->is_unjudged && !report->junit)
		status = JP_EXIT_BROKEN;
	if (keep_page(report, dir, page, &err))
		status = jp_command_fail("run", &err);
	return status;
}

static void cut_report_short(struct jp_report *report, const char *dir, const char *reason,
			     struct jp_new_file *page)
{
	struct jp_error err = {""};

	jp_report_cut_short(report, reason);
	if (keep_page(report, dir, page, &err))
		jp_command_fail("run", &err);
}

/* Handles the runner's requests until the runner ends. Returns the exit status of the judge
 * process. */
static int serve_runner(const struct jp_run_start *start, int channel, struct jp_new_file *page)
{
	const char *dir = start->dir->path;
	struct jp_report *report = start->report;
	static struct run_task task;
	bool is_finished = false;
	int fd;

	if (jp_report_begin(report, start->cases, start->plan))
		return JP_EXIT_BROKEN;
	if (!report->screen.is_terminal)
		printf("# seed %" PRIu64 "\n", start->seed);
	fflush(stdout);
	while (!is_finished && jp_message_receive(channel, &task, sizeof(task), &fd)) {
		struct run_answer answer = {0};

		if (task.kind == JUDGE)
			judge_case(report, &task, fd, &answer);
		else if (task.kind == UNJUDGED)
			report_unjudged_case(report, &task);
		else if (task.kind == CUT_SHORT)
			cut_report_short(report, dir, task.reason, page);
		else
			answer.status = end_report(report, dir, fd, page);
		is_finished = task.kind >= CUT_SHORT;
		if (fd >= 0)
			close(fd);
		jp_message_send(channel, &answer, sizeof(answer), -1);
	}
	if (!is_finished)
		cut_report_short(report, dir, "the runner is gone", page);
	jp_new_file_discard(page);
	jp_report_free(report);
	return JP_EXIT_OK;
}

/* Runs in the parent after the judge has ended with the exit status @judged: waits for the runner,
 * and cleans up if it was killed. Returns the exit status. */
static int clean_up(void *context, int judged)
{
	const struct jp_run_start *start = context;
	const int status = jp_survivor_wait();

	if (WIFEXITED(status))
		return judged ? judged : WEXITSTATUS(status);
	if (start->dir->temporary && !start->keeps_dir)
		jp_run_dir_remove(start->dir->path);
	/* If the judge failed, it has printed why; the runner's end is only a consequence. */
	return judged == JP_EXIT_BROKEN ? judged : jp_survivor_status("run", status);
}

static FILE *create_file(const struct jp_run_dir *dir, const char *name, struct jp_error *err)
{
	int fd = jp_run_dir_create(dir->path, name, err);

	return fd < 0 ? NULL : fdopen(fd, "w");
}

static int judge_and_stay(const struct jp_run_start *start, int channel, int *status,
			  struct jp_error *err)
{
	const struct jp_confine confine = {.readable = {.input = start->dir->path},
					   .channel = channel,
					   .choose_status = clean_up,
					   .context = (void *)start};
	struct jp_new_file page = {0};
	int ret, no_fd;

	if (!jp_message_receive(channel, start->dir, sizeof(*start->dir), &no_fd)) {
		close(channel);
		*status = clean_up((void *)start, JP_EXIT_OK);
		return 1;
	}
	start->report->screen.dir = start->dir->path;
	start->report->screen.temporary = start->dir->temporary && !start->keeps_dir;
	start->report->jsonl = create_file(start->dir, "results.jsonl", err);
	start->report->ktap = create_file(start->dir, "ktap.txt", err);
	if (start->html)
		start->report->html = jp_new_file_stream(&page, start->html, err);
	if (start->report->jsonl && start->report->ktap && (start->report->html || !start->html)) {
		ret = jp_confine_enter(&confine, status, err);
	} else {
		close(channel); /* so that the runner, which waits for an answer, ends */
		ret = -EIO;
	}
	if (!ret) {
		/* This process must live until the runner has ended, which handles the signals. */
		jp_survivor_signals(SIG_IGN);
		*status = serve_runner(start, channel, &page);
		return 1;
	}
	if (ret < 0) {
		jp_survivor_end();
		*status = clean_up((void *)start, jp_command_fail("run", err));
	}
	return 1;
}

/* Runs in the runner: creates the run directory, and sends its path to the parent, which may have
 * to remove it. */
static int make_folder(const struct jp_run_start *start, int channel, struct jp_error *err)
{
	int ret = jp_run_dir_make(start->dir, start->output, err);

	if (ret || jp_message_send(channel, start->dir, sizeof(*start->dir), -1))
		return ret;
	if (start->dir->temporary)
		jp_run_dir_remove(start->dir->path);
	return jp_fail(err, EPIPE, "the process that removes temporary folders was killed");
}

int jp_run_judge_start(struct jp_run_judge *judge, const struct jp_run_start *start, int *status,
		       struct jp_error *err)
{
	int channel;
	const pid_t runner = jp_survivor_fork(&channel, err);

	if (runner < 0)
		return runner;
	if (runner)
		return judge_and_stay(start, channel, status, err);
	judge->channel = channel;
	judge->parent = getppid();
	return make_folder(start, judge->channel, err);
}

static bool ask_judge(const struct jp_run_judge *judge, const struct run_task *task, int fd,
		      struct run_answer *answer)
{
	int no_fd;

	return jp_message_send(judge->channel, task, sizeof(*task), fd) &&
	       jp_message_receive(judge->channel, answer, sizeof(*answer), &no_fd);
}

bool jp_run_judge_case(const struct jp_run_judge *judge, size_t index, const char *dir,
		       bool watched, struct jp_result *result)
{
	static struct run_task task;
	struct run_answer answer = {0};
	int ktap = -1;
	bool judge_lives;

	task = (struct run_task){.kind = JUDGE,
				 .index = index,
				 .watched = watched,
				 .outcome = result->outcome,
				 .seconds = result->seconds};
	snprintf(task.reason, sizeof(task.reason), "%s", result->reasons);
	if (dir) {
		snprintf(task.dir, sizeof(task.dir), "%s", dir);
		ktap = jp_run_dir_create(dir, "ktap.txt", NULL);
	}
	judge_lives = ask_judge(judge, &task, ktap, &answer);
	if (ktap >= 0)
		close(ktap);
	if (judge_lives)
		result->outcome = answer.outcome;
	return judge_lives;
}

bool jp_run_judge_unjudged(const struct jp_run_judge *judge, size_t index, bool watched,
			   const struct jp_result *result)
{
	const struct run_task task = {
		.kind = UNJUDGED, .index = index, .watched = watched, .outcome = result->outcome};
	struct run_answer answer;

	return ask_judge(judge, &task, -1, &answer);
}

bool jp_run_judge_cut_short(const struct jp_run_judge *judge, const char *reason)
{
	struct run_task task = {.kind = CUT_SHORT};
	struct run_answer answer;

	snprintf(task.reason, sizeof(task.reason), "%s", reason);
	return ask_judge(judge, &task, -1, &answer);
}

bool jp_run_judge_orphaned(const struct jp_run_judge *judge)
{
	return getppid() != judge->parent;
}

bool jp_run_judge_end(const struct jp_run_judge *judge, int junit, int *status)
{
	const struct run_task task = {.kind = END};
	struct run_answer answer;
	bool judge_lives = ask_judge(judge, &task, junit, &answer);

	*status = judge_lives ? answer.status : JP_EXIT_BROKEN;
	return judge_lives;
}
