// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness/base/array.h"
#include "harness/base/clock.h"
#include "harness/base/map.h"
#include "harness/base/number.h"
#include "harness/base/sort.h"
#include "harness/capture/event_open.h"
#include "harness/capture/recording.h"
#include "harness/capture/attach.h"
#include "harness/capture/probe.h"
#include "harness/capture/recorder.h"
#include "harness/capture/session.h"
#include "harness/capture/threads.h"
#include "harness/model/oracle/truth.h"

/* A capture that samples each instruction of every emitted function that the workload calls, by
 * execution breakpoints instead of a timer. Each breakpoint is disabled after a few hits, so that
 * it does not slow a hot loop. */
enum {
	/* Number of breakpoints at a time; x86 has four, other machines may have fewer. */
	TOGETHER = 4,
	HITS = 3,       /* number of samples of each breakpoint */
	LIMIT_MS = 200, /* default time limit in ms for the breakpoints that are set together */
};

/* State of an instruction. */
struct instruction {
	bool hit;     /* a breakpoint took a sample there */
	bool has_run; /* its function ran while it had a breakpoint */
};

struct job {
	struct jp_session *session;
	struct jp_tids threads; /* the threads of the process when the breakpoints were set */
	/* Addresses of instructions, in the order in which they get breakpoints; those before index
	 * @nr_tried have had theirs. An address that did not run within its time limit is appended
	 * again. */
	uint64_t *addrs;
	size_t nr_addrs, addrs_capacity, nr_tried;
	size_t armed;               /* number of breakpoints that are set, from @nr_tried on */
	uint64_t set_at;            /* the time when they were set */
	uint64_t limit;             /* time limit in ns for the breakpoints that are set together */
	struct jp_map instructions; /* address -> struct instruction, of each of @addrs */
	struct jp_map events; /* event id -> uint64_t, its address; both under the session's lock */
};

static int push_address(struct job *job, uint64_t addr)
{
	return jp_array_append(&job->addrs, &job->nr_addrs, &job->addrs_capacity, addr);
}

static int add_address(struct job *job, uint64_t addr)
{
	struct jp_session *session = job->session;
	bool is_known, memory = true;

	pthread_mutex_lock(&session->lock);
	is_known = jp_map_find(&job->instructions, addr);
	if (!is_known)
		memory = jp_map_at(&job->instructions, addr, sizeof(struct instruction));
	pthread_mutex_unlock(&session->lock);
	return !memory ? -ENOMEM : is_known ? 0 : push_address(job, addr);
}

static int add_function(struct job *job, const struct jp_truth_code *code)
{
	int ret = 0;

	if (code->unloaded != UINT64_MAX || code->pid != (uint32_t)job->session->target->pid)
		return 0;
	for (uint32_t i = 0; i < code->layout->count && !ret; i++)
		ret = add_address(job, code->addr + code->layout->insns[i].offset);
	return ret;
}

/* Adds the instructions of the process's functions that are new in the truth (the workload's own
 * record of its code). Skips functions that no call path of the truth contains: they never run, so
 * each would cost a whole time limit. Returns 0, or -errno and a message; -EOPNOTSUPP if only other
 * processes have such functions. */
static int list_instructions(struct job *job, struct jp_error *err)
{
	const char *path = job->session->target->truth;
	struct jp_truth *truth;
	int ret = 0;

	if (!path)
		return jp_fail(err, EINVAL,
			       "breakpoint: this capture needs a workload with a truth");
	truth = jp_truth_load(path, err);
	if (!truth)
		return -EINVAL;
	for (size_t i = 0; i < truth->nr_paths && !ret; i++)
		for (uint32_t j = 0; j < truth->paths[i].depth && !ret; j++)
			ret = add_function(job, truth->paths[i].functions[j]);
	jp_truth_free(truth);
	if (ret)
		return jp_fail(err, -ret, "out of memory for the instructions");
	jp_sort(job->addrs + job->nr_tried, job->nr_addrs - job->nr_tried, jp_compare_by_value);
	return job->nr_addrs ? 0
			     : jp_fail(err, EOPNOTSUPP,
				       "breakpoint: this capture needs a process that runs emitted "
				       "functions itself");
}

static int list_threads(struct job *job, struct jp_error *err)
{
	char path[64];
	int ret;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)job->session->target->pid);
	ret = jp_tids_list(path, &job->threads);
	return !ret || ret == -ESRCH ? 0 : jp_fail(err, -ret, "%s: %s", path, strerror(-ret));
}

/* Lets the breakpoint at @addr take HITS samples, after which the kernel disables it. */
static int arm_event(struct job *job, const struct jp_opened *event, uint64_t addr,
		     struct jp_error *err)
{
	struct jp_session *session = job->session;
	uint64_t *address;

	pthread_mutex_lock(&session->lock);
	address = jp_map_at(&job->events, event->id, sizeof(*address));
	if (address)
		*address = addr;
	pthread_mutex_unlock(&session->lock);
	if (!address)
		return jp_fail(err, ENOMEM, "out of memory for a breakpoint");
	if (ioctl(event->fd, PERF_EVENT_IOC_REFRESH, HITS))
		return jp_fail(err, errno, "a breakpoint cannot be armed: %s", strerror(errno));
	return 0;
}

/* Sets a breakpoint on every thread and CPU. Returns -ENOSPC if the machine has none free. */
static int arm_breakpoint(struct job *job, uint64_t addr, struct jp_error *err)
{
	struct jp_session *session = job->session;
	const struct jp_opened_events *opened = &session->recorder->opened;
	size_t first = opened->count;
	struct perf_event_attr attr;
	int ret = 0;

	jp_attr_breakpoint(&attr, &session->options, &session->recorder->abilities, addr);
	for (size_t i = 0; i < job->threads.count && !ret; i++)
		for (unsigned int cpu = 0; cpu < session->nr_cpus && !ret; cpu++) {
			ret = jp_open_event(session, &attr, JP_SAMPLING, job->threads.tids[i], cpu,
					    err);
			if (ret == -ESRCH) { /* the thread ended */
				ret = 0;
				break;
			}
		}
	for (size_t i = first; i < opened->count && !ret; i++)
		ret = arm_event(job, &opened->list[i], addr, err);
	if (ret)
		jp_open_close(session, first);
	return ret;
}

static void note_hit(void *context, uint64_t id)
{
	struct job *job = context;
	const uint64_t *addr = jp_map_find(&job->events, id);

	if (addr)
		((struct instruction *)jp_map_find(&job->instructions, *addr))->hit = true;
}

/* Returns whether each of the breakpoints that are set has a sample. The session must be locked. */
static bool have_all_hit(const struct job *job)
{
	for (size_t i = job->nr_tried; i < job->nr_tried + job->armed; i++)
		if (!((struct instruction *)jp_map_find(&job->instructions, job->addrs[i]))->hit)
			return false;
	return true;
}

static bool contains(const struct jp_truth_path *path, uint64_t addr)
{
	for (uint32_t i = 0; i < path->depth; i++)
		if (addr - path->functions[i]->addr < path->functions[i]->size)
			return true;
	return false;
}

static bool is_watched(const struct job *job, uint32_t tid)
{
	for (size_t i = 0; i < job->threads.count; i++)
		if ((uint32_t)job->threads.tids[i] == tid)
			return true;
	return false;
}

/* Returns whether a watched thread entered and left a path with the function at @addr since the
 * breakpoints were set. */
static bool has_run(const struct job *job, const struct jp_truth *truth, uint64_t addr)
{
	for (size_t i = 0; i < truth->nr_activations; i++) {
		const struct jp_truth_activation *activation = &truth->activations[i];

		if (activation->enter > job->set_at && activation->leave != UINT64_MAX &&
		    is_watched(job, activation->tid) && contains(activation->path, addr))
			return true;
	}
	return false;
}

/* Disables the breakpoints with the events from index @first on. Notes hits whose samples are still
 * in the rings: a second breakpoint at such an address would be a second event. */
static void disable_group(struct job *job, size_t first)
{
	const struct jp_opened_events *opened = &job->session->recorder->opened;

	for (size_t i = first; i < opened->count; i++) {
		uint64_t counts[3] = {0}; /* value, id, lost */

		ioctl(opened->list[i].fd, PERF_EVENT_IOC_DISABLE, 0);
		if (read(opened->list[i].fd, counts, sizeof(counts)) < 0 || !counts[0])
			continue;
		pthread_mutex_lock(&job->session->lock);
		note_hit(job, opened->list[i].id);
		pthread_mutex_unlock(&job->session->lock);
	}
}

/* Finds out whether the functions of breakpoints without a sample ran. Puts the addresses of those
 * that did not at the end of the list. Returns 0, or -errno and a message. */
static int repeat_idle(struct job *job, struct jp_error *err)
{
	struct jp_truth *truth = jp_truth_load(job->session->target->truth, err);
	int ret = 0;

	if (!truth)
		return -EINVAL;
	for (size_t i = job->nr_tried; i < job->nr_tried + job->armed && !ret; i++) {
		const bool ran = has_run(job, truth, job->addrs[i]);
		struct instruction *insn;
		bool is_idle;

		pthread_mutex_lock(&job->session->lock);
		insn = jp_map_find(&job->instructions, job->addrs[i]);
		insn->has_run |= ran;
		is_idle = !insn->has_run && !insn->hit;
		pthread_mutex_unlock(&job->session->lock);
		if (is_idle && push_address(job, job->addrs[i]))
			ret = jp_fail(err, ENOMEM, "out of memory for the instructions");
	}
	jp_truth_free(truth);
	return ret;
}

/* Sets up to TOGETHER breakpoints. Returns 0, or -errno and a message. */
static int arm_group(struct job *job, struct jp_error *err)
{
	int ret = list_threads(job, err);

	job->armed = 0;
	while (job->armed < TOGETHER && job->nr_tried + job->armed < job->nr_addrs && !ret) {
		ret = arm_breakpoint(job, job->addrs[job->nr_tried + job->armed], err);
		job->armed += !ret;
	}
	job->set_at = jp_clock_now();
	return ret == -ENOSPC && job->armed ? 0 : ret;
}

/* Sets a group of breakpoints and waits until each was hit. Returns 1; 0 at the end of the session;
 * or -errno. */
static int run_group(struct job *job, struct jp_error *err)
{
	struct jp_session *session = job->session;
	const size_t first = session->recorder->opened.count;
	struct timespec deadline;
	bool is_hit, is_ending;
	int ret = arm_group(job, err), waited = 0;

	deadline = jp_clock_timespec(job->set_at + job->limit);
	pthread_mutex_lock(&session->lock);
	while (!ret && !(is_hit = have_all_hit(job)) && !session->worker.ending &&
	       !session->exited && waited != ETIMEDOUT)
		waited = pthread_cond_timedwait(&session->changed, &session->lock, &deadline);
	is_ending = session->worker.ending || session->exited;
	pthread_mutex_unlock(&session->lock);
	if (!ret && !is_ending && !is_hit) {
		disable_group(job, first);
		ret = repeat_idle(job, err);
	}
	job->nr_tried += job->armed;
	jp_open_close(session, first);
	return ret ?: !is_ending;
}

static void *run_job(void *context)
{
	struct job *job = context;
	struct jp_error *err = &job->session->worker.err;
	int ret = 1;

	/* The workload may emit further functions meanwhile. */
	while (ret > 0 && job->nr_tried < job->nr_addrs) {
		ret = run_group(job, err);
		if (ret > 0 && job->nr_tried == job->nr_addrs && list_instructions(job, err))
			ret = -EINVAL;
	}
	jp_worker_done(job->session, ret < 0 ? ret : 0);
	return NULL;
}

/* Parses [--limit=MS]. */
static int parse_options(struct job *job, int argc, char **argv, struct jp_error *err)
{
	uint64_t limit = LIMIT_MS;

	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "--limit=", 8) != 0 ||
		    !jp_number(argv[i] + 8, 1, 60000, &limit))
			return jp_fail(err, EINVAL,
				       "breakpoint: '%s': expected --limit=MS with 1 to 60000 ms",
				       argv[i]);
	job->limit = limit * JP_NS_PER_MS;
	if (job->session->options.system_wide)
		return jp_fail(err, EINVAL,
			       "breakpoint: this capture watches one process, not the system");
	return 0;
}

static int open_recorder(struct job *job, struct jp_error *err)
{
	struct jp_session *session = job->session;
	struct jp_recorder *recorder;
	int ret = jp_recorder_open(session, err);

	if (ret)
		return ret;
	recorder = session->recorder;
	recorder->abilities.kernel = false;
	jp_attr_breakpoint(&recorder->attr[JP_SAMPLING], &session->options, &recorder->abilities,
			   0);
	jp_attr_sideband(&recorder->attr[JP_SIDEBAND], &session->options, &recorder->abilities);
	pthread_mutex_lock(&session->lock);
	recorder->received.observer = (struct jp_observer){.context = job, .sample = note_hit};
	pthread_mutex_unlock(&session->lock);
	return jp_recorder_create(session, "breakpoint", err);
}

static int begin(struct jp_session *session, int argc, char **argv, struct jp_error *err)
{
	struct job *job = calloc(1, sizeof(*job));
	int ret;

	if (!job)
		return jp_fail(err, ENOMEM, "out of memory for the breakpoints");
	session->state = job;
	session->by_complete = true;
	job->session = session;
	ret = parse_options(job, argc, argv, err)
		      ?: open_recorder(job, err)
		      ?: jp_attach(session, false, false, err)
		      ?: list_instructions(job, err);
	if (ret)
		return ret;
	jp_recorder_note_sampling(session);
	return jp_worker_start(session, run_job, job, err);
}

/* Counts the breakpoints that took a sample, or could not miss one. */
static void stop(struct jp_session *session)
{
	const struct job *job = session->state;
	const struct instruction *insn;

	jp_recorder_stop(session);
	for (size_t cursor = 0; (insn = jp_map_next(&job->instructions, &cursor, NULL));) {
		session->info.breakpoints += insn->hit || insn->has_run;
		session->info.breakpoints_hit += insn->hit;
	}
}

static void free_breakpoints(struct jp_session *session)
{
	struct job *job = session->state;

	jp_recorder_free(session);
	if (!job)
		return;
	jp_tids_free(&job->threads);
	free(job->addrs);
	jp_map_free(&job->events);
	jp_map_free(&job->instructions);
	free(job);
}

static void init_attr(struct perf_event_attr *attr, const struct jp_capture_options *options,
		      const struct jp_abilities *abilities)
{
	static const char unused_address; /* address of data, which no thread executes */

	jp_attr_breakpoint(attr, options, abilities, (uint64_t)(uintptr_t)&unused_address);
}

static int probe(const struct jp_capture_options *options, int argc, char **argv, char *missing,
		 size_t size)
{
	static const struct jp_probe_event event = {"perf_event_open of execution breakpoints",
						    init_attr};

	return jp_probe(options, &event, missing, size);
}

JP_DEFINE(capture, breakpoint) = {
	.name = "breakpoint",
	.boundaries = jp_attach_boundaries,
	.traits = JP_CAPTURE_USER,
	.probe = probe,
	.begin = begin,
	.stop = stop,
	.finish = jp_recorder_finish,
	.free = free_breakpoints,
};
