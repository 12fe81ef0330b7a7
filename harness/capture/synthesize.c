// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/synthesize.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/base/cleanup.h"
#include "harness/capture/recorder.h"
#include "harness/format/perfdata/encode.h"
#include "harness/format/procmaps/procmaps.h"

/*
 * Writes a record with the id and trailer of the event of @stream. A synthesized FORK is marked as
 * perf marks its own, so that readers do not copy the parent's mappings: the child has records of
 * its own mappings. FORK and COMM have 0 as the time of the record, as perf's have, because at a
 * FORK perf forgets the task, including code that a jitdump reported for it before.
 */
static void put_record(struct jp_recorder *recorder, enum jp_stream stream, struct jp_event *event)
{
	unsigned char record[512 + PATH_MAX] __attribute__((aligned(8)));

	event->id = recorder->opened.some_id[stream];
	jp_perfdata_put(recorder->writer, record,
			jp_perf_encode(&recorder->layout[stream], event, record, sizeof(record)));
}

void jp_synthesize_map(struct jp_recorder *recorder, pid_t pid, const struct jp_procmap *map,
		       uint64_t time)
{
	struct jp_event event = jp_procmap_event(map, (uint32_t)pid, time);

	event.misc = JP_PERF_MISC_USER;
	event.map.pgoff = map->offset; /* as perf writes it in records that it synthesizes */
	put_record(recorder, JP_SIDEBAND, &event);
}

void jp_synthesize_fork(struct jp_recorder *recorder, pid_t pid, pid_t ppid, pid_t tid, pid_t ptid,
			uint64_t time)
{
	struct jp_event event = {
		.type = JP_EVENT_FORK,
		.misc = JP_PERF_MISC_FORK_EXEC,
		.pid = (uint32_t)pid,
		.tid = (uint32_t)tid,
		.task = {.ppid = (uint32_t)ppid, .ptid = (uint32_t)ptid, .time = time},
	};

	put_record(recorder, JP_SIDEBAND, &event);
}

void jp_synthesize_comm(struct jp_recorder *recorder, pid_t pid, pid_t tid, const char *name,
			bool exec, uint64_t time)
{
	struct jp_event event = {
		.type = JP_EVENT_COMM,
		.time = time,
		.pid = (uint32_t)pid,
		.tid = (uint32_t)tid,
		.comm = {.name = name, .exec = exec},
	};

	put_record(recorder, JP_SIDEBAND, &event);
}

void jp_synthesize_lost(struct jp_recorder *recorder, uint64_t lost, uint64_t time)
{
	struct jp_event event = {
		.type = JP_EVENT_LOST_SAMPLES, .time = time, .lost = {.lost = lost}};

	put_record(recorder, JP_SAMPLING, &event);
}

static void put_kernel_map(struct jp_recorder *recorder, uint64_t addr, uint64_t len,
			   uint64_t pgoff, const char *name, uint64_t time)
{
	struct jp_event event = {
		.type = JP_EVENT_MAP,
		.record_type = JP_PERF_RECORD_MMAP,
		.misc = JP_PERF_MISC_KERNEL,
		.time = time,
		.pid = UINT32_MAX,
		.kernel_map = true,
		.map = {.addr = addr, .len = len, .pgoff = pgoff, .prot = PROT_EXEC, .name = name},
	};

	put_record(recorder, JP_SIDEBAND, &event);
}

static void put_modules(struct jp_recorder *recorder, uint64_t time)
{
	jp_cleanup_fclose FILE *file = fopen("/proc/modules", "re");
	char line[1024];

	while (file && fgets(line, sizeof(line), file)) {
		unsigned long long size, addr;
		char name[64], text[80];

		/* A line of /proc/modules: "name size uses users, state address" */
		if (sscanf(line, "%63s %llu %*s %*s %*s %llx", name, &size, &addr) != 3 || !addr)
			continue;
		snprintf(text, sizeof(text), "[%s]", name);
		put_kernel_map(recorder, addr, size, 0, text, time);
	}
}

/* The range of the kernel's text, which does not move. */
struct kernel_text {
	pthread_once_t once;
	unsigned long long start, end;
};
static struct kernel_text kernel_text = {.once = PTHREAD_ONCE_INIT};

static void find_kernel_text(void)
{
	jp_cleanup_fclose FILE *file = fopen("/proc/kallsyms", "re");
	struct kernel_text *text = &kernel_text;
	char line[1024];

	while (file && !(text->start && text->end) && fgets(line, sizeof(line), file)) {
		const char *name = strrchr(line, ' ');

		if (name && strcmp(name, " _text\n") == 0)
			text->start = strtoull(line, NULL, 16);
		else if (name && strcmp(name, " _etext\n") == 0)
			text->end = strtoull(line, NULL, 16);
	}
}

void jp_synthesize_prepare(void)
{
	pthread_once(&kernel_text.once, find_kernel_text);
}

void jp_synthesize_kernel(struct jp_recorder *recorder, uint64_t time)
{
	const struct kernel_text *text = &kernel_text;

	jp_synthesize_prepare();
	/* All addresses are zero if kernel.kptr_restrict hides them. */
	if (!text->start || text->end <= text->start)
		return;
	/* perf computes the kernel's load offset from pgoff and the symbol in the name. */
	put_kernel_map(recorder, text->start, text->end - text->start, text->start,
		       "[kernel.kallsyms]_text", time);
	put_modules(recorder, time);
}
