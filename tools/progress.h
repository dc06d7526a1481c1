/* SPDX-License-Identifier: Apache-2.0
 *
 * A progress line on stderr: ASCII only, at most ten times a second, never longer than the terminal is
 * wide. Silent unless stderr is a terminal or --progress was given. */
#ifndef STK_TOOLS_PROGRESS_H
#define STK_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
    bool on;
    bool terminal;    /* false: --progress into a file or pipe; a line a second, each with its newline */
    bool line_open;   /* a line stands on the terminal and must be cleared before other output */
    double started_s; /* when progress_start ran */
    double last_s;    /* when the last line was drawn */
} progress;

/* What the line shows; totals of 0 are not known yet. */
typedef struct progress_state {
    const char *phase;
    uint64_t done, total;             /* files or records */
    uint64_t bytes_done, bytes_total; /* time left goes by bytes when their total is known */
    uint64_t bad;
    const char *unit; /* "files", "records" */
} progress_state;

/* setting: 1 --progress, 0 --no-progress, -1 not given. */
void progress_start(progress *line, int setting);
void progress_update(progress *line, const progress_state *state);
/* Removes the line; other output may follow. */
void progress_clear(progress *line);

/* The text of a line, at most `columns` characters; text needs columns + 1 bytes. Apart for the tests. */
void progress_format(const progress_state *state, double seconds, int columns, char *text);

/* A monotonic clock in seconds. */
double progress_now_s(void);

#endif
