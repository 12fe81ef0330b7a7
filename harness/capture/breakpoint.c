// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "harness/capture/session.h"
#include "harness/model/oracle/truth.h"

/*
 * A sample at each instruction of every emitted function that some path runs: no timer, no
 * statistics. A few breakpoints at a time, as many as the machine has; each stops by itself after
 * some hits, so that a hot loop does not stand still under it.
 */
enum {
	TOGETHER = 4, /* x86 has four; where there are fewer, fewer are tried together */
	HITS = 3,
	LIMIT_MS = 200,
};

struct job {
	struct jp_session *session;
	pid_t *tids;
	size_t nr_tids;
	uint64_t *addrs; /* by number; those before @tried are done with */
	size_t nr_addrs, tried;
	struct jp_event_owners known; /* by address */
	uint64_t limit;               /* ns for a group of instructions */
};

static void job_free(struct job *job)
{
	if (job) {
		free(job->tids);
		free(job->addrs);
		jp_event_owner_free(&job->known);
	}
	free(job);
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int add_address(struct job *job, uint64_t addr, size_t *capacity)
{
	bool added;

	if (!jp_event_owner_add(&job->known, addr, &added))
		return -ENOMEM;
	if (!added)
		return 0;
	if (job->nr_addrs == *capacity) {
		size_t more = *capacity ? *capacity * 2 : 256;
		uint64_t *addrs = realloc(job->addrs, more * sizeof(*addrs));

		if (!addrs)
			return -ENOMEM;
		job->addrs = addrs;
		*capacity = more;
	}
	job->addrs[job->nr_addrs++] = addr;
	return 0;
}

static int add_function(struct job *job, const struct jp_truth_code *code, size_t *capacity)
{
	int ret = 0;

	for (uint32_t i = 0; i < code->layout->count && code->unloaded == UINT64_MAX && !ret; i++)
		ret = add_address(job, code->addr + code->layout->insns[i].offset, capacity);
	return ret;
}

/*
 * Adds the instructions that the truth tells of now and that were not known before. Functions that
 * no path runs would only cost their time limit.
 */
static int list_instructions(struct job *job, struct jp_error *err)
{
	const char *path = job->session->target->truth;
	struct jp_truth *truth;
	size_t capacity = job->nr_addrs; /* full, as far as anyone knows */
	int ret = 0;

	if (!path)
		return jp_fail(err, EINVAL, "breakpoint: needs a workload with a truth");
	truth = jp_truth_load(path, err);
	if (!truth)
		return -EINVAL;
	for (size_t i = 0; i < truth->nr_paths && !ret; i++)
		for (uint32_t j = 0; j < truth->paths[i].depth && !ret; j++)
			ret = add_function(job, truth->paths[i].functions[j], &capacity);
	jp_truth_free(truth);
	if (ret)
		return jp_fail(err, -ret, "no memory for the instructions");
	qsort(job->addrs + job->tried, job->nr_addrs - job->tried, sizeof(*job->addrs), by_number);
	return job->nr_addrs ? 0
			     : jp_fail(err, ENODATA, "%s: no path with emitted functions", path);
}

static int list_threads(struct job *job, struct jp_error *err)
{
	struct jp_session *session = job->session;

	job->tids = calloc(session->nr_opened ? session->nr_opened : 1, sizeof(*job->tids));
	if (!job->tids)
		return jp_fail(err, ENOMEM, "no memory for the threads");
	for (size_t i = 0; i < session->nr_opened; i++)
		if (session->opened[i].stream == JP_SIDEBAND &&
		    session->opened[i].cpu == session->cpus[0])
			job->tids[job->nr_tids++] = session->opened[i].tid;
	return 0;
}

/* One instruction on every thread and CPU. -ENOSPC: no breakpoint of the machine is free. */
static int arm(struct job *job, uint64_t addr, struct jp_error *err)
{
	struct jp_session *session = job->session;
	size_t first = session->nr_opened;
	struct perf_event_attr attr;
	bool added, memory;
	int ret = 0;

	jp_attr_breakpoint(&attr, &session->options, &session->abilities, addr);
	for (size_t i = 0; i < job->nr_tids && !ret; i++)
		for (unsigned int cpu = 0; cpu < session->nr_cpus && !ret; cpu++) {
			ret = jp_open_event(session, &attr, JP_SAMPLING, job->tids[i], cpu, err);
			if (ret == -ESRCH) { /* this thread ended */
				ret = 0;
				break;
			}
		}
	for (size_t i = first; i < session->nr_opened && !ret; i++) {
		pthread_mutex_lock(&session->lock);
		memory = jp_event_owner_add(&session->hits, session->opened[i].id, &added) != NULL;
		pthread_mutex_unlock(&session->lock);
		if (!memory)
			ret = jp_fail(err, ENOMEM, "no memory for a breakpoint");
		else if (ioctl(session->opened[i].fd, PERF_EVENT_IOC_REFRESH, HITS))
			ret = jp_fail(err, errno, "a breakpoint cannot be armed: %s",
				      strerror(errno));
	}
	if (ret)
		jp_open_close(session, first);
	return ret;
}

/* Under the lock: how many of the @count instructions whose events lie between @ends were hit. */
static size_t count_hit(const struct jp_session *session, const size_t *ends, size_t count)
{
	size_t hit = 0;

	for (size_t i = 0; i < count; i++) {
		bool any = false;

		for (size_t event = ends[i]; event < ends[i + 1]; event++) {
			const struct jp_event_owner *entry =
				jp_event_owner_find(&session->hits, session->opened[event].id);

			any |= entry && entry->from;
		}
		hit += any;
	}
	return hit;
}

/* Arms up to TOGETHER instructions that were not tried and waits until each was hit. 1, 0: the
 * session ends, or -errno. */
static int run_group(struct job *job, struct jp_error *err)
{
	struct jp_session *session = job->session;
	size_t ends[TOGETHER + 1] = {session->nr_opened}, armed = 0, hit = 0;
	uint64_t deadline;
	struct timespec until;
	int ret = 0, waited = 0;
	bool ending;

	while (armed < TOGETHER && job->tried + armed < job->nr_addrs && !ret) {
		ret = arm(job, job->addrs[job->tried + armed], err);
		if (!ret)
			ends[++armed] = session->nr_opened;
	}
	if (ret && !(ret == -ENOSPC && armed))
		goto out;
	ret = 0;
	deadline = jp_capture_now() + job->limit;
	until = (struct timespec){.tv_sec = (time_t)(deadline / 1000000000),
				  .tv_nsec = (long)(deadline % 1000000000)};
	pthread_mutex_lock(&session->lock);
	while (!session->ending && !session->exited && waited != ETIMEDOUT &&
	       (hit = count_hit(session, ends, armed)) < armed)
		waited = pthread_cond_timedwait(&session->changed, &session->lock, &until);
	ending = session->ending || session->exited;
	pthread_mutex_unlock(&session->lock);
	if (!ending) {
		session->info.breakpoints += armed;
		session->breakpoints_hit += hit;
		job->tried += armed;
		ret = 1;
	}
out:
	jp_open_close(session, ends[0]);
	return ret;
}

static void *work(void *context)
{
	struct job *job = context;
	struct jp_session *session = job->session;
	int ret = 1;

	/* A workload may go on to make functions and paths while we are at it. */
	while (ret > 0 && job->tried < job->nr_addrs) {
		ret = run_group(job, &session->worker_err);
		if (ret > 0 && job->tried == job->nr_addrs &&
		    list_instructions(job, &session->worker_err))
			ret = -EINVAL;
	}
	pthread_mutex_lock(&session->lock);
	session->worker_error = ret < 0 ? ret : 0;
	session->complete |= !session->exited;
	pthread_cond_broadcast(&session->changed);
	pthread_mutex_unlock(&session->lock);
	job_free(job);
	return NULL;
}

static int begin(struct jp_session *session, int argc, char **argv, struct jp_error *err)
{
	struct job *job = calloc(1, sizeof(*job));
	unsigned long limit = LIMIT_MS;
	int ret = 0;

	if (!job)
		return jp_fail(err, ENOMEM, "no memory for the breakpoints");
	for (int i = 1; i < argc && !ret; i++) {
		char *end = argv[i];

		if (strncmp(argv[i], "--limit=", 8) == 0)
			limit = strtoul(argv[i] + 8, &end, 10);
		if (end == argv[i] || end == argv[i] + 8 || *end || !limit || limit > 60000)
			ret = jp_fail(err, EINVAL,
				      "breakpoint: '%s': --limit=MS, 1 to 60000, was expected",
				      argv[i]);
	}
	if (!ret && session->options.system_wide)
		ret = jp_fail(err, EINVAL, "breakpoint: watches one process, not the system");
	job->session = session;
	job->limit = limit * 1000000;
	if (!ret)
		ret = jp_session_attach(session, false, false, err);
	if (!ret)
		ret = list_instructions(job, err);
	if (!ret)
		ret = list_threads(job, err);
	if (!ret) {
		jp_session_sampling(session);
		ret = jp_session_work(session, work, job, err);
	}
	if (ret)
		job_free(job);
	return ret;
}

static const struct jp_capture breakpoint = {
	.name = "breakpoint",
	.help = "a running workload, at each instruction of its functions: [--limit=MS]",
	.boundaries = jp_attach_boundaries,
	.breakpoints = true,
	.begin = begin,
};
JP_REGISTER(capture, breakpoint);
