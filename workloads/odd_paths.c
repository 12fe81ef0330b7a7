// SPDX-License-Identifier: GPL-2.0-only
/* Files at paths that confuse parsers: blanks, a newline, a backslash, a file really called "...
 * (deleted)", 4,000 characters, an overlay file system, where stat() of a file differs from its
 * mapping, and a memfd. The code of a library at each path runs, and at some paths also a program.
 */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "harness/base/excuse.h"
#include "workloads/emit/folder.h"
#include "workloads/emit/image.h"
#include "workloads/emit/object.h"
#include "workloads/emit/process.h"
#include "workloads/emit/workload.h"

enum { LONG = 4000 };

struct odd_place {
	const char *word; /* command-line option that selects this place, without -- */
	const char *name; /* NULL: make_path() builds it */
	bool program;     /* run a program of that name as well */
};

static const struct odd_place places[] = {
	{"blank", "a name  with blanks", true},
	{"newline", "a name\nwith a newline", true},
	{"backslash", "a name\\with a \\ backslash", true},
	{"deleted", "really called so (deleted)", true},
	{"bytes", "\x01\xff\xfe.so", false},
	{"long", NULL, false},
	/* Not by default: the kernel shows it ambiguously, it is no path, or not every machine
	 * supports it. */
	{"octal", "a name\\012with what is no newline", false},
	{"memfd", "a memfd", true},
	{"overlay", NULL, true},
};
enum { PLACES = sizeof(places) / sizeof(places[0]), USUAL = 6, MEMFD = 7, OVERLAY = 8 };

static struct {
	struct jp_loaded loaded[PLACES];
	struct jp_child programs[PLACES];
	bool is_requested[PLACES];
	bool libraries;     /* run no programs */
	const char *merged; /* mount point of the overlay; NULL: none */
} scene;

/* Creates directories and stores a path of LONG characters below @folder. Returns 0 or -errno. */
static int make_long_path(const char *folder, char *path)
{
	size_t length = snprintf(path, PATH_MAX, "%s", folder);

	while (length < LONG) {
		size_t part = LONG - length - 1;

		if (mkdir(path, 0755) && errno != EEXIST)
			return -errno;
		part = part > 200 && part < 256 ? part / 2 : part > 255 ? 255 : part;
		path[length++] = '/';
		memset(path + length, 'x', part);
		length += part;
		path[length] = '\0';
	}
	return 0;
}

/* Mounts an overlay below @folder, in a mount namespace of our own so that it disappears with this
 * process. Returns 0 or -errno. */
static int mount_layers(const char *folder)
{
	static const char *const names[] = {"lower", "upper", "work", "merged"};
	static char merged[PATH_MAX];
	char path[PATH_MAX], options[3 * PATH_MAX];

	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%.4000s/%s", folder, names[i]);
		if (mkdir(path, 0755))
			return -errno;
	}
	if (strpbrk(folder, ",:\\"))
		return -EINVAL;
	snprintf(options, sizeof(options), "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work",
		 folder, folder, folder);
	strcpy(merged, path);
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("overlay", merged, "overlay", 0, options))
		return -errno;
	scene.merged = merged;
	return 0;
}

static int make_path(unsigned index, const char *folder, char *path)
{
	const struct odd_place *place = &places[index];

	if (place->name)
		snprintf(path, PATH_MAX, "%s/%s", folder, place->name);
	else if (!strcmp(place->word, "long"))
		return make_long_path(folder, path);
	else
		snprintf(path, PATH_MAX, "%s/library.so", scene.merged);
	return 0;
}

static int start_place(unsigned index, const char *folder)
{
	static const char *const argv[] = {"anon_exec", NULL};
	char path[PATH_MAX], program[PATH_MAX + 16];
	struct jp_object object;
	int ret = make_path(index, folder, path) ?: jp_object_write(&object, path, index, NULL);

	if (!ret && index == MEMFD) {
		object.memfd = places[index].name;
		ret = jp_memfd_copy(path, object.memfd, path);
	}
	ret = ret ?: jp_object_load(&object, path, 0, &scene.loaded[index])
			  ?: jp_path_run_thread(scene.loaded[index].paths, JP_OBJECT_PATHS);

	if (ret || !places[index].program || scene.libraries)
		return ret;
	/* If the name is too long, keep its end, which makes the path odd. */
	snprintf(program, sizeof(program), "%s/program of %s",
		 places[index].name ? folder : scene.merged, places[index].name ?: "layers");
	return (index == MEMFD ? jp_memfd_copy("/proc/self/exe", "a program", program)
			    : jp_folder_copy("/proc/self/exe", program))
		       ?: jp_process_exec(&scene.programs[index], JP_BIRTH_FORK_EXEC, program, argv)
		       ?: jp_process_wait_ready(&scene.programs[index]);
}

static int stop_processes(void)
{
	int failed;

	jp_path_stop(NULL);
	failed = jp_process_stop_all(scene.programs, PLACES);
	for (unsigned i = 0; i < PLACES; i++)
		if (scene.loaded[i].handle)
			failed |= jp_object_unload(&scene.loaded[i]);
	if (scene.merged)
		umount2(scene.merged, MNT_DETACH);
	jp_folder_remove();
	return failed ? -ECHILD : 0;
}

static bool need;

static int run(int argc, char **argv)
{
	const bool has_choice = memchr(scene.is_requested, true, sizeof(scene.is_requested));
	const char *folder;
	int ret = 0;

	if ((need || scene.is_requested[MEMFD]) && jp_image_check_open())
		return jp_handshake_skip(JP_IMAGE_CLOSED);
	for (unsigned i = 0; i < USUAL && !has_choice; i++)
		scene.is_requested[i] = true;
	folder = jp_folder();
	if (!folder)
		return EXIT_FAILURE;
	if (scene.is_requested[OVERLAY]) {
		ret = mount_layers(folder);
		if (ret) {
			jp_folder_remove();
			return jp_handshake_skip(ret == -EPERM ? "mount of an overlay: EPERM"
							       : "mount of an overlay");
		}
	}
	for (unsigned i = 0; i < PLACES && !ret; i++)
		if (scene.is_requested[i])
			ret = start_place(i, folder);
	if (!ret)
		jp_handshake(NULL, NULL);
	ret = stop_processes() ?: ret;
	if (ret == -EACCES && scene.is_requested[MEMFD])
		return jp_handshake_skip("executable memfds (vm.memfd_noexec)");
	return jp_handshake_status(argv[0], ret);
}

static const struct jp_option options[] = {
	{.help = "Names to use (all but octal, memfd and overlay):"},
	{"--blank", .set = &scene.is_requested[0], .help = "blanks"},
	{"--newline", .set = &scene.is_requested[1], .help = "a newline"},
	{"--backslash", .set = &scene.is_requested[2], .help = "backslashes"},
	{"--deleted", .set = &scene.is_requested[3], .help = "a name that ends with (deleted)"},
	{"--bytes", .set = &scene.is_requested[4], .help = "no UTF-8"},
	{"--long", .set = &scene.is_requested[5], .help = "4000 characters"},
	{"--octal", .set = &scene.is_requested[6], .help = "the text \\012, an escaped newline"},
	{"--memfd", .set = &scene.is_requested[MEMFD], .help = "a memfd, which has no path"},
	{"--overlay", .set = &scene.is_requested[OVERLAY], .help = "a file in an overlay"},
	{.help = "And:"},
	{"--need", .set = &need, .words = (const char *const[]){"map_files", NULL},
	 .help = "skip where files cannot be opened by /proc/PID/map_files"},
	{"--no-programs", .set = &scene.libraries, .help = "run only libraries, in one process"},
	{0}};

JP_DEFINE(workload, odd_paths) = {
	.name = "odd_paths",
	.help = "libraries and programs whose paths confuse parsers",
	.options = options,
	.run = run,
};

static const struct jp_excuse excuses[] = {
	{"odd_paths.octal", "odd_paths --octal",
	 "files.identity files.credited coverage.identity mappings.invented mappings.differs "
	 "elf.files",
	 "other-name other-mapping name no-record not-mapped", NULL,
	 "/proc/PID/maps escapes a newline as the four characters that this name has"},
};
JP_REGISTER_ROWS(excuse, excuses);
