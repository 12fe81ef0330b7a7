// SPDX-License-Identifier: GPL-2.0-only
/* Activations whose threads stayed on their CPU: how many samples they have, and where. */
#include "harness/selftest/check.h"
#include "harness/selftest/judged.h"
#include "harness/selftest/made_events.h"

enum {
	PID = 9,
	SLACK = 10,
	PERIOD = 200000,
	LENGTH = PERIOD * 9 / 2,
	BREAK = PERIOD,
	MANY = 60,
	SHORT = PERIOD / 2,
	MOST = 2000
};

static struct jp_truth_incarnation image = {.pid = PID, .until = UINT64_MAX, .first = true};
static const struct jp_event_asked on_cpus = {.cpus = true, .kernel = true};
static const struct jp_event_asked user_only = {.cpus = true};
static const struct jp_event_asked *asked = &on_cpus;

static struct jp_truth truth_of(struct jp_truth_activation *activations, size_t count)
{
	return (struct jp_truth){.version = 3,
				 .incarnations = &image,
				 .nr_incarnations = 1,
				 .activations = activations,
				 .nr_activations = count};
}

/* Activation @i of four and a half periods, of which its thread was off its CPU for so many ns. */
static struct jp_truth_activation activation(uint32_t tid, uint64_t i, uint64_t off)
{
	const uint64_t enter = (1 + i) * (LENGTH + BREAK);

	return (struct jp_truth_activation){.pid = PID,
					    .tid = tid,
					    .enter = enter,
					    .inside = enter,
					    .leave = enter + LENGTH,
					    .cpu = LENGTH - off};
}

static struct jp_event sample(uint32_t tid, uint64_t time, uint32_t cpu)
{
	struct jp_event event = MADE_EVENT(SAMPLE, PID, time, .asked = asked, .cpu = cpu,
					   .sample = {.ip = 0x1800, .period = PERIOD});

	event.tid = tid;
	return event;
}

/* Four samples or five in each activation, but @other in the first @odd of them; behind them so
 * many activations of half a period, with a sample in every other one. */
static uint64_t judge_beside(uint64_t off, uint64_t odd, uint32_t other, uint64_t stolen,
			     uint64_t shorter)
{
	static struct jp_truth_activation activations[MANY + MOST];
	static struct jp_event events[6 * MANY + MOST];
	struct jp_truth truth = truth_of(activations, MANY + shorter);
	const struct jp_evidence evidence = {
		.truth = &truth,
		.info = {.slack = SLACK, .enabled = 1, .sampling = 1, .stopped = UINT32_MAX},
		.watched = {.started = 1, .ended = UINT32_MAX, .cpus = 1, .stolen = stolen}};
	size_t count = 0;

	for (uint64_t i = 0; i < MANY; i++) {
		const uint32_t n = i < odd ? other : 4 + i % 2;

		activations[i] = activation(PID, i, off);
		for (uint32_t j = 0; j < n; j++)
			events[count++] = sample(
				PID, activations[i].leave - PERIOD / 3 * (2 * (n - j) - 1), 0);
	}
	for (uint64_t i = MANY; i < MANY + shorter; i++) {
		activations[i] = activation(PID, i, 0);
		activations[i].cpu = SHORT;
		activations[i].leave = activations[i].enter + SHORT;
		if (i % 2)
			events[count++] = sample(PID, activations[i].enter + SHORT / 2, 0);
	}
	return judge("cpu_time", &evidence, events, count,
		     other < 4 ? "cpu.lacking" : "cpu.surplus")
		.k;
}

static uint64_t judge_count(uint64_t off, uint64_t odd, uint32_t other, uint64_t stolen)
{
	return judge_beside(off, odd, other, stolen, 0);
}

/* The sum of all is as it may be by chance. */
static void counts(void)
{
	check(judge_count(0, 0, 0, 0) == 0 && !exceptions, "four or five");
	check(judge_count(0, 6, 3, 0) == 6 && !exceptions, "six lack one");
	check(judge_count(0, 7, 3, 0) == 7 && exceptions == 1, "seven lack one");
	check(judge_count(1000, 7, 3, 0) == 0 && !exceptions, "who was off may lack one");
	check(judge_count(0, 7, 3, PERIOD) == 7 && !exceptions && !*judged_error,
	      "a host took as much");
	check(judge_count(0, 6, 6, 0) == 6 && !exceptions, "six have one more");
	check(judge_count(0, 7, 6, 0) == 7 && exceptions == 1, "seven have one more");
	check(judge_count(0, 7, 6, PERIOD) == 7 && !exceptions, "a host made them late");
	check(judge_count(0, MANY, 1, 0) == MANY && exception_counts == 1,
	      "all lack: one fault, told once");
	check(judge_beside(0, 20, 3, 0, MOST) == 20 && !exceptions, "20 of many shorter ones lack");
	check(judge_beside(0, 29, 3, 0, MOST) == 29 && exceptions == 1, "29 of them");
	asked = &user_only;
	check(judge_count(0, 7, 3, 0) == 7 && !exceptions, "a timer in the kernel gives none");
	asked = &on_cpus;
}

/* Three samples in the first @odd activations, the last of them @rest ns before their end; @taken:
 * by a host. */
static bool judge_ends(uint64_t odd, uint64_t rest, uint64_t taken)
{
	struct jp_truth_activation activations[MANY];
	struct jp_event events[5 * MANY];
	struct jp_truth truth = truth_of(activations, MANY);
	const struct jp_evidence evidence = {
		.truth = &truth,
		.info = {.slack = SLACK, .enabled = 1, .sampling = 1, .stopped = UINT32_MAX},
		.watched = {.started = 1, .ended = UINT32_MAX, .cpus = 1, .stolen = taken}};
	size_t count = 0;

	for (uint64_t i = 0; i < MANY; i++) {
		const uint64_t n = i < odd ? 3 : 4 + i % 2, last = i < odd ? rest : PERIOD / 4;

		activations[i] = activation(PID, i, 0);
		for (uint64_t j = n; j-- > 0;)
			events[count++] =
				sample(PID, activations[i].leave - last - j * PERIOD * 9 / 10, 0);
	}
	check(judge("cpu_time", &evidence, events, count, "cpu.overdue").k ==
		      (rest > PERIOD * 3 / 2 ? odd : 0),
	      "%d end when a sample is overdue", (int)odd);
	return exceptions;
}

/* A host takes more time than there is. */
static void ends(void)
{
	check(!judge_ends(1, PERIOD * 8 / 5, UINT32_MAX), "one may");
	check(judge_ends(2, PERIOD * 8 / 5, UINT32_MAX), "two may not, whatever a host took");
	check(!judge_ends(9, PERIOD * 7 / 5, UINT32_MAX), "nine are less late");
	asked = &user_only;
	check(!judge_ends(9, PERIOD * 8 / 5, UINT32_MAX), "a timer in the kernel gives no sample");
	asked = &on_cpus;
}

/* Ten samples in each activation, whole periods apart from the first to the last. */
enum { TEN = 10, ACTIVATIONS = 24, SHORT_BREAK = PERIOD / 64, LONG_BREAK = PERIOD / 8 };

struct skips {
	const char *what;
	uint64_t gone, at; /* in so many activations that sample is */
	uint64_t late;     /* ns, the one behind it */
	uint64_t off, between;
	uint64_t shorter; /* ns, the last activation */
	uint64_t counted; /* ns, by the events */
	uint64_t skipped;
	bool bad;
};

static void judge_skips(const struct skips *row)
{
	struct jp_truth_activation activations[ACTIVATIONS];
	struct jp_event events[TEN * ACTIVATIONS];
	struct jp_truth truth = truth_of(activations, ACTIVATIONS);
	const struct jp_evidence evidence = {.truth = &truth,
					     .info = {.slack = SLACK,
						      .enabled = 1,
						      .sampling = 1,
						      .stopped = UINT32_MAX,
						      .counted = row->counted},
					     .watched = {.started = 1, .ended = UINT32_MAX}};
	size_t count = 0;

	for (uint64_t i = 0; i < ACTIVATIONS; i++) {
		const uint64_t enter = (1 + i) * TEN * PERIOD;
		const uint64_t leave = enter + TEN * PERIOD - row->between -
				       (i == ACTIVATIONS - 1 ? row->shorter : 0);

		activations[i] = (struct jp_truth_activation){.pid = PID,
							      .tid = PID,
							      .enter = enter,
							      .inside = enter,
							      .leave = leave,
							      .cpu = leave - enter - row->off};
		for (uint64_t j = 0; j < TEN; j++)
			if (i >= row->gone || j != row->at)
				events[count++] = sample(
					PID,
					enter + PERIOD / 4 + j * PERIOD +
						(i < row->gone && j == row->at + 1 ? row->late : 0),
					0);
	}
	check(judge("cpu_time", &evidence, events, count, "cpu.skipped").k == row->skipped &&
		      exceptions == row->bad,
	      "%s: %s", row->what, row->bad ? "cannot be" : "may be");
}

/* Each activation has as many samples as its whole periods, or one more, all the time. */
static void skips(void)
{
	static const struct skips rows[] = {
		{"all are there", 0, 0, 0, 0, SHORT_BREAK, 0, 0, 0, false},
		{"two are gone", 2, 5, 0, 0, SHORT_BREAK, 0, 0, 2, false},
		{"three", 3, 5, 0, 0, SHORT_BREAK, 0, 0, 3, true},
		{"three, the next nearly late", 3, 5, PERIOD / 32, 0, SHORT_BREAK, 0, 0, 3, true},
		{"three stalls", 3, 5, PERIOD / 31, 0, SHORT_BREAK, 0, 0, 0, false},
		{"six where a CPU may have stood still", 6, 5, 0, 0, SHORT_BREAK, PERIOD * 67 / 100,
		 0, 6, false},
		{"seven, more than the handler in a tick", 7, 5, 0, 0, SHORT_BREAK,
		 PERIOD * 67 / 100, 0, 7, true},
		{"three, and activations are like long", 3, 5, 0, 0, SHORT_BREAK, PERIOD * 66 / 100,
		 0, 3, true},
		{"its thread was off", 8, 5, 0, 1000, SHORT_BREAK, 0, 0, 0, false},
		{"the first is gone", 4, 0, 0, 0, SHORT_BREAK, 0, 0, 3, true},
		{"who may have moved before", 8, 0, 0, 0, LONG_BREAK, 0, 0, 0, false},
		{"5 % more is counted", 0, 0, 0, 0, SHORT_BREAK, 0, 58850000, 0, true},
		{"of threads that were off", 0, 0, 0, 1000, SHORT_BREAK, 0, 58850000, 0, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		judge_skips(&rows[i]);
	asked = &user_only;
	judge_skips(
		&(struct skips){"a timer in the kernel", 8, 5, 0, 0, SHORT_BREAK, 0, 0, 8, false});
	asked = &on_cpus;
}

/* Activations of which every other one takes a period and a third less than the one behind it. The
 * first sample of some is gone, of so many behind a longer one, and of as many behind a shorter
 * one: a CPU may have stood still in the one before alone, whose last sample the gap begins with.
 */
static void judge_turns(uint64_t behind_longer, uint64_t behind_shorter, bool bad)
{
	struct jp_truth_activation activations[ACTIVATIONS];
	struct jp_event events[TEN * ACTIVATIONS];
	struct jp_truth truth = truth_of(activations, ACTIVATIONS);
	const struct jp_evidence evidence = {
		.truth = &truth,
		.info = {.slack = SLACK, .enabled = 1, .sampling = 1, .stopped = UINT32_MAX},
		.watched = {.started = 1, .ended = UINT32_MAX}};
	const uint64_t move = PERIOD * 2 / 3, gone = behind_longer + behind_shorter;
	size_t count = 0;

	for (uint64_t i = 0; i < ACTIVATIONS; i++) {
		const uint64_t begin = (1 + i) * TEN * PERIOD, end = begin + TEN * PERIOD;
		const uint64_t enter = begin - (i % 2 ? move : 0);
		const uint64_t leave = end - SHORT_BREAK - (i % 2 ? 0 : move);

		activations[i] = (struct jp_truth_activation){.pid = PID,
							      .tid = PID,
							      .enter = enter,
							      .inside = enter,
							      .leave = leave,
							      .cpu = leave - enter};
		for (uint64_t j = 0; j < TEN; j++)
			if (j || !i || (i - 1) / 2 >= (i % 2 ? behind_shorter : behind_longer))
				events[count++] = sample(PID, begin + PERIOD / 4 + j * PERIOD, 0);
	}
	check(judge("cpu_time", &evidence, events, count, "cpu.skipped").k == gone &&
		      exceptions == bad,
	      "%d behind longer ones, %d behind shorter ones: %s", (int)behind_longer,
	      (int)behind_shorter, bad ? "cannot be" : "may be");
}

static void turns(void)
{
	judge_turns(3, 0, false);
	judge_turns(0, 3, true);
	judge_turns(1, 2, false);
	judge_turns(1, 3, true);
}

/* Where the second of two samples is, beside the first, which is on CPU 0 in the middle of an
 * activation. */
static void places(void)
{
	static const struct {
		uint64_t off;
		uint32_t tid, cpu;
		int64_t later;
		bool bad;
	} rows[] = {
		{0, PID, 0, 1000, false},
		{0, PID, 1, 1000, true},
		{1000, PID, 1, 1000, false}, /* moved meanwhile */
		{0, PID + 1, 1, 1000, false},
		{0, PID + 1, 0, 1000, true},
		{0, PID + 1, 0, -1000, true},
		{1000, PID + 1, 0, 1000, false}, /* took turns */
		{0, PID + 1, 0, LENGTH / 2 - SLACK - 1, true},
		{0, PID + 1, 0, LENGTH / 2 - SLACK, false}, /* it may be behind its end */
		{0, PID + 1, 0, -LENGTH / 2 + SLACK + 1, true},
		{0, PID + 1, 0, -LENGTH / 2 + SLACK, false},
		{0, PID, 1, LENGTH, false}, /* in no activation */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct jp_truth_activation one = activation(PID, 0, rows[i].off);
		struct jp_truth truth = truth_of(&one, 1);
		const struct jp_evidence evidence = {.truth = &truth, .info = {.slack = SLACK}};
		const uint64_t middle = one.enter + LENGTH / 2;
		const struct jp_event first = sample(PID, middle, 0);
		const struct jp_event second =
			sample(rows[i].tid, middle + (uint64_t)rows[i].later, rows[i].cpu);
		const struct jp_event events[] = {rows[i].later < 0 ? second : first,
						  rows[i].later < 0 ? first : second};

		check(judge("stayed_threads", &evidence, events, 2, "samples.cpu").k ==
				      rows[i].bad &&
			      exceptions == rows[i].bad,
		      "row %zu: %s", i, rows[i].bad ? "cannot be" : "may be");
	}
}

/* The same of what another thread did meanwhile, as a record of an event of ours tells. */
static void records(void)
{
	static const struct {
		const char *what;
		enum jp_event_type type;
		uint64_t id, first_enabled;
		uint32_t cpu;
		bool bad;
	} rows[] = {
		{"on its own CPU", JP_EVENT_EXIT, 7, 1, 1, false},
		{"a fork on the CPU of who stayed", JP_EVENT_FORK, 7, 1, 0, true},
		{"an end", JP_EVENT_EXIT, 7, 1, 0, true},
		{"who reads what was lost", JP_EVENT_LOST_SAMPLES, 7, 1, 0, false},
		{"read in /proc", JP_EVENT_EXIT, 0, 1, 0, false},
		{"before all events are on", JP_EVENT_EXIT, 7, UINT32_MAX, 0, false},
		{"of another profiler", JP_EVENT_EXIT, 7, 0, 0, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct jp_truth_activation one = activation(PID, 0, 0);
		struct jp_truth truth = truth_of(&one, 1);
		const struct jp_evidence evidence = {
			.truth = &truth,
			.info = {.slack = SLACK, .first_enabled = rows[i].first_enabled},
			.intervals = {.gate = ""}};
		const uint64_t middle = one.enter + LENGTH / 2;
		struct jp_event events[] = {sample(PID, middle, 0),
					    MADE_EVENT(EXIT, PID, middle + 1000, .asked = asked,
						       .cpu = rows[i].cpu, .id = rows[i].id)};

		events[1].type = rows[i].type;
		events[1].by_tid = PID + 1;
		check(judge("stayed_threads", &evidence, events, 2, "samples.cpu").k ==
				      rows[i].bad &&
			      exceptions == rows[i].bad,
		      "%s: %s", rows[i].what, rows[i].bad ? "cannot be" : "may be");
	}
}

int main(void)
{
	records();
	counts();
	ends();
	skips();
	turns();
	places();
	return check_done();
}
