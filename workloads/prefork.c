// SPDX-License-Identifier: GPL-2.0-only
/* Children run code that their parent compiled before the fork, and then compile code of their own.
 * Before that, every second child makes the inherited arena writable and executable again, as a JIT
 * does to patch code: the kernel reports the same range again, with another pid. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "harness/format/truth/write.h"
#include "workloads/emit/process.h"
#include "workloads/emit/program.h"
#include "workloads/emit/workload.h"

struct child {
	struct jp_child process;
	struct child *next;
};

static struct {
	struct jp_plan plan;
	struct jp_program inherited;
	struct child *oldest;
	unsigned born;
	bool toggles; /* the next child will call toggle_arena() */
} family = {.plan = JP_PLAN(.protect = JP_PROTECT_FLIP)};

static int protect_arena(struct jp_arena *arena, int prot, unsigned recorded)
{
	uint64_t before = jp_clock_now();

	if (mprotect(arena->exec, arena->size, prot) < 0)
		return -errno;
	jp_truth_protect(before, jp_clock_now(), (uintptr_t)arena->exec, arena->size, recorded);
	return 0;
}

/* Makes the arena writable and executable again. No thread may run in it. Returns 0 or -errno. */
static int toggle_arena(struct jp_arena *arena)
{
	return protect_arena(arena, PROT_READ | PROT_WRITE, JP_PROT_READ | JP_PROT_WRITE)
		       ?: protect_arena(arena, PROT_READ | PROT_EXEC, JP_PROT_READ | JP_PROT_EXEC);
}

static int act_toggle(void *context, const char *arg)
{
	unsigned threads = jp_path_stop(family.inherited.paths);
	int ret = toggle_arena(&family.inherited.arena);

	for (unsigned i = 0; i < threads && !ret; i++)
		ret = jp_path_run_thread(family.inherited.paths, family.inherited.nr_paths);
	return ret;
}

/* Makes the process idle before a SIGKILL: a process killed while it writes leaves a torn record in
 * the truth. */
static int act_stop_before_kill(void *context, const char *arg)
{
	jp_path_stop(NULL);
	return 0;
}

static int run_child(void *context)
{
	static const struct jp_step steps[] = {
		{"toggle", act_toggle}, {"rest", act_stop_before_kill}, {NULL, NULL}};
	struct jp_program *inherited = &family.inherited, own_program;
	int ret;

	for (size_t i = 0; i < inherited->nr_paths; i++)
		jp_path_run(&inherited->paths[i]);
	ret = family.toggles ? toggle_arena(&inherited->arena) : 0;
	if (!ret)
		ret = jp_program_make(&own_program, &family.plan)
			      ?: jp_path_run_thread(inherited->paths, inherited->nr_paths)
			      ?: jp_path_run_thread(own_program.paths, own_program.nr_paths);
	return jp_path_serve_handshake("prefork: a child", ret, steps, NULL);
}

static int act_fork(void *context, const char *arg)
{
	struct child **link = &family.oldest, *fresh = calloc(1, sizeof(*fresh));
	int ret;

	if (!fresh)
		return -ENOMEM;
	family.toggles = family.born++ % 2;
	ret = jp_process_fork(&fresh->process, NULL, run_child, NULL)
		      ?: jp_process_wait_ready(&fresh->process);
	while (*link)
		link = &(*link)->next;
	*link = fresh;
	return ret;
}

/* Kills the oldest child. */
static int act_kill(void *context, const char *arg)
{
	struct child *oldest = family.oldest;
	int status;

	if (!oldest)
		return -ESRCH;
	family.oldest = oldest->next;
	status = jp_process_step(&oldest->process, "rest");
	if (status)
		return status;
	status = jp_process_kill(&oldest->process);
	free(oldest);
	return status < 0 ? status : 0;
}

static int stop_children(void)
{
	int failed = 0;

	for (struct child *child = family.oldest; child; child = child->next)
		jp_process_send_stop(&child->process);
	while (family.oldest) {
		struct child *oldest = family.oldest;

		if (oldest->process.pid)
			failed |= jp_process_reap(&oldest->process) != 0;
		family.oldest = oldest->next;
		free(oldest);
	}
	return failed ? -ECHILD : 0;
}

static int toggle_children(void *context, const char *arg)
{
	int ret = 0;

	for (struct child *child = family.oldest; child && !ret; child = child->next)
		ret = jp_process_step(&child->process, "toggle");
	return ret;
}

static unsigned children = 3;

static int run(int argc, char **argv)
{
	static const struct jp_step steps[] = {
		{"fork", act_fork}, {"kill", act_kill}, {"toggle", toggle_children}, {NULL, NULL}};
	int ret = jp_program_make(&family.inherited, &family.plan);

	for (unsigned i = 0; i < children && !ret; i++)
		ret = act_fork(NULL, NULL);
	if (!ret)
		ret = jp_path_run_thread(family.inherited.paths, family.inherited.nr_paths);
	if (!ret)
		jp_handshake(steps, NULL);
	jp_path_stop(NULL);
	if (!ret)
		ret = stop_children();
	jp_program_end(&family.inherited);
	return jp_handshake_status(argv[0], ret);
}

static const struct jp_option options[] = {
	{"--children", .value = "N", .number = &children,
	 .help = "children to fork before \"ready\" (default: 3)"},
	{.help = "Steps: fork (one more child), kill (the oldest), toggle (W^X in each child)"},
	{.get_more = jp_plan_options, .context = &family.plan},
	{0}};

JP_DEFINE(workload, prefork) = {
	.name = "prefork",
	.help = "children that run inherited code, then compile their own",
	.options = options,
	.run = run,
};
