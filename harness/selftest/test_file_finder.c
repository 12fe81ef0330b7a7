// SPDX-License-Identifier: GPL-2.0-only
/* Where files of a capture are found: by path, by build id, and what is refused. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/format/elf/elf_file.h"
#include "harness/model/files/file_finder.h"
#include "harness/selftest/check.h"
#include "harness/selftest/scratch.h"

static struct jp_file_finder *finder;

static int find(const char *path, const struct jp_build_id *id, struct jp_found_file *found)
{
	struct jp_wanted_file wanted = {.path = path, .pid = (uint32_t)getpid()};

	if (id)
		wanted.id = *id;
	return jp_file_find(finder, &wanted, JP_FILE_CACHE, found, NULL);
}

static void expect(const char *path, const struct jp_build_id *id, int result, const char *what)
{
	struct jp_found_file found;
	int ret = find(path, id, &found);

	check(ret == result, "%s: %d, found %d", what, result, ret);
	jp_found_file_close(&found);
}

static void refuse(void)
{
	const char *fifo = scratch_path("fifo"), *link = scratch_path("link");

	check(!mkfifo(fifo, 0600) && !symlink("/etc/passwd", link), "a FIFO and a link");
	expect(fifo, NULL, -EINVAL, "a FIFO is not opened");
	expect(link, NULL, -ELOOP, "a link is not followed");
	expect(scratch_path("none"), NULL, -ENOENT, "a file that is not there");
	expect("//anon", NULL, -ENOENT, "no file at all");
	expect("[heap]", NULL, -ENOENT, "no path");
}

/* /proc/self/exe by its own name. */
static const char *own_path(void)
{
	static char path[4096];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[size < 0 ? 0 : size] = '\0';
	return path;
}

static void by_build_id(void)
{
	const char *own = own_path();
	struct jp_found_file found;
	struct jp_build_id id, other;
	jp_cleanup_close int fd = open(own, O_RDONLY | O_CLOEXEC);
	char path[8192], text[41];

	if (!check(!jp_elf_build_id(fd, NULL, 0, &id, NULL), "this program has a build id"))
		return;
	check(!find(own, &id, &found) && found.place == JP_FILE_ITSELF, "it is found");
	jp_found_file_close(&found);
	other = id;
	other.bytes[0] ^= 1;
	expect(own, &other, -ESTALE, "not with another build id");
	expect("/etc/passwd", &id, -ENODATA, "nor is a text it");

	jp_build_id_text(&id, text);
	snprintf(path, sizeof(path),
		 "mkdir -p %s/.debug/.build-id/%.2s/%s && cp %s %s/.debug/"
		 ".build-id/%.2s/%s/elf",
		 scratch, text, text + 2, own, scratch, text, text + 2);
	check(!setenv("HOME", scratch, 1) && !system(path), "a cache with a copy");
	check(!find("/gone", &id, &found) && found.place == JP_FILE_CACHE,
	      "what is gone is found in the cache");
	jp_found_file_close(&found);
	expect("/gone", NULL, -ENOENT, "not without a build id");
}

static void by_header(void)
{
	static const unsigned char bytes[] = {1, 2, 3};
	struct jp_event event = {
		.type = JP_EVENT_BUILD_ID,
		.map = {.name = "/some", .build_id = bytes, .build_id_size = sizeof(bytes)}};
	const struct jp_build_id *id;

	check(!jp_file_finder_see(finder, &event), "the header tells of a build id");
	id = jp_file_finder_build_id(finder, "/some");
	check(id && id->size == 3 && id->bytes[2] == 3, "it is known by the path");
	check(!jp_file_finder_build_id(finder, "/other"), "and no other");
	event.kernel_map = true;
	event.map.name = "[kernel.kallsyms]";
	check(!jp_file_finder_see(finder, &event) &&
		      !jp_file_finder_build_id(finder, "[kernel.kallsyms]"),
	      "the kernel's is left out");
}

static void injected(void)
{
	static const char *const are[] = {"/a/jitted-12-0.so", "jitted-1-99.so",
					  "/a/out.data.jit/jit-12-0.0f1e2d",
					  "/a/growth/case/jit/jit-12-0.0f1e2d"};
	static const char *const are_not[] = {"/a/jitted-12.so",          "/a/jitted-12-0.so.1",
					      "/a/jit-12.dump",           "/a/jit-12-0.0f1e2d",
					      "/a/out.data.jit/jit-12-0", "/a/out.data.jit/other",
					      "/a/ajit/jit-12-0.0f1e2d",  "//anon"};

	for (size_t i = 0; i < sizeof(are) / sizeof(*are); i++)
		check(jp_file_finder_injected(finder, are[i]), "%s is inject's", are[i]);
	for (size_t i = 0; i < sizeof(are_not) / sizeof(*are_not); i++)
		check(!jp_file_finder_injected(finder, are_not[i]), "%s is not", are_not[i]);
}

static void vdso(void)
{
	struct jp_found_file found;

	check(!find("[vdso]", NULL, &found) && found.fd < 0 && found.image && found.size,
	      "our own vDSO is in memory");
}

static void maps(void)
{
	struct jp_found_file found;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	check(jp_file_find_map(finder, (uint32_t)getpid(), &found, NULL) == -ENOENT, "no perf map");
	check(!mkfifo(path, 0600) &&
		      jp_file_find_map(finder, (uint32_t)getpid(), &found, NULL) == -EINVAL,
	      "a FIFO in its place is not opened");
	unlink(path);
	check(scratch_write(path, "1 2 abc\n", 8) &&
		      !jp_file_find_map(finder, (uint32_t)getpid(), &found, NULL) &&
		      found.size == 8,
	      "a perf map");
	jp_found_file_close(&found);
	unlink(path);
}

/* A process whose /tmp is its own and holds its perf map, if it has one, until @end is closed. 0:
 * no namespace may be made here. */
static pid_t elsewhere(bool with_map, int *end)
{
	int ends[2], ready[2];
	char path[64], byte;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) || pipe2(ready, O_CLOEXEC))
		exit(99);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		close(ends[1]);
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
		if (unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("none", "/tmp", "tmpfs", 0, NULL) ||
		    (with_map && !scratch_write(path, "1 2 inside\n", 11)) ||
		    write(ready[1], "", 1) != 1)
			_exit(1);
		_exit(read(ends[0], &byte, 1) != 0);
	}
	close(ends[0]);
	close(ready[1]);
	*end = ends[1];
	if (read(ready[0], &byte, 1) != 1) {
		close(ends[1]);
		waitpid(pid, NULL, 0);
		pid = 0;
	}
	close(ready[0]);
	return pid;
}

/* A process's map lies in its own /tmp; where it has none there, in ours. */
static void maps_elsewhere(void)
{
	for (int with = 0; with < 2; with++) {
		struct jp_found_file found;
		char path[64];
		pid_t pid;
		int end;

		pid = elsewhere(with, &end);
		if (!pid) {
			check(true, "another /tmp # SKIP no mount namespace may be made here");
			return;
		}
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
		check(scratch_write(path, "1 2 outside\n", 12) &&
			      !jp_file_find_map(finder, (uint32_t)pid, &found, NULL) &&
			      found.size == (with ? 11 : 12),
		      "the map of a process %s one in its /tmp", with ? "with" : "without");
		jp_found_file_close(&found);
		unlink(path);
		close(end);
		waitpid(pid, NULL, 0);
	}
}

int main(void)
{
	scratch_make("");
	finder = jp_file_finder_new();
	check(finder, "a finder");
	refuse();
	by_build_id();
	by_header();
	injected();
	vdso();
	maps();
	maps_elsewhere();
	jp_file_finder_free(finder);
	return check_done();
}
