// SPDX-License-Identifier: GPL-2.0-only
/* Parsing numbers, reading clocks, building paths, and small orderings. */
#include "harness/base/number.h"

#include "harness/base/clock.h"
#include "harness/base/order.h"
#include "harness/base/sort.h"
#include "harness/base/path.h"
#include "harness/base/round.h"
#include "harness/selftest/support/check.h"

TEST(whole_numbers)
{
	static const struct {
		const char *text;
		uint64_t min, max;
		bool is_valid;
		uint64_t value;
	} table[] = {
		{"0", 0, 0, true, 0},
		{"7", 1, 7, true, 7},
		{"007", 0, 9, true, 7},
		{"8", 1, 7, false, 0},
		{"0", 1, 7, false, 0},
		{"18446744073709551615", 0, UINT64_MAX, true, UINT64_MAX},
		{"18446744073709551616", 0, UINT64_MAX, false, 0},
		{"99999999999999999999999", 0, UINT64_MAX, false, 0},
		{"4294967296", 0, UINT32_MAX, false, 0},
		{"", 0, 9, false, 0},
		{" 1", 0, 9, false, 0},
		{"1 ", 0, 9, false, 0},
		{"\t1", 0, 9, false, 0},
		{"1\r", 0, 9, false, 0},
		{"+1", 0, 9, false, 0},
		{"-1", 0, UINT64_MAX, false, 0},
		{"-0", 0, 9, false, 0},
		{"1x", 0, 9, false, 0},
		{"x", 0, 99, false, 0},
		{"0x1", 0, 9, false, 0},
		{"a", 0, 99, false, 0},
		{"1.5", 0, 9, false, 0},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint64_t value = 4711;
		bool passed = jp_number(table[i].text, table[i].min, table[i].max, &value);

		check(passed == table[i].is_valid && value == (passed ? table[i].value : 4711),
		      "'%s': %s", table[i].text, table[i].is_valid ? "is a number" : "is refused");
	}
}

TEST(prefixes)
{
	static const struct {
		const char *text;
		int base;
		uint64_t max, value;
		int length; /* length of the accepted number; 0: refused */
	} table[] = {
		{"12-34", 10, 99, 12, 2},
		{"12", 10, 12, 12, 2},
		{"12", 10, 11, 0, 0},
		{"-34", 10, 99, 0, 0},
		{"", 10, 99, 0, 0},
		{"7ffe0000-", 16, UINT64_MAX, 0x7ffe0000, 8},
		{"ffffffffffffffff p", 16, UINT64_MAX, UINT64_MAX, 16},
		{"10000000000000000", 16, UINT64_MAX, 0, 0},
		{"0x1f,", 16, 99, 31, 4},
		{"g", 16, 99, 0, 0},
		{" f", 16, 99, 0, 0},
		{"-f", 16, UINT64_MAX, 0, 0},
		{"f", 10, 99, 0, 0},
		{"0x1f", 0, 99, 31, 4},
		{"017", 0, 99, 15, 3},
		{"17", 0, 99, 17, 2},
		{"f", 0, 99, 0, 0},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const char *pos = table[i].text;
		uint64_t value = 4711;
		bool passed = jp_number_take(&pos, table[i].base, table[i].max, &value);

		check(passed == !!table[i].length && pos == table[i].text + table[i].length &&
			      value == (passed ? table[i].value : 4711),
		      "'%s', base %d: %d characters", table[i].text, table[i].base,
		      table[i].length);
	}
}

TEST(errno)
{
	const char *pos = "99999999999999999999999";
	uint64_t value;
	double real;

	errno = EXDEV;
	check(!jp_number_take(&pos, 10, UINT64_MAX, &value) && errno == EXDEV,
	      "a number that is too large keeps errno");
	errno = ERANGE;
	pos = "5";
	check(jp_number(pos, 0, 9, &value) && errno == ERANGE && value == 5,
	      "an old ERANGE does not make a number fail");
	pos = "1e-400";
	errno = EXDEV;
	jp_number_take_real(&pos, &real);
	check(errno == EXDEV, "a real number that is too small keeps errno");
}

TEST(real_numbers)
{
	static const struct {
		const char *text;
		double value;
		int length;
	} table[] = {
		{"0", 0, 1},  {"0.5%", 0.5, 3}, {"12.25..", 12.25, 5}, {"1e3 ", 1000, 3},
		{"", 0, 0},   {".5", 0, 0},     {" 1", 0, 0},          {"-1", 0, 0},
		{"+1", 0, 0}, {"nan", 0, 0},    {"inf", 0, 0},         {"1e999", 0, 0},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const char *pos = table[i].text;
		double value = 4711;
		bool passed = jp_number_take_real(&pos, &value);

		check(passed == !!table[i].length && pos == table[i].text + table[i].length &&
			      value == (passed ? table[i].value : 4711),
		      "'%s': %d characters", table[i].text, table[i].length);
	}
}

TEST(clocks)
{
	uint64_t before = jp_clock_now(), after = jp_clock_now(), hour = 3600 * JP_NS_PER_S;
	struct timespec now, half = jp_clock_timespec(2 * JP_NS_PER_S + 999999999);
	int remaining = jp_clock_ms_until(jp_clock_now() + 60 * JP_NS_PER_S);

	clock_gettime(CLOCK_MONOTONIC, &now);
	jp_clock_avoid_vdso();
	check(jp_clock_now() >= after && jp_clock_now() - after < 60 * JP_NS_PER_S,
	      "the system call and the vDSO give the same time");
	check(before <= after && before / JP_NS_PER_S >= (uint64_t)now.tv_sec - 60 &&
		      before / JP_NS_PER_S <= (uint64_t)now.tv_sec,
	      "jp_clock_now() is CLOCK_MONOTONIC in ns");
	check(jp_clock_ns(CLOCK_PROCESS_CPUTIME_ID) < before,
	      "the CPU time of the process is less than the time since boot");
	check(half.tv_sec == 2 && half.tv_nsec == 999999999, "a timespec has both of its parts");
	check(remaining > 50000 && remaining <= 60000,
	      "until a deadline in a minute %d ms are left", remaining);
	check(jp_clock_ms_until(before) == 0 && jp_clock_ms_until(0) == 0, "a past deadline: 0 ms");
	check(jp_clock_ms_until(jp_clock_now() + 2 * hour) == 3600000 &&
		      jp_clock_ms_until(UINT64_MAX) == 3600000,
	      "at most an hour is left");
	/* Repeat if the thread was preempted past the deadline. */
	for (;;) {
		uint64_t deadline = jp_clock_now() + JP_NS_PER_MS / 2;

		remaining = jp_clock_ms_until(deadline);
		if (jp_clock_now() < deadline)
			break;
	}
	check(remaining == 1, "half a millisecond is rounded up");
}

TEST(paths)
{
	struct jp_error err = {""};
	char path[16];

	check(!jp_path_build(path, sizeof(path), &err, "%s/%d", "/some/dir", 12345) &&
		      !strcmp(path, "/some/dir/12345") && !err.text[0],
	      "a path that just fits is built");
	check(jp_path_build(path, sizeof(path), &err, "%s/%d", "/some/dir", 123456) ==
			      -ENAMETOOLONG &&
		      !path[0] && !strcmp(err.text, "/some/dir/12345...: the path is too long"),
	      "a path that does not fit is an error: '%s'", err.text);
	check(jp_path_build(path, sizeof(path), NULL, "%200d", 1) == -ENAMETOOLONG && !path[0],
	      "the error message is optional");
	check(!strcmp(jp_path_base("/some/dir/name"), "name") &&
		      !strcmp(jp_path_base("name"), "name") && !*jp_path_base("/some/dir/"),
	      "the part behind the last slash");
}

TEST(comparison)
{
	const uint64_t min = 0, max = UINT64_MAX;

	check(jp_min(min, max) == min && jp_min(max, min) == min && jp_max(min, max) == max &&
		      jp_max(max, min) == max && jp_compare_by_value(&min, &max) < 0 &&
		      jp_compare_by_value(&max, &min) > 0 && !jp_compare_by_value(&max, &max),
	      "minimum, maximum and comparison of the extremes");
	check(jp_round_up_to_words(0) == 0 && jp_round_up_to_words(1) == 8 &&
		      jp_round_up_to_words(8) == 8 && jp_round_up_to_words(9) == 16 &&
		      jp_round_up_to_words(UINT64_C(1) << 40) == UINT64_C(1) << 40,
	      "sizes are rounded up to whole words");
}
