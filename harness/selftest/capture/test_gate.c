// SPDX-License-Identifier: GPL-2.0-only
/* Tests the gatekeeper's protocol without perf events, and the records that backfill writes. */
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "harness/capture/backfill.h"
#include "harness/capture/gate.h"
#include "harness/capture/recorder.h"
#include "harness/capture/session.h"
#include "harness/capture/snapshot.h"
#include "harness/format/rundir/intervals.h"
#include "harness/format/perfdata/format.h"
#include "harness/format/perfdata/read.h"
#include "harness/format/procmaps/procmaps.h"
#include "harness/selftest/support/made_events.h"
#include "harness/selftest/support/scratch.h"

static int fds[2];

static int switches_left; /* number of switches that still succeed */

static int switch_events(struct jp_session *session, bool enable, struct jp_error *err)
{
	return switches_left-- > 0 ? 0 : jp_fail(err, EIO, "no switch %s", enable ? "on" : "off");
}

/* Starts the gatekeeper of a session without events, and opens the command's ends of its FIFOs. */
static struct jp_gate *start_gate(struct jp_session *session, const struct jp_gate_policy *policy)
{
	struct jp_error err = {""};
	struct jp_gate *gate;

	*session = (struct jp_session){.dir = scratch_folder()};
	pthread_mutex_init(&session->lock, NULL);
	pthread_cond_init(&session->changed, NULL);
	gate = jp_gate_new(session, policy, &err);
	check(gate && jp_gate_keep(gate, &err) == 0, "a gate and its keeper %s", err.text);
	fds[0] = open(scratch_path("gate.ctl"), O_WRONLY | O_CLOEXEC);
	fds[1] = open(scratch_path("gate.ack"), O_RDONLY | O_CLOEXEC);
	return gate;
}

static void end_gate(struct jp_gate *gate, struct jp_session *session)
{
	jp_worker_end(session);
	close(session->worker.wake);
	close(fds[0]);
	close(fds[1]);
	jp_gate_free(gate);
}

/* Sends @request and checks that the answer begins with @expected. */
static void check_answer(const char *request, const char *expected)
{
	char text[512] = "";
	size_t length = 0;

	if (write(fds[0], request, strlen(request)) != (ssize_t)strlen(request))
		strcpy(text, "(not written)");
	else
		while (length + 1 < sizeof(text) && read(fds[1], text + length, 1) == 1 &&
		       text[length] != '\n')
			length++;
	text[length] = '\0';
	check(strncmp(text, expected, strlen(expected)) == 0, "'%.20s' is answered '%s'",
	      strtok(strdupa(request), "\n") ?: "", text);
}

static void announce(pid_t pid, const char *expected)
{
	char request[64];

	snprintf(request, sizeof(request), "announce %d\n", pid);
	check_answer(request, expected);
}

/* Forks a process that lives until *@end is closed. */
static pid_t fork_child(int *end)
{
	int ends[2];
	char byte;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		close(ends[1]);
		_exit(read(ends[0], &byte, 1) != 0);
	}
	close(ends[0]);
	*end = ends[1];
	return pid;
}

static void test_bad_requests(void)
{
	char overlong[400];

	memset(overlong, 'x', sizeof(overlong) - 2);
	strcpy(overlong + sizeof(overlong) - 2, "\n");
	check_answer("start\n", "failed nobody announced");
	check_answer("stop\n", "failed no interval");
	check_answer("announce\n", "failed");
	check_answer("announce x\n", "failed");
	check_answer("announce -1\n", "failed");
	check_answer("announce 99999999999\n", "failed");
	check_answer("\n", "failed");
	check_answer(overlong, "failed");
}

static void test_intervals(void)
{
	int end = -1;
	pid_t child;

	announce(getpid(), "ok");
	check_answer("start\n", "ok");
	check_answer("start\n", "failed an interval is open");
	announce(getpid(), "failed an interval is open");
	check_answer("stop\n", "ok");
	check_answer("stop\n", "failed");
	check_answer("start\n", "ok");
	check_answer("stop\n", "ok");
	child = fork_child(&end);
	announce(child, "ok");
	check_answer("start\n", "ok");
	close(end);
	waitpid(child, NULL, 0);
}

TEST(protocol)
{
	/* A policy that records nothing, without files to copy. */
	static const struct jp_gate_policy policy = {.name = "sideband",
						     .switch_events = switch_events,
						     .announced = jp_reading_want_files};
	struct jp_session session;
	struct jp_gate *gate = start_gate(&session, &policy);
	struct jp_intervals read_back = {0};
	struct jp_error err = {""};
	jp_cleanup_free char *text = NULL;

	switches_left = INT_MAX;
	check(strstr(jp_gate_environment(gate), scratch_folder()),
	      "the environment has the FIFOs' path");
	test_bad_requests();
	test_intervals();
	/* The child's interval ends when the child exits, or at the latest with the session. */
	end_gate(gate, &session);
	check(!session.worker.error, "the keeper ends without error %s", session.worker.err.text);
	check(access(scratch_path("gate.ack"), F_OK), "the FIFOs are removed");
	text = jp_file_read(scratch_path("intervals"), 1 << 20, NULL, &err);
	check(text && !jp_intervals_parse(&read_back, "intervals", text, &err),
	      "the file of intervals can be read %s", err.text);
	check(read_back.nr_processes == 2 && read_back.nr_intervals == 3 &&
		      !strcmp(read_back.gate, "sideband"),
	      "the file has two processes and three intervals");
	if (read_back.nr_intervals == 3) {
		const struct jp_interval *two = &read_back.intervals[1];

		check(two->pid == (uint32_t)getpid() && two->process == 0, "it has its process");
		check(jp_intervals_find(&read_back, two->enabling, 0) == two &&
			      jp_intervals_find(&read_back, two->disabled, 0) == two &&
			      jp_intervals_find(&read_back, two->disabled + 5, 5) == two &&
			      jp_intervals_find(&read_back, two->enabling - 1, 0) != two,
		      "an interval is found at both ends and within the slack");
		check(!jp_intervals_find(&read_back, 1, 0) &&
			      !jp_intervals_find(&read_back, UINT64_MAX, 0),
		      "no interval is found before the first and after the last");
	}
	jp_intervals_free(&read_back);
}

TEST(failing_switches)
{
	static const struct jp_gate_policy policy = {.name = "none",
						     .switch_events = switch_events};

	for (int nr_working = 0; nr_working < 2; nr_working++) {
		struct jp_session session;
		struct jp_gate *gate = start_gate(&session, &policy);

		switches_left = nr_working;
		announce(getpid(), "ok");
		check_answer("start\n", nr_working ? "ok" : "failed no switch on");
		if (nr_working)
			check_answer("stop\n", "failed no switch off");
		end_gate(gate, &session);
		check(session.worker.error == -EIO && session.complete &&
			      strstr(session.worker.err.text, "no switch"),
		      "a failed switch ends the capture: %s", session.worker.err.text);
	}
}

struct backfilled {
	uint64_t addrs[64];
	char names[64][200];
	uint64_t inodes[64];
	size_t count, comms;
	bool exec;
};

static int collect_event(void *context, const struct jp_event *event)
{
	struct backfilled *backfilled = context;

	/* Ignore names of threads: a joined thread may still be listed for a moment. */
	if (event->type == JP_EVENT_COMM && event->pid == event->tid) {
		backfilled->comms++;
		backfilled->exec |= event->comm.exec;
	}
	if (event->type != JP_EVENT_MAP || backfilled->count == 64)
		return 0;
	backfilled->addrs[backfilled->count] = event->map.addr;
	backfilled->inodes[backfilled->count] = event->map.ino;
	snprintf(backfilled->names[backfilled->count++], 200, "%s", event->map.name);
	return 0;
}

static int find_mapping(const struct backfilled *backfilled, const void *addr)
{
	for (size_t i = 0; i < backfilled->count; i++)
		if (backfilled->addrs[i] == (uintptr_t)addr)
			return (int)i;
	return -1;
}

/* Passes a mapping record of @map to @backfill, as the kernel would have written it. */
static void record_mapping(struct jp_backfill *backfill, const struct jp_procmap *map)
{
	const struct jp_event event = MADE_EVENT(
		MAP, (uint32_t)getpid(), 1, .map.addr = map->start,
		.map.len = map->end - map->start, .map.pgoff = map->offset, .map.maj = map->maj,
		.map.min = map->min, .map.ino = map->ino, .map.prot = PROT_READ | PROT_EXEC,
		.map.has_identity = true, .map.name = map->name);

	jp_backfill_note(backfill, &event);
}

static void run_backfill(bool some, struct backfilled *backfilled, const void *recorded)
{
	struct jp_perf_attr attr = {0};
	const struct jp_perfdata_event event[JP_STREAMS] = {{&attr, "dummy"}, {&attr, "dummy"}};
	struct jp_recorder recorder = {.attr = {{0}}};
	struct jp_session session = {.dir = scratch_folder(), .recorder = &recorder};
	struct jp_backfill *backfill;
	struct jp_perfdata_summary summary;
	struct jp_reading reading = {0};
	struct jp_error err = {""};
	struct jp_procmap *maps = NULL;
	bool within_done = true;
	size_t count = 0;
	const char *path = scratch_path("perf.data");

	pthread_mutex_init(&session.lock, NULL);
	jp_attr_sideband((struct perf_event_attr *)&attr, &session.options, &recorder.abilities);
	jp_perf_compute_layout(&attr, 0, &recorder.layout[JP_SIDEBAND]);
	recorder.writer = jp_perfdata_create(path, event, JP_STREAMS, &err);
	backfill = jp_backfill_new(&err);
	recorder.opened.some_id[JP_SIDEBAND] = 7;
	jp_perfdata_assign_id(recorder.writer, JP_SIDEBAND, 7);
	jp_perfdata_assign_id(recorder.writer, JP_SAMPLING, 8);
	check(!jp_snapshot_read(&session, getpid(), &within_done, &reading, &err) &&
		      !jp_procmaps_parse(reading.bytes, reading.size, &maps, &count, &err),
	      "our own maps are read %s", err.text);
	for (size_t i = 0; i < count && some; i++)
		if (maps[i].start == (uintptr_t)recorded)
			record_mapping(backfill, &maps[i]);
	check(!jp_backfill_write(&session, backfill, getpid(), &reading, &err),
	      "backfill writes its records %s", err.text);
	check(!jp_perfdata_close(recorder.writer, 0, 0, &err) &&
		      !jp_perfdata_read(path, collect_event, backfilled, &summary, &err),
	      "the records are read back %s", err.text);
	free(maps);
	free(reading.bytes);
	jp_backfill_free(backfill);
}

TEST(backfill)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct backfilled full = {0}, remaining_records = {0};
	struct stat old_stat;
	const char *path = scratch_path("file");
	void *first_map, *second_map;
	int fd, index;

	/* Map a file twice, then put another file at its path. */
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	check(fd >= 0 && !ftruncate(fd, (off_t)(2 * page)) && !fstat(fd, &old_stat),
	      "a file is made");
	first_map = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	second_map = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)page);
	if (!check(first_map != MAP_FAILED && second_map != MAP_FAILED, "the file is mapped twice"))
		return;
	close(fd);
	unlink(path);
	scratch_write(path, NULL, 0);

	run_backfill(false, &full, NULL);
	check(full.comms == 1 && full.exec, "without records, the process starts with an exec");
	check(find_mapping(&full, first_map) >= 0 && find_mapping(&full, second_map) >= 0 &&
		      full.count > 5,
	      "all mappings are written");
	index = find_mapping(&full, first_map);
	check(index >= 0 && full.inodes[index] == old_stat.st_ino &&
		      strlen(full.names[index]) > 10 &&
		      !strcmp(full.names[index] + strlen(full.names[index]) - 10, " (deleted)"),
	      "a deleted file keeps its inode and is marked as deleted");
	run_backfill(true, &remaining_records, first_map);
	check(find_mapping(&remaining_records, first_map) < 0,
	      "a recorded mapping is not written again");
	check(find_mapping(&remaining_records, second_map) >= 0,
	      "the second mapping of the same file is written");
	check(remaining_records.comms == 1 && !remaining_records.exec,
	      "if something was recorded, the process does not start with an exec");
	check(remaining_records.count + 1 == full.count,
	      "all other mappings are written as before");
	munmap(first_map, page);
	munmap(second_map, page);
}
