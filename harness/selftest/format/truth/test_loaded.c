// SPDX-License-Identifier: GPL-2.0-only
/* Tests reading addresses of a workload's code from a truth file that is still being written. */
#include "harness/format/truth/loaded.h"
#include "harness/format/truth/write.h"
#include "harness/selftest/support/scratch.h"

static struct jp_truth_loaded loaded;
static int truth = -1;

static void load_code(uint32_t function, uint64_t addr, uint64_t size)
{
	const struct jp_truth_load code = {.function = function, .addr = addr, .size = size};

	jp_truth_code_load(1, 2, &code);
}

static bool has_code(uint64_t addr)
{
	if (jp_truth_loaded_read(&loaded, truth))
		exit(99);
	return jp_truth_loaded_contains(&loaded, addr);
}

/* Returns whether [@start, @end) has code, and the addresses beside it have none. */
static bool has_exact_ranges(uint64_t start, uint64_t end)
{
	return !has_code(start - 1) && has_code(start) && has_code(end - 1) && !has_code(end);
}

static void test_loaded_ranges(void)
{
	load_code(1, 0x3000, 0x100);
	check(has_exact_ranges(0x3000, 0x3100), "one function is found");
	load_code(2, 0x1000, 0x100);
	check(has_exact_ranges(0x1000, 0x1100) && has_exact_ranges(0x3000, 0x3100),
	      "a lower one is found");
	load_code(3, 0x5000, 0x100);
	check(has_exact_ranges(0x5000, 0x5100) && has_exact_ranges(0x3000, 0x3100),
	      "a higher one is found");
	load_code(4, 0x3100, 0x80);
	check(has_exact_ranges(0x3000, 0x3180) && loaded.count == 3,
	      "a function behind extends it");
	load_code(5, 0x2f80, 0x80);
	check(has_exact_ranges(0x2f80, 0x3180) && loaded.count == 3,
	      "a function before extends it");
	load_code(6, 0x3010, 0x10);
	check(has_exact_ranges(0x2f80, 0x3180) && loaded.count == 3, "one inside changes nothing");
	load_code(7, 0x1080, 0x3f90);
	check(has_exact_ranges(0x1000, 0x5100) && loaded.count == 1,
	      "a function across all joins them");
	load_code(8, 0x9000, 0);
	load_code(9, UINT64_MAX, 2);
	check(!has_code(0x9000) && !has_code(0) && loaded.count == 1,
	      "functions of 0 bytes, or that wrap, are ignored");
}

static void test_moved_code(void)
{
	jp_truth_code_move(1, 2, 3, 0x8000);
	check(has_exact_ranges(0x8000, 0x8100) && has_code(0x5000), "moved code is in both places");
	jp_truth_code_move(1, 2, 77, 0xa000);
	check(!has_code(0xa000), "a move of unknown code is ignored");
	jp_truth_code_unload(1, 2, 3);
	check(has_code(0x8000), "unloaded code is still found");
}

static void test_torn_records(void)
{
	const uint64_t slot = jp_truth_reserve(1);
	struct jp_truth_record late_record = {
		.type = JP_TRUTH_CODE_LOAD,
		.load = {.function = 20, .addr = 0x20000, .size = 0x10}};

	load_code(21, 0x21000, 0x10);
	check(!has_code(0x20000) && has_code(0x21000), "records after an unfinished slot are read");
	load_code(22, 0x22000, 0x10);
	check(has_code(0x21000) && has_code(0x22000) && loaded.settled == slot,
	      "further records behind an unfinished slot are read");
	jp_truth_commit(slot, &late_record);
	check(has_code(0x20000) && loaded.settled == slot + 3, "the finished slot is read");
}

TEST(loaded)
{
	const char *path = scratch_make("truth");
	struct jp_error err;

	check(!has_code(0), "without a file no code is found");
	if (jp_truth_open(path, 4096, &err))
		exit(99);
	truth = open(path, O_RDONLY | O_CLOEXEC);
	check(!has_code(0), "in an empty file no code is found");
	test_loaded_ranges();
	test_moved_code();
	test_torn_records();
	jp_truth_loaded_free(&loaded);
	close(truth);
}
