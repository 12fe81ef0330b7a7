// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/facts/acts.h"
#include "harness/facts/probe_fact.h"

/* Pins the probe and its children to one CPU, because an inherited event can have a ring only if it
 * is of one CPU. */
static void pin_to_one_cpu(struct jp_answer *answer)
{
	cpu_set_t set, only_cpu;

	if (sched_getaffinity(0, sizeof(set), &set)) {
		jp_answer_failed(answer, "sched_getaffinity");
		return;
	}
	CPU_ZERO(&only_cpu);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &set)) {
			CPU_SET(cpu, &only_cpu);
			break;
		}
	}
	if (sched_setaffinity(0, sizeof(only_cpu), &only_cpu))
		jp_answer_failed(answer, "sched_setaffinity");
}

static void __attribute__((noreturn))
run_probe(const struct jp_fact *fact, struct jp_answer *answer)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct perf_event_attr attr = jp_watch_sideband();
	struct jp_watch watch;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	/* Discard the output of programs that a probe starts. */
	for (int fd = 0; fd <= STDERR_FILENO && null >= 0; fd++)
		dup2(null, fd);
	pin_to_one_cpu(answer);
	answer->parameter = fact->parameter;
	if (fact->bit)
		jp_attr_set_bit(&attr, fact->bit);
	if (fact->probe)
		fact->probe(answer);
	else if (!jp_watch_open(&watch, &attr, JP_WATCH_PAGES, answer))
		; /* jp_watch_open() has noted the reason */
	else if (fact->watched)
		fact->watched(answer, &watch);
	else
		jp_acts_probe(answer, &watch, fact->acts);
	answer->complete = true;
	_exit(0);
}

/* Waits at most @limit ms for the end of @pid. Returns 0, ETIMEDOUT or another errno. */
static int wait_for_end(pid_t pid, unsigned int limit)
{
	struct pollfd end = {.fd = pidfd_open(pid, 0), .events = POLLIN};
	int ready;

	if (end.fd < 0)
		return errno;
	do {
		ready = poll(&end, 1, (int)limit);
	} while (ready < 0 && errno == EINTR);
	close(end.fd);
	return ready < 0 ? errno : ready == 0 ? ETIMEDOUT : 0;
}

static void answer_how_probe_ended(struct jp_answer *answer, int wait_error, int status,
				   unsigned int limit)
{
	if (wait_error == ETIMEDOUT)
		jp_answer_missing(answer, "an end of the probe within %u ms", limit);
	else if (wait_error)
		jp_answer_missing(answer, "pidfd_open: %s", jp_answer_errno(wait_error));
	else if (WIFSIGNALED(status))
		jp_answer_missing(answer, "a complete answer: SIG%s killed the probe",
				  sigabbrev_np(WTERMSIG(status)));
	else if (!answer->complete)
		jp_answer_missing(answer, "a complete answer: the probe exited with %d",
				  WEXITSTATUS(status));
	else if (answer->overflow)
		jp_answer_missing(answer, "space for the value");
}

int jp_fact_ask(const struct jp_fact *fact, unsigned int limit, struct jp_answer *answer,
		struct jp_error *err)
{
	struct jp_answer *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0, wait_error;
	pid_t pid;

	if (shared == MAP_FAILED)
		return jp_fail(err, errno, "%s: out of memory for its answer", fact->name);
	/* Become the parent of processes that the probe leaves behind, to reap them. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = fork();
	if (pid == 0)
		run_probe(fact, shared);
	if (pid < 0) {
		munmap(shared, sizeof(*shared));
		return jp_fail(err, errno, "%s: fork: %s", fact->name, strerror(errno));
	}
	setpgid(pid, pid); /* parent and child both call setpgid(), because either may run first */
	wait_error = wait_for_end(pid, limit);
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	answer_how_probe_ended(shared, wait_error, status, limit);
	*answer = *shared;
	munmap(shared, sizeof(*shared));
	return 0;
}

int jp_fact_fork(struct jp_answer *answer)
{
	pid_t pid = fork();

	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	else if (pid < 0)
		jp_answer_failed(answer, "fork");
	return pid;
}

void jp_fact_wait(struct jp_answer *answer, int pid)
{
	if (pid > 0 && waitpid(pid, NULL, __WALL) != pid)
		jp_answer_failed(answer, "waitpid");
}
