// SPDX-License-Identifier: GPL-2.0-only
/* Where a workload put its code, read from a truth file that is still being written. */
#include "harness/format/truth/loaded.h"
#include "harness/format/truth/write.h"
#include "harness/selftest/support/scratch.h"

static struct jp_truth_loaded loaded;
static int truth = -1;

static void load(uint32_t function, uint64_t addr, uint64_t size)
{
	const struct jp_truth_load code = {.function = function, .addr = addr, .size = size};

	jp_truth_code_load(1, 2, &code);
}

static bool holds(uint64_t addr)
{
	if (jp_truth_loaded_read(&loaded, truth))
		exit(99);
	return jp_truth_loaded_contains(&loaded, addr);
}

/* Whether just [@start, @end) is in it. */
static bool holds_just(uint64_t start, uint64_t end)
{
	return !holds(start - 1) && holds(start) && holds(end - 1) && !holds(end);
}

static void ranges(void)
{
	load(1, 0x3000, 0x100);
	check(holds_just(0x3000, 0x3100), "one function");
	load(2, 0x1000, 0x100);
	check(holds_just(0x1000, 0x1100) && holds_just(0x3000, 0x3100), "a second one below it");
	load(3, 0x5000, 0x100);
	check(holds_just(0x5000, 0x5100) && holds_just(0x3000, 0x3100), "a third one above both");
	load(4, 0x3100, 0x80);
	check(holds_just(0x3000, 0x3180) && loaded.count == 3, "one that begins where one ends");
	load(5, 0x2f80, 0x80);
	check(holds_just(0x2f80, 0x3180) && loaded.count == 3, "one that ends where one begins");
	load(6, 0x3010, 0x10);
	check(holds_just(0x2f80, 0x3180) && loaded.count == 3, "one within another");
	load(7, 0x1080, 0x3f90);
	check(holds_just(0x1000, 0x5100) && loaded.count == 1, "one across all of them");
	load(8, 0x9000, 0);
	load(9, UINT64_MAX, 2);
	check(!holds(0x9000) && !holds(0) && loaded.count == 1, "none of no bytes, or too many");
}

static void moves(void)
{
	jp_truth_code_move(1, 2, 3, 0x8000);
	check(holds_just(0x8000, 0x8100) && holds(0x5000), "moved code is at both places");
	jp_truth_code_move(1, 2, 77, 0xa000);
	check(!holds(0xa000), "code that was never loaded does not move");
	jp_truth_code_unload(1, 2, 3);
	check(holds(0x8000), "unloaded code stays in");
}

static void torn(void)
{
	const uint64_t slot = jp_truth_reserve(1);
	struct jp_truth_record late = {.type = JP_TRUTH_CODE_LOAD,
				       .load = {.function = 20, .addr = 0x20000, .size = 0x10}};

	load(21, 0x21000, 0x10);
	check(!holds(0x20000) && holds(0x21000), "behind a slot that is still being filled");
	load(22, 0x22000, 0x10);
	check(holds(0x21000) && holds(0x22000) && loaded.settled == slot, "the same again");
	jp_truth_commit(slot, &late);
	check(holds(0x20000) && loaded.settled == slot + 3, "and the slot once it is filled");
}

static void bad_seal(const char *path)
{
	struct jp_truth_record bad = {.seal = 1,
				      .type = JP_TRUTH_CODE_LOAD,
				      .load = {.function = 30, .addr = 0x30000, .size = 0x10}};
	jp_cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);
	const off_t at = (off_t)(JP_TRUTH_PAGE + jp_truth_reserve(1) * sizeof(bad));

	check(pwrite(fd, &bad, sizeof(bad), at) == sizeof(bad) && !holds(0x30000),
	      "a record whose seal does not match is not believed");
}

static void many(void)
{
	bool all = true;

	for (uint64_t i = 0; i < 3000; i++)
		load((uint32_t)(100 + i), 0x1000000 + i * 0x20, 0x10);
	for (uint64_t i = 0; i < 3000; i++)
		all &= holds_just(0x1000000 + i * 0x20, 0x1000000 + i * 0x20 + 0x10);
	check(all, "more than are read at once");
	for (int i = 0; i < 5000; i++)
		load(9000, 0x9000000, 0x10);
	check(holds(0x9000000), "more than the file has room for");
}

int main(void)
{
	const char *path = scratch_make("truth");
	struct jp_error err;

	check(!holds(0), "no file yet");
	if (jp_truth_open(path, 4096, &err))
		exit(99);
	truth = open(path, O_RDONLY | O_CLOEXEC);
	check(!holds(0), "nothing is loaded yet");
	ranges();
	moves();
	torn();
	bad_seal(path);
	many();
	jp_truth_loaded_free(&loaded);
	close(truth);
	return check_done();
}
