// SPDX-License-Identifier: GPL-2.0-only
/* The gatekeeper by its own protocol, without any event; backfill by what it writes. */
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "harness/capture/backfill.h"
#include "harness/capture/gate.h"
#include "harness/capture/recorder.h"
#include "harness/capture/session.h"
#include "harness/capture/snapshot.h"
#include "harness/capture/worker.h"
#include "harness/format/rundir/intervals.h"
#include "harness/format/perfdata/format.h"
#include "harness/format/perfdata/read.h"
#include "harness/format/procmaps/procmaps.h"
#include "harness/selftest/support/made_events.h"
#include "harness/selftest/support/scratch.h"

static int fds[2];

static int turns; /* that succeed, from now on */

static int turn(struct jp_session *session, bool on, struct jp_error *err)
{
	return turns-- > 0 ? 0 : jp_fail(err, EIO, "no switch %s", on ? "on" : "off");
}

/* The keeper of a session without events, and the command's ends of its FIFOs. */
static struct jp_gate *gate_new(struct jp_session *session, const struct jp_gate_policy *policy)
{
	struct jp_error err = {""};
	struct jp_gate *gate;

	*session = (struct jp_session){.dir = scratch};
	pthread_mutex_init(&session->lock, NULL);
	pthread_cond_init(&session->changed, NULL);
	gate = jp_gate_new(session, policy, &err);
	check(gate && jp_gate_keep(gate, &err) == 0, "a gate and its keeper %s", err.text);
	fds[0] = open(scratch_path("gate.ctl"), O_WRONLY | O_CLOEXEC);
	fds[1] = open(scratch_path("gate.ack"), O_RDONLY | O_CLOEXEC);
	return gate;
}

static void gate_end(struct jp_gate *gate, struct jp_session *session)
{
	jp_worker_end(session);
	close(session->worker.wake);
	close(fds[0]);
	close(fds[1]);
	jp_gate_free(gate);
}

/* @request, and whether it is answered as @wanted says. */
static void ask(const char *request, const char *wanted)
{
	char text[512] = "";
	size_t used = 0;

	if (write(fds[0], request, strlen(request)) != (ssize_t)strlen(request))
		strcpy(text, "(not written)");
	else
		while (used + 1 < sizeof(text) && read(fds[1], text + used, 1) == 1 &&
		       text[used] != '\n')
			used++;
	text[used] = '\0';
	check(strncmp(text, wanted, strlen(wanted)) == 0, "'%.20s' is answered '%s'",
	      strtok(strdupa(request), "\n") ?: "", text);
}

static void announce(pid_t pid, const char *wanted)
{
	char request[64];

	snprintf(request, sizeof(request), "announce %d\n", pid);
	ask(request, wanted);
}

/* A process that lives until it is told to end. */
static pid_t child_new(int *end)
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

static void talk(void)
{
	char overlong[400];

	memset(overlong, 'x', sizeof(overlong) - 2);
	strcpy(overlong + sizeof(overlong) - 2, "\n");
	ask("start\n", "failed nobody announced");
	ask("stop\n", "failed no interval");
	ask("announce\n", "failed");
	ask("announce x\n", "failed");
	ask("announce -1\n", "failed");
	ask("announce 99999999999\n", "failed");
	ask("\n", "failed");
	ask(overlong, "failed");
}

static void intervals(void)
{
	int end = -1;
	pid_t child;

	announce(getpid(), "ok");
	ask("start\n", "ok");
	ask("start\n", "failed an interval is open");
	announce(getpid(), "failed an interval is open");
	ask("stop\n", "ok");
	ask("stop\n", "failed");
	ask("start\n", "ok");
	ask("stop\n", "ok");
	child = child_new(&end);
	announce(child, "ok");
	ask("start\n", "ok");
	close(end);
	waitpid(child, NULL, 0);
}

static void protocol(void)
{
	/* As of a capture that leaves everything out, without files to copy. */
	static const struct jp_gate_policy policy = {
		.name = "sideband", .switch_events = turn, .announced = jp_reading_want_files};
	struct jp_session session;
	struct jp_gate *gate = gate_new(&session, &policy);
	struct jp_intervals read_back = {0};
	struct jp_error err = {""};
	jp_cleanup_free char *text = NULL;

	turns = INT_MAX;
	check(strstr(jp_gate_environment(gate), scratch), "the command learns where");
	talk();
	intervals();
	/* The child's death ends its interval, now or when the keeper ends. */
	gate_end(gate, &session);
	check(!session.worker.error, "the keeper ends well %s", session.worker.err.text);
	check(access(scratch_path("gate.ack"), F_OK), "no FIFO is left");
	text = jp_file_read(scratch_path("intervals"), 1 << 20, NULL, &err);
	check(text && !jp_intervals_parse(&read_back, "intervals", text, &err),
	      "intervals are read %s", err.text);
	check(read_back.nr_processes == 2 && read_back.nr_intervals == 3 &&
		      !strcmp(read_back.gate, "sideband"),
	      "two processes, three intervals");
	if (read_back.nr_intervals == 3) {
		const struct jp_interval *two = &read_back.intervals[1];

		check(two->pid == (uint32_t)getpid() && two->process == 0, "whose they are");
		check(jp_intervals_find(&read_back, two->enabling, 0) == two &&
			      jp_intervals_find(&read_back, two->disabled, 0) == two &&
			      jp_intervals_find(&read_back, two->disabled + 5, 5) == two &&
			      jp_intervals_find(&read_back, two->enabling - 1, 0) != two,
		      "an interval holds its edges, and slack");
		check(!jp_intervals_find(&read_back, 1, 0) &&
			      !jp_intervals_find(&read_back, UINT64_MAX, 0),
		      "there is nothing before the first and after the last");
	}
	jp_intervals_free(&read_back);
}

static void failing_switches(void)
{
	static const struct jp_gate_policy policy = {.name = "none", .switch_events = turn};

	for (int good = 0; good < 2; good++) {
		struct jp_session session;
		struct jp_gate *gate = gate_new(&session, &policy);

		turns = good;
		announce(getpid(), "ok");
		ask("start\n", good ? "ok" : "failed no switch on");
		if (good)
			ask("stop\n", "failed no switch off");
		gate_end(gate, &session);
		check(session.worker.error == -EIO && session.complete &&
			      strstr(session.worker.err.text, "no switch"),
		      "it ends the capture: %s", session.worker.err.text);
	}
}

struct written {
	uint64_t addrs[64];
	char names[64][200];
	uint64_t inodes[64];
	size_t count, comms;
	bool exec;
};

static int collect(void *context, const struct jp_event *event)
{
	struct written *written = context;

	/* A thread that was joined can still be listed for a moment, and has its name told too. */
	if (event->type == JP_EVENT_COMM && event->pid == event->tid) {
		written->comms++;
		written->exec |= event->comm.exec;
	}
	if (event->type != JP_EVENT_MAP || written->count == 64)
		return 0;
	written->addrs[written->count] = event->map.addr;
	written->inodes[written->count] = event->map.ino;
	snprintf(written->names[written->count++], 200, "%s", event->map.name);
	return 0;
}

/* Position of @addr in @written, or -1. */
static int at(const struct written *written, const void *addr)
{
	for (size_t i = 0; i < written->count; i++)
		if (written->addrs[i] == (uintptr_t)addr)
			return (int)i;
	return -1;
}

/* As the kernel would have told of @map. */
static void saw(struct jp_backfill *backfill, const struct jp_procmap *map)
{
	const struct jp_event event = MADE_EVENT(
		MAP, (uint32_t)getpid(), 1, .map.addr = map->start,
		.map.len = map->end - map->start, .map.pgoff = map->offset, .map.maj = map->maj,
		.map.min = map->min, .map.ino = map->ino, .map.prot = PROT_READ | PROT_EXEC,
		.map.has_identity = true, .map.name = map->name);

	jp_backfill_note(backfill, &event);
}

static void run_backfill(bool some, struct written *written, const void *recorded)
{
	struct jp_perf_attr attr = {0};
	const struct jp_perfdata_event event[JP_STREAMS] = {{&attr, "dummy"}, {&attr, "dummy"}};
	struct jp_recorder recorder = {.attr = {{0}}};
	struct jp_session session = {.dir = scratch, .recorder = &recorder};
	struct jp_backfill *known;
	struct jp_perfdata_summary summary;
	struct jp_reading reading = {0};
	struct jp_error err = {""};
	struct jp_procmap *maps = NULL;
	bool within_done = true;
	size_t count = 0;
	const char *path = scratch_path("perf.data");

	pthread_mutex_init(&session.lock, NULL);
	jp_attr_sideband((struct perf_event_attr *)&attr, &session.options, &recorder.abilities);
	jp_perf_layout(&attr, 0, &recorder.layout[JP_SIDEBAND]);
	recorder.writer = jp_perfdata_create(path, event, JP_STREAMS, &err);
	known = jp_backfill_new(&err);
	recorder.opened.some_id[JP_SIDEBAND] = 7;
	jp_perfdata_id(recorder.writer, JP_SIDEBAND, 7);
	jp_perfdata_id(recorder.writer, JP_SAMPLING, 8);
	check(!jp_snapshot_read(&session, getpid(), &within_done, &reading, &err) &&
		      !jp_procmaps_parse(reading.bytes, reading.size, &maps, &count, &err),
	      "own maps are read %s", err.text);
	for (size_t i = 0; i < count && some; i++)
		if (maps[i].start == (uintptr_t)recorded)
			saw(known, &maps[i]);
	check(!jp_backfill_write(&session, known, getpid(), &reading, &err), "written %s",
	      err.text);
	check(!jp_perfdata_close(recorder.writer, 0, 0, &err) &&
		      !jp_perfdata_read(path, collect, written, &summary, &err),
	      "read back %s", err.text);
	free(maps);
	free(reading.bytes);
	jp_backfill_free(known);
}

static void backfill(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct written all = {0}, rest = {0};
	struct stat old;
	const char *path = scratch_path("file");
	void *one, *two;
	int fd, index;

	/* One file, mapped twice; then another stands at its path. */
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	check(fd >= 0 && !ftruncate(fd, (off_t)(2 * page)) && !fstat(fd, &old), "a file");
	one = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	two = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)page);
	if (!check(one != MAP_FAILED && two != MAP_FAILED, "it is mapped twice"))
		return;
	close(fd);
	unlink(path);
	scratch_write(path, NULL, 0);

	run_backfill(false, &all, NULL);
	check(all.comms == 1 && all.exec, "nothing was recorded: it begins anew");
	check(at(&all, one) >= 0 && at(&all, two) >= 0 && all.count > 5, "all is told");
	index = at(&all, one);
	check(index >= 0 && all.inodes[index] == old.st_ino && strlen(all.names[index]) > 10 &&
		      !strcmp(all.names[index] + strlen(all.names[index]) - 10, " (deleted)"),
	      "a deleted file stays what it is");
	run_backfill(true, &rest, one);
	check(at(&rest, one) < 0, "what was recorded is not told again");
	check(at(&rest, two) >= 0, "the second mapping of its file is");
	check(rest.comms == 1 && !rest.exec, "a life of which something is known goes on");
	check(rest.count + 1 == all.count, "nothing else differs");
	munmap(one, page);
	munmap(two, page);
}

int main(void)
{
	scratch_make("");
	protocol();
	failing_switches();
	backfill();
	return check_done();
}
