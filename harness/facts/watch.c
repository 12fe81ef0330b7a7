// SPDX-License-Identifier: GPL-2.0-only
#include "harness/facts/watch.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RING_PAGES = 16 };

void jp_attr_set(struct perf_event_attr *attr, unsigned int bit)
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
	const struct jp_abilities least = {0};
	struct perf_event_attr attr;

	jp_attr_sideband(&attr, &options, &least);
	return attr;
}

struct perf_event_attr jp_watch_breakpoint(const void *addr)
{
	struct jp_capture_options options = jp_capture_defaults();
	const struct jp_abilities least = {0};
	struct perf_event_attr attr;

	options.chain = true;
	options.stack = 0;
	jp_attr_breakpoint(&attr, &options, &least, (uint64_t)(uintptr_t)addr);
	return attr;
}

bool jp_watch_map(struct jp_watch *watch, unsigned int pages, struct jp_answer *answer)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *base =
		mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, watch->fd, 0);

	if (base == MAP_FAILED) {
		jp_answer_missing(answer, "mmap of an event ring: %s", jp_answer_errno(errno));
		return false;
	}
	watch->base = base;
	watch->size = pages * page;
	return true;
}

bool jp_watch_open_disabled(struct jp_watch *watch, struct perf_event_attr *attr,
			    unsigned int pages, struct jp_answer *answer)
{
	char reason[128];

	*watch = (struct jp_watch){.fd = jp_perf_open(attr, 0, sched_getcpu())};
	if (watch->fd < 0) {
		jp_perf_reason(-watch->fd, reason, sizeof(reason));
		jp_answer_missing(answer, "perf_event_open: %s",
				  reason[0] == '?' ? jp_answer_errno(-watch->fd) : reason);
		watch->fd = -1;
		return false;
	}
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
		jp_answer_missing(answer, "PERF_EVENT_IOC_ENABLE: %s", jp_answer_errno(errno));
		jp_watch_close(watch);
	}
	return watch->fd >= 0;
}

bool jp_watch_code(struct jp_watch *watch, struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_sideband();

	return jp_watch_open(watch, &attr, RING_PAGES, answer);
}

static void copy_out(const struct jp_watch *watch, uint64_t at, void *to, size_t size)
{
	const unsigned char *data = watch->base + sysconf(_SC_PAGESIZE);
	size_t start = at & (watch->size - 1), first = watch->size - start;

	if (first > size)
		first = size;
	memcpy(to, data + start, first);
	memcpy((unsigned char *)to + first, data, size - first);
}

bool jp_watch_next(struct jp_watch *watch, struct jp_seen *seen)
{
	struct perf_event_mmap_page *page = (void *)watch->base;
	uint64_t head;

	if (!page)
		return false;
	head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	if (head - watch->tail < sizeof(seen->header))
		return false;
	copy_out(watch, watch->tail, &seen->header, sizeof(seen->header));
	if (seen->header.size < sizeof(seen->header) || seen->header.size > head - watch->tail)
		return false;
	memset(seen->body, 0, sizeof(seen->body));
	copy_out(watch, watch->tail + sizeof(seen->header), seen->body,
		 seen->header.size - sizeof(seen->header));
	watch->tail += seen->header.size;
	__atomic_store_n(&page->data_tail, watch->tail, __ATOMIC_RELEASE);
	return true;
}

void jp_watch_skip(struct jp_watch *watch)
{
	struct perf_event_mmap_page *page = (void *)watch->base;

	if (!page)
		return;
	watch->tail = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	__atomic_store_n(&page->data_tail, watch->tail, __ATOMIC_RELEASE);
}

void jp_watch_close(struct jp_watch *watch)
{
	if (watch->base)
		munmap(watch->base, watch->size + (size_t)sysconf(_SC_PAGESIZE));
	if (watch->fd >= 0)
		close(watch->fd);
	*watch = (struct jp_watch){.fd = -1};
}
