/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

double progress_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void progress_start(progress *line, int setting)
{
    memset(line, 0, sizeof *line);
    line->terminal = isatty(STDERR_FILENO) == 1;
    line->on = setting == 1 || (setting != 0 && line->terminal);
    line->started_s = progress_now_s();
}

static int terminal_columns(void)
{
    struct winsize size;
    memset(&size, 0, sizeof size);
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 79;
    return size.ws_col - 1 < 120 ? size.ws_col - 1 : 120;
}

static double share_done(const progress_state *state)
{
    double done = (double)state->done, total = (double)state->total;
    if (state->bytes_total > 0) {
        done = (double)state->bytes_done;
        total = (double)state->bytes_total;
    }
    if (total <= 0) return -1;
    return done < total ? done / total : 1;
}

/* "3:07 left" or "1:02:11 left"; empty when it cannot be told yet. */
static void format_left(double share, double seconds, char *text, size_t capacity)
{
    text[0] = '\0';
    if (share < 0.001 || seconds < 0.5) return;
    double left = seconds / share - seconds;
    if (left > 359999) return;
    long s = (long)(left + 0.5);
    if (s >= 3600)
        snprintf(text, capacity, "  %ld:%02ld:%02ld left", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(text, capacity, "  %ld:%02ld left", s / 60, s % 60);
}

static void format_bar(double share, char *bar, int cells)
{
    int full = share < 0 ? 0 : (int)(share * cells);
    for (int i = 0; i < cells; i++)
        bar[i] = i < full ? '#' : '.';
    bar[cells] = '\0';
}

void progress_format(const progress_state *state, double seconds, int columns, char *text)
{
    char bar[13], left[40], total[32] = "", whole[320];
    double share = share_done(state);
    double per_s = seconds > 0 ? 1 / seconds : 0;
    char rate[64]; /* where bytes are not told, of what is counted */
    if (state->bytes_done > 0 || state->bytes_total > 0 || state->done == 0)
        snprintf(rate, sizeof rate, "%.1f MB/s", (double)state->bytes_done * per_s / 1e6);
    else
        snprintf(rate, sizeof rate, "%.0f %s/s", (double)state->done * per_s, state->unit);
    format_bar(share, bar, 12);
    format_left(share, seconds, left, sizeof left);
    if (state->total > 0) snprintf(total, sizeof total, "/%" PRIu64, state->total);
    snprintf(whole, sizeof whole, "%-6s [%s] %" PRIu64 "%s %s  %s  %" PRIu64 " bad%s", state->phase,
             bar, state->done, total, state->unit, rate, state->bad, left);
    snprintf(text, (size_t)columns + 1, "%s", whole);
}

void progress_update(progress *line, const progress_state *state)
{
    if (!line->on) return;
    double now = progress_now_s();
    if (now - line->last_s < (line->terminal ? 0.1 : 1.0)) return;
    line->last_s = now;
    char text[256];
    progress_format(state, now - line->started_s, line->terminal ? terminal_columns() : 200, text);
    /* The terminal's clear-to-end sequence would need a capability check; spaces do not. */
    if (line->terminal)
        fprintf(stderr, "\r%-*s", terminal_columns(), text);
    else
        fprintf(stderr, "%s\n", text);
    fflush(stderr);
    line->line_open = line->terminal;
}

void progress_clear(progress *line)
{
    if (!line->line_open) return;
    fprintf(stderr, "\r%*s\r", terminal_columns(), "");
    fflush(stderr);
    line->line_open = false;
}
