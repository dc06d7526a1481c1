/* SPDX-License-Identifier: Apache-2.0
 *
 * Packs a folder of images. Usage: pack_folder SRC DST */
#include <inttypes.h>
#include <stdio.h>

#include <stoker/stoker.h>

/* Called for each file that is left out. */
static void on_issue(void *user, const stk_pack_issue *issue)
{
    (void)user;
    fprintf(stderr, "%s: %s: %s\n", issue->path, issue->action, issue->reason);
}

int main(int argc, char **argv)
{
    stk_error error;
    stk_pack_report report;
    stk_pack_options options;
    if (argc != 3) {
        fputs("Usage: pack_folder SRC DST\n", stderr);
        return 64;
    }
    stk_pack_options_init(&options);
    options.issue = on_issue;
    if (stk_pack(argv[1], argv[2], &options, &report, &error) != STK_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    printf("%" PRIu64 " records, %" PRIu64 " bytes, %" PRIu64 " files left out\n", report.records, report.bytes,
           report.skipped);
    return 0;
}
