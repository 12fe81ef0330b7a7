// SPDX-License-Identifier: GPL-2.0-only
/* Loads one file at two addresses of a process by dlopen() and dlmopen(), and runs the code of both
 * copies. Repeatedly unloads the first copy and loads it again. */
#include "workloads/emit/folder.h"
#include "workloads/emit/object.h"
#include "workloads/emit/workload.h"

enum { RUNS = 6 };

static struct {
	struct jp_object object;
	char path[JP_FOLDER_PATH];
} scene;

static void run_paths(const struct jp_loaded *loaded)
{
	for (int i = 0; i < RUNS; i++)
		jp_path_run(&loaded->paths[i % JP_OBJECT_PATHS]);
}

/* Runs both copies, then the second alone, then both again. */
static int reload_library(void *context)
{
	struct jp_loaded first_library, two;
	int ret = jp_object_load(&scene.object, scene.path, 0, &first_library);

	if (ret)
		return ret;
	run_paths(&first_library);
	ret = jp_object_load(&scene.object, scene.path, 1, &two);
	if (ret)
		return ret;
	run_paths(&first_library);
	run_paths(&two);
	ret = jp_object_unload(&first_library);
	run_paths(&two);
	if (!ret)
		ret = jp_object_load(&scene.object, scene.path, 0, &first_library);
	if (ret)
		return ret;
	run_paths(&first_library);
	run_paths(&two);
	return jp_object_unload(&two) ?: jp_object_unload(&first_library);
}

static int run(int argc, char **argv)
{
	int ret;

	if (!jp_object_can_copy())
		return jp_handshake_skip(JP_OBJECT_ONCE);
	ret = jp_folder_path(scene.path, "library.so")
			  ?: jp_object_write(&scene.object, scene.path, 0, NULL)
			  ?: reload_library(NULL)
			  ?: jp_handshake_rounds(reload_library, NULL);

	jp_folder_remove();
	return jp_handshake_status(argv[0], ret);
}

JP_DEFINE(workload, dlopen_twice) = {
	.name = "dlopen_twice",
	.help = "one library at two addresses, unloaded and loaded again",
	.run = run,
};
