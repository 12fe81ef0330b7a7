// SPDX-License-Identifier: GPL-2.0-only
/* Where files of a capture are found: by path, by build id, and what is refused. */

#include "harness/format/elf/elf_file.h"
#include "harness/model/files/file_finder.h"
#include "harness/selftest/support/scratch.h"

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

	check(!jp_file_finder_add_build_id(finder, &event), "the header tells of a build id");
	id = jp_file_finder_build_id(finder, "/some");
	check(id && id->size == 3 && id->bytes[2] == 3, "it is known by the path");
	check(!jp_file_finder_build_id(finder, "/other"), "and no other");
	event.kernel_map = true;
	event.map.name = "[kernel.kallsyms]";
	check(!jp_file_finder_add_build_id(finder, &event) &&
		      !jp_file_finder_build_id(finder, "[kernel.kallsyms]"),
	      "the kernel's is left out");
	event.kernel_map = false;
	event.map.name = "/some";
	event.map.build_id_size = 21;
	check(!jp_file_finder_add_build_id(finder, &event) &&
		      jp_file_finder_build_id(finder, "/some")->size == 3,
	      "one that is too long is none");
	event.map.build_id_size = 2;
	check(!jp_file_finder_add_build_id(finder, &event) &&
		      jp_file_finder_build_id(finder, "/some")->size == 2,
	      "the last one counts");
	event.type = JP_EVENT_MAP;
	event.map.build_id_size = 1;
	check(!jp_file_finder_add_build_id(finder, &event) &&
		      jp_file_finder_build_id(finder, "/some")->size == 2,
	      "another record tells of none");
}

/* What was recorded lies elsewhere now, or was written since. */
static void changed(void)
{
	const char *path = scratch_path("changing");
	struct jp_wanted_file wanted = {.path = path, .pid = (uint32_t)getpid()};
	struct jp_file_finder *of_run = jp_file_finder_of_run(scratch);
	struct jp_found_file found;
	struct jp_error err = {""};
	struct stat st;

	if (!scratch_write(path, "text", 4) || stat(path, &st) || !of_run)
		exit(99);
	wanted.ino = st.st_ino;
	check(jp_file_finder_changed(finder, &wanted, st.st_mtime - 1) &&
		      !jp_file_finder_changed(finder, &wanted, st.st_mtime),
	      "written since, or not");
	check(!jp_file_finder_changed(of_run, &wanted, st.st_mtime - 1),
	      "a run's files are its own");
	wanted.ino++;
	check(jp_file_finder_changed(finder, &wanted, st.st_ctime - 1) &&
		      !jp_file_finder_changed(finder, &wanted, st.st_ctime),
	      "put there since, or not");
	check(jp_file_find(finder, &wanted, JP_FILE_CACHE, &found, &err) == -ESTALE &&
		      strstr(err.text, "/changing: inode "),
	      "another inode is another file: %s", err.text);
	wanted.ino = 0;
	check(!jp_file_finder_changed(finder, &wanted, 0), "no inode tells nothing");
	wanted.ino = st.st_ino;
	wanted.id.size = 20;
	check(!jp_file_finder_changed(finder, &wanted, 0), "a build id tells by itself");
	wanted.id.size = 0;
	wanted.path = scratch_path("none");
	check(!jp_file_finder_changed(finder, &wanted, 0), "what is gone did not change");
	check(jp_file_finder_is_of_run(of_run) && !jp_file_finder_is_native(of_run) &&
		      !jp_file_finder_is_of_run(finder) && jp_file_finder_is_native(finder),
	      "whose files they are");
	jp_file_finder_free(of_run);
	jp_file_finder_free(NULL);
}

/* A removed file of which the same is there again, by its build id. */
static void deleted(void)
{
	const char *own = own_path();
	jp_cleanup_close int fd = open(own, O_RDONLY | O_CLOEXEC);
	struct jp_found_file found;
	struct jp_build_id id;
	char path[8192];

	if (jp_elf_build_id(fd, NULL, 0, &id, NULL))
		return;
	snprintf(path, sizeof(path), "%s (deleted)", own);
	check(!jp_file_find(finder, &(struct jp_wanted_file){.path = path, .id = id},
			    JP_FILE_ITSELF, &found, NULL) &&
		      !strcmp(found.path, own),
	      "it is there again");
	jp_found_file_close(&found);
	expect(path, NULL, -ENOENT, "but nothing tells without a build id");
	id.bytes[0] ^= 1;
	expect(path, &id, -ESTALE, "nor is another one it");
	memset(path, 'x', 5000);
	strcpy(path + 5000, " (deleted)");
	path[0] = '/';
	expect(path, &id, -ENAMETOOLONG, "a path that no file has");
}

static unsigned int maps_seen, maps_most;

static int see_map(void *context, uint32_t named, const struct jp_found_file *map)
{
	maps_seen += named == 77 ? 1 : named == 78 ? 10 : 1000;
	return maps_seen >= maps_most ? 5 : 0;
}

/* Of a copied root, which no process of ours lives in. */
static void below_root(void)
{
	static const char *const names[] = {"tmp/perf-77.map", "tmp/perf-78.map", "tmp/perf-.map",
					    "tmp/perf-0.map",  "tmp/perf-79.mat", "tmp/pref-77.map",
					    "tmp/file"};
	struct jp_file_finder *copied = jp_file_finder_new();
	struct jp_wanted_file vdso = {.path = "[vdso]", .pid = (uint32_t)getpid()};
	struct jp_found_file found;
	struct jp_error err = {""};

	check(jp_file_finder_from(copied, NULL, scratch_path("no-root"), &err) == -ENOENT &&
		      strstr(err.text, "/no-root: expected the folder of a copied root: "),
	      "no root: %s", err.text);
	check(jp_file_finder_from(copied, scratch_path("no-elf"), NULL, &err) == -EINVAL &&
		      strstr(err.text, "/no-elf: expected a folder of ELF files: "),
	      "no folder: %s", err.text);
	if (mkdir(scratch_path("root"), 0700) || mkdir(scratch_path("root/tmp"), 0700) ||
	    mkfifo(scratch_path("root/tmp/perf-80.map"), 0600) || close(STDIN_FILENO) ||
	    jp_file_finder_from(copied, NULL, scratch_path("root"), &err))
		exit(99);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char path[64];

		snprintf(path, sizeof(path), "root/%s", names[i]);
		scratch_write(scratch_path(path), "1 2 a\n", 6);
	}
	check(!jp_file_finder_is_native(copied), "they are not this machine's");
	check(!jp_file_find_path(copied, 1, "/tmp/file", &found, NULL) && found.size == 6 &&
		      !strcmp(found.path, "/tmp/file"),
	      "a path leads below it");
	jp_found_file_close(&found);
	check(jp_file_find_path(copied, 1, "/../../etc/passwd", &found, NULL) == -ENOENT,
	      "and never out of it");
	check(!jp_file_find_map(copied, 77, &found, NULL), "a perf map of it");
	jp_found_file_close(&found);
	check(jp_file_find(copied, &vdso, JP_FILE_ITSELF, &found, &err) == -ENOENT &&
		      strstr(err.text, "[vdso]: not of this machine"),
	      "our vDSO is not its: %s", err.text);
	maps_most = 1000;
	check(!jp_file_find_maps(copied, 1, see_map, NULL) && maps_seen == 11, "two perf maps: %u",
	      maps_seen);
	maps_seen = 0;
	maps_most = 1;
	check(jp_file_find_maps(copied, 1, see_map, NULL) == 5 &&
		      (maps_seen == 1 || maps_seen == 10),
	      "or as many as are wanted");
	check(!jp_file_finder_residence(copied, (uint32_t)getpid()), "no process lives there");
	check(fcntl(STDIN_FILENO, F_GETFD) >= 0, "its root has descriptor 0");
	jp_file_finder_free(copied);
	check(fcntl(STDIN_FILENO, F_GETFD) < 0, "which is closed");
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

int main(void)
{
	scratch_make("");
	finder = jp_file_finder_new();
	check(finder, "a finder");
	refuse();
	by_build_id();
	by_header();
	changed();
	deleted();
	below_root();
	injected();
	vdso();
	maps();
	jp_file_finder_free(finder);
	return check_done();
}
