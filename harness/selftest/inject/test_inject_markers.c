// SPDX-License-Identifier: GPL-2.0-only
/* Tests which mapping records announce a new jitdump, and which process owns a jitdump that several
 * processes mapped. In a copied root, inodes are not compared. */
#include <sys/mman.h>

#include "harness/base/untrusted_file.h"
#include "harness/inject/inject_markers.h"
#include "harness/inject/inject_summary.h"
#include "harness/selftest/support/growth.h"
#include "harness/selftest/support/scratch.h"

static char messages[1024];

static void append_message(void *context, const char *line)
{
	const size_t length = strlen(messages);

	snprintf(messages + length, sizeof(messages) - length, "%s; ", line);
}

/* Reads the dump at @path below @root, which two processes mapped with another inode. Returns the
 * messages. */
static const char *read_below(int root, const char *path)
{
	struct jp_marker markers[] = {
		{.pid = 17, .named_pid = 17, .path = (char *)path, .has_identity = true, .ino = 1},
		{.pid = 18, .named_pid = 17, .path = (char *)path, .has_identity = true, .ino = 1},
	};
	struct jp_inject_dumps dumps = {.markers = markers, .nr_markers = 2};
	struct jp_inject_summary summary = {0};
	const struct jp_inject_read reading = {
		.root = root, .summary = &summary, .report = append_message};
	struct jp_error err;

	*messages = '\0';
	check(!jp_inject_read(&dumps, &reading, &err) && summary.refused, "such a dump is refused");
	return messages;
}

static void test_copied_root(const char *descriptor)
{
	jp_cleanup_close int root = jp_untrusted_open_folder(AT_FDCWD, scratch_folder());

	check(!strcmp(read_below(root, "/jit-17.dump"),
		      "/jit-17.dump: offset 0: expected a jitdump header of 40 bytes, the file "
		      "has 0; "
		      "/jit-17.dump: process 18 also mapped this jitdump, but did not write it; "),
	      "in a copied root, descriptor %s, the first process owns it: %s", descriptor,
	      messages);
}

/* Adds a mapping of the dump at @path with @ino, or without an inode if 0. */
static int add_mapping(struct jp_inject_dumps *dumps, uint32_t pid, const char *path, uint64_t ino)
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

static void test_known_markers(void)
{
	static const struct {
		const char *label, *path;
		uint32_t pid;
		uint64_t ino;
		bool is_fresh;
	} rows[] = {
		{"a first mapping", "/a/jit-17.dump", 17, 5, true},
		{"a repeated mapping", "/a/jit-17.dump", 17, 5, false},
		{"a repeated mapping without an inode", "/a/jit-17.dump", 17, 0, false},
		{"another inode", "/a/jit-17.dump", 17, 6, true},
		{"the first mapping again", "/a/jit-17.dump", 17, 5, false},
		{"another process", "/a/jit-17.dump", 18, 5, true},
		{"another path", "/b/jit-17.dump", 17, 5, true},
		{"a path that is not absolute", "5 /a/jit-17.dump", 17, 0, false},
		{"a mapping without an inode", "/c/jit-17.dump", 17, 0, true},
		{"the same with an inode", "/c/jit-17.dump", 17, 5, true},
		{"a file that is no jitdump", "/a/jit-x.dump", 17, 5, false},
	};
	struct jp_inject_dumps dumps = {0};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const size_t count = dumps.nr_markers;

		check(!add_mapping(&dumps, rows[i].pid, rows[i].path, rows[i].ino) &&
			      dumps.nr_markers == count + rows[i].is_fresh,
		      "%s is %s", rows[i].label, rows[i].is_fresh ? "new" : "not new");
	}
	jp_inject_dumps_free(&dumps);
}

static void add_many(size_t count)
{
	struct jp_inject_dumps dumps = {0};
	char path[64];

	start_cost();
	for (size_t i = 0; i < 2 * count; i++) {
		snprintf(path, sizeof(path), "/tmp/jit-%zu.dump", i % count + 1);
		add_mapping(&dumps, 17, path, 5);
	}
	check(dumps.nr_markers == count, "%zu dumps are new", count);
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
	const struct jp_inject_read reading = {
		.root = -1, .summary = &summary, .report = append_message};
	struct jp_error err;

	for (size_t i = 0; i < count; i++)
		markers[i] = (struct jp_marker){
			.pid = (uint32_t)i, .path = (char *)path, .has_identity = true, .ino = 1};
	start_cost();
	check(!jp_inject_read(&dumps, &reading, &err) && summary.refused == count,
	      "the dump is refused for all of %zu processes", count);
	free(markers);
	end_cost();
}

/* Twenty times as many owners cost twenty times as much, or more than a hundred times if each is
 * compared with all others. */
static void test_growth_of_owners(void)
{
	enum { FEW = 1000, MANY = 20 * FEW };
	double few_owners;

	search_owner(FEW);
	few_owners = (double)cost;
	search_owner(MANY);
	check((double)cost < 60 * few_owners, "%d processes take %.1f times as long as %d", MANY,
	      (double)cost / few_owners, FEW);
}

/* Tests which of the processes that mapped the dump owns it: only its mapping is not refused. */
static void test_owners(void)
{
	static const struct {
		const char *label;
		struct {
			uint32_t pid;
			bool is_mapped; /* the process mapped this inode */
		} processes[3];
		int reads; /* index of the owner, or -1 */
	} rows[] = {
		{"the first process if none is named", {{1, true}, {2, true}, {3, true}}, 0},
		{"the named process", {{1, true}, {17, true}, {3, true}}, 1},
		{"the last process if it is named", {{1, true}, {2, true}, {17, true}}, 2},
		{"the first process that mapped this inode", {{1, false}, {2, true}, {3, true}}, 1},
		{"another process if the named mapped another inode",
		 {{17, false}, {2, true}, {3, true}},
		 1},
		{"an earlier process if the named mapped another inode",
		 {{1, true}, {2, true}, {17, false}},
		 0},
		{"no process if all mapped another inode",
		 {{1, false}, {17, false}, {3, false}},
		 -1},
	};
	struct stat st;

	check(!stat(path, &st), "the dump exists");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct jp_marker markers[3];
		struct jp_inject_dumps dumps = {.markers = markers, .nr_markers = 3};
		struct jp_inject_summary summary = {0};
		const struct jp_inject_read reading = {
			.root = -1, .summary = &summary, .report = append_message};
		struct jp_error err;
		size_t times = 0;

		for (size_t j = 0; j < 3; j++)
			markers[j] = (struct jp_marker){.pid = rows[i].processes[j].pid,
							.named_pid = 17,
							.path = (char *)path,
							.has_identity = true,
							.ino = st.st_ino +
							       !rows[i].processes[j].is_mapped};
		/* Reading fails with a message, since the dump is empty. */
		*messages = '\0';
		check(!jp_inject_read(&dumps, &reading, &err), "the dump is offered to all");
		for (const char *pos = messages; (pos = strstr(pos, "the file has 0")); pos++)
			times++;
		check(times == (rows[i].reads >= 0), "the owner is %s: %s", rows[i].label,
		      messages);
		for (int j = 0; j < 3; j++) {
			char line[64];
			const bool is_right = rows[i].processes[j].is_mapped;

			snprintf(line, sizeof(line), "process %u also mapped this jitdump",
				 rows[i].processes[j].pid);
			if (is_right || j == rows[i].reads)
				check(!strstr(messages, line) == (j == rows[i].reads),
				      "the owner is %s; process %u is refused", rows[i].label,
				      rows[i].processes[j].pid);
		}
	}
}

TEST(inject_markers)
{
	path = scratch_make("jit-17.dump");
	test_known_markers();
	check_growth("mappings", add_many);
	scratch_write(path, "", 0);
	test_owners();
	test_growth_of_owners();
	read_below(-1, path);
	check(strstr(messages, "another file than process 17 mapped") &&
		      strstr(messages, "another file than process 18 mapped"),
	      "in place, a dump of another inode has no owner: %s", messages);
	test_copied_root("of any number");
	close(STDIN_FILENO);
	test_copied_root("0");
}
