// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/file.h"
#include "harness/base/number.h"
#include "harness/base/path.h"
#include "harness/capture/drain.h"
#include "harness/capture/session.h"
#include "harness/capture/snapshot.h"

/* The state of the gate protocol (docs/gate-protocol.md). Only one process at a time can be in its
 * interval. */
struct jp_gate {
	struct jp_session *session;
	const struct jp_gate_policy *policy;
	char paths[2][4096]; /* paths of the FIFOs: requests, answers */
	char environment[4096];
	int fds[2];
	FILE *out; /* DIR/intervals */
	char line[128];
	size_t used;
	bool overlong; /* discard the rest of this line */
	pid_t pid;     /* the announced process; 0: none */
	int pidfd;     /* pidfd of @pid; -1: none */
	bool is_open;
	uint64_t enabling, enabled;
	/* Time given to records that the next announcement causes, see
	 * jp_intervals_get_backfill_time(). */
	uint64_t date;
};

/* Creates and opens a FIFO; it must not exist. */
static int open_fifo(struct jp_gate *gate, int fifo_index, const char *name, struct jp_error *err)
{
	char *path = gate->paths[fifo_index];
	int ret = jp_path_build(path, sizeof(gate->paths[fifo_index]), err, "%s/%s",
				gate->session->dir, name);

	if (ret)
		return ret;
	/* Opening a FIFO for both reading and writing never waits, and prevents an end of file when
	 * one process has closed it and the next has not yet opened it. */
	if (!mkfifo(path, 0600))
		gate->fds[fifo_index] = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return gate->fds[fifo_index] < 0 ? jp_fail(err, errno, "%s: %s", path, strerror(errno)) : 0;
}

struct jp_gate *jp_gate_new(struct jp_session *session, const struct jp_gate_policy *policy,
			    struct jp_error *err)
{
	struct jp_gate *gate = calloc(1, sizeof(*gate));
	char path[4096];

	if (!gate) {
		jp_fail(err, ENOMEM, "out of memory for the gate");
		return NULL;
	}
	*gate = (struct jp_gate){
		.session = session, .policy = policy, .fds = {-1, -1}, .pidfd = -1};
	if (open_fifo(gate, 0, "gate.ctl", err) || open_fifo(gate, 1, "gate.ack", err) ||
	    jp_path_build(gate->environment, sizeof(gate->environment), err,
			  "JITPROOF_GATE=%s/gate", session->dir) ||
	    jp_path_build(path, sizeof(path), err, "%s/intervals", session->dir))
		goto fail;
	session->worker.wake = eventfd(0, EFD_CLOEXEC);
	if (session->worker.wake < 0) {
		jp_fail(err, errno, "eventfd: %s", strerror(errno));
		goto fail;
	}
	gate->out = jp_file_create(path, true, err);
	if (gate->out)
		return gate;
fail:
	jp_gate_free(gate);
	return NULL;
}

char *jp_gate_environment(struct jp_gate *gate)
{
	return gate->environment;
}

void jp_gate_free(struct jp_gate *gate)
{
	if (!gate)
		return;
	for (int i = 0; i < 2; i++) {
		if (gate->fds[i] >= 0) {
			close(gate->fds[i]);
			unlink(gate->paths[i]);
		}
	}
	if (gate->pidfd >= 0)
		close(gate->pidfd);
	if (gate->out)
		fclose(gate->out);
	free(gate);
}

/* Sends an answer without waiting; it is lost if the process does not read. */
__attribute__((format(printf, 2, 3))) static void send_answer(struct jp_gate *gate, const char *fmt,
							      ...)
{
	char text[256];
	va_list ap;
	int length;

	va_start(ap, fmt);
	length = vsnprintf(text, sizeof(text) - 1, fmt, ap);
	va_end(ap);
	if (length > (int)sizeof(text) - 2)
		length = (int)sizeof(text) - 2;
	text[length++] = '\n';
	if (write(gate->fds[1], text, (size_t)length) != length)
		return;
}

static int send_result(struct jp_gate *gate, int ret, const struct jp_error *err)
{
	if (ret)
		send_answer(gate, "failed %s", err->text);
	else
		send_answer(gate, "ok");
	return ret;
}

/* Writes blanks, control characters and backslashes as \ooo. */
static void put_name(FILE *out, const char *name)
{
	for (; *name; name++) {
		unsigned char byte = (unsigned char)*name;

		if (byte <= ' ' || byte == 127 || byte == '\\')
			fprintf(out, "\\%03o", byte);
		else
			fputc(byte, out);
	}
}

static void put_process(struct jp_gate *gate, pid_t pid, uint64_t asked_at, uint64_t answer_time)
{
	char name[64];

	jp_thread_name(pid, pid, name, sizeof(name));
	fprintf(gate->out, "process %d %llu %llu ", pid, (unsigned long long)asked_at,
		(unsigned long long)answer_time);
	put_name(gate->out, *name ? name : "?");
	fputc('\n', gate->out);
}

static void forget_process(struct jp_gate *gate)
{
	if (gate->pidfd >= 0)
		close(gate->pidfd);
	gate->pidfd = -1;
	gate->pid = 0;
}

static int read_maps(struct jp_gate *gate, struct jp_reading *reading, struct jp_error *err)
{
	bool within_done = true;

	return jp_snapshot_read(gate->session, gate->pid, &within_done, reading, err);
}

static int handle_reading(struct jp_gate *gate, const struct jp_reading *reading,
			  struct jp_error *err)
{
	int ret = jp_snapshot_keep(gate->session, gate->pid, reading, err);

	if (!ret && gate->policy->announced)
		ret = gate->policy->announced(gate->session, gate->pid, reading, err);
	return ret;
}

/* Reads /proc/PID/maps of the announced process and answers it. The process waits for the answer,
 * so its maps are stable if they are read before (read_first). They are parsed and written after
 * the answer, to keep the delay short. Maps read after the answer serve only for judging. */
static int watch_process(struct jp_gate *gate, struct jp_error *err)
{
	uint64_t asked_at = jp_clock_now(), answer_time;
	struct jp_reading reading = {0};
	struct jp_error reason = {""};
	int ret = 0;

	if (gate->policy->read_first)
		ret = read_maps(gate, &reading, &reason);
	answer_time = jp_clock_now();
	send_result(gate, ret, &reason);
	if (!gate->policy->read_first)
		ret = read_maps(gate, &reading, &reason);
	if (ret) {
		/* The process has ended. */
		forget_process(gate);
		ret = 0;
	} else {
		reading.date = gate->date++;
		put_process(gate, gate->pid, asked_at, answer_time);
		ret = handle_reading(gate, &reading, err);
	}
	free(reading.bytes);
	return ret;
}

static int announce_process(struct jp_gate *gate, const char *text, struct jp_error *err)
{
	uint64_t pid;
	int ret;

	if (!jp_number(text, 1, INT32_MAX, &pid) || gate->is_open) {
		send_answer(gate, "failed %s",
			    gate->is_open ? "an interval is open" : "announce PID");
		return 0;
	}
	forget_process(gate);
	gate->pid = (pid_t)pid;
	gate->pidfd = (int)syscall(SYS_pidfd_open, gate->pid, 0);
	/* A round that ended between reading the maps and writing their records would sort the
	 * records wrongly. */
	jp_drain_hold(gate->session, 1);
	ret = watch_process(gate, err);
	jp_drain_hold(gate->session, -1);
	return ret;
}

static int open_gate(struct jp_gate *gate, struct jp_error *err)
{
	int ret;

	if (!gate->pid || gate->is_open) {
		send_answer(gate, "failed %s",
			    gate->is_open ? "an interval is open" : "nobody announced");
		return 0;
	}
	gate->enabling = jp_clock_now();
	ret = gate->policy->switch_events(gate->session, true, err);
	gate->enabled = jp_clock_now();
	gate->is_open = !ret;
	return send_result(gate, ret, err);
}

static int close_gate(struct jp_gate *gate, struct jp_error *err)
{
	uint64_t disabling = jp_clock_now();
	int ret = gate->policy->switch_events(gate->session, false, err);

	gate->date = jp_clock_now();
	fprintf(gate->out, "interval %d %llu %llu %llu %llu\n", gate->pid,
		(unsigned long long)gate->enabling, (unsigned long long)gate->enabled,
		(unsigned long long)disabling, (unsigned long long)gate->date);
	gate->is_open = false;
	return ret;
}

static int stop_gate(struct jp_gate *gate, struct jp_error *err)
{
	if (!gate->is_open) {
		send_answer(gate, "failed no interval is open");
		return 0;
	}
	return send_result(gate, close_gate(gate, err), err);
}

static int handle_request(struct jp_gate *gate, struct jp_error *err)
{
	const char *line = gate->overlong ? "" : gate->line;

	gate->line[gate->used] = '\0';
	gate->used = 0;
	gate->overlong = false;
	if (strncmp(line, "announce ", 9) == 0)
		return announce_process(gate, line + 9, err);
	if (strcmp(line, "start") == 0)
		return open_gate(gate, err);
	if (strcmp(line, "stop") == 0)
		return stop_gate(gate, err);
	send_answer(gate, "failed expected announce PID, start or stop");
	return 0;
}

static int read_requests(struct jp_gate *gate, struct jp_error *err)
{
	char bytes[256];
	ssize_t nr_read;
	int ret = 0;

	while (!ret && (nr_read = read(gate->fds[0], bytes, sizeof(bytes))) > 0)
		for (ssize_t i = 0; i < nr_read && !ret; i++) {
			if (bytes[i] == '\n')
				ret = handle_request(gate, err);
			else if (gate->used + 1 < sizeof(gate->line))
				gate->line[gate->used++] = bytes[i];
			else
				gate->overlong = true;
		}
	return ret;
}

static int end_gate(struct jp_gate *gate, struct jp_error *err)
{
	struct jp_error unwritten;
	char path[4096] = "intervals";
	int ret = gate->is_open ? close_gate(gate, err) : 0;
	int finish_error;

	jp_path_build(path, sizeof(path), NULL, "%s/intervals", gate->session->dir);
	finish_error = jp_file_finish(gate->out, path, &unwritten);
	gate->out = NULL;
	if (finish_error && !ret)
		*err = unwritten;
	return ret ?: finish_error;
}

static void *serve_requests(void *context)
{
	struct jp_gate *gate = context;
	struct jp_worker *worker = &gate->session->worker;
	struct jp_error later_error;
	bool is_ending = false;
	int ret = 0, ended;

	fprintf(gate->out, "gate %s\n", gate->policy->name);
	while (!ret && !is_ending) {
		struct pollfd fds[] = {{.fd = gate->fds[0], .events = POLLIN},
				       {.fd = worker->wake, .events = POLLIN},
				       {.fd = gate->pidfd, .events = POLLIN}};

		if (poll(fds, 3, -1) < 0)
			continue;
		is_ending = fds[1].revents;
		if (fds[0].revents)
			ret = read_requests(gate, &worker->err);
		else if (fds[2].revents &&
			 gate->is_open) /* the process ended within its interval */
			ret = close_gate(gate, &worker->err);
		if (fds[2].revents && !fds[0].revents)
			forget_process(gate);
	}
	ended = end_gate(gate, ret ? &later_error : &worker->err);
	jp_worker_done(gate->session, ret ? ret : ended);
	return NULL;
}

int jp_gate_keep(struct jp_gate *gate, struct jp_error *err)
{
	gate->date = gate->session->info.enabled;
	return jp_worker_start(gate->session, serve_requests, gate, err);
}
