// SPDX-License-Identifier: GPL-2.0-only
/* Signals interrupt emitted code at any instruction, and the signal handler itself runs emitted
 * code, on the interrupted stack or on a stack of its own. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/excuse.h"
#include "workloads/emit/mix.h"
#include "workloads/emit/workload.h"

/* STACK: bytes of the handler's stack. PERIOD: ns between signals. OUTER, INNER: numbers of paths.
 * TURNS: loop iterations of one run. */
enum { STACK = 256 << 10, PERIOD = 3000017, OUTER = 4, INNER = 3, TURNS = 300000 };

static struct {
	struct jp_mix mix; /* paths: OUTER interrupted paths, then INNER paths of the handler */
	bool own_stack;
	timer_t timer;
	size_t handled;
} scene;

/* Arms the timer for the next signal. The timer is not periodic, so that interrupted code continues
 * between two signals however long the handler takes. Returns 0 or -errno. */
static int set_timer(void)
{
	/* Shorter loops mean single-stepping, in which code is slow: wait longer. */
	const struct itimerspec once = {
		.it_value = jp_clock_timespec(PERIOD * jp_handshake_setup()->shorter)};

	return timer_settime(scene.timer, 0, &once, NULL) ? -errno : 0;
}

static void handle_signal(int signal, siginfo_t *info, void *context)
{
	int saved = errno;
	struct jp_paused *paused;
	uint64_t ip, sp;

	if (jp_handshake_is_stopping())
		return;
	/* Run no path here: the interrupted native code may hold any lock. */
	jp_arch_read_interrupted(context, &ip, &sp);
	if (ip - (uintptr_t)scene.mix.arena.exec < scene.mix.arena.size ||
	    ip - scene.mix.library.addr < scene.mix.library.size) {
		paused = jp_path_interrupt(ip, sp, scene.own_stack);
		jp_path_run(&scene.mix.paths[OUTER + scene.handled++ % INNER]);
		set_timer();
		jp_path_resume(paused);
	} else {
		set_timer();
	}
	errno = saved;
}

/* Gives the handler a stack of its own. The page above the stack is inaccessible, so that stack
 * dumps end at the stack's top. Returns 0 or -errno. */
static int set_signal_stack(void)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	char *stack = mmap(NULL, STACK + page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	stack_t signal_stack = {.ss_sp = stack, .ss_size = STACK};

	if (stack == MAP_FAILED || mprotect(stack + STACK, page, PROT_NONE) ||
	    sigaltstack(&signal_stack, NULL))
		return -errno;
	return 0;
}

#ifndef sigev_notify_thread_id /* glibc 2.36 */
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* Creates the timer, whose signals go to the calling thread. Returns 0 or -errno. */
static int create_timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};

	event.sigev_notify_thread_id = syscall(SYS_gettid);
	return timer_create(CLOCK_MONOTONIC, &event, &scene.timer) ? -errno : set_timer();
}

static const struct jp_path *choose_next_path(void *context, size_t round)
{
	int ret = 0;

	if (!round && scene.own_stack)
		ret = set_signal_stack();
	if (!round && !ret)
		ret = create_timer();
	if (ret)
		exit(jp_handshake_status("signals", ret));
	return &scene.mix.paths[round % OUTER];
}

static int run(int argc, char **argv)
{
	static const struct jp_object_kind kind = {
		.shapes = {JP_SHAPE_FP, JP_SHAPE_NO_FP, JP_SHAPE_TAIL, JP_SHAPE_LONG, JP_SHAPE_FP,
			   JP_SHAPE_LONG, JP_SHAPE_NO_FP, JP_SHAPE_LEAF}};
	static const char *const outer[] = {"flre", "fNlf", "lnfNe", "flE", NULL};
	static const char *const inner[] = {"fle", "nfNf", "lr", NULL};
	struct sigaction action = {.sa_sigaction = handle_signal,
				   .sa_flags = SA_SIGINFO | SA_RESTART};
	int ret;

#ifndef __GLIBC__
	return jp_handshake_skip("a C library with call frame information to return from signals");
#endif
	if (scene.own_stack)
		action.sa_flags |= SA_ONSTACK;
	ret = sigaction(SIGUSR1, &action, NULL) ? -errno
						: jp_mix_open_with_library(&scene.mix, &kind);
	if (!ret)
		ret = jp_mix_paths(&scene.mix, outer, 0);
	for (int i = 0; inner[i] && !ret; i++)
		ret = jp_mix_path(&scene.mix, inner[i], 0, TURNS, NULL);
	return jp_mix_run(argv[0], &scene.mix, choose_next_path, ret);
}

static const struct jp_option options[] = {{"--stack", .set = &scene.own_stack,
					    .words = (const char *const[]){"own", NULL},
					    .help = "the handler has a stack of its own"},
					   {0}};

JP_DEFINE(workload, signals) = {
	.name = "signals",
	.help = "signals that interrupt emitted code, and whose handler runs emitted code",
	.options = options,
	.run = run,
};

static const struct jp_excuse excuses[] = {
	{"signals.stack", "signals --stack=own", "broken.*", "dump-short", "predicted",
	 "the interrupted code is on a stack that the dump does not contain"},
};
JP_REGISTER_ROWS(excuse, excuses);
