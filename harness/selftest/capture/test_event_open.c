// SPDX-License-Identifier: GPL-2.0-only
/* Tests opening the events of a thread on all CPUs: if one fails, none stays open or in the
 * file. */

#include "harness/capture/event_open.h"
#include "harness/capture/recorder.h"
#include "harness/capture/session.h"
#include "harness/format/perfdata/read.h"
#include "harness/format/perfdata/write.h"
#include "harness/selftest/support/made_events.h"
#include "harness/selftest/support/scratch.h"

enum { CPUS = 2, NO_CPU = 1 << 20, RING = 1 << 14 };

static bool open_ring(struct jp_ring *ring)
{
	struct perf_event_attr attr;

	jp_attr_ring(&attr);
	ring->fd = jp_perf_open(&attr, 0, ring->cpu);
	return ring->fd >= 0 && !jp_perf_ring_map(&ring->records, ring->fd, RING);
}

TEST(event_open)
{
	struct jp_perf_attr attr = {0};
	const struct jp_perfdata_event event[JP_STREAMS] = {{&attr, "one"}, {&attr, "dummy"}};
	/* With one CPU, the sideband ring is rings[1]; with two CPUs, the sideband rings are
	 * rings[2] and rings[3], the last for a CPU that does not exist. */
	struct jp_ring rings[JP_STREAMS * CPUS] = {[1] = {.stream = JP_SIDEBAND},
						   [2] = {.stream = JP_SIDEBAND},
						   [3] = {.stream = JP_SIDEBAND, .cpu = NO_CPU}};
	struct jp_recorder recorder = {.rings = rings};
	struct jp_session session = {.recorder = &recorder, .nr_cpus = CPUS};
	const struct jp_opened_events *opened = &recorder.opened;
	struct jp_perfdata_summary summary;
	struct jp_error err = {""};
	const char *path = scratch_make("perf.data");

	pthread_mutex_init(&session.lock, NULL);
	jp_attr_sideband(&recorder.attr[JP_SIDEBAND], &session.options, &recorder.abilities);
	memcpy(&attr, &recorder.attr[JP_SIDEBAND], sizeof(attr));
	recorder.writer = jp_perfdata_create(path, event, JP_STREAMS, &err);
	if (!check(recorder.writer, "the file is created %s", err.text))
		return;
	if (!open_ring(&rings[1]) || !open_ring(&rings[2])) {
		jp_perfdata_remove(recorder.writer);
		check(true, "events are opened # SKIP no events are permitted here");
		return;
	}
	check(jp_open_watched(&session, false, gettid(), &err) && !opened->count &&
		      !opened->some_id[JP_SIDEBAND],
	      "if the second CPU's event fails, nothing stays open: %s", err.text);
	session.nr_cpus = 1;
	check(!jp_open_watched(&session, false, gettid(), &err) && opened->count == 1 &&
		      opened->some_id[JP_SIDEBAND] == opened->list[0].id,
	      "the event of one CPU is opened");
	check(!jp_open_event(&session, &recorder.attr[JP_SIDEBAND], JP_SIDEBAND, gettid(), 0,
			     &err) &&
		      opened->count == 2 && opened->some_id[JP_SIDEBAND] == opened->list[1].id,
	      "a second event is opened");
	jp_open_close(&session, 0);
	check(!jp_perfdata_close(recorder.writer, 0, 0, &err) &&
		      !jp_perfdata_read(path, ignore_event, NULL, &summary, &err) &&
		      summary.last_ids == 2,
	      "the file lists the ids of exactly the opened events");
	jp_map_free(&recorder.received.ids);
	free(recorder.opened.list);
}
