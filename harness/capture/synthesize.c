// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/capture/session.h"
#include "harness/format/procmaps/procmaps.h"
#include "harness/format/truth/format.h"

/*
 * Records are written with the sideband event's id and trailer, as if it had told of them.
 * perf marks a synthesized FORK so that the parent's mappings are not copied: those of the child
 * follow in records of their own. Like perf's own, such a FORK and COMM have time 0: perf forgets
 * at a FORK what it knew of the task, and a jitdump may know more, from before the capture began.
 */
enum { MISC_FORK_EXEC = 1 << 13 };

struct trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t id;
};

struct record {
	size_t used;
	unsigned char bytes[sizeof(struct perf_event_header) + 128 + PATH_MAX + 8];
};

static void start(struct record *record, uint32_t type, uint16_t misc)
{
	struct perf_event_header header = {.type = type, .misc = misc};

	record->used = 0;
	memcpy(record->bytes, &header, sizeof(header));
	record->used = sizeof(header);
}

static void add(struct record *record, const void *bytes, size_t size)
{
	memcpy(record->bytes + record->used, bytes, size);
	record->used += size;
}

static void add_text(struct record *record, const char *text)
{
	static const char zeros[8];
	size_t size = strnlen(text, PATH_MAX - 1);

	add(record, text, size);
	add(record, zeros, 8 - size % 8); /* one NUL at least */
}

static void put(struct jp_session *session, struct record *record, enum jp_stream stream, pid_t pid,
		pid_t tid, uint64_t time)
{
	struct trailer trailer = {.pid = (uint32_t)pid,
				  .tid = (uint32_t)tid,
				  .time = time,
				  .id = session->some_id[stream]};
	uint16_t size;

	add(record, &trailer, sizeof(trailer));
	size = (uint16_t)record->used;
	memcpy(record->bytes + offsetof(struct perf_event_header, size), &size, sizeof(size));
	jp_perfdata_put(session->writer, record->bytes, record->used);
}

void jp_synthesize_map(struct jp_session *session, pid_t pid, const struct jp_procmap *map,
		       uint64_t time)
{
	struct record record;
	const uint32_t task[2] = {(uint32_t)pid, (uint32_t)pid};
	const uint64_t range[3] = {map->start, map->end - map->start, map->offset};
	const uint32_t device[2] = {map->maj, map->min};
	const uint64_t inode[2] = {map->ino, 0};
	uint32_t kind[2] = {0, map->shared == 's' ? MAP_SHARED : MAP_PRIVATE};
	uint16_t misc = PERF_RECORD_MISC_USER;

	kind[0] |= map->prot & JP_PROT_READ ? PROT_READ : 0;
	kind[0] |= map->prot & JP_PROT_WRITE ? PROT_WRITE : 0;
	kind[0] |= map->prot & JP_PROT_EXEC ? PROT_EXEC : 0;
	if (!(map->prot & JP_PROT_EXEC))
		misc |= PERF_RECORD_MISC_MMAP_DATA;
	start(&record, PERF_RECORD_MMAP2, misc);
	add(&record, task, sizeof(task));
	add(&record, range, sizeof(range));
	add(&record, device, sizeof(device));
	add(&record, inode, sizeof(inode));
	add(&record, kind, sizeof(kind));
	/* The kernel's live records and perf's synthesized ones call it so; maps says nothing. */
	add_text(&record, *map->name ? map->name : "//anon");
	put(session, &record, JP_SIDEBAND, pid, pid, time);
}

void jp_synthesize_fork(struct jp_session *session, pid_t pid, pid_t ppid, pid_t tid, pid_t ptid,
			uint64_t time)
{
	struct record record;
	const uint32_t task[4] = {(uint32_t)pid, (uint32_t)ppid, (uint32_t)tid, (uint32_t)ptid};

	start(&record, PERF_RECORD_FORK, MISC_FORK_EXEC);
	add(&record, task, sizeof(task));
	add(&record, &time, sizeof(time));
	put(session, &record, JP_SIDEBAND, ppid, ptid, 0);
}

void jp_synthesize_comm(struct jp_session *session, pid_t pid, pid_t tid, const char *name,
			bool exec, uint64_t time)
{
	struct record record;
	const uint32_t task[2] = {(uint32_t)pid, (uint32_t)tid};

	start(&record, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
	add(&record, task, sizeof(task));
	add_text(&record, name);
	put(session, &record, JP_SIDEBAND, pid, tid, time);
}

void jp_synthesize_lost(struct jp_session *session, uint64_t lost, uint64_t time)
{
	struct record record;

	start(&record, PERF_RECORD_LOST_SAMPLES, 0);
	add(&record, &lost, sizeof(lost));
	put(session, &record, JP_SAMPLING, 0, 0, time);
}

static void kernel_map(struct jp_session *session, uint64_t addr, uint64_t len, uint64_t pgoff,
		       const char *name, uint64_t time)
{
	struct record record;
	const uint32_t task[2] = {UINT32_MAX, 0};
	const uint64_t range[3] = {addr, len, pgoff};

	start(&record, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
	add(&record, task, sizeof(task));
	add(&record, range, sizeof(range));
	add_text(&record, name);
	put(session, &record, JP_SIDEBAND, -1, 0, time);
}

static void modules(struct jp_session *session, uint64_t time)
{
	FILE *file = fopen("/proc/modules", "re");
	char line[1024];

	while (file && fgets(line, sizeof(line), file)) {
		unsigned long long size, addr;
		char name[64], text[80];

		/* "name size uses users, state address" */
		if (sscanf(line, "%63s %llu %*s %*s %*s %llx", name, &size, &addr) != 3 || !addr)
			continue;
		snprintf(text, sizeof(text), "[%s]", name);
		kernel_map(session, addr, size, 0, text, time);
	}
	if (file)
		fclose(file);
}

/* The kernel's text, of a hundred thousand lines: read once, it does not move. */
struct kernel_text {
	pthread_once_t once;
	unsigned long long start, end;
};
static struct kernel_text kernel_text = {.once = PTHREAD_ONCE_INIT};

static void find_kernel_text(void)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	struct kernel_text *text = &kernel_text;
	char line[1024];

	while (file && !(text->start && text->end) && fgets(line, sizeof(line), file)) {
		const char *name = strrchr(line, ' ');

		if (name && strcmp(name, " _text\n") == 0)
			text->start = strtoull(line, NULL, 16);
		else if (name && strcmp(name, " _etext\n") == 0)
			text->end = strtoull(line, NULL, 16);
	}
	if (file)
		fclose(file);
}

void jp_synthesize_kernel(struct jp_session *session, uint64_t time)
{
	const struct kernel_text *text = &kernel_text;

	pthread_once(&kernel_text.once, find_kernel_text);
	/* All zero where kernel.kptr_restrict hides them: there is nothing to tell then. */
	if (!text->start || text->end <= text->start)
		return;
	/* perf finds the kernel's load offset in pgoff, by the symbol in the name. */
	kernel_map(session, text->start, text->end - text->start, text->start,
		   "[kernel.kallsyms]_text", time);
	modules(session, time);
}
