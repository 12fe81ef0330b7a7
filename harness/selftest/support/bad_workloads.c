// SPDX-License-Identifier: GPL-2.0-only
/* A workload that misbehaves according to its option HOW; linked into jitproof-selftest only. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "workloads/emit/workload.h"

static void wait_forever(void)
{
	for (;;)
		pause();
}

static int refuse(void *context, const char *arg)
{
	return -1;
}

static int hang(void *context, const char *arg)
{
	wait_forever();
	return 0;
}

static int vanish(void *context, const char *arg)
{
	_exit(5);
}

/* Arranges for SIGALRM to kill the workload half a second later. */
static int set_fatal_alarm(void *context, const char *arg)
{
	const struct itimerval later = {.it_value = {.tv_usec = 500000}};

	return setitimer(ITIMER_REAL, &later, NULL);
}

static const struct jp_step no_steps[] = {{NULL, NULL}};
static const struct jp_step bad_steps[] = {
	{"refuse", refuse},          {"hang", hang}, {"vanish", vanish},
	{"expire", set_fatal_alarm}, {NULL, NULL},
};

/* Leaves a grandchild outside of the workload's process group and session that never ends. */
static void leave_an_orphan(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		setsid();
		if (fork() == 0) {
			signal(SIGTERM, SIG_IGN);
			wait_forever();
		}
		_exit(0);
	}
}

static const char *fault = "";

static int run(int argc, char **argv)
{
	if (strcmp(fault, "fail") == 0) {
		fprintf(stderr, "first line\nno code today\n");
		return 3;
	}
	if (strcmp(fault, "crash") == 0) {
		raise(SIGSEGV);
	} else if (strcmp(fault, "silent") == 0) {
		wait_forever();
	} else if (strcmp(fault, "deaf") == 0) {
		jp_handshake(no_steps, NULL);
		wait_forever();
	} else if (strcmp(fault, "late-failure") == 0) {
		jp_handshake(no_steps, NULL);
		fprintf(stderr, "could not put things back\n");
		return 7;
	} else if (strcmp(fault, "orphan") == 0) {
		leave_an_orphan();
	} else if (strcmp(fault, "quit") == 0) {
		return 0;
	} else if (strcmp(fault, "skip") == 0) {
		return jp_handshake_skip("what no machine has");
	}
	return jp_handshake(bad_steps, NULL);
}

static const struct jp_option options[] = {
	{"HOW", .text = &fault,
	 .help = "fail, crash, silent, deaf, late-failure, orphan, quit, skip, idle"},
	{0}};

JP_DEFINE(workload, bad) = {
	.name = "bad",
	.help = "misbehaves as its argument says",
	.options = options,
	.run = run,
};
