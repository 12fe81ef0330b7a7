// SPDX-License-Identifier: GPL-2.0-only
/* Tests the hash table against a plain array, and the pool of texts that uses it. */
#include "harness/base/map.h"

#include "harness/base/text_pool.h"
#include "harness/selftest/support/check.h"

enum { ROUNDS = 300, KEYS = 400, MANY = 2000000 };

/* Make failed allocations return NULL under ASan too. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

struct plain {
	uint64_t key, value;
};

static struct plain *find_in_plain_array(struct plain *plain, size_t count, uint64_t key)
{
	for (size_t i = 0; i < count; i++)
		if (plain[i].key == key)
			return &plain[i];
	return NULL;
}

/* Returns whether lookups in @map and a walk over it give exactly the entries of @plain. */
static bool maps_equal(const struct jp_map *map, struct plain *plain, size_t count)
{
	uint64_t key, *value;
	size_t cursor = 0, nr_seen = 0, sum = 0;

	for (size_t i = 0; i < count; i++) {
		value = jp_map_find(map, plain[i].key);
		if (!value || *value != plain[i].value)
			return false;
		sum += i;
	}
	while ((value = jp_map_next(map, &cursor, &key))) {
		const struct plain *expected = find_in_plain_array(plain, count, key);

		if (!expected || expected->value != *value)
			return false;
		sum -= (size_t)(expected - plain);
		nr_seen++;
	}
	return nr_seen == count && map->count == count && !sum && !jp_map_next(map, &cursor, NULL);
}

/* Draws a key: small, large and shifted keys, and the ends of the range. There are few, so that
 * many repeat. */
static uint64_t draw_key(uint64_t *state)
{
	uint64_t number = check_random(state) % 200;

	switch (check_random(state) % 4) {
	case 0:
		return number;
	case 1:
		return number << 56;
	case 2:
		return UINT64_MAX - number;
	default:
		return number << 32 | number;
	}
}

TEST(against_array)
{
	uint64_t state = 88172645463325252, unseen = 0;
	bool passed = true;

	for (int round = 0; round < ROUNDS && passed; round++) {
		struct plain plain[KEYS];
		struct jp_map map = {0};
		size_t count = 0, keys = check_random(&state) % KEYS;

		for (size_t i = 0; i < keys && passed; i++) {
			uint64_t key = draw_key(&state), *value;
			struct plain *expected = find_in_plain_array(plain, count, key);

			value = jp_map_find(&map, key);
			passed &= expected ? value && *value == expected->value : !value;
			value = jp_map_at(&map, key, sizeof(*value));
			passed &= value && *value == (expected ? expected->value : 0);
			if (!passed)
				break;
			if (!expected)
				plain[count++].key = key;
			expected = find_in_plain_array(plain, count, key);
			/* The value 0 must work like any other. */
			*value = expected->value = check_random(&state) % 3;
		}
		passed = passed && maps_equal(&map, plain, count);
		unseen += jp_map_find(&map, draw_key(&state)) == NULL;
		jp_map_free(&map);
		passed = passed && !map.slots && !map.count;
	}
	check(passed && unseen, "%d random tables equal arrays", ROUNDS);
}

TEST(empty)
{
	struct jp_map map = {0};
	size_t cursor = 0;

	check(!jp_map_find(&map, 0) && !jp_map_find(&map, 1) && !jp_map_next(&map, &cursor, NULL),
	      "an empty table has no entries");
	check(jp_map_at(&map, 5, 1) && !jp_map_find(&map, 0), "key 0 is absent unless it was set");
	jp_map_free(&map);
	jp_map_free(&map);
	check(!map.slots, "a table may be freed twice");
}

TEST(sizes)
{
	bool passed = true;

	for (size_t size = 1; size <= 40; size++) {
		struct jp_map map = {0};
		size_t cursor = 0, nr_seen = 0;

		for (uint64_t key = 0; key < 100 && passed; key++) {
			unsigned char *value = jp_map_at(&map, key, size);

			for (size_t i = 0; value && i < size; i++)
				passed &= !value[i];
			passed = passed && value && (uintptr_t)value % 8 == 0;
			if (passed)
				memset(value, (int)key + 1, size);
		}
		for (uint64_t key = 0; key < 100 && passed; key++) {
			unsigned char *value = jp_map_find(&map, key);

			for (size_t i = 0; i < size; i++)
				passed &= value && value[i] == (unsigned char)(key + 1);
		}
		while (jp_map_next(&map, &cursor, NULL))
			nr_seen++;
		passed &= nr_seen == 100;
		jp_map_free(&map);
	}
	check(passed, "values of 1 to 40 bytes are zeroed, aligned and do not overlap");
}

TEST(no_memory)
{
	struct jp_map map = {0};
	uint64_t *value;

	check(!jp_map_at(&map, 1, (size_t)1 << 61) && !map.slots && !map.count,
	      "a huge value is refused and the table stays empty");
	value = jp_map_at(&map, 1, sizeof(*value));
	check(value != NULL, "a small value is added afterwards");
	jp_map_free(&map);
}

/* Returns the average distance of entries from their ideal slots. */
static double compute_average_distance(const struct jp_map *map)
{
	size_t sum = 0;

	for (size_t i = 0; i < map->capacity; i++) {
		uint64_t key = map->slots[i * map->words];
		struct jp_map single_map = *map;

		if (!key)
			continue;
		/* The ideal slot is the one in an otherwise empty table of the same size. */
		single_map.slots = calloc(map->capacity + 1, map->words * 8);
		single_map.count = 1;
		sum += (i -
			(size_t)(jp_map_slot(&single_map, key) - single_map.slots) / map->words) &
		       (map->capacity - 1);
		free(single_map.slots);
	}
	return map->count ? (double)sum / (double)map->count : 0;
}

/* Regular keys, such as addresses of pages or words, and pairs of ids, must not cluster. */
TEST(regular_keys_do_not_cluster)
{
	double worst_distance = 0, distance;
	unsigned int worst_shift = 0;

	for (unsigned int shift = 0; shift <= 52; shift++) {
		struct jp_map map = {0};

		for (uint64_t i = 1; i <= 640; i++)
			jp_map_at(&map, UINT64_C(0x7f0000000000) + (i << shift), 8);
		distance = compute_average_distance(&map);
		if (distance > worst_distance) {
			worst_distance = distance;
			worst_shift = shift;
		}
		jp_map_free(&map);
	}
	check(worst_distance < 4,
	      "keys 1 << N apart lie close to their slots: at most %.1f off, for N = %u",
	      worst_distance, worst_shift);
	for (int upper = 0; upper < 2; upper++) {
		struct jp_map map = {0};

		for (uint64_t pid = 1000; pid < 1026; pid++)
			for (uint64_t id = 1; id <= 25; id++)
				jp_map_at(&map, upper ? id << 32 | pid : pid << 32 | id, 8);
		distance = compute_average_distance(&map);
		check(map.count == 26 * 25 && distance < 4,
		      "pairs of numbers lie close to their slots: %.1f off", distance);
		jp_map_free(&map);
	}
}

TEST(many_keys)
{
	struct jp_map map = {0};
	bool passed = true;
	uint32_t *value;

	for (uint64_t i = 0; i < MANY && passed; i++) {
		value = jp_map_at(&map, i * 4096, sizeof(*value));
		passed = value && !*value;
		if (passed)
			*value = (uint32_t)i;
	}
	for (uint64_t i = 0; i < MANY && passed; i++) {
		value = jp_map_find(&map, i * 4096);
		passed = value && *value == i && !jp_map_find(&map, i * 4096 + 1);
	}
	check(passed && map.count == MANY, "all of %d entries are found", MANY);
	check(map.capacity <= 3 * (size_t)MANY && map.capacity * 2 >= 3 * (size_t)MANY,
	      "the table has not too many slots: %zu", map.capacity);
	jp_map_free(&map);
}

TEST(keys_of_texts)
{
	struct jp_text_pool pool = {0};
	const struct jp_text *known_texts[1000], *text;
	char bytes[40];
	bool passed = true;
	size_t nth = 0;

	for (int turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < 1000 && passed; i++) {
			size_t size = (size_t)snprintf(bytes, sizeof(bytes), "%.*s%zu", (int)i % 30,
						       "/usr/lib/x86_64-linux-gnu/a.so.", i);

			text = jp_text_keep(&pool, bytes, size);
			passed = text && text->size == size && strcmp(text->bytes, bytes) == 0 &&
				 text->number == i && !text->value &&
				 (!turn || known_texts[i] == text);
			known_texts[i] = text;
			memset(bytes, 0, sizeof(bytes));
		}
	check(pool.by_hash.count == 1000, "1000 different texts have different hashes");
	for (text = pool.first; text && passed; text = text->next)
		passed = text == known_texts[nth++];
	check(passed && nth == 1000 && pool.count == 1000, "equal texts are stored once, in order");
	text = jp_text_keep(&pool, "a\0b", 3);
	check(text && text->size == 3 && !memcmp(text->bytes, "a\0b", 4) &&
		      text != jp_text_keep(&pool, "a\0c", 3) && text != jp_text_keep(&pool, "a", 1),
	      "a text may contain NUL");
	text = jp_text_keep(&pool, "", 0);
	check(text && !text->size && text == jp_text_keep(&pool, "", 0),
	      "the empty text is stored once");
	jp_text_pool_free(&pool);
	check(!pool.first && !pool.count, "a freed pool is empty");
}

/* Builds two texts of two words with equal hashes: the second words cancel the difference that the
 * first words make. */
TEST(same_hash)
{
	struct jp_text_pool pool = {0};
	uint64_t words[2][2] = {{1, 2}, {3, 0}}, sums[2];
	const struct jp_text *text, *other_text;

	for (int i = 0; i < 2; i++) {
		sums[i] = (16 ^ words[i][0]) * UINT64_C(0x9e3779b97f4a7c15);
		sums[i] ^= sums[i] >> 29;
	}
	words[1][1] = words[0][1] ^ sums[0] ^ sums[1];
	text = jp_text_keep(&pool, words[0], 16);
	other_text = jp_text_keep(&pool, words[1], 16);
	check(text && other_text && text != other_text && pool.by_hash.count == 1 &&
		      pool.count == 2 && text == jp_text_keep(&pool, words[0], 16) &&
		      other_text == jp_text_keep(&pool, words[1], 16) && pool.count == 2,
	      "two texts with equal hashes stay two texts");
	/* The hash must distinguish a text of one word from a longer text that begins with that
	 * word. */
	words[0][1] = sums[0] ^ 8 ^ words[0][0];
	text = jp_text_keep(&pool, words[0], 16);
	other_text = jp_text_keep(&pool, words[0], 8);
	check(text && other_text && text != other_text && pool.by_hash.count == 2 &&
		      pool.count == 4,
	      "texts with equal hashes and different sizes stay two texts");
	jp_text_pool_free(&pool);
}
