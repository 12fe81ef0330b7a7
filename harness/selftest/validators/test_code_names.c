// SPDX-License-Identifier: GPL-2.0-only
/* Names of code, and records that cover it, on evidence that no recorded run has. */
#include "harness/selftest/support/growth.h"
#include "harness/selftest/support/judged.h"
#include "harness/selftest/support/made_events.h"
#include "validators/code_names.h"
#include "validators/frame_names.h"
#include "validators/images.h"

enum { PID = 9 };
#define CODE(at, called, ...)                                                                      \
	{                                                                                          \
		.pid = PID, .addr = at, .size = 16, .name = called, __VA_ARGS__                    \
	}

/* In stacks of names, a function of a file counts like any other function that no JIT emitted. */
TEST(frames)
{
	struct jp_truth_code codes[] = {CODE(0x1000, "emitted"),
					CODE(0x2000, "native", .in_file = true)};
	struct jp_truth truth = {.codes = codes, .nr_codes = 2};
	struct jp_frame_names names = {0};

	if (jp_frame_names_init(&names, &truth))
		exit(99);
	check(jp_frame_get_name_number(&names, "emitted") >= JP_FRAME_FIRST,
	      "an emitted name is known");
	check(jp_frame_get_name_number(&names, "native") == JP_FRAME_NATIVE &&
		      jp_frame_get_name_number(&names, "unheard") == JP_FRAME_NATIVE,
	      "names of a file's function and unknown names count as native");
	check(jp_frame_get_name_number(&names, NULL) == JP_FRAME_UNNAMED,
	      "a missing name is unnamed");
	jp_frame_names_free(&names);
}

/* Code older than the capture whose memory is writable, not executable, when the sampling begins.
 */
TEST(load_under_mprotect)
{
	struct jp_event acts[] = {
		MADE_ACT(MAP, PID, PID, 10, 11,
			 .map = {.addr = 0x1000, .len = 0x1000, .prot = 5, .name = "//anon"}),
		MADE_ACT(PROTECT, PID, PID, 50, 51,
			 .map = {.addr = 0x1000, .len = 0x1000, .prot = 3}),
		MADE_ACT(PROTECT, PID, PID, 200, 201,
			 .map = {.addr = 0x1000, .len = 0x1000, .prot = 5}),
	};
	struct jp_truth_code code = CODE(0x1000, "f", .ready = 20, .ending = UINT64_MAX);
	struct jp_truth_incarnation image = {.pid = PID, .until = UINT64_MAX, .is_first = true};
	struct jp_truth truth = TRUTH_OF_ACTS(acts, 3, image);
	struct jp_evidence evidence = {.truth = &truth, .info = {.stopped = 1000}};
	struct jp_spans spans = {0};
	const struct jp_view view = {.evidence = &evidence, .truth = &spans};
	const struct jp_code_loads no_loads = {0};

	truth.codes = &code;
	truth.nr_codes = 1;
	if (jp_spans_collect_from_truth(&truth, &spans))
		exit(99);
	for (uint64_t sampling = 30; sampling <= 100; sampling += 70) {
		struct jp_incarnations incarnations;

		evidence.info.sampling = sampling;
		check(!jp_incarnations_collect(&view, &no_loads, &incarnations) &&
			      incarnations.incarnations[0].begin == (sampling == 30 ? 30 : 201),
		      "code is judged from the first time at which it can run in the capture");
		jp_incarnations_free(&incarnations);
	}
	jp_spans_free(&spans);
}

/* Measures @count records that each cover one function. */
static void measure_covering(size_t count)
{
	enum { SIZE = 16 };
	struct jp_truth_code *codes = allocate(count, sizeof(*codes));
	struct jp_incarnation *incarnations = allocate(count, sizeof(*incarnations));
	struct jp_truth truth = {.version = 3};
	const struct jp_evidence evidence = {.truth = &truth};
	struct jp_incarnations lives = {.evidence = &evidence,
					.incarnations = incarnations,
					.count = count,
					.largest = SIZE};
	size_t nr_covered = 0;

	for (size_t i = 0; i < count; i++) {
		codes[i] = (struct jp_truth_code)CODE(i * SIZE, "f");
		incarnations[i] =
			(struct jp_incarnation){.code = &codes[i], .begin = 1, .end = UINT64_MAX};
	}
	start_cost();
	for (size_t i = 0; i < count; i++) {
		const struct jp_event map =
			MADE_EVENT(MAP, PID, 100 + i, .map = {.addr = i * SIZE, .len = SIZE});

		jp_incarnations_mark_covered(&lives, &map, "//anon");
	}
	end_cost();
	for (size_t i = 0; i < count; i++)
		nr_covered += incarnations[i].hider.time == 100 + i;
	check(nr_covered == count, "each function is covered by its own record");
	free(incarnations);
	free(codes);
}

#define LOADED(at, called, ...)                                                                    \
	CODE(at, called, .loaded = 10, .ready = 11, .unloaded = UINT64_MAX, .ending = UINT64_MAX,  \
	     __VA_ARGS__)

/* Judges a sample with the callchain @chain and @names, in a process with two functions. */
static struct jp_metric judge_callers(struct jp_truth_code codes[2], uint64_t covered_range[2],
				      const uint64_t chain[3], const char *names[2],
				      const char *metric)
{
	struct jp_truth truth = {
		.version = 3, .codes = codes, .nr_codes = 2, .code_reach = covered_range};
	const struct jp_evidence evidence = {.truth = &truth,
					     .declared = {.observed = true},
					     .info = {.sampling = 1, .stopped = 9999}};
	const struct jp_observed observed = {.names = names, .nr_names = 2};
	const struct jp_event event =
		MADE_EVENT(SAMPLE, PID, 100, .observed = &observed,
			   .sample = {.ip = chain[1], .user = true, .chain = chain, .nr_chain = 3});

	return judge("observed_names", &evidence, &event, 1, metric);
}

/* A caller's address at a function's first byte means that a signal interrupted it there: it must
 * have the name of that function or of the function before. */
TEST(interrupted_at_begin)
{
	struct jp_truth_code codes[] = {LOADED(0x1ff0, "before", .in_file = false),
					LOADED(0x2000, "f", .in_file = false)};
	static const uint64_t chain[] = {JP_CONTEXT_USER, 0x2008, 0x2000};
	uint64_t covered_range[] = {0x2000, 0x2010};

	for (int i = 0; i < 3; i++) {
		const char *names[] = {"f", i == 0 ? "f" : i == 1 ? "before" : "g"};

		check(judge_callers(codes, covered_range, chain, names, "callers.right").k ==
			      (i < 2),
		      "a caller at the first byte of f, which follows another function, is called "
		      "%s",
		      names[1]);
	}
}

/* Measures the time to find the last image of each of @count processes that have two images. */
static void find_images(size_t count)
{
	struct jp_truth_incarnation *incarnations = allocate(2 * count, sizeof(*incarnations));
	const struct jp_truth truth = {.incarnations = incarnations, .nr_incarnations = 2 * count};
	size_t nr_right = 0;

	for (size_t i = 0; i < 2 * count; i++)
		incarnations[i] =
			(struct jp_truth_incarnation){.pid = (uint32_t)(i / 2 + 1), .before = i};
	start_cost();
	for (size_t i = 0; i < count; i++)
		nr_right += jp_find_last_exec(&truth, (uint32_t)(i + 1)) == 2 * i + 1;
	end_cost();
	check(nr_right == count && !jp_find_last_exec(&truth, 0) &&
		      !jp_find_last_exec(&truth, (uint32_t)(count + 1)),
	      "the last image of each process is found, and none of other pids");
	free(incarnations);
}

TEST(code_names)
{
	check_growth("images", find_images);
	check_growth("records that cover", measure_covering);
}
