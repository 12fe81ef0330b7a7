// SPDX-License-Identifier: GPL-2.0-only
/* Tests finding what each record of a growing heap changes, in time independent of the code in
 * it. */
#include "harness/inject/inject_spaces.h"
#include "harness/format/truth/format.h"
#include "harness/selftest/support/growth.h"
#include "harness/selftest/support/made_events.h"

enum { PID = 5, PAGE = 0x1000, HEAP = 0x100000, CODE = 64 };
enum { RX = JP_PROT_READ | JP_PROT_EXEC };

/* Adds code in each page, and then a record of all pages so far. */
static void map_and_add_code(size_t count)
{
	struct jp_inject_spaces *spaces = jp_inject_spaces_new();
	size_t pieces = 0, nr_right = 0;
	int failed = 0;

	if (!spaces)
		exit(99);
	start_cost();
	for (uint64_t i = 0; i < count && !failed; i++) {
		const uint64_t page = HEAP + i * PAGE, end = page + PAGE;
		const struct jp_event event =
			MADE_EVENT(MAP, PID, i, MADE_MAP(HEAP, end - HEAP, RX, "//anon"));
		struct jp_inject_piece piece = {0};

		failed = jp_inject_spaces_code(spaces, PID, page, CODE, true);
		for (; !failed && jp_inject_spaces_piece(spaces, &event, &piece) > 0; pieces++)
			nr_right += piece.start == page + CODE && piece.end == end;
		failed = failed ?: jp_inject_spaces_map(spaces, &event, true);
	}
	check(!failed && pieces == count && nr_right == count,
	      "each record adds one piece of a page");
	jp_inject_spaces_free(spaces);
	end_cost();
}

TEST(inject_spaces)
{
	check_growth("records of a heap that grows", map_and_add_code);
}
