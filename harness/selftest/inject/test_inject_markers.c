// SPDX-License-Identifier: GPL-2.0-only
/* Which mappings are new jitdumps, and whose one is that two processes mapped; where it was moved,
 * its inode tells nothing. */
#include <sys/mman.h>

#include "harness/base/untrusted_file.h"
#include "harness/inject/inject_markers.h"
#include "harness/inject/inject_summary.h"
#include "harness/selftest/support/growth.h"
#include "harness/selftest/support/scratch.h"

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

static void add_many(size_t count)
{
	struct jp_inject_dumps dumps = {0};
	char path[64];

	start_cost();
	for (size_t i = 0; i < 2 * count; i++) {
		snprintf(path, sizeof(path), "/tmp/jit-%zu.dump", i % count);
		take(&dumps, 17, path, 5);
	}
	check(dumps.nr_markers == count, "%zu are new", count);
	jp_inject_dumps_free(&dumps);
	end_cost();
}

static const char *path;

/* Searches an owner among @count processes that mapped another dump than that now at the path. */
static void search_owner(size_t count)
{
	struct jp_marker *markers = allocate(count, sizeof(*markers));
	struct jp_inject_dumps dumps = {.markers = markers, .nr_markers = count};
	struct jp_inject_summary summary = {0};
	const struct jp_inject_read read = {.root = -1, .summary = &summary, .said = say};
	struct jp_error err;

	for (size_t i = 0; i < count; i++)
		markers[i] = (struct jp_marker){
			.pid = (uint32_t)i, .path = (char *)path, .has_identity = true, .ino = 1};
	start_cost();
	check(!jp_inject_read(&dumps, &read, &err) && summary.refused == count,
	      "none of %zu is read", count);
	free(markers);
	end_cost();
}

/* Twenty times as many cost twenty times as much, or more than a hundred times if each is compared
 * with all others. */
static void test_growth_of_owners(void)
{
	enum { FEW = 1000, MANY = 20 * FEW };
	double few;

	search_owner(FEW);
	few = (double)cost;
	search_owner(MANY);
	check((double)cost < 60 * few, "%d processes take %.1f times as long as %d", MANY,
	      (double)cost / few, FEW);
}

/* Who has read the dump at @path of all that have mapped it, as @said tells it. */
static void owners(void)
{
	static const struct {
		const char *what;
		struct {
			uint32_t pid;
			bool right; /* it mapped this very file */
		} who[3];
		int reads; /* -1: nobody does */
	} rows[] = {
		{"the first, where none is named", {{1, true}, {2, true}, {3, true}}, 0},
		{"who is named", {{1, true}, {17, true}, {3, true}}, 1},
		{"the last, where it is named", {{1, true}, {2, true}, {17, true}}, 2},
		{"the first that mapped this very file", {{1, false}, {2, true}, {3, true}}, 1},
		{"who is not named, where that mapped another",
		 {{17, false}, {2, true}, {3, true}},
		 1},
		{"the same before that", {{1, true}, {2, true}, {17, false}}, 0},
		{"nobody, where all mapped another", {{1, false}, {17, false}, {3, false}}, -1},
	};
	struct stat st;

	check(!stat(path, &st), "it is there");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct jp_marker markers[3];
		struct jp_inject_dumps dumps = {.markers = markers, .nr_markers = 3};
		struct jp_inject_summary summary = {0};
		const struct jp_inject_read read = {.root = -1, .summary = &summary, .said = say};
		struct jp_error err;
		size_t times = 0;

		for (size_t j = 0; j < 3; j++)
			markers[j] = (struct jp_marker){.pid = rows[i].who[j].pid,
							.named = 17,
							.path = (char *)path,
							.has_identity = true,
							.ino = st.st_ino + !rows[i].who[j].right};
		/* Who would read it is told that the capture has no times. */
		*said = '\0';
		check(!jp_inject_read(&dumps, &read, &err), "markers are read");
		for (const char *at = said; (at = strstr(at, "has no times")); at++)
			times++;
		check(times == (rows[i].reads >= 0), "%s reads it: %s", rows[i].what, said);
		for (int j = 0; j < 3; j++) {
			char line[64];
			const bool right = rows[i].who[j].right;

			snprintf(line, sizeof(line), "mapped by process %u too",
				 rows[i].who[j].pid);
			if (right || j == rows[i].reads)
				check(!strstr(said, line) == (j == rows[i].reads),
				      "%s, not process %u", rows[i].what, rows[i].who[j].pid);
		}
	}
}

int main(void)
{
	path = scratch_make("jit-17.dump");
	known();
	check_growth("mappings", add_many);
	scratch_write(path, "", 0);
	owners();
	test_growth_of_owners();
	read_below(-1, path);
	check(strstr(said, "another file than process 17 mapped") &&
		      strstr(said, "another file than process 18 mapped"),
	      "where it was mapped: neither's: %s", said);
	moved("of any number");
	close(STDIN_FILENO);
	moved("0");
	return check_done();
}
