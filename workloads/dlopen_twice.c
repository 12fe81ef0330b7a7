// SPDX-License-Identifier: GPL-2.0-only
/*
 * One file at two addresses in one process, by dlopen() and dlmopen(); unloaded and loaded again,
 * in all orders, with code running in each copy between.
 */
#include "workloads/emit/folder.h"
#include "workloads/emit/object.h"
#include "workloads/emit/workload.h"

enum { RUNS = 6 };

static struct {
	struct jp_object object;
	char path[JP_FOLDER_PATH];
} scene;

static void use(const struct jp_loaded *loaded)
{
	for (int i = 0; i < RUNS; i++)
		jp_path_run(&loaded->paths[i % JP_OBJECT_PATHS]);
}

/* Both are there; the first goes; the second; and the first one comes back. */
static int round_of(void *context)
{
	struct jp_loaded one, two;
	int ret = jp_object_load(&scene.object, scene.path, 0, &one);

	if (ret)
		return ret;
	use(&one);
	ret = jp_object_load(&scene.object, scene.path, 1, &two);
	if (ret)
		return ret;
	use(&one);
	use(&two);
	ret = jp_object_unload(&one);
	use(&two);
	if (!ret)
		ret = jp_object_load(&scene.object, scene.path, 0, &one);
	if (ret)
		return ret;
	use(&one);
	use(&two);
	return jp_object_unload(&two) ?: jp_object_unload(&one);
}

static int run(int argc, char **argv)
{
	int ret = jp_folder_path(scene.path, "library.so")
			  ?: jp_object_write(&scene.object, scene.path, 0, NULL)
			  ?: round_of(NULL)
			  ?: jp_handshake_rounds(round_of, NULL);

	jp_folder_remove();
	return jp_handshake_status(argv[0], ret);
}

static const struct jp_workload dlopen_twice = {
	.name = "dlopen_twice",
	.help = "one library at two addresses, unloaded and loaded again",
	.run = run,
};
JP_REGISTER(workload, dlopen_twice);
