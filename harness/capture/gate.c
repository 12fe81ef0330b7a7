// SPDX-License-Identifier: GPL-2.0-only
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

#include "harness/capture/session.h"
#include "harness/format/procmaps/procmaps.h"
#include "harness/format/truth/format.h"

/* The gatekeeper: docs/gate-protocol.md. One process after the other has its interval. */
struct jp_gate {
	struct jp_session *session;
	enum jp_gate_policy policy;
	char *paths[2]; /* of the FIFOs: requests, answers */
	char *environment;
	int fds[2];
	FILE *out; /* DIR/intervals */
	char line[128];
	size_t used;
	bool overlong; /* the rest of this line is thrown away */
	pid_t pid;     /* announced; 0: nobody */
	int pidfd;     /* of it, -1: none */
	bool open;
	uint64_t enabling, enabled;
};

static const char *const policies[] = {"none", "backfill", "sideband"};

const char *jp_gate_text(enum jp_gate_policy policy)
{
	return policies[policy];
}

/* Ours alone, and no one's who came before. */
static int open_fifo(struct jp_gate *gate, int which, const char *name, struct jp_error *err)
{
	if (asprintf(&gate->paths[which], "%s/%s", gate->session->dir, name) < 0) {
		gate->paths[which] = NULL;
		return jp_fail(err, ENOMEM, "no memory for the gate");
	}
	if (mkfifo(gate->paths[which], 0600))
		return jp_fail(err, errno, "%s: %s", gate->paths[which], strerror(errno));
	/* Both ways: it opens at once, and no end of file comes between two processes. */
	gate->fds[which] = open(gate->paths[which], O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (gate->fds[which] < 0)
		return jp_fail(err, errno, "%s: %s", gate->paths[which], strerror(errno));
	return 0;
}

struct jp_gate *jp_gate_new(struct jp_session *session, enum jp_gate_policy policy,
			    struct jp_error *err)
{
	struct jp_gate *gate = calloc(1, sizeof(*gate));
	char path[4096];

	if (!gate) {
		jp_fail(err, ENOMEM, "no memory for the gate");
		return NULL;
	}
	*gate = (struct jp_gate){
		.session = session, .policy = policy, .fds = {-1, -1}, .pidfd = -1};
	if (open_fifo(gate, 0, "gate.ctl", err) || open_fifo(gate, 1, "gate.ack", err))
		goto fail;
	if (asprintf(&gate->environment, "JITPROOF_GATE=%s/gate", session->dir) < 0) {
		gate->environment = NULL;
		jp_fail(err, ENOMEM, "no memory for the gate");
		goto fail;
	}
	snprintf(path, sizeof(path), "%s/intervals", session->dir);
	gate->out = fopen(path, "we");
	if (gate->out)
		return gate;
	jp_fail(err, errno, "%s: %s", path, strerror(errno));
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
		free(gate->paths[i]);
	}
	if (gate->pidfd >= 0)
		close(gate->pidfd);
	if (gate->out)
		fclose(gate->out);
	free(gate->environment);
	free(gate);
}

/* Never waits: whoever does not read its answers loses them. */
__attribute__((format(printf, 2, 3))) static void answer(struct jp_gate *gate, const char *fmt, ...)
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

/* Blanks, control characters and backslashes as \ooo. */
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

static void put_process(struct jp_gate *gate, pid_t pid, uint64_t asked, uint64_t answered)
{
	char path[64], name[64];
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	size = jp_proc_read(path, name, sizeof(name));
	name[size > 0 ? size - 1 : 0] = '\0';
	fprintf(gate->out, "process %d %llu %llu ", pid, (unsigned long long)asked,
		(unsigned long long)answered);
	put_name(gate->out, *name ? name : "?");
	fputc('\n', gate->out);
}

/* For judging alone: the files with which what was left out can be added back. */
static int want_files(struct jp_session *session, pid_t pid, const struct jp_reading *reading,
		      struct jp_error *err)
{
	struct jp_procmap *maps;
	size_t count;
	int ret = jp_procmaps_parse(reading->bytes, reading->size, &maps, &count, err);

	if (ret || !session->copies)
		return ret;
	pthread_mutex_lock(&session->lock);
	for (size_t i = 0; i < count; i++)
		if (maps[i].prot & JP_PROT_EXEC)
			jp_elf_copies_want(session->copies, pid, &maps[i], 0);
	pthread_mutex_unlock(&session->lock);
	free(maps);
	return 0;
}

static int forget(struct jp_gate *gate)
{
	if (gate->pidfd >= 0)
		close(gate->pidfd);
	gate->pidfd = -1;
	gate->pid = 0;
	return 0;
}

static int read_maps(struct jp_gate *gate, pid_t pid, struct jp_reading *reading,
		     struct jp_error *err)
{
	bool within_done = true;

	*reading = (struct jp_reading){0};
	return jp_snapshot_read(gate->session, pid, &within_done, reading, err);
}

/*
 * The process waits for its answer, and so does not change what is read. With backfill the reading
 * is what it waits for, and no more: parsing and writing come after the answer. Else the reading is
 * for whoever judges, and the answer comes first.
 */
static int announce(struct jp_gate *gate, const char *text, struct jp_error *err)
{
	struct jp_session *session = gate->session;
	const bool backfill = gate->policy == JP_GATE_BACKFILL;
	uint64_t asked = jp_capture_now(), answered;
	struct jp_reading reading = {0};
	struct jp_error why = {""};
	char *end;
	long pid;
	int ret = 0;

	errno = 0;
	pid = strtol(text, &end, 10);
	if (errno || end == text || *end || pid <= 0 || pid > INT32_MAX || gate->open) {
		answer(gate, "failed %s", gate->open ? "an interval is open" : "announce PID");
		return 0;
	}
	forget(gate);
	gate->pid = (pid_t)pid;
	gate->pidfd = (int)syscall(SYS_pidfd_open, gate->pid, 0);
	/* From the reading on until its records are written, no round may end. */
	__atomic_fetch_add(&session->holds, 1, __ATOMIC_SEQ_CST);
	if (backfill)
		ret = read_maps(gate, gate->pid, &reading, &why);
	answered = jp_capture_now();
	if (ret)
		answer(gate, "failed %s", why.text);
	else
		answer(gate, "ok");
	if (!backfill)
		ret = read_maps(gate, gate->pid, &reading, &why);
	/* It is gone already: there is nothing to watch, and nothing to say of it. */
	if (ret) {
		ret = forget(gate);
		goto out;
	}
	put_process(gate, gate->pid, asked, answered);
	ret = jp_snapshot_keep(session, gate->pid, &reading, err);
	if (!ret && backfill) {
		jp_drain_now(session);
		ret = jp_backfill_write(session, gate->pid, &reading, err);
	} else if (!ret && gate->policy == JP_GATE_NONE) {
		ret = want_files(session, gate->pid, &reading, err);
	}
out:
	__atomic_fetch_sub(&session->holds, 1, __ATOMIC_SEQ_CST);
	free(reading.bytes);
	return ret;
}

/* Sideband is on before samples are, and off after them. */
static int turn(struct jp_gate *gate, bool on, struct jp_error *err)
{
	const bool both = gate->policy != JP_GATE_SIDEBAND;
	int ret = 0;

	if (gate->session->external)
		return jp_external_switch(gate->session, on, err);
	if (both && on)
		ret = jp_open_switch(gate->session, JP_SIDEBAND, true, err);
	if (!ret)
		ret = jp_open_switch(gate->session, JP_SAMPLING, on, err);
	if (!ret && both && !on)
		ret = jp_open_switch(gate->session, JP_SIDEBAND, false, err);
	return ret;
}

static int open_gate(struct jp_gate *gate, struct jp_error *err)
{
	int ret;

	if (!gate->pid || gate->open) {
		answer(gate, "failed %s", gate->open ? "an interval is open" : "nobody announced");
		return 0;
	}
	gate->enabling = jp_capture_now();
	ret = turn(gate, true, err);
	gate->enabled = jp_capture_now();
	gate->open = !ret;
	answer(gate, "%s", ret ? err->text : "ok");
	return ret;
}

static int close_gate(struct jp_gate *gate, struct jp_error *err)
{
	uint64_t disabling = jp_capture_now();
	int ret = turn(gate, false, err);

	fprintf(gate->out, "interval %d %llu %llu %llu %llu\n", gate->pid,
		(unsigned long long)gate->enabling, (unsigned long long)gate->enabled,
		(unsigned long long)disabling, (unsigned long long)jp_capture_now());
	gate->open = false;
	return ret;
}

static int stop_gate(struct jp_gate *gate, struct jp_error *err)
{
	int ret;

	if (!gate->open) {
		answer(gate, "failed no interval is open");
		return 0;
	}
	ret = close_gate(gate, err);
	answer(gate, "%s", ret ? err->text : "ok");
	return ret;
}

static int handle(struct jp_gate *gate, struct jp_error *err)
{
	gate->line[gate->used] = '\0';
	gate->used = 0;
	if (gate->overlong || strlen(gate->line) == 0) {
		gate->overlong = false;
		answer(gate, "failed announce PID, start or stop was expected");
		return 0;
	}
	if (strncmp(gate->line, "announce ", 9) == 0)
		return announce(gate, gate->line + 9, err);
	if (strcmp(gate->line, "start") == 0)
		return open_gate(gate, err);
	if (strcmp(gate->line, "stop") == 0)
		return stop_gate(gate, err);
	answer(gate, "failed announce PID, start or stop was expected");
	return 0;
}

static int hear(struct jp_gate *gate, struct jp_error *err)
{
	char bytes[256];
	ssize_t got;
	int ret = 0;

	while (!ret && (got = read(gate->fds[0], bytes, sizeof(bytes))) > 0)
		for (ssize_t i = 0; i < got && !ret; i++) {
			if (bytes[i] == '\n')
				ret = handle(gate, err);
			else if (gate->used + 1 < sizeof(gate->line))
				gate->line[gate->used++] = bytes[i];
			else
				gate->overlong = true;
		}
	return ret;
}

static int end(struct jp_gate *gate, struct jp_error *err)
{
	int ret = gate->open ? close_gate(gate, err) : 0, bad = ferror(gate->out);

	bad |= fclose(gate->out) != 0;
	gate->out = NULL;
	if (bad && !ret)
		ret = jp_fail(err, EIO, "%s/intervals: cannot be written", gate->session->dir);
	return ret;
}

void *jp_gate_keep(void *context)
{
	struct jp_session *session = context;
	struct jp_gate *gate = session->gate;
	struct jp_error *err = &session->worker_err, later;
	bool ending = false;
	int ret = 0, ended;

	fprintf(gate->out, "gate %s\n", policies[gate->policy]);
	while (!ret && !ending) {
		struct pollfd fds[] = {{.fd = gate->fds[0], .events = POLLIN},
				       {.fd = session->worker_wake, .events = POLLIN},
				       {.fd = gate->pidfd, .events = POLLIN}};

		if (poll(fds, 3, -1) < 0)
			continue;
		ending = fds[1].revents;
		if (fds[0].revents)
			ret = hear(gate, err);
		else if (fds[2].revents && gate->open) /* it died inside of its interval */
			ret = close_gate(gate, err);
		if (fds[2].revents && !fds[0].revents)
			forget(gate);
	}
	ended = end(gate, ret ? &later : err);
	pthread_mutex_lock(&session->lock);
	session->worker_error = ret ? ret : ended;
	/* Who waits for samples must learn that none will come. */
	session->complete |= session->worker_error != 0;
	pthread_cond_broadcast(&session->changed);
	pthread_mutex_unlock(&session->lock);
	return NULL;
}
