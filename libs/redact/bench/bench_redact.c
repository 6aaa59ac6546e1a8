/*
 * bench_redact [MiB [PART]]: how fast the engine is, beside memcpy in the same run.
 *
 * Prints, for each corpus (build log, log with a value each 4 KiB, terminal, JSON tool output),
 * each number of values and each size of pieces: MB/s of thread CPU time, the ratio to memcpy, the
 * ratio that a prototype of the algorithm reached (the bar; it has none for 1 value), and whether
 * the bar is met. Then hostile texts in 4 KiB pieces (over 100 MB/s), the time to make a set, its
 * memory, and what an idle stream costs (under 256 bytes). PART is a corpus's name, as printed,
 * `hostile` or `sets`: this alone.
 *
 * memcpy and the engine take turns, and each MiB of a text counts with its best of RUNS turns, for
 * both alike: what else runs on the machine then tells the least.
 */

#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "corpus.h"
#include "kndl/mem.h"
#include "kndl/redact.h"

enum { RUNS = 9, PIECES = 3, STEP_BYTES = 1 << 20 };

static const size_t piece_sizes[PIECES] = {64, 4096, 65536};

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A text in pieces, through memcpy or an engine. All output of a turn goes to memory one after the
 * other. */
struct passage {
    struct kndl_slice text;
    size_t piece;
    struct kndl_redact_set *set; /* NULL: memcpy */
    double *best;                /* seconds of each step */
    struct kndl_buf *out;
};

static void pass_step(const struct passage *passage, struct kndl_redact_stream *stream,
                      struct kndl_slice step)
{
    for (size_t at = 0; at < step.size; at += passage->piece) {
        size_t left = step.size - at;
        size_t size = left < passage->piece ? left : passage->piece;
        if (stream == NULL)
            kndl_buf_append(passage->out, step.data + at, size);
        else
            kndl_redact_feed(stream, kndl_slice(step.data + at, size), 0, passage->out);
    }
}

static void pass_once(const struct passage *passage)
{
    struct kndl_redact_stream *stream = NULL;
    struct kndl_slice text = passage->text;

    if (passage->set != NULL)
        stream = kndl_redact_stream_new(passage->set, KNDL_REDACT_BYTES);
    kndl_buf_clear(passage->out);
    for (size_t at = 0; at < text.size; at += STEP_BYTES) {
        size_t size = text.size - at < STEP_BYTES ? text.size - at : STEP_BYTES;
        double *best = &passage->best[at / STEP_BYTES];
        double start = cpu_seconds();
        pass_step(passage, stream, kndl_slice(text.data + at, size));
        double took = cpu_seconds() - start;
        *best = *best == 0 || took < *best ? took : *best;
    }
    kndl_redact_stream_free(stream);
}

/* MB/s of the first `count` of these over the same text, by turns. */
static void measure(struct passage *passages, size_t count, double *ret_speeds)
{
    size_t size = passages[0].text.size;
    size_t steps = (size + STEP_BYTES - 1) / STEP_BYTES;

    for (size_t i = 0; i < count; i++)
        passages[i].best = kndl_new_array(double, steps);
    for (int run = 0; run < RUNS; run++) {
        for (size_t i = 0; i < count; i++)
            pass_once(&passages[i]);
    }
    for (size_t i = 0; i < count; i++) {
        double seconds = 0;
        for (size_t step = 0; step < steps; step++)
            seconds += passages[i].best[step];
        ret_speeds[i] = (double)size / 1e6 / seconds;
        free(passages[i].best);
    }
}

/* MB/s of memcpy and of the prototype, in the run that set the bar. */
struct bar {
    double memcpy_speed[PIECES];
    double with_20[PIECES];
    double with_300[PIECES];
};

static const struct bar bars[CORPUS_COUNT] = {
    [CORPUS_LOG] = {{4313, 7433, 7354}, {301, 1654, 1614}, {244, 1238, 1683}},
    [CORPUS_VALUES] = {{4602, 9706, 8710}, {268, 1297, 1724}, {231, 1122, 1261}},
    [CORPUS_TERMINAL] = {{4264, 7261, 8385}, {351, 1112, 1115}, {374, 958, 1119}},
    [CORPUS_JSON] = {{3879, 8057, 8206}, {343, 2171, 2088}, {268, 1575, 1761}},
};

static double bar_ratio(enum corpus_kind kind, size_t values, int piece)
{
    const struct bar *bar = &bars[kind];
    const double *speeds = values == 20 ? bar->with_20 : bar->with_300;

    return values == 1 ? 0 : speeds[piece] / bar->memcpy_speed[piece];
}

static const char *const names[CORPUS_COUNT] = {"log", "log with values", "terminal", "JSON"};

static int bench_corpus(struct corpora *corpora, enum corpus_kind kind, struct kndl_buf *out)
{
    static const size_t counts[] = {1, 20, 300};
    int missed = 0;

    for (size_t c = 0; c < 3; c++) {
        struct kndl_redact_set *set = NULL;
        if (kndl_redact_set_new(corpora->values.values, counts[c], &set, NULL) < 0)
            abort();
        if (kind == CORPUS_VALUES)
            corpus_plant(corpora, counts[c]);
        for (int piece = 0; piece < PIECES; piece++) {
            struct kndl_slice slice = kndl_buf_slice(&corpora->texts[kind]);
            struct passage passages[2] = {
                {.text = slice, .piece = piece_sizes[piece], .out = out},
                {.text = slice, .piece = piece_sizes[piece], .out = out, .set = set},
            };
            double speeds[2];
            measure(passages, 2, speeds);
            double ratio = speeds[1] / speeds[0];
            double bar = bar_ratio(kind, counts[c], piece);
            bool holds = ratio >= bar;
            missed += !holds;
            printf("%-16s %4zu %6zu %8.0f %8.0f %7.3f %7.3f  %s\n", names[kind], counts[c],
                   piece_sizes[piece], speeds[0], speeds[1], ratio, bar,
                   bar == 0 ? ""
                   : holds  ? "met"
                            : "MISSED");
            fflush(stdout);
        }
        kndl_redact_set_unref(set);
    }
    return missed;
}

static int bench_hostile(const struct corpus_values *all, struct kndl_buf *out)
{
    struct kndl_redact_set *set = NULL;
    int missed = 0;

    printf("\nhostile texts, 300 values, 4 KiB pieces (at least 100 MB/s)\n");
    if (kndl_redact_set_new(all->values, 300, &set, NULL) < 0)
        abort();
    for (unsigned kind = 0; kind < HOSTILE_COUNT; kind++) {
        struct kndl_buf text = {0};
        const char *name = hostile_make(kind, all, 4 << 20, &text);
        struct passage passage = {
            .text = kndl_buf_slice(&text), .piece = 4096, .out = out, .set = set};
        double speed;
        measure(&passage, 1, &speed);
        missed += speed < 100;
        printf("%-34s %8.0f MB/s  %s\n", name, speed, speed >= 100 ? "met" : "MISSED");
        kndl_buf_done(&text);
    }
    kndl_redact_set_unref(set);
    return missed;
}

static void bench_sets(const struct corpus_values *all)
{
    static const size_t counts[] = {1, 20, 300};

    for (size_t c = 0; c < 3; c++) {
        struct kndl_redact_set *set = NULL;
        double best = 1;
        for (int run = 0; run < 20; run++) {
            kndl_redact_set_unref(set);
            double start = cpu_seconds();
            if (kndl_redact_set_new(all->values, counts[c], &set, NULL) < 0)
                abort();
            double took = cpu_seconds() - start;
            best = took < best ? took : best;
        }
        printf("a set of %3zu values: %7.3f ms, %zu bytes\n", counts[c], best * 1e3,
               kndl_redact_set_bytes(set));
        kndl_redact_set_unref(set);
    }
}

/* Streams that have seen output and hold nothing. */
static void bench_idle(const struct corpus_values *all)
{
    enum { STREAMS = 5000 };
    struct kndl_redact_stream **streams = kndl_new_array(struct kndl_redact_stream *, STREAMS);
    struct kndl_redact_set *set = NULL;
    struct kndl_buf out = {0};

    if (kndl_redact_set_new(all->values, 20, &set, NULL) < 0)
        abort();
    kndl_buf_reserve(&out, 4096);
    size_t before = mallinfo2().uordblks;
    for (size_t i = 0; i < STREAMS; i++) {
        streams[i] = kndl_redact_stream_new(set, KNDL_REDACT_BYTES);
        kndl_redact_feed(streams[i], kndl_slice_of("some output that was\r\n"), 0, &out);
        kndl_buf_clear(&out);
    }
    printf("an idle stream: %zu bytes\n", (mallinfo2().uordblks - before) / STREAMS);
    for (size_t i = 0; i < STREAMS; i++)
        kndl_redact_stream_free(streams[i]);
    kndl_redact_set_unref(set);
    kndl_buf_done(&out);
    free(streams);
}

/* Is all wanted, or this part? */
static bool is_wanted(const char *part, const char *name)
{
    return part == NULL || strcmp(part, name) == 0;
}

int main(int argc, char **argv)
{
    struct corpora *corpora = kndl_new0(struct corpora);
    const struct corpus_values *all = &corpora->values;
    size_t mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 32;
    const char *part = argc > 2 ? argv[2] : NULL;
    struct kndl_buf out = {0};
    int missed = 0;

    corpora_make(corpora, mib << 21, mib << 20);
    memset(kndl_buf_reserve(&out, mib << 21), 0, mib << 21); /* no page fault is measured */
    printf("%-16s %4s %6s %8s %8s %7s %7s\n", "corpus", "vals", "piece", "memcpy", "MB/s", "ratio",
           "bar");
    for (unsigned kind = 0; kind < CORPUS_COUNT; kind++) {
        if (is_wanted(part, names[kind]))
            missed += bench_corpus(corpora, kind, &out);
    }
    if (is_wanted(part, "hostile"))
        missed += bench_hostile(all, &out);
    if (is_wanted(part, "sets")) {
        printf("\n");
        bench_sets(all);
        bench_idle(all);
    }
    printf("\n%d missed\n", missed);
    kndl_buf_done(&out);
    corpora_done(corpora);
    free(corpora);
    return 0;
}
