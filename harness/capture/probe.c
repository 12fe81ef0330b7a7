// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/file.h"

struct list {
	char *text;
	size_t size, used;
	int count;
};

static void add_missing_feature(struct list *list, const char *text, const char *reason)
{
	int length = snprintf(list->text + list->used, list->size - list->used, "%s%s: %s",
			      list->count ? ", " : "", text, reason);

	list->count++;
	list->used += (size_t)length;
	if (list->used >= list->size)
		list->used = list->size ? list->size - 1 : 0;
}

static void add_error(struct list *list, const char *text, int error)
{
	char reason[128];

	jp_perf_explain_error(error, reason, sizeof(reason));
	add_missing_feature(list, text, reason);
}

static void probe_ring(struct list *list, pid_t pid)
{
	size_t size = 3 * (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_attr attr;
	struct rlimit limit = {0};
	char reason[160];
	void *ring;
	int fd;

	jp_attr_ring(&attr);
	fd = jp_perf_open(&attr, pid, pid < 0 ? 0 : -1);
	if (fd < 0)
		return; /* jp_probe() reports the same error */
	ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED) {
		int error = errno;

		getrlimit(RLIMIT_MEMLOCK, &limit);
		snprintf(reason, sizeof(reason),
			 "%s (RLIMIT_MEMLOCK=%lld, kernel.perf_event_mlock_kb=%ld)",
			 strerrorname_np(error), (long long)limit.rlim_cur,
			 jp_sysctl_read("perf_event_mlock_kb", 0));
		add_missing_feature(list, "mmap of an event ring", reason);
	} else {
		munmap(ring, size);
	}
	close(fd);
}

static void try_event(struct list *list, const char *text, struct perf_event_attr *attr, pid_t pid)
{
	/* System-wide events need a CPU; any CPU will do for this trial. */
	int fd = jp_perf_open(attr, pid, pid < 0 ? 0 : -1);

	if (fd >= 0)
		close(fd);
	else
		add_error(list, text, -fd);
}

/* Checks for a time namespace, which changes clock_gettime() but not the clock of perf's records
 * (ktime_get_mono_fast_ns()). */
static void probe_time(struct list *list)
{
	char text[256], reason[160];
	long long seconds, ns;

	if (jp_file_read_text("/proc/self/timens_offsets", text, sizeof(text)) <= 0 ||
	    sscanf(text, "monotonic %lld %lld", &seconds, &ns) != 2 || (!seconds && !ns))
		return;
	snprintf(
		reason, sizeof(reason),
		"this time namespace moves CLOCK_MONOTONIC by %lld s, and perf's records state the "
		"time outside (run in the initial one: nsenter -t 1 -T)",
		seconds);
	add_missing_feature(list, "one clock for truth and capture", reason);
}

int jp_probe(const struct jp_capture_options *options, const struct jp_probe_event *event,
	     char *missing, size_t size)
{
	const struct jp_abilities required = {0}, kernel = {.kernel = true};
	struct jp_capture_options at_once = *options;
	struct list list = {missing, size, 0, 0};
	pid_t pid = options->system_wide ? -1 : 0;
	struct perf_event_attr attr;
	int fd;

	if (size)
		*missing = '\0';
	jp_attr_ring(&attr);
	fd = jp_perf_open(&attr, pid, pid < 0 ? 0 : -1);
	if (fd < 0) {
		/* If even the simplest event is denied, nothing else can be tried. */
		add_error(&list, pid < 0 ? "perf_event_open system-wide" : "perf_event_open", -fd);
		return list.count;
	}
	close(fd);
	jp_attr_sideband(&attr, options, &required);
	try_event(&list, "perf_event_open of mapping events", &attr, pid);
	/* Try deferred callchains in an event of their own, so that their refusal does not look
	 * like a refusal of the capture's event. */
	at_once.deferred = false;
	if (options->deferred) {
		jp_attr_sampling(&attr, options, &required, 1);
		try_event(&list, "attr.defer_callchain (since Linux 6.19)", &attr, pid);
	}
	event->attr(&attr, &at_once, &required);
	try_event(&list, event->missing_name, &attr, pid);
	if (options->need_kernel) {
		jp_attr_sampling(&attr, &at_once, &kernel, 1);
		try_event(&list, "perf_event_open of samples in the kernel", &attr, pid);
	}
	probe_ring(&list, pid);
	probe_time(&list);
	return list.count;
}

static void init_clock_attr(struct perf_event_attr *attr, const struct jp_capture_options *options,
			    const struct jp_abilities *abilities)
{
	jp_attr_sampling(attr, options, abilities, 1);
}

int jp_probe_clock(const struct jp_capture_options *options, int argc, char **argv, char *missing,
		   size_t size)
{
	const struct jp_probe_event event = {options->task_clock
						     ? "perf_event_open of task-clock samples"
						     : "perf_event_open of cpu-clock samples",
					     init_clock_attr};

	return jp_probe(options, &event, missing, size);
}

/* Lets the task run for a millisecond with the event @fd. Returns its count, or 1 on errors. */
static uint64_t measure_count(int fd)
{
	uint64_t start = jp_clock_now(), count = 1;

	if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return 1;
	while (jp_clock_now() - start < JP_NS_PER_MS)
		;
	/* Disabling the event has the same effect on its count as its task leaving the CPU. */
	if (ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) ||
	    read(fd, &count, sizeof(count)) != (ssize_t)sizeof(count))
		return 1;
	return count;
}

bool jp_probe_counts(uint64_t config)
{
	/* An unstable local_clock() stands still once it is a tick ahead, until the next tick
	 * (sched_clock_local(), kernel/sched/clock.c): at most 10 ms. */
	enum { ROUNDS = 20 };
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = config,
				       .disabled = 1,
				       .exclude_kernel = 1};
	jp_cleanup_close int fd = jp_perf_open(&attr, 0, -1);
	uint64_t count = fd < 0;

	for (int i = 0; i < ROUNDS && !count; i++)
		count = measure_count(fd);
	return count;
}

bool jp_probe_clocks_count(void)
{
	return jp_probe_counts(PERF_COUNT_SW_CPU_CLOCK) &&
	       jp_probe_counts(PERF_COUNT_SW_TASK_CLOCK);
}

bool jp_rings_are_rationed(void)
{
	/* PROC_USER_INIT_INO (include/linux/proc_ns.h) */
	static const char initial[] = "user:[4026531837]";
	char space[64] = "";

	return jp_sysctl_read("perf_event_paranoid", 2) >= 0 &&
	       (geteuid() || readlink("/proc/self/ns/user", space, sizeof(space) - 1) < 0 ||
		strcmp(space, initial) != 0);
}
