// SPDX-License-Identifier: GPL-2.0-only
/* Which mappings are new jitdumps, and whose one is that two processes mapped; where it was moved,
 * its inode tells nothing. */
#include <sys/mman.h>

#include "harness/base/clock.h"
#include "harness/base/untrusted_file.h"
#include "harness/inject/inject_markers.h"
#include "harness/inject/inject_summary.h"
#include "harness/selftest/scratch.h"

static char said[1024];

static void say(void *context, const char *line)
{
	const size_t length = strlen(said);

	snprintf(said + length, sizeof(said) - length, "%s; ", line);
}

/* What is said of the dump at @path below @root, which none of them mapped with its inode. */
static const char *read_below(int root, const char *path)
{
	struct jp_marker markers[] = {
		{.pid = 17, .named = 17, .path = (char *)path, .has_identity = true, .ino = 1},
		{.pid = 18, .named = 17, .path = (char *)path, .has_identity = true, .ino = 1},
	};
	struct jp_inject_dumps dumps = {.markers = markers, .nr_markers = 2};
	struct jp_inject_summary summary = {0};
	const struct jp_inject_read read = {.root = root, .summary = &summary, .said = say};
	struct jp_error err;

	*said = '\0';
	check(!jp_inject_read(&dumps, &read, &err) && summary.refused, "nobody's is read");
	return said;
}

static void moved(const char *what)
{
	jp_cleanup_close int root = jp_untrusted_folder(AT_FDCWD, scratch);

	check(!strcmp(read_below(root, "/jit-17.dump"),
		      "/jit-17.dump: the capture has no times of mapping records; "
		      "/jit-17.dump: mapped by process 18 too, whose code it is not; "),
	      "below a copied root, descriptor %s: the first one's: %s", what, said);
}

/* Takes a mapping of the dump at @path, of @ino (0: nobody told). */
static int take(struct jp_inject_dumps *dumps, uint32_t pid, const char *path, uint64_t ino)
{
	static const struct jp_perf_layout layout;
	const struct jp_event event = {.type = JP_EVENT_MAP,
				       .pid = pid,
				       .map = {.prot = PROT_READ | PROT_EXEC,
					       .has_identity = ino != 0,
					       .ino = ino,
					       .name = path}};

	return jp_inject_marker(dumps, &event, &layout);
}

static void known(void)
{
	static const struct {
		const char *what, *path;
		uint32_t pid;
		uint64_t ino;
		bool fresh;
	} rows[] = {
		{"the first", "/a/jit-17.dump", 17, 5, true},
		{"the same", "/a/jit-17.dump", 17, 5, false},
		{"the same without an inode", "/a/jit-17.dump", 17, 0, false},
		{"another inode", "/a/jit-17.dump", 17, 6, true},
		{"the first again", "/a/jit-17.dump", 17, 5, false},
		{"another process", "/a/jit-17.dump", 18, 5, true},
		{"another path", "/b/jit-17.dump", 17, 5, true},
		{"a path with a number in front", "5 /a/jit-17.dump", 17, 0, true},
		{"one without an inode", "/c/jit-17.dump", 17, 0, true},
		{"the same with one", "/c/jit-17.dump", 17, 5, true},
		{"no jitdump", "/a/jit-x.dump", 17, 5, false},
	};
	struct jp_inject_dumps dumps = {0};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const size_t count = dumps.nr_markers;

		check(!take(&dumps, rows[i].pid, rows[i].path, rows[i].ino) &&
			      dumps.nr_markers == count + rows[i].fresh,
		      "%s is %s", rows[i].what, rows[i].fresh ? "new" : "known");
	}
	jp_inject_dumps_free(&dumps);
}

static double cost(size_t count)
{
	const uint64_t begin = jp_clock_thread_cpu();
	struct jp_inject_dumps dumps = {0};
	char path[64];

	for (size_t i = 0; i < 2 * count; i++) {
		snprintf(path, sizeof(path), "/tmp/jit-%zu.dump", i % count);
		take(&dumps, 17, path, 5);
	}
	check(dumps.nr_markers == count, "%zu are new", count);
	jp_inject_dumps_free(&dumps);
	return (double)(jp_clock_thread_cpu() - begin);
}

/* Ten times as many take ten times as long, and a hundred times where each is held against all. */
static void scale(void)
{
	enum { FEW = 1000, MANY = 10 * FEW };
	double few = cost(FEW), many = cost(MANY);

	check(many < 40 * few, "%d mappings take %.1f times as long as %d", MANY, many / few, FEW);
}

int main(void)
{
	const char *path = scratch_make("jit-17.dump");

	known();
	scale();
	scratch_write(path, "", 0);
	read_below(-1, path);
	check(strstr(said, "another file than process 17 mapped") &&
		      strstr(said, "another file than process 18 mapped"),
	      "where it was mapped: neither's: %s", said);
	moved("of any number");
	close(STDIN_FILENO);
	moved("0");
	return check_done();
}
