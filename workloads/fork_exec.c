// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/base/order.h"
#include "harness/format/truth/write.h"
#include "workloads/emit/folder.h"
#include "workloads/emit/gate.h"
#include "workloads/emit/image.h"
#include "workloads/emit/noexec.h"
#include "workloads/emit/process.h"
#include "workloads/emit/program.h"
#include "workloads/emit/workload.h"

/* Ways in which a benchmark runner creates its processes: those of enum jp_birth, and exec without
 * a fork. */
enum { HOW_EXEC = JP_BIRTHS };

static struct {
	const char *name;
	unsigned start_method, tasks, busy, task; /* @task: number of this process; 0: the runner */
	const char *gate, *replace;
	enum jp_protect protect;
} scene = {.tasks = 5, .busy = 100, .start_method = JP_BIRTH_FORK_EXEC, .protect = JP_PROTECT_RWX};

/* Runs the paths of all @programs in turn for @ms of CPU time, so that there are as many samples on
 * a busy machine. While a host stops a virtual machine, CPU time passes without samples, so each
 * run of a path counts only up to a limit. */
static void run_programs(const struct jp_program *programs, size_t count, unsigned ms)
{
	enum { LEAST_RUNS = 32 };
	const uint64_t enough = ms * JP_NS_PER_MS;
	uint64_t before = jp_clock_ns(CLOCK_THREAD_CPUTIME_ID), counted = 0;

	for (size_t i = 0; counted < enough; i++) {
		const struct jp_program *program = &programs[i % count];
		uint64_t now;

		jp_path_run(&program->paths[i / count % program->nr_paths]);
		now = jp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		counted += jp_min(now - before, enough / LEAST_RUNS + 1);
		before = now;
	}
}

/* Maps a guard page on either side of @arena. Otherwise the kernel could merge the arena with a
 * later mapping, whose record would then cover the older code, too. */
static int map_guards(const struct jp_arena *arena)
{
	const size_t size = sysconf(_SC_PAGESIZE);
	unsigned char *const sides[] = {arena->exec - size, arena->exec + arena->size};

	for (int i = 0; i < 2; i++) {
		uint64_t before = jp_clock_now();
		void *page = mmap(sides[i], size, PROT_NONE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (page == MAP_FAILED && errno == EEXIST)
			continue; /* another mapping is already there */
		if (page == MAP_FAILED)
			return -errno;
		jp_truth_map(before, jp_clock_now(),
			     &(struct jp_truth_mapping){.addr = (uintptr_t)page, .len = size});
	}
	return 0;
}

/* Replaces the file of the running program by @program. Not inlined, so that the benchmark's stack
 * dumps do not contain these buffers. */
static int __attribute__((noinline)) replace_program(const char *program)
{
	char self[PATH_MAX];
	int ret = jp_image_program(self);

	if (ret)
		return ret;
	return unlink(self) ? -errno : jp_folder_copy(program, self);
}

/* Runs one benchmark, with some code made before its interval and some inside the interval. Runs
 * code before, inside and after the interval. */
static int run_benchmark(void)
{
	struct jp_plan plan = JP_PLAN();
	struct jp_program programs[2];
	int ret = 0;

	plan.protect = plan.instead = scene.protect;
	plan.name = "benchmark";
	/* Use short runs, so that both programs run often in the interval even on slow machines. */
	plan.turns = 100000;
	if (scene.replace)
		ret = replace_program(scene.replace);
	if (!ret)
		ret = jp_program_make(&programs[0], &plan);
	if (ret)
		return ret;
	run_programs(programs, 1, scene.busy / 8);
	ret = map_guards(&programs[0].arena)
		      ?: jp_gate_open(scene.gate)
		      ?: jp_gate_announce()
		      ?: jp_gate_start()
		      ?: jp_program_make(&programs[1], &plan);
	if (ret)
		return ret;
	run_programs(programs, 2, scene.busy);
	ret = jp_gate_stop();
	run_programs(programs, 2, scene.busy / 8);
	jp_program_end(&programs[1]);
	jp_program_end(&programs[0]);
	return ret;
}

/* Copies this program next to the truth, to be started and replaced. Stores the path. */
static int copy_program(char *path, size_t size, unsigned task)
{
	if (snprintf(path, size, "%s.%u", jp_handshake_setup()->truth, task) >= (int)size)
		return -ENAMETOOLONG;
	return jp_folder_copy("/proc/self/exe", path);
}

static const char *const protects[] = {"rwx", "flip", "views", NULL};

static int run_task(unsigned task)
{
	char number[32], method[32], busy[32], tasks[32], protect[32], gate[PATH_MAX], *copy = NULL;
	char replace[PATH_MAX], path[PATH_MAX];
	const char *argv[10] = {scene.name, number, method, busy, tasks, protect};
	struct jp_child process;
	int nr_args = 6, ret = 0;

	snprintf(number, sizeof(number), "--task=%u", task);
	snprintf(method, sizeof(method), "--how=%s", jp_birth_get_name(scene.start_method));
	snprintf(busy, sizeof(busy), "--busy=%u", scene.busy);
	snprintf(tasks, sizeof(tasks), "--tasks=%u", scene.tasks);
	snprintf(protect, sizeof(protect), "--protect=%s", protects[scene.protect]);
	if (scene.gate) {
		snprintf(gate, sizeof(gate), "--gate=%s", scene.gate);
		argv[nr_args++] = gate;
	}
	if (scene.replace) {
		snprintf(replace, sizeof(replace), "--replace=%s", scene.replace);
		argv[nr_args++] = replace;
		ret = copy_program(path, sizeof(path), task);
		copy = path;
	}
	if (!ret)
		ret = jp_process_exec(&process, scene.start_method, copy, argv)
			      ?: jp_process_reap(&process);
	if (copy)
		unlink(copy);
	return ret > 0 ? -ECHILD : ret;
}

/* Makes this process the next task by an exec without a fork. */
static int exec_next_task(void)
{
	char next[32];

	snprintf(next, sizeof(next), "--task=%u", scene.task + 1);
	return jp_handshake_exec(next);
}

static int start_chain(void *context)
{
	return exec_next_task() ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run_tasks(void)
{
	struct jp_child process;
	int ret = 0;

	if (scene.start_method == HOW_EXEC) {
		ret = jp_process_fork(&process, NULL, start_chain, NULL)
			      ?: jp_process_reap(&process);
		return ret > 0 ? -ECHILD : ret;
	}
	for (unsigned task = 1; task <= scene.tasks && !ret && !jp_handshake_is_stopping(); task++)
		ret = run_task(task);
	return ret;
}

static int parse_way_of_starting(const struct jp_option *option, const char *text,
				 struct jp_error *err)
{
	scene.start_method = jp_birth_find(text);
	if (scene.start_method != JP_BIRTHS || !strcmp(text, "exec"))
		return 0;
	return jp_fail(err, EINVAL, "--how=%s: unknown (see --help)", text);
}

static void print_ways(FILE *out)
{
	jp_birth_print(out);
	fputs("exec\n", out);
}

static int run(int argc, char **argv)
{
	int ret;

	scene.name = argv[0];
	if (scene.replace && jp_noexec_skip_workload(dirname(strdupa(jp_handshake_setup()->truth))))
		return EXIT_SUCCESS;
	if (scene.start_method == HOW_EXEC && scene.replace)
		return jp_handshake_skip("a new process for --replace: --how=exec starts none");
	/* Only VIEWS writes code through another mapping. The others need memory that becomes
	 * executable after it was written: skip if the kernel denies that. */
	if (scene.protect != JP_PROTECT_VIEWS && jp_handshake_skip_denied())
		return EXIT_SUCCESS;
	if (scene.task) {
		ret = scene.task <= scene.tasks ? run_benchmark() : 0;
		if (!ret && scene.start_method == HOW_EXEC && scene.task < scene.tasks)
			ret = exec_next_task();
	} else {
		ret = run_tasks();
		if (!ret)
			jp_handshake(NULL, NULL);
	}
	return jp_handshake_status(argv[0], ret);
}

static const struct jp_option options[] = {
	{"--how", .parse = parse_way_of_starting, .print_values = print_ways,
	 .help = "fork+exec, vfork+exec, posix_spawn, thread-exec, or exec: without a fork, each "
		 "task becomes the next (fork+exec)"},
	{"--tasks", .value = "N", .number = &scene.tasks, .min = 1, .max = 10000,
	 .help = "processes, one after the other, before \"ready\" (default: 5)"},
	{"--busy", .value = "MS", .number = &scene.busy, .max = 60000,
	 .help = "CPU time of each inside its interval; an eighth of that before and after "
		 "(default: 100)"},
	{"--task", .number = &scene.task, .max = 10001},
	{"--gate", .value = "PREFIX", .text = &scene.gate,
	 .help = "reports to the FIFOs PREFIX.ctl and PREFIX.ack ($JITPROOF_GATE)"},
	{"--protect", .number = &scene.protect, .words = protects,
	 .help = "how the benchmark makes code executable (rwx)"},
	{"--replace", .value = "FILE", .text = &scene.replace,
	 .help = "replace each program file by FILE while it runs"},
	{0}};

JP_DEFINE(workload, fork_exec) = {
	.name = "fork_exec",
	.help = "a benchmark runner: a new process for each task, each with its interval",
	.options = options,
	.run = run,
};
