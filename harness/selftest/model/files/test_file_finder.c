// SPDX-License-Identifier: GPL-2.0-only
/* Tests finding files of a capture by path and by build id, and refusing wrong ones. */

#include "harness/format/elf/elf_file.h"
#include "harness/model/files/file_finder.h"
#include "harness/selftest/support/scratch.h"

static struct jp_file_finder *finder;

static int find_file(const char *path, const struct jp_build_id *id, struct jp_found_file *file)
{
	struct jp_wanted_file wanted_file = {.path = path, .pid = (uint32_t)getpid()};

	if (id)
		wanted_file.id = *id;
	return jp_file_find(finder, &wanted_file, JP_FILE_CACHE, file, NULL);
}

static void check_result(const char *path, const struct jp_build_id *id, int result,
			 const char *label)
{
	struct jp_found_file file;
	int ret = find_file(path, id, &file);

	check(ret == result, "%s gives %d: %d", label, result, ret);
	jp_found_file_close(&file);
}

static const char *read_own_path(void)
{
	static char path[4096];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[size < 0 ? 0 : size] = '\0';
	return path;
}

TEST(finder)
{
	finder = jp_file_finder_new();
	check(finder, "a finder is made");
}

TEST(build_id)
{
	const char *own_path = read_own_path();
	struct jp_found_file file;
	struct jp_build_id id, other_id;
	jp_cleanup_close int fd = open(own_path, O_RDONLY | O_CLOEXEC);
	char path[8192], text[41];

	if (!check(!jp_elf_build_id(fd, NULL, 0, &id, NULL), "this program has a build id"))
		return;
	check(!find_file(own_path, &id, &file) && file.place == JP_FILE_ITSELF,
	      "a file with the right build id is found");
	jp_found_file_close(&file);
	other_id = id;
	other_id.bytes[0] ^= 1;
	check_result(own_path, &other_id, -ESTALE, "a file with another build id");
	check_result("/etc/passwd", &id, -ENODATA, "a file without a build id");

	jp_build_id_text(&id, text);
	snprintf(path, sizeof(path),
		 "mkdir -p %s/.debug/.build-id/%.2s/%s && cp %s %s/.debug/"
		 ".build-id/%.2s/%s/elf",
		 scratch_folder(), text, text + 2, own_path, scratch_folder(), text, text + 2);
	check(!setenv("HOME", scratch_folder(), 1) && !system(path), "a copy is put into a cache");
	check(!find_file("/gone", &id, &file) && file.place == JP_FILE_CACHE,
	      "a missing file is found in the cache");
	jp_found_file_close(&file);
	check_result("/gone", NULL, -ENOENT, "a missing file without a build id");
}

TEST(header)
{
	static const unsigned char bytes[] = {1, 2, 3};
	struct jp_event event = {
		.type = JP_EVENT_BUILD_ID,
		.map = {.name = "/some", .build_id = bytes, .build_id_size = sizeof(bytes)}};
	const struct jp_build_id *id;

	check(!jp_file_finder_add_build_id(finder, &event), "the header's build id is accepted");
	id = jp_file_finder_build_id(finder, "/some");
	check(id && id->size == 3 && id->bytes[2] == 3, "the build id is known by the path");
	check(!jp_file_finder_build_id(finder, "/other"), "no build id is known for another path");
	event.kernel_map = true;
	event.map.name = "[kernel.kallsyms]";
	check(!jp_file_finder_add_build_id(finder, &event) &&
		      !jp_file_finder_build_id(finder, "[kernel.kallsyms]"),
	      "the kernel's build id is ignored");
	event.kernel_map = false;
	event.map.name = "/some";
	event.map.build_id_size = 21;
	check(!jp_file_finder_add_build_id(finder, &event) &&
		      jp_file_finder_build_id(finder, "/some")->size == 3,
	      "a build id of 21 bytes is ignored");
	event.map.build_id_size = 2;
	check(!jp_file_finder_add_build_id(finder, &event) &&
		      jp_file_finder_build_id(finder, "/some")->size == 2,
	      "the last build id of a path counts");
	event.type = JP_EVENT_MAP;
	event.map.build_id_size = 1;
	check(!jp_file_finder_add_build_id(finder, &event) &&
		      jp_file_finder_build_id(finder, "/some")->size == 2,
	      "another kind of record is ignored");
}

/* Returns the time 1 ns before @time. */
static struct timespec get_time_before(const struct timespec *time)
{
	return (struct timespec){.tv_sec = time->tv_sec - !time->tv_nsec,
				 .tv_nsec = time->tv_nsec ? time->tv_nsec - 1 : 999999999};
}

TEST(changed_files)
{
	const char *path = scratch_path("changing");
	struct jp_wanted_file wanted_file = {.path = path, .pid = (uint32_t)getpid()};
	struct jp_file_finder *of_run = jp_file_finder_of_run(scratch_folder());
	struct jp_found_file file;
	struct jp_error err = {""};
	const struct timespec epoch = {0};
	struct timespec before;
	struct stat st;

	if (!scratch_write(path, "text", 4) || stat(path, &st) || !of_run)
		exit(99);
	wanted_file.ino = st.st_ino;
	before = get_time_before(&st.st_mtim);
	check(jp_file_finder_changed(finder, &wanted_file, &before) &&
		      !jp_file_finder_changed(finder, &wanted_file, &st.st_mtim),
	      "a file written since is changed");
	check(!jp_file_finder_changed(of_run, &wanted_file, &before),
	      "a run directory's files never count as changed");
	wanted_file.ino++;
	before = get_time_before(&st.st_ctim);
	check(jp_file_finder_changed(finder, &wanted_file, &before) &&
		      !jp_file_finder_changed(finder, &wanted_file, &st.st_ctim),
	      "a file put in place since is changed");
	check(jp_file_find(finder, &wanted_file, JP_FILE_CACHE, &file, &err) == -ESTALE &&
		      strstr(err.text, "/changing: inode "),
	      "another inode is another file: %s", err.text);
	wanted_file.ino = 0;
	check(!jp_file_finder_changed(finder, &wanted_file, &epoch),
	      "without an inode nothing changed");
	wanted_file.ino = st.st_ino;
	wanted_file.id.size = 20;
	check(!jp_file_finder_changed(finder, &wanted_file, &epoch),
	      "with a build id nothing is changed");
	wanted_file.id.size = 0;
	wanted_file.path = scratch_path("none");
	check(!jp_file_finder_changed(finder, &wanted_file, &epoch),
	      "a missing file is not changed");
	check(jp_file_finder_is_of_run(of_run) && !jp_file_finder_is_native(of_run) &&
		      !jp_file_finder_is_of_run(finder) && jp_file_finder_is_native(finder),
	      "finders know whether files are of a run or native");
	jp_file_finder_free(of_run);
	jp_file_finder_free(NULL);
}

TEST(deleted_file)
{
	const char *own_path = read_own_path();
	jp_cleanup_close int fd = open(own_path, O_RDONLY | O_CLOEXEC);
	struct jp_found_file file;
	struct jp_build_id id;
	char path[8192];

	if (jp_elf_build_id(fd, NULL, 0, &id, NULL))
		return;
	snprintf(path, sizeof(path), "%s (deleted)", own_path);
	check(!jp_file_find(finder, &(struct jp_wanted_file){.path = path, .id = id},
			    JP_FILE_ITSELF, &file, NULL) &&
		      !strcmp(file.path, own_path),
	      "a deleted file is found by its build id");
	jp_found_file_close(&file);
	check_result(path, NULL, -ENOENT, "a deleted file without a build id");
	id.bytes[0] ^= 1;
	check_result(path, &id, -ESTALE, "a deleted file with another build id");
	memset(path, 'x', 5000);
	strcpy(path + 5000, " (deleted)");
	path[0] = '/';
	check_result(path, &id, -ENAMETOOLONG, "a path longer than any");
}

static unsigned int maps_seen, maps_most;

static int count_map(void *context, uint32_t named, const struct jp_found_file *map)
{
	maps_seen += named == 77 ? 1 : named == 78 ? 10 : 1000;
	return maps_seen >= maps_most ? 5 : 0;
}

/* Files of a root folder copied from another machine. */
TEST(copied_root)
{
	static const char *const names[] = {"tmp/perf-77.map", "tmp/perf-78.map", "tmp/perf-.map",
					    "tmp/perf-0.map",  "tmp/perf-79.mat", "tmp/pref-77.map",
					    "tmp/file"};
	struct jp_file_finder *copied = jp_file_finder_new();
	struct jp_wanted_file vdso = {.path = "[vdso]", .pid = (uint32_t)getpid()};
	struct jp_found_file file;
	struct jp_error err = {""};

	check(jp_file_finder_open(copied, NULL, scratch_path("no-root"), &err) == -ENOENT &&
		      strstr(err.text, "/no-root: expected the folder of a copied root: "),
	      "a missing root is an error: %s", err.text);
	check(jp_file_finder_open(copied, scratch_path("no-elf"), NULL, &err) == -EINVAL &&
		      strstr(err.text, "/no-elf: expected a folder of ELF files: "),
	      "a missing folder of ELF files is an error: %s", err.text);
	if (mkdir(scratch_path("root"), 0700) || mkdir(scratch_path("root/tmp"), 0700) ||
	    mkfifo(scratch_path("root/tmp/perf-80.map"), 0600) || close(STDIN_FILENO) ||
	    jp_file_finder_open(copied, NULL, scratch_path("root"), &err))
		exit(99);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char path[64];

		snprintf(path, sizeof(path), "root/%s", names[i]);
		scratch_write(scratch_path(path), "1 2 a\n", 6);
	}
	check(!jp_file_finder_is_native(copied), "files of a copied root are not native");
	check(!jp_file_find_path(copied, 1, "/tmp/file", &file) && file.size == 6 &&
		      !strcmp(file.path, "/tmp/file"),
	      "paths are resolved below the root");
	jp_found_file_close(&file);
	check(jp_file_find_path(copied, 1, "/../../etc/passwd", &file) == -ENOENT,
	      "paths never lead out of the root");
	check(!jp_file_find_map(copied, 77, &file), "a perf map of the root is found");
	jp_found_file_close(&file);
	check(jp_file_find(copied, &vdso, JP_FILE_ITSELF, &file, &err) == -ENOENT &&
		      strstr(err.text, "[vdso]: built for another machine"),
	      "this machine's vDSO is not used: %s", err.text);
	maps_most = 1000;
	check(!jp_file_find_maps(copied, 1, count_map, NULL) && maps_seen == 11,
	      "all perf maps of the root are listed: %u", maps_seen);
	maps_seen = 0;
	maps_most = 1;
	check(jp_file_find_maps(copied, 1, count_map, NULL) == 5 &&
		      (maps_seen == 1 || maps_seen == 10),
	      "listing perf maps stops when asked to");
	check(!jp_file_finder_residence(copied, (uint32_t)getpid()),
	      "no process has a residence in a copied root");
	check(fcntl(STDIN_FILENO, F_GETFD) >= 0, "the root works with descriptor 0");
	jp_file_finder_free(copied);
	check(fcntl(STDIN_FILENO, F_GETFD) < 0, "the root's descriptor is closed at the end");
}

TEST(injected_files)
{
	static const char *const are[] = {"/a/jitted-12-0.so", "jitted-1-99.so",
					  "/a/out.data.jit/jit-12-0.0f1e2d",
					  "/a/growth/case/jit/jit-12-0.0f1e2d"};
	static const char *const are_not[] = {"/a/jitted-12.so",          "/a/jitted-12-0.so.1",
					      "/a/jit-12.dump",           "/a/jit-12-0.0f1e2d",
					      "/a/out.data.jit/jit-12-0", "/a/out.data.jit/other",
					      "/a/ajit/jit-12-0.0f1e2d",  "//anon"};

	for (size_t i = 0; i < sizeof(are) / sizeof(*are); i++)
		check(jp_file_finder_injected(finder, are[i]), "%s is an injected file", are[i]);
	for (size_t i = 0; i < sizeof(are_not) / sizeof(*are_not); i++)
		check(!jp_file_finder_injected(finder, are_not[i]), "%s is not an injected file",
		      are_not[i]);
}

TEST(vdso)
{
	struct jp_found_file file;

	check(!find_file("[vdso]", NULL, &file) && file.fd < 0 && file.image && file.size,
	      "the vDSO is found in memory");
	jp_file_finder_free(finder);
}
