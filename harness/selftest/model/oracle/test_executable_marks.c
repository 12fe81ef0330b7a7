// SPDX-License-Identifier: GPL-2.0-only
/* Tests executable memory by the acts of a truth and by its snapshots of /proc/self/maps: each
 * story makes the listed pieces, or contradicts itself. */
#include "harness/model/oracle/executable_load.h"
#include "harness/selftest/support/growth.h"
#include "harness/selftest/support/made_events.h"
#include "harness/selftest/support/made_truth.h"

enum { R = JP_PROT_READ, X = JP_PROT_READ | JP_PROT_EXEC, ACTS = 6, PIECES = 4 };

struct story_act {
	enum jp_truth_type type;
	uint64_t before, after;
	uint64_t addr, len, prot; /* REMAP: @prot is the new address, of @new_len bytes */
	const char *text;         /* content of /proc/self/maps, for MAPS */
	uint64_t new_len;
};

/* An expected piece of executable memory, from time @open to time @close. @open 0: it may be as old
 * as the process; @close 0: it never ends. */
struct piece {
	uint64_t start, end, open, close;
	uint64_t moved; /* distance from the address where the piece was first mapped */
};

#define ACT(kind, from, until, ...)                                                                \
	{                                                                                          \
		.type = JP_TRUTH_##kind, .before = from, .after = until, __VA_ARGS__               \
	}
#define MAPS(from, until, lines)        ACT(MAPS, from, until, .text = lines)
#define MAP(from, until, at, size, how) ACT(MAP, from, until, .addr = at, .len = size, .prot = how)
#define PROTECT(from, until, at, size, how)                                                        \
	ACT(PROTECT, from, until, .addr = at, .len = size, .prot = how)
#define UNMAP(from, until, at, size) ACT(UNMAP, from, until, .addr = at, .len = size)
#define EXEC(from, until)            ACT(PROCESS_START, from, until, .len = JP_START_EXEC)
#define REMAP(from, until, at, size, to, to_size)                                                  \
	ACT(REMAP, from, until, .addr = at, .len = size, .prot = to, .new_len = to_size)

/* Stories of acts: some make pieces, others contradict a snapshot. */
#define LIST(...)                                                                                  \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define MAKES(called, made, ...)                                                                   \
	{                                                                                          \
		.what = called, .acts = made, .pieces = { __VA_ARGS__ }                            \
	}
#define CONTRADICTS(called, words, ...)                                                            \
	{                                                                                          \
		.what = called, .contradiction = words, .acts = { __VA_ARGS__ }                    \
	}

static const struct story {
	const char *what, *contradiction;
	struct story_act acts[ACTS];
	struct piece pieces[PIECES];
} stories[] = {
	MAKES("a snapshot alone", LIST(MAPS(10, 11, "1000-3000 r-xp 0 0:0 0 \n")),
	      {0x1000, 0x3000, 0, 0, 0}),
	MAKES("a mapping that a snapshot shows",
	      LIST(MAP(10, 11, 0x1000, 0x2000, X), MAPS(20, 21, "1000-3000 r-xp 0 0:0 0 \n")),
	      {0x1000, 0x3000, 10, 0, 0}),
	CONTRADICTS("a mapping that it lacks", "mapped executable, but not in its maps",
		    MAP(10, 11, 0x1000, 0x2000, X), MAPS(20, 21, "")),
	CONTRADICTS("a mapping of which it lacks a part",
		    "2000-3000 at 20: mapped executable, but not in its maps",
		    MAP(10, 11, 0x1000, 0x2000, X), MAPS(20, 21, "1000-2000 r-xp 0 0:0 0 \n")),
	CONTRADICTS("a mapping that it lacks, before a line",
		    "1000-2000 at 20: mapped executable, but not in its maps",
		    MAP(10, 11, 0x1000, 0x1000, X), MAP(12, 13, 0x3000, 0x1000, X),
		    MAPS(20, 21, "3000-4000 r-xp 0 0:0 0 \n")),
	CONTRADICTS("data that is executable in it", "another protection in its maps",
		    MAP(10, 11, 0x1000, 0x2000, R), MAPS(20, 21, "1000-3000 r-xp 0 0:0 0 \n")),
	MAKES("lines of data are ignored", LIST(MAPS(20, 21, "1000-3000 r--p 0 0:0 0 \n"))),
	MAKES("a mapping made while the snapshot was read",
	      LIST(MAP(10, 25, 0x1000, 0x2000, X), MAPS(20, 30, "")), {0x1000, 0x3000, 10, 0, 0}),
	MAKES("a mapping that began as the reading ended",
	      LIST(MAP(30, 40, 0x1000, 0x2000, X), MAPS(20, 30, "1000-3000 r-xp 0 0:0 0 \n")),
	      {0x1000, 0x3000, 30, 0, 0}),
	MAKES("a mapping made while two snapshots were read",
	      LIST(MAP(10, 25, 0x1000, 0x2000, X), MAPS(15, 16, ""), MAPS(20, 30, "")),
	      {0x1000, 0x3000, 10, 0, 0}),
	CONTRADICTS("a mapping made while the first of two was read",
		    "at 26: mapped executable, but not in its maps", MAP(10, 25, 0x1000, 0x2000, X),
		    MAPS(15, 16, ""), MAPS(26, 30, "")),
	MAKES("a mapping made in the middle of a line meanwhile",
	      LIST(MAPS(5, 6, "1000-5000 r-xp 0 0:0 0 \n"), MAP(10, 25, 0x2000, 0x1000, X),
		   MAPS(20, 30, "1000-5000 r-xp 0 0:0 0 \n")),
	      {0x1000, 0x2000, 0, 0, 0}, {0x2000, 0x3000, 0, 10, 0}, {0x2000, 0x3000, 10, 0, 0},
	      {0x3000, 0x5000, 0, 0, 0}),
	MAKES("a move while the snapshot was read",
	      LIST(MAP(1, 2, 0x1000, 0x1000, X), REMAP(10, 25, 0x1000, 0x1000, 0x8000, 0x2000),
		   MAPS(20, 30, "1000-2000 r-xp 0 0:0 0 \n")),
	      {0x1000, 0x2000, 1, 10, 0}, {0x8000, 0xa000, 10, 0, 0x7000}),
	MAKES("a mapping that the next snapshot lacks",
	      LIST(MAPS(10, 11, "1000-3000 r-xp 0 0:0 0 \n"), MAPS(20, 21, "")),
	      {0x1000, 0x3000, 0, 11, 0}),
	MAKES("another file in the next snapshot",
	      LIST(MAPS(10, 11, "1000-3000 r-xp 0 8:1 5 /a\n"),
		   MAPS(20, 21, "1000-3000 r-xp 0 8:1 6 /b\n")),
	      {0x1000, 0x3000, 0, 11, 0}, {0x1000, 0x3000, 11, 0, 0}),
	CONTRADICTS("another file at a recorded mapping", "another file in its maps than before",
		    MAP(5, 6, 0x1000, 0x2000, X), MAPS(10, 11, "1000-3000 r-xp 0 8:1 5 /a\n"),
		    MAPS(20, 21, "1000-3000 r-xp 0 8:1 6 /a\n")),
	MAKES("an unrecorded change of protection",
	      LIST(MAPS(10, 11, "1000-3000 r-xp 0 0:0 0 \n"),
		   MAPS(20, 21, "1000-3000 rwxp 0 0:0 0 \n")),
	      {0x1000, 0x3000, 0, 11, 0}, {0x1000, 0x3000, 11, 0, 0}),
	MAKES("a larger mapping in the next snapshot",
	      LIST(MAPS(10, 11, "2000-3000 r-xp 1000 0:0 0 \n"),
		   MAPS(20, 21, "1000-4000 r-xp 0 0:0 0 \n")),
	      {0x1000, 0x2000, 11, 0, 0}, {0x2000, 0x3000, 0, 0, 0}, {0x3000, 0x4000, 11, 0, 0}),
	MAKES("changes of protection and parts",
	      LIST(MAP(1, 2, 0x1000, 0x3000, X), PROTECT(3, 4, 0x2000, 0x1000, R),
		   PROTECT(5, 6, 0x1000, 0x1000, X), UNMAP(7, 8, 0x3000, 0x1000),
		   MAPS(20, 21, "1000-2000 r-xp 0 0:0 0 \n")),
	      {0x1000, 0x2000, 1, 0, 0}, {0x2000, 0x3000, 1, 3, 0}, {0x3000, 0x4000, 1, 7, 0}),
	MAKES("a mapping that shrinks as it moves",
	      LIST(MAP(1, 2, 0x1000, 0x3000, X), REMAP(3, 4, 0x1000, 0x3000, 0x8000, 0x1000)),
	      {0x1000, 0x4000, 1, 3, 0}, {0x8000, 0x9000, 3, 0, 0x7000}),
	MAKES("a move and the move back",
	      LIST(MAPS(1, 2, "1000-2000 r-xp 5000 8:1 5 /a\n"),
		   REMAP(3, 4, 0x1000, 0x1000, 0x8000, 0x1000),
		   REMAP(5, 6, 0x8000, 0x1000, 0x1000, 0x1000),
		   MAPS(10, 11, "1000-2000 r-xp 5000 8:1 5 /a\n")),
	      {0x1000, 0x2000, 0, 3, 0}, {0x8000, 0x9000, 3, 5, 0x7000}, {0x1000, 0x2000, 5, 0, 0}),
	MAKES("an exec", LIST(MAP(1, 2, 0x1000, 0x1000, X), EXEC(10, 20)),
	      {0x1000, 0x2000, 1, 10, 0}),
	CONTRADICTS("unmapping nothing", "unmaps 1000-2000 at 7, and nothing mapped 1000",
		    UNMAP(7, 8, 0x1000, 0x1000)),
	CONTRADICTS("unmapping more than is mapped",
		    "unmaps 1000-4000 at 7, and nothing mapped 3000", MAP(1, 2, 0x1000, 0x1000, R),
		    MAP(3, 4, 0x2000, 0x1000, X), UNMAP(7, 8, 0x1000, 0x3000)),
	CONTRADICTS("unmapping from before the mapping",
		    "unmaps 1000-3000 at 7, and nothing mapped 1000", MAP(1, 2, 0x2000, 0x1000, R),
		    UNMAP(7, 8, 0x1000, 0x2000)),
	MAKES("moving nothing", LIST(REMAP(3, 4, 0x1000, 0x3000, 0x8000, 0x1000))),
	CONTRADICTS("a malformed snapshot", "the maps of pid", MAPS(10, 11, "1000 r-xp")),
};

static void put_act(const struct story_act *act)
{
	struct jp_truth_record record = {
		.type = act->type, .before = act->before, .after = act->after};

	if (act->type == JP_TRUTH_MAPS)
		record.text.id = jp_truth_text(act->text);
	else if (act->type == JP_TRUTH_MAP)
		record.map = (struct jp_truth_mapping){
			.addr = act->addr, .len = act->len, .prot = (uint8_t)act->prot};
	else
		memcpy(record.a, (uint64_t[]){act->addr, act->len, act->prot, act->new_len},
		       sizeof(record.a));
	jp_truth_append(&record);
}

static const struct story *current;

static void write_story(void)
{
	jp_truth_append(&(struct jp_truth_record){.type = JP_TRUTH_PROCESS_START,
						  .before = 1,
						  .after = 1,
						  .start = {1, 1, JP_START_LAUNCH, 0}});
	for (size_t i = 0; i < ACTS && current->acts[i].type; i++)
		put_act(&current->acts[i]);
}

static bool has_memory_piece(const struct jp_executables *executables, const struct piece *piece)
{
	for (size_t i = 0; i < executables->count; i++) {
		const struct jp_executable *executable = &executables->list[i];

		if (executable->start == piece->start && executable->end == piece->end &&
		    executable->open_before == piece->open &&
		    executable->distance == piece->moved &&
		    executable->close_before == (piece->close ?: UINT64_MAX))
			return true;
	}
	return false;
}

static void test_story(const struct story *story)
{
	struct jp_executables executables = {0};
	struct jp_error err = {""};
	size_t count = 0;
	int failed;

	current = story;
	truth = write_truth("truth", 64, write_story) ? NULL : load_truth("truth");
	failed = truth ? jp_executables_load(&executables, truth, &err) : -1;

	if (story->contradiction) {
		check(failed && strstr(err.text, story->contradiction), "%s: %s", story->what,
		      err.text);
	} else {
		bool good = !failed;

		for (; count < PIECES && story->pieces[count].end; count++)
			good &= has_memory_piece(&executables, &story->pieces[count]);
		if (!check(good && executables.count == count, "%s: %zu pieces %s", story->what,
			   executables.count, err.text))
			for (size_t i = 0; i < executables.count; i++)
				printf("# %lx-%lx from %lu to %ld\n", executables.list[i].start,
				       executables.list[i].end, executables.list[i].open_before,
				       (long)executables.list[i].close_before);
	}
	jp_executables_free(&executables);
	jp_truth_free(truth);
}

enum { PID = 5, PAGE = 0x1000, RX = JP_PROT_READ | JP_PROT_EXEC };

static void load_marks(size_t count)
{
	struct jp_event *acts = allocate(3 * count, sizeof(*acts));
	struct jp_truth made = {.acts = acts, .nr_acts = 3 * count};
	struct jp_executables executables = {0};
	struct jp_error err = {""};

	for (size_t i = 0; i < count; i++) {
		const struct jp_event map = MADE_ACT(MAP, PID, PID, 2 * i + 1, 2 * i + 1,
						     MADE_MAP(PAGE, PAGE, R, "//anon"));

		acts[2 * i] = acts[2 * i + 1] = map;
		acts[2 * i + 1].type = JP_EVENT_UNMAP;
		acts[2 * count + i] = (struct jp_event)MADE_ACT(MAPS, PID, PID, 2 * count + i,
								2 * count + i, .maps.text = "");
	}
	start_cost();
	check(!jp_executables_load(&executables, &made, &err) && executables.nr_marks == count,
	      "marks: %s", err.text);
	jp_executables_free(&executables);
	end_cost();
	free(acts);
}

static void load_acts(const struct jp_event *acts, size_t count)
{
	struct jp_truth made = {.acts = (struct jp_event *)acts, .nr_acts = count};
	struct jp_executables executables = {0};
	struct jp_error err = {""};

	start_cost();
	check(!jp_executables_load(&executables, &made, &err), "%zu acts: %s", count, err.text);
	jp_executables_free(&executables);
	end_cost();
}

/* Adds a mark with as many lines as there are acts while it was read. */
static void load_lines(size_t count)
{
	struct jp_event *acts = allocate(count + 1, sizeof(*acts));
	char *text = allocate(64 * count + 1, 1), *end = text;

	for (size_t i = 0; i < count; i++) {
		/* Shuffle: the order of acts is not that of addresses. */
		const uint64_t addr = (7919 * i % count * 2 + 1) * PAGE;

		end += sprintf(end, "%zx-%zx r-xp 0 0:0 0 \n", (2 * i + 1) * PAGE,
			       (2 * i + 2) * PAGE);
		acts[i + 1] = (struct jp_event)MADE_ACT(MAP, PID, PID, i + 2, i + 2,
							MADE_MAP(addr, PAGE, RX, "//anon"));
	}
	acts[0] = (struct jp_event)MADE_ACT(MAPS, PID, PID, 1, count + 3, .maps.text = text);
	load_acts(acts, count + 1);
	free(text);
	free(acts);
}

/* Adds forks after @count executable mappings that came and went. */
static void load_forks(size_t count)
{
	struct jp_event *acts = allocate(3 * count, sizeof(*acts));

	for (size_t i = 0; i < 3 * count; i += 3) {
		const uint32_t forked = (uint32_t)(PID + 1 + i);

		acts[i] = acts[i + 1] = (struct jp_event)MADE_ACT(
			MAP, PID, PID, i + 1, i + 1, MADE_MAP(PAGE, PAGE, RX, "//anon"));
		acts[i + 1].type = JP_EVENT_UNMAP;
		acts[i + 2] = (struct jp_event)MADE_ACT(FORK, forked, forked, i + 2, i + 2,
							.task = {.ppid = PID, .ptid = PID});
	}
	load_acts(acts, 3 * count);
	free(acts);
}

TEST(executable_marks)
{
	for (size_t i = 0; i < sizeof(stories) / sizeof(*stories); i++)
		test_story(&stories[i]);
	check_growth("marks", load_marks);
	check_growth("lines of a mark and acts meanwhile", load_lines);
	check_growth("forks and mappings that are gone", load_forks);
}
