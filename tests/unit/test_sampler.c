/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders: every sample as often as it should come, page-local mixing, weights, golden hashes of each version. */
#include "reader/sampler.h"

#include <math.h>

#include "common/rng.h"
#include "support/check.h"

static stk_error error;

static stk_sampler_options base(stk_order order, uint64_t n)
{
    return (stk_sampler_options){
        .order = order, .seed = 11, .n_records = n, .total_bytes = n * 3000, .repeats = 1, .page_window = 64};
}

static stk_sampler *open_or_exit(const stk_sampler_options *o)
{
    stk_sampler *s = NULL;
    CHECK_OK(stk_sampler_open(o, &s, &error));
    if (s == NULL) exit(1);
    return s;
}

/* How often each record comes in an epoch. */
static uint32_t *count(const stk_sampler *s, uint64_t n_records, uint64_t epoch)
{
    uint32_t *seen = calloc(n_records, sizeof *seen);
    stk_sampler_view view;
    stk_sampler_begin(s, epoch, &view);
    for (uint64_t p = 0; p < stk_sampler_length(s); p++) {
        stk_pick pick = stk_sampler_at(s, &view, p);
        CHECK(pick.id < n_records);
        if (pick.id < n_records) seen[pick.id]++;
    }
    return seen;
}

static void each_once(void)
{
    static const uint64_t sizes[] = {1, 2, 3, 64, 65, 1000, 4097, 100003, 699 * 128, 699 * 128 + 1, 699 * 200 - 1};
    static const stk_order orders[] = {STK_ORDER_SHUFFLE, STK_ORDER_SEQUENTIAL, STK_ORDER_PAGE};
    for (size_t o = 0; o < 3; o++) {
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            stk_sampler_options options = base(orders[o], sizes[k]);
            stk_sampler *s = open_or_exit(&options);
            CHECK_EQ(stk_sampler_length(s), sizes[k]);
            for (uint64_t epoch = 0; epoch < 3; epoch++) {
                uint32_t *seen = count(s, sizes[k], epoch);
                for (uint64_t i = 0; i < sizes[k]; i++) CHECK_EQ(seen[i], 1);
                free(seen);
            }
            stk_sampler_close(&s);
        }
    }
}

/* The order does not depend on where one starts to look, nor on what was looked at before. */
static void random_access(void)
{
    static const stk_order orders[] = {STK_ORDER_SHUFFLE, STK_ORDER_PAGE};
    enum { N = 699 * 300 + 77 };
    for (size_t o = 0; o < 2; o++) {
        stk_sampler_options options = base(orders[o], N);
        stk_sampler *s = open_or_exit(&options);
        stk_sampler_view forward, jumping;
        stk_sampler_begin(s, 5, &forward);
        stk_sampler_begin(s, 5, &jumping);
        uint64_t *ids = calloc(N, sizeof *ids);
        for (uint64_t p = 0; p < N; p++) ids[p] = stk_sampler_at(s, &forward, p).id;
        stk_rng rng = stk_rng_for(1, 2, 3, 4, 5, STK_PURPOSE_AUGMENT);
        for (int k = 0; k < 5000; k++) {
            uint64_t p = stk_rng_below(&rng, N);
            CHECK_EQ(stk_sampler_at(s, &jumping, p).id, ids[p]);
        }
        free(ids);
        stk_sampler_close(&s);
    }
}

static void epochs_differ(void)
{
    stk_sampler_options options = base(STK_ORDER_SHUFFLE, 10000);
    stk_sampler *s = open_or_exit(&options);
    stk_sampler_view a, b;
    stk_sampler_begin(s, 0, &a);
    stk_sampler_begin(s, 1, &b);
    int equal = 0;
    for (uint64_t p = 0; p < 10000; p++) equal += stk_sampler_at(s, &a, p).id == stk_sampler_at(s, &b, p).id;
    CHECK(equal < 10); /* one is expected */
    stk_sampler_close(&s);
}

/* 64 pages or more a window; within it samples come from all its pages; pages of a window are far apart. */
static void page_windows(void)
{
    enum { ROWS = STK_PAGE_BYTES / 3000, PAGES = 1000, N = ROWS * PAGES - 123 };
    stk_sampler_options options = base(STK_ORDER_PAGE, N);
    stk_sampler *s = open_or_exit(&options);
    stk_sampler_view view;
    stk_sampler_begin(s, 3, &view);
    uint64_t start = 0, windows = 0;
    double class_sum = 0;
    int batches = 0;
    while (start < N) {
        uint64_t end = stk_sampler_window_end(s, &view, start);
        CHECK(end > start && end <= N);
        static uint32_t pages[PAGES];
        memset(pages, 0, sizeof pages);
        for (uint64_t p = start; p < end; p++) pages[stk_sampler_at(s, &view, p).id / ROWS]++;
        uint32_t n_pages = 0;
        for (uint32_t g = 0; g < PAGES; g++) {
            uint32_t rows = g == PAGES - 1 ? N - ROWS * (PAGES - 1) : ROWS;
            CHECK(pages[g] == 0 || pages[g] == rows); /* a page is in one window, whole */
            n_pages += pages[g] > 0;
        }
        CHECK(n_pages >= 64 && n_pages < 128);
        /* Class-sorted data, a class a page: a batch of 256 meets nearly as many classes as the window has. */
        for (uint64_t p = start; p + 256 <= end && batches < 200; p += 256, batches++) {
            static uint8_t met[PAGES];
            memset(met, 0, sizeof met);
            for (uint64_t q = p; q < p + 256; q++) met[stk_sampler_at(s, &view, q).id / ROWS] = 1;
            for (uint32_t g = 0; g < PAGES; g++) class_sum += met[g];
        }
        start = end;
        windows++;
    }
    CHECK_EQ(windows, PAGES / 64);
    CHECK(class_sum / batches > 60);
    stk_sampler_close(&s);
}

/* The page with fewer rows is not always at the same place of the epoch. */
static void short_page_moves(void)
{
    enum { ROWS = STK_PAGE_BYTES / 3000, PAGES = 200, N = ROWS * (PAGES - 1) + 10 };
    stk_sampler_options options = base(STK_ORDER_PAGE, N);
    stk_sampler *s = open_or_exit(&options);
    int early = 0;
    for (uint64_t epoch = 0; epoch < 40; epoch++) {
        stk_sampler_view view;
        stk_sampler_begin(s, epoch, &view);
        for (uint64_t p = 0; p < N; p++) {
            if (stk_sampler_at(s, &view, p).id != N - 1) continue;
            early += p < N / 2;
            break;
        }
    }
    CHECK(early >= 8 && early <= 32);
    stk_sampler_close(&s);
}

static void subsets(void)
{
    static const uint64_t ids[] = {900, 3, 17, 500, 4, 77, 3};
    for (int order = STK_ORDER_SHUFFLE; order <= STK_ORDER_PAGE; order++) {
        stk_sampler_options options = base((stk_order)order, 1000);
        options.indices = ids;
        options.n_indices = 7;
        stk_sampler *s = open_or_exit(&options);
        CHECK_EQ(stk_sampler_length(s), 7);
        uint32_t *seen = count(s, 1000, 0);
        for (uint64_t i = 0; i < 1000; i++) {
            uint32_t want = 0;
            for (int k = 0; k < 7; k++) want += ids[k] == i;
            CHECK_EQ(seen[i], want);
        }
        if (order == STK_ORDER_SEQUENTIAL) {
            stk_sampler_view view;
            stk_sampler_begin(s, 0, &view);
            for (uint64_t p = 0; p < 7; p++) CHECK_EQ(stk_sampler_at(s, &view, p).id, ids[p]);
        }
        free(seen);
        stk_sampler_close(&s);
    }
    stk_sampler *s;
    stk_sampler_options options = base(STK_ORDER_SHUFFLE, 900);
    options.indices = ids;
    options.n_indices = 7;
    CHECK_STATUS(stk_sampler_open(&options, &s, &error), STK_ERR_ARGUMENT);
    CHECK(strstr(error.text, "indices[0] is 900") != NULL);
    options.n_indices = 0;
    CHECK_STATUS(stk_sampler_open(&options, &s, &error), STK_ERR_ARGUMENT);
}

static void repeats(void)
{
    stk_sampler_options options = base(STK_ORDER_SHUFFLE, 501);
    options.repeats = 3;
    stk_sampler *s = open_or_exit(&options);
    CHECK_EQ(stk_sampler_length(s), 1503);
    stk_sampler_view view;
    stk_sampler_begin(s, 0, &view);
    for (uint64_t p = 0; p < 1503; p += 3) {
        uint64_t id = stk_sampler_at(s, &view, p).id;
        for (uint32_t k = 0; k < 3; k++) {
            stk_pick pick = stk_sampler_at(s, &view, p + k);
            CHECK_EQ(pick.id, id);
            CHECK_EQ(pick.occurrence, k);
        }
    }
    uint32_t *seen = count(s, 501, 2);
    for (uint64_t i = 0; i < 501; i++) CHECK_EQ(seen[i], 3);
    free(seen);
    stk_sampler_close(&s);
}

/* Frequencies within five standard deviations of the weights; weight 0 never. */
static void weighted(void)
{
    enum { N = 100, DRAWS = 2000000 };
    double weights[N], sum = 0;
    for (int i = 0; i < N; i++) sum += weights[i] = i % 7 == 0 ? 0 : 0.1 * (i % 13) + (i == 50 ? 40 : 0);
    stk_sampler_options options = base(STK_ORDER_WEIGHTED, N);
    options.weights = weights;
    options.n_draws = DRAWS;
    stk_sampler *s = open_or_exit(&options);
    CHECK_EQ(stk_sampler_length(s), DRAWS);
    uint32_t *seen = count(s, N, 1);
    for (int i = 0; i < N; i++) {
        double p = weights[i] / sum, want = p * DRAWS, sigma = sqrt(want * (1 - p));
        CHECK(fabs(seen[i] - want) <= 5 * sigma);
    }
    free(seen);
    stk_sampler_view view;
    stk_sampler_begin(s, 1, &view);
    for (uint64_t p = 0; p < 1000; p++) CHECK_EQ(stk_sampler_at(s, &view, p).occurrence, p);
    stk_sampler_close(&s);
}

/* One weight against very many zeros: rounding must not let a zero through. */
static void weighted_extremes(void)
{
    enum { N = 100000 };
    double *weights = calloc(N, sizeof *weights);
    weights[77] = 1e-300;
    weights[78] = 3e-300;
    stk_sampler_options options = base(STK_ORDER_WEIGHTED, N);
    options.weights = weights;
    stk_sampler *s = open_or_exit(&options);
    uint32_t *seen = count(s, N, 0);
    CHECK_EQ(seen[77] + seen[78], N);
    CHECK(seen[77] > N / 5 && seen[77] < 3 * N / 10);
    free(seen);
    stk_sampler_close(&s);
    static const double bad[] = {-1, NAN, INFINITY};
    for (int k = 0; k < 3; k++) {
        weights[5] = bad[k];
        CHECK_STATUS(stk_sampler_open(&options, &s, &error), STK_ERR_ARGUMENT);
        CHECK(strstr(error.text, "weights[5]") != NULL);
    }
    memset(weights, 0, N * sizeof *weights);
    CHECK_STATUS(stk_sampler_open(&options, &s, &error), STK_ERR_ARGUMENT);
    options.weights = NULL;
    CHECK_STATUS(stk_sampler_open(&options, &s, &error), STK_ERR_ARGUMENT);
    free(weights);
}

static void refusals(void)
{
    stk_sampler *s;
    stk_sampler_options options = base(STK_ORDER_PAGE, 1000);
    options.page_window = 63;
    CHECK_STATUS(stk_sampler_open(&options, &s, &error), STK_ERR_ARGUMENT);
    options = base(STK_ORDER_SHUFFLE, 0);
    CHECK_STATUS(stk_sampler_open(&options, &s, &error), STK_ERR_ARGUMENT);
    options = base(STK_ORDER_SHUFFLE, 10);
    options.repeats = 0;
    CHECK_STATUS(stk_sampler_open(&options, &s, &error), STK_ERR_ARGUMENT);
    options = base(STK_ORDER_SHUFFLE, 10);
    options.n_draws = 5;
    CHECK_STATUS(stk_sampler_open(&options, &s, &error), STK_ERR_ARGUMENT);
    CHECK(s == NULL);
}

/* Saved states name these versions: the sequences may never change under the same number. */
static void golden(void)
{
    enum { N = 300007 };
    static const struct {
        stk_order order;
        uint32_t version;
        uint64_t hash;
    } want[] = {
        {STK_ORDER_SHUFFLE, STK_SAMPLER_VERSION_SHUFFLE, 14148075153614443481u},
        {STK_ORDER_PAGE, STK_SAMPLER_VERSION_PAGE, 12342889117604929597u},
        {STK_ORDER_WEIGHTED, STK_SAMPLER_VERSION_WEIGHTED, 3541716671898708404u},
    };
    double *weights = malloc(N * sizeof *weights);
    for (uint64_t i = 0; i < N; i++) weights[i] = (double)(i % 101) / 7;
    for (size_t k = 0; k < sizeof want / sizeof want[0]; k++) {
        stk_sampler_options options = base(want[k].order, N);
        if (want[k].order == STK_ORDER_WEIGHTED) options.weights = weights;
        stk_sampler *s = open_or_exit(&options);
        uint64_t hash = 0;
        for (uint64_t epoch = 0; epoch < 2; epoch++) {
            stk_sampler_view view;
            stk_sampler_begin(s, epoch, &view);
            for (uint64_t p = 0; p < N; p++)
                hash = hash * 6364136223846793005u + stk_sampler_at(s, &view, p).id + epoch;
        }
        if (hash != want[k].hash)
            fprintf(stderr, "order %s: hash %llu\n", stk_sampler_order_name(s), (unsigned long long)hash);
        CHECK(hash == want[k].hash);
        CHECK_EQ(stk_sampler_order_version(s), want[k].version);
        stk_sampler_close(&s);
    }
    free(weights);
}

static void selections(void)
{
    static const uint64_t a[] = {1, 2, 3}, b[] = {1, 2, 4};
    stk_sampler_options options = base(STK_ORDER_SHUFFLE, 1000);
    uint64_t hashes[5];
    for (int k = 0; k < 5; k++) {
        stk_sampler_options o = options;
        o.indices = k == 1 ? a : k == 2 ? b : NULL;
        o.n_indices = o.indices != NULL ? 3 : 0;
        if (k == 3) o.repeats = 2;
        if (k == 4) o.order = STK_ORDER_PAGE;
        stk_sampler *s = open_or_exit(&o);
        hashes[k] = stk_sampler_selection(s);
        for (int j = 0; j < k; j++) CHECK(hashes[j] != hashes[k]);
        stk_sampler_close(&s);
    }
}

int main(void)
{
    RUN(each_once);
    RUN(random_access);
    RUN(epochs_differ);
    RUN(page_windows);
    RUN(short_page_moves);
    RUN(subsets);
    RUN(repeats);
    RUN(weighted);
    RUN(weighted_extremes);
    RUN(refusals);
    RUN(golden);
    RUN(selections);
    return check_exit();
}
