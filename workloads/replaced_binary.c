// SPDX-License-Identifier: GPL-2.0-only
/* Replaces a running library or program on disk, as a package upgrade does. The path stays the
 * same, but inode and build id change: a profiler that opens the path later reads the wrong file,
 * or none. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "workloads/emit/folder.h"
#include "workloads/emit/image.h"
#include "workloads/emit/object.h"
#include "workloads/emit/process.h"
#include "workloads/emit/program.h"
#include "workloads/emit/workload.h"

/* How long each file is used before it is replaced, in ns: enough for a watcher that polls ten
 * times a second. */
enum { USE_NS = 120000000 };

static struct {
	char library[JP_FOLDER_PATH], program[JP_FOLDER_PATH], replacement[JP_FOLDER_PATH];
	unsigned variant;
	bool programs;
	struct jp_program jit_program; /* emitted code that runs at the same time */
} scene;

static void run_library(const struct jp_loaded *loaded)
{
	jp_paths_run(loaded->paths, JP_OBJECT_PATHS, USE_NS);
}

/* Replaces @path by another ELF file with one rename(). */
static int replace_file(const char *path, struct jp_object *object)
{
	int ret = jp_object_write(object, scene.replacement, scene.variant++, NULL);

	if (!ret && rename(scene.replacement, path))
		ret = -errno;
	return ret;
}

/* Replaces the library's file while its code runs, then also loads the new library. */
static int replace_library(void)
{
	struct jp_object object;
	struct jp_loaded old_library, new_library;
	int ret = replace_file(scene.library, &object)
			  ?: jp_object_load(&object, scene.library, 0, &old_library);

	if (ret)
		return ret;
	run_library(&old_library);
	ret = replace_file(scene.library, &object);
	if (ret)
		return ret;
	run_library(&old_library);
	ret = jp_object_load(&object, scene.library, 1, &new_library);
	if (ret)
		return ret;
	run_library(&new_library);
	run_library(&old_library);
	if (unlink(scene.library))
		return -errno;
	run_library(&new_library);
	return jp_object_unload(&old_library) ?: jp_object_unload(&new_library);
}

static void run_paths_in_program(void)
{
	jp_paths_run(scene.jit_program.paths, scene.jit_program.nr_paths, USE_NS);
}

/* Runs a child whose program file is first replaced, then deleted. */
static int replace_program(void)
{
	static const char *const argv[] = {"anon_exec", NULL};
	struct jp_child process;
	struct jp_object object;
	int ret = jp_folder_copy("/proc/self/exe", scene.program)
			  ?: jp_process_exec(&process, JP_BIRTH_FORK_EXEC, scene.program, argv)
			  ?: jp_process_wait_ready(&process);

	if (ret)
		return ret;
	run_paths_in_program();
	ret = replace_file(scene.program, &object);
	run_paths_in_program();
	if (!ret && unlink(scene.program))
		ret = -errno;
	run_paths_in_program();
	return jp_process_stop(&process) ?: ret;
}

static int replace_target(void *context)
{
	return scene.programs ? replace_program() : replace_library();
}

static int prepare(void)
{
	struct jp_plan plan = JP_PLAN(.protect = JP_PROTECT_FLIP);

	return jp_folder_path(scene.library, "library.so")
		       ?: jp_folder_path(scene.program, "program")
		       ?: jp_folder_path(scene.replacement, "fresh")
		       ?: jp_program_make(&scene.jit_program, &plan)
		       ?: replace_library();
}

static const char *const whats[] = {"library", "program", NULL};
static unsigned replaced_kind;
static bool need;

static int run(int argc, char **argv)
{
	int ret;

	if (need && jp_image_check_open())
		return jp_handshake_skip(JP_IMAGE_CLOSED);
	scene.programs = replaced_kind != 0;
	if (!jp_object_can_copy())
		return jp_handshake_skip(JP_OBJECT_ONCE);
	ret = prepare() ?: jp_handshake_rounds(replace_target, NULL);
	jp_folder_remove();
	return jp_handshake_status(argv[0], ret);
}

static const struct jp_option options[] = {
	{"--what", .number = &replaced_kind, .words = whats, .help = "what to replace (library)"},
	{"--need", .set = &need, .words = (const char *const[]){"map_files", NULL},
	 .help = "skip where a deleted file cannot be opened"},
	{0}};

JP_DEFINE(workload, replaced_binary) = {
	.name = "replaced_binary",
	.help = "a library or a program that is replaced and deleted while it runs",
	.options = options,
	.run = run,
};
