// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

static volatile sig_atomic_t received;
static int deferred; /* the signal that jp_interrupt_defer() took; 0: none */
static int wake = -1;

static void handle_signal(int number)
{
	int saved = errno;

	received = number;
	/* A write error means that the eventfd's counter is full, so @wake is readable too. */
	eventfd_write(wake, 1);
	errno = saved;
}

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

int jp_interrupt_watch(void)
{
	struct sigaction action = {.sa_handler = handle_signal};

	if (wake >= 0)
		return 0;
	wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wake < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], &action, NULL))
			return -errno;
	/* A write to a workload that has ended must return an error, not end this process. */
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

int jp_interrupt_watch_in_child(void)
{
	if (wake >= 0)
		close(wake);
	wake = -1;
	return jp_interrupt_watch();
}

void jp_interrupt_reset_inherited(void)
{
	sigset_t no_signals;

	sigemptyset(&no_signals);
	sigprocmask(SIG_SETMASK, &no_signals, NULL);
	signal(SIGCHLD, SIG_DFL);
}

void jp_interrupt_ignore_size_limit(void)
{
	signal(SIGXFSZ, SIG_IGN);
}

void jp_interrupt_restore_pipe_signals(void)
{
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
}

void jp_interrupt_restore_defaults(void)
{
	for (size_t i = 0; wake >= 0 && i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_DFL);
	deferred = 0;
}

void jp_interrupt_defer(void)
{
	eventfd_t count;

	if (!received)
		return;
	deferred = received;
	received = 0;
	eventfd_read(wake, &count);
}

int jp_interrupt_fd(void)
{
	return wake;
}

int jp_interrupt_signal(void)
{
	return received;
}

void jp_interrupt_die(void)
{
	const int number = received ?: deferred;

	if (!number)
		return;
	signal(number, SIG_DFL);
	raise(number);
}
