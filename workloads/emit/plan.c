// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/base/excuse.h"
#include "harness/base/registry.h"
#include "harness/format/truth/write.h"
#include "workloads/emit/program.h"
#include "workloads/emit/workload.h"

struct plan_scene {
	const struct jp_plan *plan;
	struct jp_program *oldest;
};

static int parse_shapes(const struct jp_option *option, const char *text, struct jp_error *err)
{
	struct jp_plan *plan = option->context;
	const char *value = text;

	plan->nr_shapes = 0;
	do {
		size_t length = strcspn(value, ",");
		unsigned shape = 0;

		while (shape < JP_SHAPES_USUAL && (strlen(jp_shape_text(shape)) != length ||
						   strncmp(jp_shape_text(shape), value, length)))
			shape++;
		if (shape == JP_SHAPES_USUAL ||
		    plan->nr_shapes == sizeof(plan->shapes) / sizeof(plan->shapes[0]) ||
		    (shape == JP_SHAPE_LEAF && value[length]))
			return jp_fail(err, EINVAL,
				       "--shapes=%s: expected up to %zu of fp, no_fp, long, large, "
				       "realign, with commas, and leaf only as the last",
				       text, sizeof(plan->shapes) / sizeof(plan->shapes[0]));
		plan->shapes[plan->nr_shapes++] = shape;
		value += length;
	} while (*value++);
	return 0;
}

const struct jp_option *jp_path_options(void *context)
{
	struct jp_plan *plan = context;
	static struct jp_option rows[5];
	const struct jp_option all_rows[] = {
		{"--threads", .value = "N", .number = &plan->threads, .min = 1, .max = 1024,
		 .help = "busy threads (default: 1)"},
		{"--depth", .value = "N", .number = &plan->depth, .min = 1, .max = 1000,
		 .help = "functions in a path (default: 8)"},
		{"--shapes", .value = "A,B...", .parse = parse_shapes, .context = plan,
		 .help = "their shapes, outermost first: fp, leaf (only innermost), no_fp, long, "
			 "large, realign (all, mixed)"},
		{"--turns", .value = "N", .number64 = &plan->turns, .min = 1, .max = UINT32_MAX,
		 .help = "loop iterations of one run of a path (700000, about 1 ms)"},
		{0}};

	return memcpy(rows, all_rows, sizeof(all_rows));
}

const struct jp_option *jp_plan_options(void *context)
{
	struct jp_plan *plan = context;
	static struct jp_option rows[4];
	const struct jp_option all_rows[] = {
		{.get_more = jp_path_options, .context = plan},
		{"--programs", .value = "N", .number = &plan->programs, .min = 1, .max = 1024,
		 .help = "arenas with their own code; threads are spread over them (default: 1)"},
		{"--mappings", .value = "N", .number = &plan->mappings, .max = 60000,
		 .help = "small mappings beside the code, to make /proc/PID/maps long (default: "
			 "0)"},
		{0}};

	return memcpy(rows, all_rows, sizeof(all_rows));
}

/* Appends a new program to the list and stores it in *@made. Returns 0 or -errno. */
static int add_program(struct plan_scene *scene, struct jp_program **made)
{
	struct jp_program **link = &scene->oldest, *program = calloc(1, sizeof(*program));
	int ret = program ? jp_program_make(program, scene->plan) : -ENOMEM;

	if (ret) {
		free(program);
		return ret;
	}
	while (*link)
		link = &(*link)->next;
	*link = *made = program;
	return 0;
}

static int act_map(void *context, const char *arg)
{
	struct jp_program *program;

	return add_program(context, &program)
		       ?: jp_path_run_thread(program->paths, program->nr_paths);
}

static int act_unmap(void *context, const char *arg)
{
	struct plan_scene *scene = context;
	struct jp_program *oldest = scene->oldest, *next = oldest->next;
	int ret = next ? 0 : add_program(scene, &next);
	unsigned threads;

	if (ret)
		return ret;
	threads = jp_path_stop(oldest->paths);
	scene->oldest = next;
	jp_program_end(oldest);
	free(oldest);
	/* The next program may have no thread, but the process must always run code. */
	for (unsigned i = 0; i < threads && !ret; i++)
		ret = jp_path_run_thread(next->paths, next->nr_paths);
	return ret;
}

static int act_remap(void *context, const char *arg)
{
	struct jp_program *oldest = ((struct plan_scene *)context)->oldest;
	unsigned threads = jp_path_stop(oldest->paths);
	int ret = jp_program_move(oldest);

	for (unsigned i = 0; i < threads && !ret; i++)
		ret = jp_path_run_thread(oldest->paths, oldest->nr_paths);
	return ret;
}

static int act_thread(void *context, const char *arg)
{
	struct jp_program *oldest = ((struct plan_scene *)context)->oldest;

	return jp_path_run_thread(oldest->paths, oldest->nr_paths);
}

static int act_exec(void *context, const char *arg)
{
	struct plan_scene *scene = context;
	int ret;

	jp_path_stop(NULL);
	ret = jp_handshake_exec(arg);
	/* The exec failed: continue as before. */
	jp_path_run_thread(scene->oldest->paths, scene->oldest->nr_paths);
	return ret;
}

/* Maps @count pages that the kernel cannot merge: adjacent pages differ in protection. */
static int map_small_pages(unsigned count)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);

	for (unsigned i = 0; i < count; i++) {
		int prot = PROT_READ | (i % 2 ? PROT_WRITE : 0);
		uint64_t before = jp_clock_now();
		void *page = mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (page == MAP_FAILED)
			return -errno;
		jp_truth_map(before, jp_clock_now(),
			     &(struct jp_truth_mapping){.addr = (uintptr_t)page,
							.len = size,
							.prot = JP_PROT_READ |
								(i % 2 ? JP_PROT_WRITE : 0)});
	}
	return 0;
}

int jp_plan_run(const char *workload, const struct jp_plan *plan)
{
	static const struct jp_step steps[] = {
		{"map", act_map},       {"unmap", act_unmap}, {"remap", act_remap},
		{"thread", act_thread}, {"exec", act_exec},   {NULL, NULL},
	};
	struct plan_scene scene = {.plan = plan};
	struct jp_program *program;
	int ret = map_small_pages(plan->mappings);

	for (unsigned i = 0; i < plan->programs && !ret; i++)
		ret = add_program(&scene, &program);
	program = scene.oldest;
	for (unsigned i = 0; i < plan->threads && !ret; i++) {
		ret = jp_path_run_thread(program->paths, program->nr_paths);
		program = program->next ? program->next : scene.oldest;
	}
	ret = jp_path_serve_handshake(workload, ret, steps, &scene);
	while ((program = scene.oldest)) {
		scene.oldest = program->next;
		jp_program_end(program);
		free(program);
	}
	return ret;
}

static const struct jp_excuse excuses[] = {
	{"remap.map", "publish=map* at=remap*", "load.unnamed names.unnamed", "not-published", NULL,
	 "a perf map cannot express a move"},
	{"remap.both", "publish=both* at=remap* !inject=*", "load.unnamed names.unnamed",
	 "not-published", NULL, "a perf map cannot express a move"},
	{"remap.loads", "at=remap*", "load.unnamed", "no-mapping", NULL,
	 "the kernel has no record of mremap"},
	{"remap.samples", "at=remap*", "names.unnamed", "no-mapping", "coverage.unmapped",
	 "the kernel has no record of mremap"},
};
JP_REGISTER_ROWS(excuse, excuses);
