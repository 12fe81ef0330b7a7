// SPDX-License-Identifier: GPL-2.0-only
/* The whole way of `jitproof judge FILE`: reading, ordering, replay, unwinding, printing. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/judge_file.h"
#include "harness/selftest/fuzz.h"

static const char *const captures[] = {
	"validators/fixtures/anon/perf.data",
	"validators/fixtures/memfd/perf.data",
	"harness/selftest/corpus/compressed.data",
	"harness/selftest/corpus/pipe.data",
	"harness/selftest/corpus/two_events.data",
	"harness/selftest/corpus/odd.data",
	NULL,
};

enum { FILE_HEADER = 104, HEADER = 16, ROOM = 1 << 16 }; /* the second and third: of a pipe */

static bool is_pipe(const unsigned char *bytes, size_t size)
{
	uint64_t header;

	if (size < HEADER || size > ROOM)
		return false;
	memcpy(&header, bytes + 8, sizeof(header));
	return header == HEADER;
}

struct input {
	const unsigned char *bytes;
	size_t size;
	int end;
};

static void *feed(void *context)
{
	struct input *input = context;

	/* The judge may have read enough: then this fails, and that is all right. */
	for (size_t at = 0; at < input->size;) {
		ssize_t wrote = write(input->end, input->bytes + at, input->size - at);

		if (wrote <= 0)
			break;
		at += wrote;
	}
	close(input->end);
	return NULL;
}

/* What cannot be mapped is read another way. A pipe may hold no more than a page, where its user
 * has many: it is fed while it is read. */
static void judge_input(const unsigned char *bytes, size_t size)
{
	char *argv[] = {"judge", "--fail-if=single_frame>1%", "-", NULL};
	pthread_t feeder;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) || dup2(ends[0], STDIN_FILENO) < 0)
		abort();
	close(ends[0]);
	struct input input = {.bytes = bytes, .size = size, .end = ends[1]};

	signal(SIGPIPE, SIG_IGN);
	if (pthread_create(&feeder, NULL, feed, &input))
		abort();
	jp_judge_file(3, argv);
	close(STDIN_FILENO);
	pthread_join(feeder, NULL);
}

void fuzz_one(const char *path, const unsigned char *bytes, size_t size)
{
	char *json[] = {"judge",      "--json", "--unwind", "--elf", "validators/fixtures/anon/elf",
			(char *)path, NULL};
	char *text[] = {"judge", (char *)path, NULL};

	if (size % 16)
		jp_judge_file(sizeof(json) / sizeof(*json) - 1, json);
	else
		jp_judge_file(sizeof(text) / sizeof(*text) - 1, text);
	if (is_pipe(bytes, size))
		judge_input(bytes, size);
}

/* The data reaches to the end, without features, and the last record too. */
static void mend(unsigned char *bytes, size_t size)
{
	uint64_t header, at;
	uint16_t record;

	if (size < FILE_HEADER)
		return;
	memcpy(&header, bytes + 8, sizeof(header));
	memcpy(&at, bytes + 40, sizeof(at));
	if (header != HEADER) {
		if (at > size)
			return;
		header = size - at;
		memcpy(bytes + 48, &header, sizeof(header));
		memset(bytes + 72, 0, 32);
	} else {
		at = HEADER;
	}
	for (; size - at >= 8; at += record) {
		memcpy(&record, bytes + at + 6, sizeof(record));
		if (record < 8)
			return;
		if (record > size - at) {
			record = (uint16_t)(size - at);
			memcpy(bytes + at + 6, &record, sizeof(record));
		}
	}
}

const struct fuzz_target fuzz_target = {
	.seeds = captures,
	.rounds = 4000,
	.truncations = 300,
	.mend = mend,
};
