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
			     unsigned long nth, uint64_t good, long live)
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
	if (failing.live != live)
		return "memory leaks";
	if (ret < 0 && !*err.text)
		return "an error without a message";
	if (kind == FAILING_SIGNAL && (failed || ret < 0))
		return "EINTR is an error";
	return failed || ret < 0 || digest == good ? NULL : "another result without an error";
}

static void fail_each(const struct subject *subject, enum failing_kind kind)
{
	unsigned long bad = 0, tried = 0, calls;
	const char *reason = NULL;
	struct jp_error err;
	uint64_t good;
	long live;
	int ret;

	/* Run twice, since libraries allocate permanent memory in the first run. */
	jp_shortage_begin();
	ret = subject->run(subject->path, &err);
	live = failing.live;
	digest = 0;
	failing_begin(kind, 0);
	ret = subject->run(subject->path, &err) ?: ret;
	calls = failing_end();
	good = digest;
	if (ret < 0 || failing.live != live) {
		check(false, "%s works while no call fails: %s", subject->name,
		      ret ? err.text : "leaks");
		return;
	}
	/* Fail the first call from each chain of callers. Of the other calls, fail fewer the higher
	 * their number is. */
	for (unsigned long nth = 1, first = 0, next = 1; nth <= calls; nth++) {
		const bool new = first < failing.nr_first &&failing.first[first] == nth;
		const char *wrong;

		first += new;
		if (!new &&nth < next)
			continue;
		next = nth >= next ? nth + 1 + nth / 2 : next;
		wrong = fail_once(subject, kind, nth, good, live);
		tried++;

		if (wrong && !bad++)
			printf("# %s, call %lu: %s\n", subject->name, nth, wrong);
		reason = wrong ?: reason;
		live = failing.live;
	}
	check(!bad, "%s: %lu of %lu %s failed in turn, %lu handled wrongly", subject->name, tried,
	      calls, kind_names[kind], bad);
}

/* Fails calls of each kind in each of @count subjects, or only in the subject called @only. */
static void fail_all(const struct subject *subjects, size_t count, const char *only)
{
	for (size_t i = 0; i < count; i++)
		for (enum failing_kind kind = 1; kind < FAILING_KINDS; kind++)
			if (!only || !strcmp(only, subjects[i].name))
				fail_each(&subjects[i], kind);
}
#endif
