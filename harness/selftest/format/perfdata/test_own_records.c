// SPDX-License-Identifier: GPL-2.0-only
/* Tests perf's own records: bad ones are refused, and compressed data may be split anywhere. */
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "harness/format/perfdata/read.h"
#include "harness/selftest/support/made_perf_data.h"

static struct perf_file file, inner;

struct names_seen {
	int nr_names, nr_wrong;
};

static int count_name(void *context, const struct jp_event *event)
{
	struct names_seen *counts = context;

	counts->nr_names += event->type == JP_EVENT_COMM;
	counts->nr_wrong += event->type != JP_EVENT_COMM || event->pid != 7 ||
			    strcmp(event->comm.name, "name") != 0;
	return 0;
}

static void begin_file(void)
{
	const struct jp_perf_attr attr = {.type = 1, .size = 120, .flags = JP_PERF_ATTR_COMM};

	perf_file_begin(&file, &attr);
}

static void put_name(struct perf_file *to)
{
	const uint32_t ids[] = {7, 7};
	unsigned char body[16] = {0};

	memcpy(body, ids, sizeof(ids));
	memcpy(body + sizeof(ids), "name", 5);
	perf_file_record(to, JP_PERF_RECORD_COMM, 0, body, sizeof(body));
}

static int read_all(struct names_seen *counts, struct jp_perfdata_summary *summary,
		    struct jp_error *err)
{
	*counts = (struct names_seen){0};
	*summary = (struct jp_perfdata_summary){0};
	return jp_perfdata_read(perf_file_store(&file, "perf.data"), count_name, counts, summary,
				err);
}

TEST(bad_records)
{
	static const uint64_t out_of_range[] = {100, 0};
	static const struct {
		const char *label;
		uint32_t type;
		const void *body;
		size_t size;
		const char *words;
	} table[] = {
		{"a build id of ten bytes", JP_PERF_RECORD_HEADER_BUILD_ID, "12", 2,
		 "expected a build id"},
		{"a feature without a number", JP_PERF_RECORD_HEADER_FEATURE, "", 0,
		 "expected a feature's number"},
		{"compressed data of more than its record", JP_PERF_RECORD_COMPRESSED2,
		 out_of_range, sizeof(out_of_range),
		 "expected compressed data that fits into its record"},
		{"compressed data without its size", JP_PERF_RECORD_COMPRESSED2, "1234", 4,
		 "expected compressed data that fits into its record"},
		{"compressed data that is none", JP_PERF_RECORD_COMPRESSED, "none of zstd's", 14,
		 "compressed record of type 81: "},
		{"a payload beyond the data", JP_PERF_RECORD_AUXTRACE, out_of_range,
		 sizeof(out_of_range), "expected 100 bytes after this record, found 24"},
	};
	/* A feature follows, so the data section cannot have been cut. */
	static const struct perf_file_feature feature = {3, "host", 4};
	struct jp_error err = {""};
	struct names_seen counts;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		begin_file();
		perf_file_record(&file, table[i].type, 0, table[i].body, table[i].size);
		put_name(&file);
		perf_file_end_data(&file);
		perf_file_add_features(&file, &feature, 1);
		check(jp_perfdata_read(perf_file_store(&file, "perf.data"), count_name, &counts,
				       NULL, &err) < 0 &&
			      strstr(err.text, "perf.data: offset 240: ") &&
			      strstr(err.text, table[i].words),
		      "%s: %s", table[i].label, err.text);
	}
}

TEST(failing_stream)
{
	const struct jp_perf_pipe_header head = {JP_PERF_MAGIC, sizeof(head)};
	const uint64_t body[5] = {1000};
	jp_cleanup_close int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	struct jp_perfdata_summary summary;
	struct jp_error err = {""};
	struct names_seen counts;
	int ends[2];

	file.size = 0;
	perf_file_put(&file, &head, sizeof(head));
	perf_file_record(&file, JP_PERF_RECORD_AUXTRACE, 0, body, sizeof(body));
	/* Closing a socket with unread data resets the connection. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) ||
	    send(ends[1], file.bytes, file.size, 0) != (ssize_t)file.size ||
	    send(ends[0], "unread", 6, 0) != 6 || dup2(ends[0], STDIN_FILENO) < 0)
		exit(99);
	close(ends[0]);
	close(ends[1]);
	check(jp_perfdata_read("-", count_name, &counts, &summary, &err) == -EIO &&
		      !summary.cut_short && strstr(err.text, strerror(ECONNRESET)),
	      "a read error in a payload is reported: %s", err.text);
	dup2(saved, STDIN_FILENO);
}

static void ignore_signal(int number)
{
	(void)number;
}

static bool is_sleeping(pid_t pid)
{
	char path[32], text[256] = "";
	const char *behind;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	behind = jp_file_read_text(path, text, sizeof(text)) < 0 ? NULL : strrchr(text, ')');
	return behind && behind[2] == 'S';
}

/* Writes half of the data, signals the reader while it waits, and writes the other half. */
static void write_stream(int to)
{
	const pid_t reader = getppid();
	size_t half = file.size / 2 + 3;

	if (jp_file_write(to, file.bytes, half))
		_exit(1);
	while (!is_sleeping(reader))
		sched_yield();
	kill(reader, SIGUSR1);
	_exit(jp_file_write(to, file.bytes + half, file.size - half) != 0);
}

/* Streams are read in pieces: records may span two, and signals may interrupt. */
TEST(long_stream)
{
	const struct jp_perf_pipe_header head = {JP_PERF_MAGIC, sizeof(head)};
	const struct jp_perf_attr attr = {.type = 1, .size = 120, .flags = JP_PERF_ATTR_COMM};
	const struct sigaction action = {.sa_handler = ignore_signal};
	jp_cleanup_close int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	struct jp_error err = {""};
	struct names_seen counts = {0};
	int ends[2], names = 0, status = -1, ret;
	pid_t writer;

	file.size = 0;
	perf_file_put(&file, &head, sizeof(head));
	perf_file_record(&file, JP_PERF_RECORD_HEADER_ATTR, 0, &attr, 120);
	for (; file.size < PERF_FILE_MOST - 64; names++)
		put_name(&file);
	sigaction(SIGUSR1, &action, NULL);
	fflush(stdout);
	if (pipe2(ends, O_CLOEXEC) || (writer = fork()) < 0)
		exit(99);
	if (!writer) {
		close(ends[0]);
		write_stream(ends[1]);
	}
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	ret = jp_perfdata_read("-", count_name, &counts, NULL, &err);
	dup2(saved, STDIN_FILENO);
	waitpid(writer, &status, 0);
	check(!ret && !status && counts.nr_names == names && !counts.nr_wrong,
	      "of a stream of %zu bytes %d of %d names are read, %d wrong %s", file.size,
	      counts.nr_names, names, counts.nr_wrong, err.text);
}

TEST(split_records)
{
	struct jp_perfdata_summary summary;
	int nr_good = 0, nr_tried = 0;

	inner.size = 0;
	for (int i = 0; i < 3; i++)
		put_name(&inner);
	perf_file_record(&inner, JP_PERF_RECORD_FINISHED_ROUND, 0, NULL, 0);
	for (size_t first_size = 0; first_size <= inner.size; first_size++, nr_tried++) {
		struct jp_error err = {""};
		struct names_seen counts;

		begin_file();
		perf_file_add_compressed(&file, inner.bytes, first_size);
		perf_file_add_compressed(&file, inner.bytes + first_size, inner.size - first_size);
		perf_file_end_data(&file);
		nr_good += !read_all(&counts, &summary, &err) && counts.nr_names == 3 &&
			   !counts.nr_wrong && summary.records == 6 && summary.own_records == 3;
	}
	if (PERF_FILE_ZSTD)
		check(nr_good == nr_tried, "compressed data splits at %d of %d places", nr_good,
		      nr_tried);
	else
		check(true, "compressed records can be split # SKIP built without libzstd");
}

/* A zstd frame may give nothing before its block is complete, and perf may leave its end out. */
TEST(split_blocks)
{
	/* The head of a frame, and of a raw block of 128 KiB. */
	static const unsigned char head[] = {0x28, 0xb5, 0x2f, 0xfd, 0, 0x38, 0, 0, 0x10};
	const struct {
		size_t size; /* of the data in the last record */
		int ret;
	} table[] = {
		{24, 0}, {30, -EINVAL}, {UINT16_MAX - sizeof(struct jp_perf_record), -ENODATA}};

	for (size_t i = 0; PERF_FILE_ZSTD && i < sizeof(table) / sizeof(*table); i++) {
		struct jp_perfdata_summary summary;
		struct jp_error err = {""};
		struct names_seen counts;
		int ret;

		begin_file();
		perf_file_record(&file, JP_PERF_RECORD_COMPRESSED, 0, head, sizeof(head));
		inner.size = 0;
		while (inner.size < table[i].size)
			put_name(&inner);
		perf_file_record(&file, JP_PERF_RECORD_COMPRESSED, 0, inner.bytes, table[i].size);
		perf_file_end_data(&file);
		ret = read_all(&counts, &summary, &err);
		check(ret == table[i].ret && summary.empty_chunk == PERF_FILE_DATA &&
			      (size_t)counts.nr_names == table[i].size / 24 && !counts.nr_wrong,
		      "%zu bytes after an empty record: %d, %d names, %s", table[i].size, ret,
		      counts.nr_names, err.text);
	}
	if (!PERF_FILE_ZSTD)
		check(true, "blocks can be split # SKIP built without libzstd");
}

/* A feature must have room for the length of its text. */
TEST(short_feature)
{
	for (size_t size = 3; size < 5; size++) {
		const struct perf_file_feature feature = {JP_PERF_FEATURE_ARCH, "\0\0\0\0", size};
		struct jp_perfdata_summary summary;
		struct jp_error err = {""};
		struct names_seen counts;
		int ret;

		begin_file();
		put_name(&file);
		perf_file_end_data(&file);
		perf_file_add_features(&file, &feature, 1);
		ret = read_all(&counts, &summary, &err);
		check(size < 4 ? ret < 0 && strstr(err.text, "expected at least 4 bytes")
			       : !ret && counts.nr_names == 1 && !*summary.arch,
		      "a feature of %zu bytes is judged right %s", size, err.text);
	}
}
