/* libmemcached DATA SERVER... - takes turns for vbench; see peer.go for what it is
 * told and what it answers. */
#include <libmemcached/memcached.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

struct value { char key[256]; size_t len, size; char *bytes; };
struct batch { size_t n, hits; const char **keys; size_t *lens; };

static struct value *values; /* sorted by key */
static struct batch *batches;
static long value_count, batch_count;
static long calls;
static char problem[256];

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t nanos(struct timeval t) { return (int64_t)t.tv_sec * 1000000000 + t.tv_usec * 1000; }

static int by_key(const void *a, const void *b) {
	return strcmp(((const struct value *)a)->key, ((const struct value *)b)->key);
}

static int by_size(const void *a, const void *b) {
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static struct value *find(const char *key) {
	struct value wanted;
	snprintf(wanted.key, sizeof wanted.key, "%s", key);
	return bsearch(&wanted, values, value_count, sizeof *values, by_key);
}

static int load(const char *name) {
	FILE *f = fopen(name, "rb");
	if (!f || fscanf(f, "%ld", &value_count) != 1) return 0;
	values = calloc(value_count, sizeof *values);
	for (long i = 0; i < value_count; i++) {
		struct value *v = &values[i];
		if (fscanf(f, "%255s %zu", v->key, &v->size) != 2) return 0;
		fgetc(f);
		v->bytes = malloc(v->size + 1);
		if (fread(v->bytes, 1, v->size, f) != v->size) return 0;
	}
	qsort(values, value_count, sizeof *values, by_key);
	if (fscanf(f, "%ld", &batch_count) != 1) return 0;
	batches = calloc(batch_count, sizeof *batches);
	for (long i = 0; i < batch_count; i++) {
		struct batch *b = &batches[i];
		if (fscanf(f, "%zu", &b->n) != 1) return 0;
		b->keys = calloc(b->n, sizeof *b->keys);
		b->lens = calloc(b->n, sizeof *b->lens);
		for (size_t k = 0; k < b->n; k++) {
			char key[256];
			if (fscanf(f, "%255s", key) != 1) return 0;
			b->keys[k] = strdup(key);
			b->lens[k] = strlen(key);
			b->hits += find(key) != NULL;
		}
	}
	fclose(f);
	return 1;
}

/* One get_multi; its time, or -1 and a problem. What came is kept and checked after
 * the clock has stopped. */
static int64_t call(memcached_st *mc) {
	static memcached_result_st results[4096];
	static size_t kept;
	struct batch *b = &batches[calls++ % batch_count];
	memcached_return_t rc;
	while (kept < b->n) memcached_result_create(mc, &results[kept++]);
	size_t got = 0;
	int64_t start = now();
	rc = memcached_mget(mc, b->keys, b->lens, b->n);
	if (rc == MEMCACHED_SUCCESS) {
		while (got < b->n && memcached_fetch_result(mc, &results[got], &rc)) got++;
		if (got == b->n) {
			/* the end of the replies is still to be read */
			memcached_result_st *end = memcached_fetch_result(mc, NULL, &rc);
			if (end) rc = MEMCACHED_FAILURE;
		}
	}
	int64_t took = now() - start;
	if (rc != MEMCACHED_END && rc != MEMCACHED_NOTFOUND && rc != MEMCACHED_SUCCESS) {
		snprintf(problem, sizeof problem, "%s", memcached_strerror(mc, rc));
		return -1;
	}
	if (got != b->hits) {
		snprintf(problem, sizeof problem, "%zu hits, want %zu", got, b->hits);
		return -1;
	}
	for (size_t i = 0; i < got; i++) {
		char key[256];
		snprintf(key, sizeof key, "%.*s", (int)memcached_result_key_length(&results[i]), memcached_result_key_value(&results[i]));
		struct value *v = find(key);
		if (!v || memcached_result_length(&results[i]) != v->size || memcmp(memcached_result_value(&results[i]), v->bytes, v->size)) {
			snprintf(problem, sizeof problem, "wrong value for %s", key);
			return -1;
		}
	}
	return took;
}

static void turn(memcached_st *mc, int64_t length) {
	static int64_t times[1 << 16];
	struct rusage before, after;
	long n = 0;
	if (call(mc) < 0) goto failed;
	getrusage(RUSAGE_SELF, &before);
	int64_t start = now(), elapsed;
	do {
		if ((times[n % (1 << 16)] = call(mc)) < 0) goto failed;
		n++;
		elapsed = now() - start;
	} while (elapsed < length);
	getrusage(RUSAGE_SELF, &after);
	long kept = n < 1 << 16 ? n : 1 << 16;
	qsort(times, kept, sizeof *times, by_size);
	printf("%ld %lld %lld %lld %lld %lld %lld -1\n", n, (long long)elapsed,
	       (long long)times[(long)(0.25 * (kept - 1) + 0.5)], (long long)times[(long)(0.5 * (kept - 1) + 0.5)],
	       (long long)times[(long)(0.99 * (kept - 1) + 0.5)],
	       (long long)(nanos(after.ru_utime) - nanos(before.ru_utime)), (long long)(nanos(after.ru_stime) - nanos(before.ru_stime)));
	return;
failed:
	printf("error %s\n", problem);
}

int main(int argc, char **argv) {
	if (argc < 3 || !load(argv[1])) {
		fprintf(stderr, "usage: libmemcached DATA SERVER...\n");
		return 1;
	}
	memcached_st *mc = memcached_create(NULL);
	for (int i = 2; i < argc; i++) {
		char *colon = strrchr(argv[i], ':');
		*colon = 0;
		memcached_server_add(mc, argv[i], (in_port_t)atoi(colon + 1));
	}
	memcached_behavior_set(mc, MEMCACHED_BEHAVIOR_TCP_NODELAY, 1);
	printf("ready libmemcached %s\n", memcached_lib_version());
	fflush(stdout);
	char order[64];
	while (fgets(order, sizeof order, stdin)) {
		turn(mc, atoll(order));
		fflush(stdout);
	}
	return 0;
}
