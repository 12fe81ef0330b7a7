// SPDX-License-Identifier: GPL-2.0-only
/* Facts about rings: what happens if they are full, when readers are woken, how large they may
 * be. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness/facts/probe_fact.h"
#include "harness/facts/test_region.h"
#include "harness/facts/watch.h"

enum { FLIPS = 200 };

/* Makes a page executable FLIPS times, which causes more records than the ring of one page can
 * hold. */
static void flood_ring(struct jp_answer *answer)
{
	jp_test_region_map(answer, 0, 1, JP_RW);
	for (int i = 0; i < FLIPS; i++) {
		jp_test_region_protect(answer, 0, 1, JP_RX);
		jp_test_region_protect(answer, 0, 1, JP_RW);
	}
}

static bool open_small_ring(struct jp_watch *watch, struct jp_answer *answer, bool count)
{
	struct perf_event_attr attr = jp_watch_sideband();

	if (count)
		attr.read_format |= JP_PERF_FORMAT_LOST;
	return jp_watch_open(watch, &attr, 1, answer);
}

static void count_records(struct jp_watch *watch, unsigned int *maps, unsigned int *losses,
			  uint64_t *lost)
{
	struct jp_event event;

	while (jp_watch_next(watch, &event)) {
		*maps += event.type == JP_EVENT_MAP;
		*losses += event.type == JP_EVENT_LOST;
		if (event.type == JP_EVENT_LOST)
			*lost += event.lost.lost;
	}
}

static void fill_ring(struct jp_answer *answer)
{
	unsigned int maps = 0, losses = 0;
	struct jp_watch watch;
	uint64_t lost = 0;

	if (!open_small_ring(&watch, answer, false))
		return;
	flood_ring(answer);
	count_records(&watch, &maps, &losses, &lost);
	jp_answer_list(answer);
	jp_answer_text(answer, "%u MMAP2", maps);
	jp_answer_text(answer, "%u LOST", losses);
	jp_test_region_protect(answer, 0, 1, JP_RX);
	jp_answer_text(answer, "one more:");
	maps = 0;
	count_records(&watch, &maps, &losses, &lost);
	jp_answer_text(answer, "%u MMAP2", maps);
	jp_answer_text(answer, "%u LOST of %llu", losses, (unsigned long long)lost);
}

static void count_lost_records(struct jp_answer *answer)
{
	struct {
		uint64_t value, id, lost;
	} counts = {0};
	struct jp_watch watch;

	if (!open_small_ring(&watch, answer, true))
		return;
	flood_ring(answer);
	if (read(watch.fd, &counts, sizeof(counts)) != (ssize_t)sizeof(counts))
		jp_answer_failed(answer, "read of an event");
	else
		jp_answer_number(answer, counts.lost);
}

static const char *describe_poll(int fd)
{
	struct pollfd state = {.fd = fd, .events = POLLIN};
	static char text[64];

	if (poll(&state, 1, 0) < 0)
		return "an error";
	snprintf(text, sizeof(text), "%s%s%s%s", state.revents ? "" : "nothing",
		 state.revents & POLLIN ? "IN " : "", state.revents & POLLHUP ? "HUP " : "",
		 state.revents & POLLERR ? "ERR " : "");
	if (state.revents)
		text[strlen(text) - 1] = '\0';
	return text;
}

static void poll_watermark(struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_sideband();
	struct jp_watch watch;
	int flips = 0;

	attr.watermark = 1;
	attr.wakeup_watermark = 1024;
	if (!jp_watch_open(&watch, &attr, 1, answer))
		return;
	jp_test_region_map(answer, 0, 1, JP_RW);
	jp_answer_list(answer);
	jp_answer_text(answer, "%s", describe_poll(watch.fd));
	/* poll() reports a wakeup once and clears it. */
	for (int woken = 0; !woken && flips < FLIPS; flips++) {
		jp_test_region_protect(answer, 0, 1, JP_RX);
		jp_test_region_protect(answer, 0, 1, JP_RW);
		woken = strcmp(describe_poll(watch.fd), "IN") == 0;
	}
	jp_answer_text(answer, "IN after %d", flips);
	jp_answer_text(answer, "%s", describe_poll(watch.fd));
}

static void poll_after_exit(struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_sideband();
	struct jp_watch watch = {.fd = -1};
	int pipes[2];
	char byte;
	pid_t pid;

	attr.inherit = 0;
	if (pipe(pipes)) {
		jp_answer_failed(answer, "pipe");
		return;
	}
	pid = jp_fact_fork(answer);
	if (pid == 0) {
		close(pipes[1]);
		_exit(read(pipes[0], &byte, 1) == 0 ? 0 : 1);
	}
	close(pipes[0]);
	attr.disabled = 0;
	watch.fd = jp_perf_open(&attr, pid, sched_getcpu());
	jp_answer_list(answer);
	if (watch.fd < 0)
		jp_answer_missing(answer, "perf_event_open: %s", jp_answer_errno(-watch.fd));
	else if (jp_watch_map(&watch, 1, answer))
		jp_answer_text(answer, "%s", describe_poll(watch.fd));
	close(pipes[1]);
	jp_fact_wait(answer, pid);
	if (watch.fd >= 0)
		jp_answer_text(answer, "%s", describe_poll(watch.fd));
	jp_watch_skip(&watch);
	if (watch.fd >= 0)
		jp_answer_text(answer, "%s", describe_poll(watch.fd));
}

static void map_ring_sizes(struct jp_answer *answer)
{
	static const unsigned int pages[] = {0, 1, 2, 3, 4};

	jp_answer_list(answer);
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		struct perf_event_attr attr = jp_watch_sideband();
		struct jp_watch watch;
		void *ring;

		if (!jp_watch_open_disabled(&watch, &attr, 0, answer))
			return;
		ring = mmap(NULL, (1 + pages[i]) * jp_test_region_page(), JP_RW, MAP_SHARED,
			    watch.fd, 0);
		jp_answer_text(answer, "%u %s", pages[i],
			       jp_answer_errno(ring == MAP_FAILED ? errno : 0));
		jp_watch_close(&watch);
	}
}

static void change_ring(struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_sideband();
	struct jp_watch watch;

	if (!jp_watch_open(&watch, &attr, 1, answer))
		return;
	jp_answer_list(answer);
	jp_answer_call(answer, "mprotect r-x",
		       mprotect(watch.ring.page, 2 * jp_test_region_page(), JP_RX));
	jp_answer_call(answer, "mremap",
		       mremap(watch.ring.page, 2 * jp_test_region_page(), 4 * jp_test_region_page(),
			      MREMAP_MAYMOVE) == MAP_FAILED);
	jp_answer_call(answer, "mmap again",
		       mmap(NULL, 3 * jp_test_region_page(), JP_RW, MAP_SHARED, watch.fd, 0) ==
			       MAP_FAILED);
}

static void try_ioctls(struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_sideband(), changed;
	uint64_t id = 0, period = 1000;
	struct jp_watch watch;
	const struct {
		const char *name;
		unsigned long request;
		void *argument;
	} tried[] = {
		{"REFRESH", PERF_EVENT_IOC_REFRESH, (void *)1UL},
		{"RESET", PERF_EVENT_IOC_RESET, NULL},
		{"PERIOD", PERF_EVENT_IOC_PERIOD, &period},
		{"ID", PERF_EVENT_IOC_ID, &id},
		{"PAUSE_OUTPUT", PERF_EVENT_IOC_PAUSE_OUTPUT, (void *)1UL},
		{"MODIFY_ATTRIBUTES", PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &changed},
		{"12", _IO('$', 12), NULL},
		{"13", _IO('$', 13), NULL},
	};

	changed = attr;
	if (!jp_watch_open(&watch, &attr, 1, answer))
		return;
	jp_answer_list(answer);
	for (size_t i = 0; i < sizeof(tried) / sizeof(tried[0]); i++)
		jp_answer_text(answer, "%s %s", tried[i].name,
			       jp_answer_errno(ioctl(watch.fd, tried[i].request, tried[i].argument)
						       ? errno
						       : 0));
}

static void read_sysctls(struct jp_answer *answer)
{
	static const char *const names[] = {
		"perf_event_max_stack", "perf_event_max_contexts_per_stack", "perf_event_mlock_kb"};

	jp_answer_list(answer);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		long value = jp_sysctl_read(names[i], -1);

		if (value < 0)
			jp_answer_missing(answer, "kernel.%s", names[i]);
		jp_answer_text(answer, "%s=%ld", names[i], value);
	}
}

static const struct jp_fact facts[] = {
	{"loss.full_ring",
	 "Makes a page executable 200 times with a ring of one page that is not read; the records "
	 "in the ring, then those that arrive with one more event after the ring was emptied.",
	 .probe = fill_ring},
	{"loss.format_lost",
	 "Makes a page executable 200 times with a ring of one page that is not read; number of "
	 "lost records by PERF_FORMAT_LOST.",
	 .probe = count_lost_records},
	{"ring.watermark",
	 "Polls an event with a watermark of 1024 bytes at first, after each mapping record "
	 "until IN, and once more; the poll events, and the number of records until IN.",
	 .probe = poll_watermark},
	{"ring.poll.after_exit",
	 "Polls the event of another process while that runs, after it has ended, and after its "
	 "records were read; the poll events.",
	 .probe = poll_after_exit},
	{"ring.pages", "Maps rings of 0 to 4 pages beside the control page; ok or the error.",
	 .probe = map_ring_sizes},
	{"ring.changed",
	 "Applies mprotect, mremap to more pages, and a second mmap of another size to a ring; "
	 "ok or the errors.",
	 .probe = change_ring},
	{"attr.ioctl",
	 "Tries each ioctl on a dummy event, and two numbers that no kernel up to 7.3 knows; ok "
	 "or the error.",
	 .probe = try_ioctls},
	{"attr.sysctl", "Reads the limits of perf events in /proc/sys/kernel; their values.",
	 .probe = read_sysctls},
};
JP_REGISTER_ROWS(fact, facts);
