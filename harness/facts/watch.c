// SPDX-License-Identifier: GPL-2.0-only
#include "harness/facts/watch.h"

#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void jp_attr_set_bit(struct perf_event_attr *attr, unsigned int bit)
{
	enum { FLAGS = 40 };
	unsigned char *bytes = (unsigned char *)attr;
	uint64_t flags;

	memcpy(&flags, bytes + FLAGS, sizeof(flags));
	flags |= UINT64_C(1) << bit;
	memcpy(bytes + FLAGS, &flags, sizeof(flags));
}

struct perf_event_attr jp_watch_sideband(void)
{
	const struct jp_capture_options options = jp_capture_defaults();
	const struct jp_abilities required = {0};
	struct perf_event_attr attr;

	jp_attr_sideband(&attr, &options, &required);
	return attr;
}

struct perf_event_attr jp_watch_breakpoint(const void *addr)
{
	struct jp_capture_options options = jp_capture_defaults();
	const struct jp_abilities required = {0};
	struct perf_event_attr attr;

	options.chain = true;
	options.stack = 0;
	jp_attr_breakpoint(&attr, &options, &required, (uint64_t)(uintptr_t)addr);
	return attr;
}

bool jp_watch_map(struct jp_watch *watch, unsigned int pages, struct jp_answer *answer)
{
	int ret = jp_perf_ring_map(&watch->ring, watch->fd, pages * (size_t)sysconf(_SC_PAGESIZE));

	if (ret)
		jp_answer_missing(answer, "mmap of an event ring: %s", jp_answer_errno(-ret));
	return !ret;
}

bool jp_watch_open_disabled(struct jp_watch *watch, struct perf_event_attr *attr,
			    unsigned int pages, struct jp_answer *answer)
{
	char reason[128];

	*watch = (struct jp_watch){.fd = jp_perf_open(attr, 0, sched_getcpu())};
	if (watch->fd < 0) {
		jp_perf_explain_error(-watch->fd, reason, sizeof(reason));
		jp_answer_missing(answer, "perf_event_open: %s",
				  reason[0] == '?' ? jp_answer_errno(-watch->fd) : reason);
		watch->fd = -1;
		return false;
	}
	jp_attr_layout(attr, &watch->layout);
	if (pages && !jp_watch_map(watch, pages, answer)) {
		jp_watch_close(watch);
		return false;
	}
	return true;
}

bool jp_watch_open(struct jp_watch *watch, struct perf_event_attr *attr, unsigned int pages,
		   struct jp_answer *answer)
{
	if (!jp_watch_open_disabled(watch, attr, pages, answer))
		return false;
	if (ioctl(watch->fd, PERF_EVENT_IOC_ENABLE, 0)) {
		jp_answer_failed(answer, "PERF_EVENT_IOC_ENABLE");
		jp_watch_close(watch);
	}
	return watch->fd >= 0;
}

bool jp_watch_code(struct jp_watch *watch, struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_sideband();

	return jp_watch_open(watch, &attr, JP_WATCH_PAGES, answer);
}

bool jp_watch_next(struct jp_watch *watch, struct jp_event *event)
{
	static uint64_t copy[JP_PERF_RECORD_MOST / sizeof(uint64_t)];
	static struct jp_regs regs;
	const struct jp_perf_record *record;

	if (!watch->ring.page)
		return false;
	jp_perf_ring_load_head(&watch->ring);
	record = jp_perf_ring_next(&watch->ring, copy);
	if (!record)
		return false;
	if (record != (void *)copy)
		memcpy(copy, record, record->size);
	jp_perf_ring_release(&watch->ring);
	record = (void *)copy;
	if (jp_perf_decode(&watch->layout, record, event, &regs))
		event->type = JP_EVENT_OTHER;
	event->record = record;
	return true;
}

void jp_watch_skip(struct jp_watch *watch)
{
	if (!watch->ring.page)
		return;
	jp_perf_ring_load_head(&watch->ring);
	watch->ring.tail = watch->ring.head;
	jp_perf_ring_release(&watch->ring);
}

void jp_watch_close(struct jp_watch *watch)
{
	jp_perf_ring_unmap(&watch->ring);
	if (watch->fd >= 0)
		close(watch->fd);
	*watch = (struct jp_watch){.fd = -1};
}
