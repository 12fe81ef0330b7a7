/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/shortage.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/scratch.h"

#define CORPUS   "harness/selftest/fuzz/corpus/"
#define FIXTURES "validators/fixtures/"

/* Code under test that reads the input @path and passes each result to mix(). */
struct subject {
	const char *name, *path;
	int (*run)(const char *path, struct jp_error *err);
};

static uint64_t digest;

static void mix(uint64_t value)
{
	digest = (digest ^ value) * UINT64_C(0x100000001b3);
}

__attribute__((unused)) static void mix_text(const char *text)
{
	for (; *text; text++)
		mix((unsigned char)*text);
}

__attribute__((unused)) static void mix_file(const char *path)
{
	size_t size;
	jp_cleanup_free char *bytes = jp_file_read(path, 1 << 20, &size, NULL);

	for (size_t i = 0; bytes && i < size; i++)
		mix((unsigned char)bytes[i]);
}

#ifdef __SANITIZE_ADDRESS__
static void fail_all(const struct subject *subjects, size_t count, const char *only)
{
	check(true,
	      "failing calls in %zu subjects # SKIP the sanitizer has an allocator of its own",
	      count);
}

#else
#include "harness/selftest/support/failing.h"

static const char *const kind_names[FAILING_KINDS] = {[FAILING_MEMORY] = "memory",
						      [FAILING_READ] = "reads",
						      [FAILING_SIGNAL] = "reads by a signal",
						      [FAILING_WRITE] = "writes",
						      [FAILING_STATUS] = "fstat()",
						      [FAILING_MAP] = "mmap()"};

/* Runs @subject while the @nth call of @kind fails. Returns what is wrong, or NULL. */
static const char *fail_once(const struct subject *subject, enum failing_kind kind,
			     unsigned long nth, uint64_t expected_digest, long nr_live)
{
	struct jp_error err = {""}, noted;
	bool failed;
	int ret;

	digest = 0;
	jp_shortage_begin();
	failing_begin(kind, nth);
	ret = subject->run(subject->path, &err);
	failing_end();
	failed = jp_shortage_describe(noted.text, sizeof(noted.text));
	if (failing.live != nr_live)
		return "memory leaks";
	if (ret < 0 && !*err.text)
		return "an error without a message";
	if (kind == FAILING_SIGNAL && (failed || ret < 0))
		return "EINTR is an error";
	return failed || ret < 0 || digest == expected_digest ? NULL
							      : "another result without an error";
}

static void fail_each(const struct subject *subject, enum failing_kind kind)
{
	unsigned long nr_bad = 0, nr_tried = 0, calls;
	const char *reason = NULL;
	struct jp_error err;
	uint64_t expected_digest;
	long nr_live;
	int ret;

	/* Run twice, since libraries allocate permanent memory in the first run. */
	jp_shortage_begin();
	ret = subject->run(subject->path, &err);
	nr_live = failing.live;
	digest = 0;
	failing_begin(kind, 0);
	ret = subject->run(subject->path, &err) ?: ret;
	calls = failing_end();
	expected_digest = digest;
	if (ret < 0 || failing.live != nr_live) {
		check(false, "%s works while no call fails: %s", subject->name,
		      ret ? err.text : "leaks");
		return;
	}
	/* Fail the first call from each chain of callers. Of the other calls, fail fewer the higher
	 * their number is. */
	for (unsigned long nth = 1, first = 0, next = 1; nth <= calls; nth++) {
		const bool is_new = first < failing.nr_first && failing.first[first] == nth;
		const char *fault;

		first += is_new;
		if (!is_new && nth < next)
			continue;
		next = nth >= next ? nth + 1 + nth / 2 : next;
		fault = fail_once(subject, kind, nth, expected_digest, nr_live);
		nr_tried++;

		if (fault && !nr_bad++)
			printf("# %s, call %lu: %s\n", subject->name, nth, fault);
		reason = fault ?: reason;
		nr_live = failing.live;
	}
	check(!nr_bad, "%s: %lu of %lu %s failed in turn, %lu handled wrongly", subject->name,
	      nr_tried, calls, kind_names[kind], nr_bad);
}

/* Fails calls of each kind in each of @count subjects, or only in the subject called @only_file. */
static void fail_all(const struct subject *subjects, size_t count, const char *only_file)
{
	for (size_t i = 0; i < count; i++)
		for (enum failing_kind kind = 1; kind < FAILING_KINDS; kind++)
			if (!only_file || !strcmp(only_file, subjects[i].name))
				fail_each(&subjects[i], kind);
}
#endif
