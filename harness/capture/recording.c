// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/recording.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/order.h"
#include "harness/capture/drain.h"
#include "harness/capture/event_open.h"
#include "harness/capture/probe.h"
#include "harness/capture/received.h"
#include "harness/capture/recorder.h"
#include "harness/capture/session.h"
#include "harness/capture/synthesize.h"
#include "harness/format/perfdata/format.h"

struct jp_session;

enum {
	SIDEBAND_RING = 512 << 10,
	/* Size of a sideband ring in bytes: space for two thousand records. */
	SIDEBAND_AMPLE = 256 << 10,
	SIDEBAND_LEAST = 32 << 10,
	WAKE_SIDEBAND = 16 << 10,
	LARGEST_RING = 64 << 20,
	CHAIN_MARKERS = 8, /* kernel.perf_event_max_contexts_per_stack */
	/* Most bytes of the record that brings a deferred callchain. */
	DEFERRED_RECORD = 4 << 10,
};
/* A ring holds the records of 1 / STALLS_PER_SECOND seconds, so that the thread that drains it may
 * be delayed that long. */
enum { STALLS_PER_SECOND = 4 };

static uint64_t sample_size(const struct jp_session *session)
{
	uint64_t size = sizeof(struct jp_perf_record) + 6 * sizeof(uint64_t);

	size += (1 + (uint64_t)__builtin_popcountll(jp_registers_user)) * sizeof(uint64_t);
	if (session->options.chain)
		size += (1 + session->info.max_stack + CHAIN_MARKERS) * sizeof(uint64_t);
	if (session->options.chain && session->options.deferred)
		size += DEFERRED_RECORD;
	if (session->options.stack)
		size += session->options.stack + 2 * sizeof(uint64_t);
	return size;
}

static uint64_t round_up_size(uint64_t min_size)
{
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);

	while (size < min_size && size < (UINT64_C(1) << 62))
		size *= 2;
	return size;
}

static void unmap_rings(struct jp_recorder *recorder, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		jp_perf_ring_unmap(&recorder->rings[i].records);
}

/* mmap() locks the address space of our process while it clears the rings. The threads that empty
 * other rings wait for that lock, so the watched threads must not delay its holder. */
static int map_rings(struct jp_recorder *recorder, unsigned int count,
		     const uint64_t size[JP_STREAMS])
{
	const id_t thread = (id_t)syscall(SYS_gettid);
	const int priority = getpriority(PRIO_PROCESS, thread);
	int ret = 0;

	(void)setpriority(PRIO_PROCESS, thread, JP_HIGHEST_PRIORITY);
	for (unsigned int i = 0; i < count && !ret; i++) {
		struct jp_ring *ring = &recorder->rings[i];

		ret = jp_perf_ring_map(&ring->records, ring->fd, size[ring->stream]);
	}
	(void)setpriority(PRIO_PROCESS, thread, priority);
	if (ret)
		unmap_rings(recorder, count);
	return ret;
}

/* Opens the event that owns the ring: it belongs to the thread that drains the rings, and never
 * counts. So the ring outlives the watched threads, and polling its descriptor never reports a
 * hang-up. */
static int open_owner(struct jp_ring *ring, pid_t drainer, uint64_t sideband_ring,
		      struct jp_error *err)
{
	struct perf_event_attr attr;
	char reason[128];

	jp_attr_ring(&attr);
	/* Wake the thread early for sideband records, so that it can open the files of short-lived
	 * processes. */
	if (ring->stream == JP_SIDEBAND) {
		attr.watermark = 1;
		attr.wakeup_watermark = WAKE_SIDEBAND;
		if (sideband_ring && sideband_ring < 2 * WAKE_SIDEBAND)
			attr.wakeup_watermark = (uint32_t)round_up_size(sideband_ring) / 2;
	}
	ring->fd = jp_perf_open(&attr, drainer, ring->cpu);
	if (ring->fd >= 0)
		return 0;
	jp_perf_explain_error(-ring->fd, reason, sizeof(reason));
	return jp_fail(err, -ring->fd, "perf_event_open of the ring of CPU %d: %s", ring->cpu,
		       reason);
}

static int open_owners(struct jp_session *session, struct jp_error *err)
{
	struct jp_recorder *recorder = session->recorder;
	unsigned int count = JP_STREAMS * session->nr_cpus;
	int ret = 0;

	recorder->rings = calloc(count, sizeof(*recorder->rings));
	if (!recorder->rings)
		return jp_fail(err, ENOMEM, "out of memory for %u rings", count);
	for (unsigned int i = 0; i < count; i++)
		recorder->rings[i] = (struct jp_ring){
			.fd = -1,
			.cpu = session->cpus[i % session->nr_cpus],
			.stream = (enum jp_stream)(i / session->nr_cpus),
		};
	for (unsigned int i = 0; i < count && !ret; i++)
		ret = open_owner(&recorder->rings[i], recorder->drain.tid,
				 session->options.sideband_ring, err);
	return ret;
}

/* Halves the ring size of one stream: the stream that needs its size least. Keeps a size that the
 * user requested. Returns false if no size can be halved. */
static bool shrink_rings(const struct jp_capture_options *options, uint64_t size[JP_STREAMS],
			 uint64_t min_size)
{
	if (size[JP_SIDEBAND] > SIDEBAND_AMPLE && !options->sideband_ring)
		size[JP_SIDEBAND] /= 2;
	else if (size[JP_SAMPLING] > min_size && !options->ring)
		size[JP_SAMPLING] /= 2;
	else if (size[JP_SIDEBAND] > SIDEBAND_LEAST && !options->sideband_ring)
		size[JP_SIDEBAND] /= 2;
	else
		return false;
	return true;
}

/* Maps rings as large as requested, or as large as permitted. EPERM: larger than RLIMIT_MEMLOCK. */
static int size_rings(struct jp_session *session, uint64_t bytes, uint64_t size[JP_STREAMS],
		      struct jp_error *err)
{
	const struct jp_capture_options *options = &session->options;
	const bool is_given = options->ring || options->sideband_ring;
	uint64_t min_size = round_up_size(2 * bytes);
	uint64_t wanted_size = bytes * options->frequency / STALLS_PER_SECOND;
	int ret;

	size[JP_SAMPLING] = round_up_size(options->ring ? options->ring : wanted_size);
	size[JP_SIDEBAND] =
		options->sideband_ring ? round_up_size(options->sideband_ring) : SIDEBAND_RING;
	if (size[JP_SAMPLING] > LARGEST_RING && !options->ring)
		size[JP_SAMPLING] = LARGEST_RING;
	if (size[JP_SAMPLING] < min_size)
		size[JP_SAMPLING] = min_size;
	while ((ret = map_rings(session->recorder, JP_STREAMS * session->nr_cpus, size)) != 0) {
		const bool is_scarce = ret == -EPERM || ret == -ENOMEM;

		if (!is_scarce || !shrink_rings(options, size, min_size))
			return jp_fail(err, is_scarce && is_given ? EOPNOTSUPP : -ret,
				       "mmap of rings of %llu + %llu bytes on %u CPUs: %s "
				       "(RLIMIT_MEMLOCK, kernel.perf_event_mlock_kb=%ld)",
				       (unsigned long long)size[JP_SAMPLING],
				       (unsigned long long)size[JP_SIDEBAND], session->nr_cpus,
				       strerror(-ret), jp_sysctl_read("perf_event_mlock_kb", 0));
	}
	return 0;
}

/* Returns the highest rate up to @rate without the factors 2, 3 and 5 of the kernel's tick
 * (CONFIG_HZ 100, 250, 300 or 1000). Samples at a multiple of the tick's period would keep their
 * distance to the tick, and a capture of user space would miss all of them that fall into the
 * tick's work. */
static uint64_t avoid_tick(uint64_t rate)
{
	while (rate > 1 && (rate % 2 == 0 || rate % 3 == 0 || rate % 5 == 0))
		rate--;
	return rate;
}

/* Maps the rings, and lowers the sampling rate to fit them. Returns 0, or -errno and a message. */
static int open_rings(struct jp_session *session, struct jp_error *err)
{
	struct jp_recorder *recorder = session->recorder;
	const uint64_t wanted_rate = jp_capture_frequency(&session->options);
	uint64_t bytes = sample_size(session), size[JP_STREAMS], rate;
	int ret = open_owners(session, err) ?: size_rings(session, bytes, size, err);

	if (ret)
		return ret;
	for (unsigned int i = 0; i < JP_STREAMS * session->nr_cpus; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.fd = recorder->rings[i].fd};

		if (epoll_ctl(recorder->drain.epoll, EPOLL_CTL_ADD, recorder->rings[i].fd, &event))
			return jp_fail(err, errno, "epoll of a ring: %s", strerror(errno));
	}
	/* Lower the sampling rate to what the rings can hold. */
	rate = size[JP_SAMPLING] * STALLS_PER_SECOND / bytes;
	rate = rate < wanted_rate ? avoid_tick(rate) : wanted_rate;
	recorder->frequency = rate ? (uint32_t)rate : 1;
	return 0;
}

static void close_rings(struct jp_session *session)
{
	struct jp_recorder *recorder = session->recorder;
	unsigned int count = JP_STREAMS * session->nr_cpus;

	if (!recorder->rings)
		return;
	unmap_rings(recorder, count);
	for (unsigned int i = 0; i < count; i++)
		if (recorder->rings[i].fd >= 0)
			close(recorder->rings[i].fd);
	free(recorder->rings);
	recorder->rings = NULL;
}

/* Returns a text that names the option without which the kernel would accept the events, or "". */
static const char *find_refused_option(const struct jp_session *session)
{
	struct jp_capture_options options = session->options;
	struct jp_abilities abilities;

	if (!options.deferred)
		return "";
	options.deferred = false;
	return jp_abilities_try(&options, &abilities)
		       ? ""
		       : " with attr.defer_callchain (since Linux 6.19)";
}

static int find_abilities(struct jp_session *session, struct jp_error *err)
{
	struct jp_abilities *abilities = &session->recorder->abilities;
	int ret = jp_abilities_try(&session->options, abilities);
	char reason[128];

	if (ret) {
		jp_perf_explain_error(-ret, reason, sizeof(reason));
		return jp_fail(err, -ret, "perf_event_open%s: %s", find_refused_option(session),
			       reason);
	}
	if (session->options.need_kernel && !abilities->kernel)
		return jp_fail(err, EOPNOTSUPP,
			       "the kernel may not be sampled (kernel.perf_event_paranoid=%ld)",
			       jp_sysctl_read("perf_event_paranoid", 0));
	return 0;
}

int jp_recorder_open(struct jp_session *session, struct jp_error *err)
{
	const pid_t pid = session->target->pid;
	struct jp_recorder *recorder;

	/* Check that the process exists before an existing perf.data is replaced. */
	if (pid > 0 && kill(pid, 0) && errno == ESRCH)
		return jp_fail(err, ESRCH, "no process %d", pid);
	recorder = calloc(1, sizeof(*recorder));
	if (!recorder)
		return jp_fail(err, ENOMEM, "out of memory for a recorder");
	recorder->drain =
		(struct jp_drain){.wake = -1, .epoll = -1, .target_fd = -1, .hold_rounds = true};
	session->recorder = recorder;
	return find_abilities(session, err)
		       ?: jp_session_prepare(session, err)
				  ?: jp_drain_start(session, err) ?: open_rings(session, err);
}

int jp_recorder_create(struct jp_session *session, const char *name, struct jp_error *err)
{
	struct jp_recorder *recorder = session->recorder;
	const char *user = recorder->attr[JP_SAMPLING].exclude_kernel ? ":u" : "";
	char sampling[32], sideband[32];
	struct jp_perf_attr attrs[JP_STREAMS] = {0};
	const struct jp_perfdata_event events[JP_STREAMS] = {
		[JP_SAMPLING] = {&attrs[JP_SAMPLING], sampling},
		[JP_SIDEBAND] = {&attrs[JP_SIDEBAND], sideband},
	};
	struct jp_perfdata_writer *writer;

	snprintf(sampling, sizeof(sampling), "%s%s", name, user);
	snprintf(sideband, sizeof(sideband), "dummy%s", user);
	for (int i = 0; i < JP_STREAMS; i++) {
		memcpy(&attrs[i], &recorder->attr[i], recorder->attr[i].size);
		jp_attr_layout(&recorder->attr[i], &recorder->layout[i]);
	}
	writer = jp_perfdata_create(session->output, events, JP_STREAMS, err);
	if (!writer)
		return -EIO;
	pthread_mutex_lock(&session->lock);
	recorder->writer = writer;
	pthread_mutex_unlock(&session->lock);
	return 0;
}

int jp_recorder_begin(struct jp_session *session, bool on_exec, struct jp_error *err)
{
	const struct jp_capture_options *options = &session->options;
	struct jp_recorder *recorder;
	int ret = jp_recorder_open(session, err);

	if (ret)
		return ret;
	recorder = session->recorder;
	jp_attr_sampling(&recorder->attr[JP_SAMPLING], options, &recorder->abilities,
			 recorder->frequency);
	jp_attr_sideband(&recorder->attr[JP_SIDEBAND], options, &recorder->abilities);
	for (int i = 0; i < JP_STREAMS; i++)
		recorder->attr[i].enable_on_exec = on_exec;
	return jp_recorder_create(session, options->task_clock ? "task-clock" : "cpu-clock", err);
}

void jp_recorder_write_kernel(struct jp_session *session)
{
	if (!session->recorder->abilities.kernel)
		return;
	pthread_mutex_lock(&session->lock);
	jp_synthesize_kernel(session->recorder, session->began);
	pthread_mutex_unlock(&session->lock);
}

void jp_recorder_note_sampling(struct jp_session *session)
{
	pthread_mutex_lock(&session->lock);
	session->info.sampling = jp_clock_now();
	session->recorder->drain.hold_rounds = false;
	pthread_mutex_unlock(&session->lock);
}

int jp_recorder_note_enabled(struct jp_session *session)
{
	jp_recorder_write_kernel(session);
	session->info.enabled = session->info.first_enabled = jp_clock_now();
	jp_recorder_note_sampling(session);
	return 0;
}

/* Returns whether the event's count is correct. A wrong count is not stored: no count is better. */
static bool is_counted(const struct perf_event_attr *attr)
{
	return attr->type != PERF_TYPE_SOFTWARE || jp_probe_counts(attr->config);
}

void jp_recorder_stop(struct jp_session *session)
{
	const struct jp_recorder *recorder = session->recorder;
	struct jp_capture_info *info = &session->info;

	info->stopped = jp_clock_now();
	/* Switch off sideband after sampling, so that the mappings of every sample are recorded. */
	jp_open_switch(session, JP_SAMPLING, false, NULL);
	session->silent = jp_clock_now();
	jp_open_switch(session, JP_SIDEBAND, false, NULL);
	jp_drain_stop(session);
	jp_open_close(session, 0);
	if (is_counted(&recorder->attr[JP_SAMPLING]))
		info->counted = recorder->opened.counted[JP_SAMPLING];
	info->lost_samples =
		jp_max(recorder->received.lost[JP_SAMPLING], recorder->opened.lost[JP_SAMPLING]);
	info->lost_sideband =
		jp_max(recorder->received.lost[JP_SIDEBAND], recorder->opened.lost[JP_SIDEBAND]);
	info->duplicates = recorder->received.duplicates[JP_SAMPLING];
}

static int close_file(struct jp_recorder *recorder, struct jp_error *err)
{
	struct jp_perfdata_writer *writer = recorder->writer;

	recorder->writer = NULL;
	return jp_perfdata_close(writer, recorder->received.first_sample,
				 recorder->received.last_sample, err);
}

static int write_info(struct jp_session *session, struct jp_error *err)
{
	const struct jp_recorder *recorder = session->recorder;
	struct jp_capture_info *info = &session->info;

	snprintf(info->capture, sizeof(info->capture), "%s", session->capture->name);
	snprintf(info->event, sizeof(info->event), "%s",
		 session->options.task_clock ? "task-clock" : "cpu-clock");
	info->samples = session->samples;
	info->frequency_asked = session->options.frequency;
	info->frequency = recorder->frequency;
	info->ring_sampling = recorder->rings[JP_SAMPLING * session->nr_cpus].records.size;
	info->ring_sideband = recorder->rings[JP_SIDEBAND * session->nr_cpus].records.size;
	info->cpus = session->nr_cpus;
	info->kernel = recorder->abilities.kernel;
	info->format_lost = recorder->abilities.lost;
	info->duplicates_sideband = recorder->received.duplicates[JP_SIDEBAND];
	return jp_capture_info_write(info, session->dir, err);
}

int jp_recorder_finish(struct jp_session *session, struct jp_error *err)
{
	struct jp_recorder *recorder = session->recorder;
	/* If a ring stayed full until the end, the kernel wrote no LOST record for its last
	 * losses. */
	uint64_t unreported = session->info.lost_samples - recorder->received.lost[JP_SAMPLING];
	int ret;

	if (unreported)
		jp_synthesize_lost(recorder, unreported, jp_clock_now());
	ret = close_file(recorder, err);
	return ret || !session->dir ? ret : write_info(session, err);
}

void jp_recorder_free(struct jp_session *session)
{
	struct jp_recorder *recorder = session->recorder;

	if (!recorder)
		return;
	jp_drain_stop(session);
	jp_open_close(session, 0);
	/* The session failed to begin, so its file is no recording. */
	if (recorder->writer)
		jp_perfdata_remove(recorder->writer);
	close_rings(session);
	jp_drain_close(&recorder->drain);
	jp_received_free(&recorder->received);
	free(recorder->opened.list);
	free(recorder);
	session->recorder = NULL;
}
