// SPDX-License-Identifier: GPL-2.0-only
#include "harness/run/jobs.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/exits.h"
#include "harness/base/interrupt.h"
#include "harness/capture/probe.h"
#include "harness/capture/synthesize.h"

int jp_jobs_open(struct jp_jobs *jobs, const struct jp_runner *runner, size_t capacity,
		 unsigned int max, struct jp_error *err)
{
	void *results;

	jp_synthesize_prepare();
	results = mmap(NULL, capacity * sizeof(*jobs->results), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	*jobs = (struct jp_jobs){.runner = runner,
				 .list = calloc(capacity, sizeof(*jobs->list)),
				 .fds = calloc(capacity + 1, sizeof(*jobs->fds)),
				 .results = results == MAP_FAILED ? NULL : results,
				 .capacity = capacity,
				 .max_running = jp_rings_are_rationed() ? 1 : max};
	if (jobs->list && jobs->fds && jobs->results)
		return 0;
	jp_jobs_close(jobs);
	return jp_fail(err, ENOMEM, "out of memory for %zu results", capacity);
}

bool jp_jobs_may_start(const struct jp_jobs *jobs, const struct jp_case *cas)
{
	return !jobs->running || (jobs->running < jobs->max_running && !jobs->runs_alone &&
				  !jp_case_records_whole_machine(cas));
}

static void fail_job(struct jp_job *job, const char *reason)
{
	job->shared->watched = false;
	job->shared->result.outcome = JP_ERROR;
	snprintf(job->shared->result.reasons, sizeof(job->shared->result.reasons), "%s", reason);
}

/* Runs the case of @job in this child process, which @parent forked, and exits. */
__attribute__((noreturn)) static void run_job(const struct jp_runner *runner,
					      const struct jp_job *job, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || jp_interrupt_watch_in_child())
		_exit(JP_EXIT_BROKEN);
	job->shared->watched = jp_runner_run(runner, job->cas, job->dir, &job->shared->result);
	fflush(NULL);
	_exit(JP_EXIT_OK);
}

static void reap_job(struct jp_jobs *jobs, struct jp_job *job)
{
	int status = 0;

	while (waitpid(job->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != JP_EXIT_OK)
		fail_job(job, "the process that ran the case was killed");
	if (job->pidfd >= 0)
		close(job->pidfd);
	job->pid = 0;
	jobs->running--;
}

void jp_jobs_start(struct jp_jobs *jobs, const struct jp_case *cas, const struct jp_run_dir *dir)
{
	struct jp_job *job = &jobs->list[jobs->count];
	const pid_t parent = getpid();
	struct jp_error err = {""};

	*job = (struct jp_job){.cas = cas, .shared = &jobs->results[jobs->count]};
	jobs->count++;
	if (jp_run_dir_case(dir, cas->name, job->dir, sizeof(job->dir), &err)) {
		*job->dir = '\0';
		fail_job(job, err.text);
		return;
	}
	fflush(NULL);
	job->pid = fork();
	if (!job->pid)
		run_job(jobs->runner, job, parent);
	if (job->pid < 0) {
		job->pid = 0;
		fail_job(job, strerror(errno));
		return;
	}
	jobs->runs_alone = jp_case_records_whole_machine(cas);
	jobs->running++;
	job->pidfd = (int)syscall(SYS_pidfd_open, job->pid, 0);
	if (job->pidfd >= 0)
		return;
	kill(job->pid, SIGKILL);
	reap_job(jobs, job);
}
void jp_jobs_wait(struct jp_jobs *jobs, bool wait)
{
	nfds_t count = 1;

	jobs->fds[0] = (struct pollfd){.fd = jp_interrupt_fd(), .events = POLLIN};
	for (size_t i = 0; i < jobs->count; i++)
		if (jobs->list[i].pid)
			jobs->fds[count++] =
				(struct pollfd){.fd = jobs->list[i].pidfd, .events = POLLIN};
	while (poll(jobs->fds, count, wait ? -1 : 0) < 0)
		;
	count = 1;
	for (size_t i = 0; i < jobs->count; i++)
		if (jobs->list[i].pid && jobs->fds[count++].revents)
			reap_job(jobs, &jobs->list[i]);
}

void jp_jobs_close(struct jp_jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++)
		if (jobs->list[i].pid)
			kill(jobs->list[i].pid, SIGTERM);
	for (size_t i = 0; i < jobs->count; i++)
		if (jobs->list[i].pid)
			reap_job(jobs, &jobs->list[i]);
	if (jobs->results)
		munmap(jobs->results, jobs->capacity * sizeof(*jobs->results));
	free(jobs->list);
	free(jobs->fds);
}
