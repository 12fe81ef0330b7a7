// SPDX-License-Identifier: GPL-2.0-only
/* What this process is short of is noted wherever it comes up. */
#include <sys/resource.h>

#include "harness/base/shortage.h"
#include "harness/base/untrusted_file.h"
#include "harness/selftest/support/check.h"

/* What was noted since the last call, as of errno. */
static int noted(void)
{
	struct jp_error err = {""};
	int found = -jp_shortage(err.text, sizeof(err.text));

	jp_shortage_begin();
	check(!found == !*err.text, "%s", *err.text ? err.text : "nothing");
	return found;
}

static void __attribute__((unused)) memory(void)
{
	/* Nobody's to know, or the compiler would say that it cannot be; nor what comes of it, or
	 * one that is only asked for is never made. */
	volatile size_t far_too_much = SIZE_MAX / 4;
	void *volatile none;

	none = malloc(far_too_much);
	check(!none && noted() == ENOMEM, "malloc");
	none = calloc(far_too_much, 2);
	check(!none && noted() == ENOMEM, "calloc");
	none = realloc(NULL, far_too_much);
	check(!none && noted() == ENOMEM, "realloc");
	none = malloc(1);
	check(none && !noted(), "enough");
	free(none);
}

/* What the C library allocates for itself is not ours to see: its answer is. */
static void __attribute__((unused)) text(void)
{
	enum { ENOUGH = 64 << 20 };
	struct rlimit old, little;
	char *none = NULL;
	int length;

	getrlimit(RLIMIT_AS, &old);
	little = (struct rlimit){ENOUGH, old.rlim_max};
	setrlimit(RLIMIT_AS, &little);
	length = asprintf(&none, "%*s", 4 * ENOUGH, "");
	setrlimit(RLIMIT_AS, &old);
	check(length < 0 && noted() == ENOMEM, "asprintf");
	length = asprintf(&none, "%d", 1);
	check(length == 1 && !noted(), "enough for it");
	free(none);
}

/* glibc takes memory for a stream's text once more when it is closed, and tells of a shortage by no
 * text alone. */
static void streams(void)
{
	char *text = NULL, *none = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	check(out && fputs("all", out) >= 0 && !jp_shortage_close(out, &text) && !noted() &&
		      !strcmp(text, "all"),
	      "a stream's text");
	free(text);
	out = open_memstream(&text, &size);
	check(out && jp_shortage_close(out, &none) == -ENOMEM && noted() == ENOMEM, "no text");
	free(text);
}

static void errors(void)
{
	static const int no_shortage[] = {0, ENOENT, EINVAL, EACCES, EFBIG};

	for (size_t i = 0; i < sizeof(no_shortage) / sizeof(*no_shortage); i++) {
		jp_shortage_note(no_shortage[i]);
		jp_fail(NULL, no_shortage[i], "not there");
	}
	check(!noted(), "other errors");
	jp_fail(NULL, EIO, "our own word for a bad answer");
	check(!noted(), "an I/O error that is none of the disk's");
	jp_shortage_note(EIO);
	jp_shortage_note(ENOMEM);
	check(noted() == EIO, "the first counts");
	check(!noted(), "what was noted is forgotten");
}

static void descriptors(void)
{
	struct rlimit old, none;
	struct jp_error err;
	uint64_t size;
	int fd;

	getrlimit(RLIMIT_NOFILE, &old);
	none = (struct rlimit){3, old.rlim_max};
	setrlimit(RLIMIT_NOFILE, &none);
	fd = jp_untrusted_open("/proc/version", -1, &size, NULL);
	setrlimit(RLIMIT_NOFILE, &old);
	check(fd == -EMFILE && noted() == EMFILE, "no descriptor is left");
	jp_fail(&err, EMFILE, "/proc/version: no descriptor");
	check(strstr(err.text, "ulimit -n") && noted() == EMFILE, "the message names the remedy");
	check(jp_untrusted_open("/nowhere", -1, &size, NULL) == -ENOENT && !noted(), "no file");
}

int main(void)
{
	/* AddressSanitizer has an allocator of its own, and says aloud what it refuses. */
#ifndef __SANITIZE_ADDRESS__
	memory();
	text();
#endif
	streams();
	errors();
	descriptors();
	return check_done();
}
