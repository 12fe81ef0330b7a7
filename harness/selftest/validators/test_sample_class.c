// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests that every sample is in exactly one class: for each combination of facts, exactly one of
 * the class definitions repeated below must hold, and the function under test must return that
 * class.
 */
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_truth.h"
#include "validators/sample_class.h"

static bool is_in_class(enum jp_sample_class class, const struct jp_sample_facts *facts)
{
	bool code = facts->code, is_live = !code && facts->in_window;
	bool is_foreign = is_live && facts->place == JP_IN_OTHERS;
	bool is_watched = is_live && !is_foreign && facts->watched;
	/* A living thread inside a path always has a user part. */
	bool blind = facts->kernel && !facts->user_part;
	bool bare = blind && !(facts->place == JP_INSIDE && !facts->ended);

	switch (class) {
	case JP_SAMPLE_CODE:
		return code;
	case JP_SAMPLE_OUTSIDE:
		return !code && !facts->in_window;
	case JP_SAMPLE_ASTRAY:
		return is_foreign || (is_watched && !bare && facts->place == JP_INSIDE);
	case JP_SAMPLE_EDGE:
		return is_watched && !bare && facts->place == JP_IN_EDGE;
	case JP_SAMPLE_BELOW:
		return is_watched && !bare && facts->place == JP_IN_HANDLER;
	case JP_SAMPLE_KERNEL:
		return is_watched && bare;
	case JP_SAMPLE_NATIVE:
		return is_watched && !bare && facts->place == JP_IN_NONE;
	case JP_SAMPLE_UNWATCHED:
		return is_live && !is_foreign && !facts->watched;
	default:
		return false;
	}
}

TEST(waiting_threads)
{
	const struct jp_event acts[] = {{.type = JP_EVENT_EXEC}, {.type = JP_EVENT_WAIT},
					{.type = JP_EVENT_MAP},  {.type = JP_EVENT_MAP},
					{.type = JP_EVENT_WAIT}, {.type = JP_EVENT_END}};
	struct jp_truth acts_truth = {.acts = (struct jp_event *)acts, .nr_acts = 6};
	const struct jp_evidence evidence = {.truth = &acts_truth};
	struct jp_sample_facts_of facts = {0};

	check(!jp_sample_facts_begin(&facts, &evidence) && facts.nr_waits == 2 &&
		      facts.waits[0] == &acts[1] && facts.waits[1] == &acts[4],
	      "the two waiting handlers are found: %zu", facts.nr_waits);
	jp_sample_facts_end(&facts);
}

static void put_one_activation(void)
{
	const uint32_t function = add_code(0x1000, "f", 10);

	put_activation(100, 1000, jp_truth_path(&function, 1), add_roots());
}

/* Returns the place of a sample of native code at @time, with a stack below the activation's.
 * @wait: a wait of the activation's thread, or NULL. */
static enum jp_sample_where place_near(const struct jp_evidence *evidence, uint64_t time,
				       const struct jp_event *wait)
{
	const struct jp_truth_activation *activation = truth->activations;
	struct jp_sample_facts_of facts = {
		.evidence = evidence, .waits = &wait, .nr_waits = wait != NULL};
	struct jp_event event = {.type = JP_EVENT_SAMPLE, .pid = activation->pid, .time = time};

	event.tid = activation->tid;
	return jp_sample_facts(&facts, &event, true, 0x9000, activation->sp - 600).place;
}

/* A handler states that it waited from 450 to 550. It can run from the last sample of code before
 * to the first one after. */
static void test_samples_near_a_wait(void)
{
	const uint32_t pid = truth->activations[0].pid, tid = truth->activations[0].tid;
	const struct jp_event wait = {.type = JP_EVENT_WAIT,
				      .tid = tid,
				      .before = 150,
				      .after = 550,
				      .wait = {.handled = 450}};
	struct jp_witness_sample samples[4];
	struct jp_evidence evidence = {.truth = truth,
				       .witnessed = {.samples = samples, .count = 4}};

	for (unsigned i = 0; i < 4; i++)
		samples[i] = (struct jp_witness_sample){.time = (uint64_t[]){200, 300, 700, 800}[i],
							.ip = 0x1000,
							.pid = pid,
							.tid = tid,
							.user = true};
	check(place_near(&evidence, 400, &wait) == JP_IN_HANDLER, "before the stated wait");
	check(place_near(&evidence, 500, &wait) == JP_IN_HANDLER, "in the stated wait");
	check(place_near(&evidence, 600, &wait) == JP_IN_HANDLER, "after the stated wait");
	check(place_near(&evidence, 250, &wait) == JP_INSIDE &&
		      place_near(&evidence, 750, &wait) == JP_INSIDE,
	      "beyond the next sample of code");
	evidence.witnessed.count = 0;
	check(place_near(&evidence, 400, &wait) == JP_INSIDE &&
		      place_near(&evidence, 500, &wait) == JP_IN_HANDLER,
	      "without a witness, only in the stated wait");
}

/* The thread is in its code at 300 and at 700, so native code can only run before 300 and after
 * 700. */
static void test_samples_at_borders(void)
{
	const uint32_t pid = truth->activations[0].pid, tid = truth->activations[0].tid;
	struct jp_witness_sample samples[] = {
		{.time = 300, .ip = 0x1000, .pid = pid, .tid = tid, .user = true},
		{.time = 500, .ip = 0x9000, .pid = pid, .tid = tid, .user = true},
		{.time = 700, .ip = 0x1000, .pid = pid, .tid = tid, .user = true},
	};
	struct jp_evidence evidence = {.truth = truth,
				       .witnessed = {.samples = samples, .count = 3}};

	check(place_near(&evidence, 50, NULL) == JP_IN_NONE, "before the activation");
	check(place_near(&evidence, 200, NULL) == JP_IN_EDGE,
	      "before the witness's first sample of code");
	check(place_near(&evidence, 400, NULL) == JP_INSIDE &&
		      place_near(&evidence, 600, NULL) == JP_INSIDE,
	      "between two samples of code");
	check(place_near(&evidence, 800, NULL) == JP_IN_EDGE,
	      "after the witness's last sample of code");
	evidence.witnessed.count = 0;
	check(place_near(&evidence, 200, NULL) == JP_INSIDE, "without a witness");
	strcpy(evidence.witnessed.denied, "EINVAL");
	check(place_near(&evidence, 600, NULL) == JP_IN_EDGE, "with a denied witness");
}

TEST(sample_class)
{
	static const struct truth_test places[] = {
		{16, put_one_activation, test_samples_at_borders},
		{16, put_one_activation, test_samples_near_a_wait},
	};
	unsigned counts[JP_SAMPLE_CLASSES] = {0};
	bool passed = true;

	for (unsigned bits = 0; bits < 1 << 6; bits++) {
		for (enum jp_sample_where where = 0; where <= JP_IN_OTHERS; where++) {
			struct jp_sample_facts facts = {
				.code = bits & 1,
				.in_window = bits & 2,
				.watched = bits & 4,
				.user_part = bits & 8,
				.kernel = bits & 16,
				.ended = bits & 32,
				.place = where,
			};
			enum jp_sample_class class = jp_sample_classify(&facts);
			int nr_matches = 0;

			counts[class]++;
			for (enum jp_sample_class other_class = 0; other_class < JP_SAMPLE_CLASSES;
			     other_class++)
				nr_matches += is_in_class(other_class, &facts);
			if (nr_matches == 1 && is_in_class(class, &facts))
				continue;
			passed = false;
			printf("# facts %x, where %d: %s, while %d classes hold\n", bits, where,
			       jp_sample_class_text(class), nr_matches);
		}
	}
	check(passed, "each combination of facts is in exactly one class");
	passed = true;
	for (enum jp_sample_class class = 0; class < JP_SAMPLE_CLASSES; class ++)
		passed &= counts[class] > 0;
	check(passed, "each class occurs");
	run_truth_tests(places, 2);
}
