// SPDX-License-Identifier: GPL-2.0-only
/* Tests parts of capturing that need no perf event: which event reports a thread, options, and
 * writing a perf.data that our reader reads back. */
#include <sys/resource.h>
#include <signal.h>

#include "harness/capture/event_owners.h"
#include "harness/capture/options.h"
#include "harness/format/perfdata/encode.h"
#include "harness/format/perfdata/read.h"
#include "harness/format/perfdata/write.h"
#include "harness/selftest/support/made_events.h"
#include "harness/selftest/support/scratch.h"

TEST(event_owners)
{
	struct jp_map owners = {0};

	check(!jp_event_owner_is_duplicate(&owners, 11, 10, 100, true),
	      "an inherited record is kept");
	check(jp_event_owner_is_duplicate(&owners, 11, 9, 101, true),
	      "the same from another ancestor's event is a duplicate");
	check(!jp_event_owner_is_duplicate(&owners, 11, 10, 102, true),
	      "the first ancestor's event keeps reporting the thread");
	jp_event_owner_add_direct(&owners, 11, 200);
	check(!jp_event_owner_is_duplicate(&owners, 11, 10, 199, true),
	      "it does so until the thread's own event starts");
	check(jp_event_owner_is_duplicate(&owners, 11, 9, 199, true),
	      "another ancestor's is a duplicate until then too");
	check(!jp_event_owner_is_duplicate(&owners, 11, 11, 200, true),
	      "from then on the thread's own event reports it");
	check(jp_event_owner_is_duplicate(&owners, 11, 10, 200, true),
	      "the ancestor's is a duplicate from then on");
	jp_event_owner_exit(&owners, 11, 300);
	check(jp_event_owner_is_duplicate(&owners, 11, 10, 300, true),
	      "it stays a duplicate up to the thread's exit");
	check(jp_event_owner_has_ended(&owners, 11, 10, 150) &&
		      !jp_event_owner_has_ended(&owners, 11, 11, 150),
	      "an exit recorded again by another event is recognized");
	check(!jp_event_owner_has_ended(&owners, 11, 10, 301) &&
		      !jp_event_owner_has_ended(&owners, 12, 10, 0),
	      "records of a later thread or of an unknown one are not");
	check(!jp_event_owner_is_duplicate(&owners, 11, 10, 301, true),
	      "a new thread with the same tid starts anew");
	jp_map_free(&owners);

	jp_event_owner_add_direct(&owners, 21, UINT64_MAX);
	check(!jp_event_owner_is_duplicate(&owners, 21, 20, 100, false) &&
		      !jp_event_owner_is_duplicate(&owners, 21, 21, 100, false),
	      "sideband: nothing is a duplicate while events are being enabled");
	check(!jp_event_owner_is_duplicate(&owners, 22, 21, 110, false) &&
		      !jp_event_owner_is_duplicate(&owners, 22, 20, 110, false),
	      "sideband: nor is a child's record until then");
	jp_event_owner_add_direct(&owners, 21, 150);
	check(!jp_event_owner_is_duplicate(&owners, 22, 20, 149, false) &&
		      jp_event_owner_is_duplicate(&owners, 22, 20, 150, false),
	      "sideband: a child's is a duplicate once all events are enabled");
	jp_map_free(&owners);
}

TEST(capture_options)
{
	static const char *const bad_texts[] = {
		"--synth=some", "--stack=12", "--stack=65536",      "--stack=",         "--freq=0",
		"--freq=-1",    "--freq=1x",  "--ring=99999999999", "--callchain=later"};
	struct jp_capture_options set = jp_capture_defaults();
	struct jp_error err;
	unsigned int refused = 0;

	check(jp_capture_option(&set, "--stack=65528", &err) == 1 && set.stack == 65528 &&
		      jp_capture_option(&set, "--callchain=deferred", &err) == 1 && set.deferred &&
		      jp_capture_option(&set, "--no-chain", &err) == 1 && !set.chain &&
		      jp_capture_option(&set, "--synth=paths", &err) == 1 &&
		      set.synth == JP_SYNTH_PATHS,
	      "options of capturing are accepted");
	check(jp_capture_option(&set, "--stacks=8", &err) == 0 &&
		      jp_capture_option(&set, "--order=snapshot-first", &err) == 0,
	      "options of other commands are ignored");
	for (size_t i = 0; i < sizeof(bad_texts) / sizeof(bad_texts[0]); i++)
		refused += jp_capture_option(&set, bad_texts[i], &err) == -EINVAL &&
			   strncmp(err.text, bad_texts[i], strlen(bad_texts[i])) == 0;
	check(refused == sizeof(bad_texts) / sizeof(bad_texts[0]),
	      "all %u bad values are refused, with the option's name", refused);
}

struct seen_samples {
	unsigned int nr_samples, nr_wrong;
	uint64_t last;
};

static int check_sample(void *context, const struct jp_event *event)
{
	struct seen_samples *counts = context;

	if (event->type != JP_EVENT_SAMPLE)
		return 0;
	counts->nr_samples++;
	counts->nr_wrong += event->attr != (event->id == 7) || event->time < counts->last ||
			    event->sample.ip != event->time * 2 || event->tid != 42;
	counts->last = event->time;
	return 0;
}

static const struct jp_perf_attr attr = {
	.type = 1, /* PERF_TYPE_SOFTWARE */
	.sample_type = JP_PERF_SAMPLE_IDENTIFIER | JP_PERF_SAMPLE_IP | JP_PERF_SAMPLE_TID |
		       JP_PERF_SAMPLE_TIME,
	.flags = JP_PERF_ATTR_SAMPLE_ID_ALL,
};

static struct jp_perfdata_writer *create(const char *path, struct jp_error *err)
{
	const struct jp_perfdata_event events[] = {{&attr, "one"}, {&attr, "two"}};

	return jp_perfdata_create(path, events, 2, err);
}

static void put_sample(struct jp_perfdata_writer *writer, uint64_t id, uint64_t time)
{
	const struct jp_event sample = MADE_EVENT(SAMPLE, 42, time, .misc = JP_PERF_MISC_USER,
						  .id = id, .sample.ip = time * 2);
	struct jp_perf_layout layout;
	uint64_t record[16];

	jp_perf_compute_layout(&attr, 0, &layout);
	jp_perfdata_put(writer, record, jp_perf_encode(&layout, &sample, record, sizeof(record)));
}

TEST(written_file)
{
	enum { PAIRS = 20000, ROUND = 1000 };
	struct rlimit small, limit;
	struct jp_perfdata_summary summary;
	struct jp_perfdata_writer *writer;
	struct seen_samples counts = {0};
	struct jp_error err = {""};
	const char *path = scratch_make("perf.data"), *link = scratch_path("link");

	writer = create(path, &err);
	check(!access(scratch_folder(), W_OK), "a folder for the file is made");
	if (!check(writer, "the file is created %s", err.text))
		return;
	jp_perfdata_assign_id(writer, 0, 6);
	jp_perfdata_assign_id(writer, 1, 7);
	/* In each round, the records of one ring come before those of the other. */
	for (uint64_t created = 1; created <= PAIRS; created += ROUND) {
		for (uint64_t i = created; i < created + ROUND; i++)
			put_sample(writer, 6, 2 * i);
		for (uint64_t i = created; i < created + ROUND; i++)
			put_sample(writer, 7, 2 * i + 1);
		jp_perfdata_round(writer);
	}
	check(!jp_perfdata_close(writer, 2, 2 * PAIRS + 1, &err), "it is closed %s", err.text);
	check(!jp_perfdata_read(path, check_sample, &counts, &summary, &err), "the file is read %s",
	      err.text);
	check(counts.nr_samples == 2 * PAIRS && !counts.nr_wrong && summary.attrs == 2,
	      "%u samples are in order and belong to their events", counts.nr_samples);

	check(!symlink(path, link) && !create(link, &err) &&
		      strstr(err.text, "expected a regular file"),
	      "a symbolic link is refused: %s", err.text);
	check(!create(scratch_folder(), &err), "a folder is refused: %s", err.text);

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	small = (struct rlimit){1 << 20, limit.rlim_max};
	writer = create(path, &err);
	setrlimit(RLIMIT_FSIZE, &small);
	for (uint64_t i = 0; writer && i < 100000; i++)
		put_sample(writer, 6, i);
	check(writer && jp_perfdata_error(writer) == -EFBIG &&
		      jp_perfdata_close(writer, 0, 0, &err) == -EFBIG && strstr(err.text, path),
	      "a failed write is reported on close: %s", err.text);
	setrlimit(RLIMIT_FSIZE, &limit);
}

/* perf considers a data section of size 0 to be from a writer that died. */
TEST(no_records)
{
	enum { DATA_SIZE = 48 };
	const char *path = scratch_path("empty");
	struct jp_perfdata_summary summary;
	struct jp_error err = {""};
	struct jp_perfdata_writer *writer = create(path, &err);
	jp_cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t size = 0;

	check(writer && !jp_perfdata_close(writer, 0, 0, &err),
	      "a file without records is written %s", err.text);
	check(pread(fd, &size, sizeof(size), DATA_SIZE) == sizeof(size) && size,
	      "its data section is not empty");
	check(!jp_perfdata_read(path, check_sample, &(struct seen_samples){0}, &summary, &err),
	      "the file is read %s", err.text);
	writer = create(path, &err);
	if (writer)
		jp_perfdata_remove(writer);
	check(access(path, F_OK), "a removed writer leaves no file");
}
