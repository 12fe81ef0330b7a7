// SPDX-License-Identifier: GPL-2.0-only
/* A shortage of memory or descriptors is noted wherever it occurs. */
#include <sys/resource.h>

#include "harness/base/shortage.h"
#include "harness/base/untrusted_file.h"
#include "harness/selftest/support/check.h"

/* Returns the errno of the shortage noted since the last call, or 0. */
static int get_noted_error(void)
{
	struct jp_error err = {""};
	int error = -jp_shortage_describe(err.text, sizeof(err.text));

	jp_shortage_begin();
	check(!error == !*err.text, "noted: %s", *err.text ? err.text : "nothing");
	return error;
}

static void __attribute__((unused)) test_memory(void)
{
	/* volatile, or the compiler warns of the size and removes the calls. */
	volatile size_t far_too_much = SIZE_MAX / 4;
	void *volatile failed_block;

	failed_block = malloc(far_too_much);
	check(!failed_block && get_noted_error() == ENOMEM, "a failed malloc() is noted");
	failed_block = calloc(far_too_much, 2);
	check(!failed_block && get_noted_error() == ENOMEM, "a failed calloc() is noted");
	failed_block = realloc(NULL, far_too_much);
	check(!failed_block && get_noted_error() == ENOMEM, "a failed realloc() is noted");
	failed_block = malloc(1);
	check(failed_block && !get_noted_error(), "a successful malloc() is not noted");
	free(failed_block);
}

/* Allocations inside the C library cannot be watched, but their failure is noticed. */
static void __attribute__((unused)) test_asprintf(void)
{
	enum { ENOUGH = 64 << 20 };
	struct rlimit old_limit, little;
	char *text = NULL;
	int length;

	getrlimit(RLIMIT_AS, &old_limit);
	little = (struct rlimit){ENOUGH, old_limit.rlim_max};
	setrlimit(RLIMIT_AS, &little);
	length = asprintf(&text, "%*s", 4 * ENOUGH, "");
	setrlimit(RLIMIT_AS, &old_limit);
	check(length < 0 && get_noted_error() == ENOMEM, "a failed asprintf() is noted");
	length = asprintf(&text, "%d", 1);
	check(length == 1 && !get_noted_error(), "a successful asprintf() is not noted");
	free(text);
}

/* glibc allocates a memory stream's text again when it is closed, and reports failure only by a
 * missing text. */
TEST(streams)
{
	char *text = NULL, *no_text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	check(out && fputs("all", out) >= 0 && !jp_shortage_close(out, &text) &&
		      !get_noted_error() && !strcmp(text, "all"),
	      "a memory stream's text is complete");
	free(text);
	out = open_memstream(&text, &size);
	check(out && jp_shortage_close(out, &no_text) == -ENOMEM && get_noted_error() == ENOMEM,
	      "a memory stream without a text is a shortage");
	free(text);
}

TEST(errors)
{
	static const int no_shortage[] = {0, ENOENT, EINVAL, EACCES, EFBIG};

	for (size_t i = 0; i < sizeof(no_shortage) / sizeof(*no_shortage); i++) {
		jp_shortage_note(no_shortage[i]);
		jp_fail(NULL, no_shortage[i], "not there");
	}
	check(!get_noted_error(), "other errors are no shortage");
	jp_fail(NULL, EIO, "an error made up for a bad answer");
	check(!get_noted_error(), "an EIO that is only reported is no shortage");
	jp_shortage_note(EIO);
	jp_shortage_note(ENOMEM);
	check(get_noted_error() == EIO, "the first shortage is kept");
	check(!get_noted_error(), "a reported shortage is forgotten");
}

TEST(descriptors)
{
	struct rlimit old_limit, limit;
	struct jp_error err;
	uint64_t size;
	int fd;

	getrlimit(RLIMIT_NOFILE, &old_limit);
	limit = (struct rlimit){3, old_limit.rlim_max};
	setrlimit(RLIMIT_NOFILE, &limit);
	fd = jp_untrusted_open("/proc/version", -1, &size, NULL);
	setrlimit(RLIMIT_NOFILE, &old_limit);
	check(fd == -EMFILE && get_noted_error() == EMFILE, "running out of descriptors is noted");
	jp_fail(&err, EMFILE, "/proc/version: no descriptor");
	check(strstr(err.text, "ulimit -n") && get_noted_error() == EMFILE, "it names ulimit -n");
	jp_fail(&err, EFBIG, "truth: too large");
	check(strstr(err.text, "ulimit -f") != NULL, "a limited size names ulimit -f");
	check(jp_untrusted_open("/nowhere", -1, &size, NULL) == -ENOENT && !get_noted_error(),
	      "a missing file is no shortage");
}

TEST(shortage)
{
	/* AddressSanitizer has its own allocator, which reports what it refuses. */
#ifndef __SANITIZE_ADDRESS__
	test_memory();
	test_asprintf();
#endif
}
