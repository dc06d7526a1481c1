/* SPDX-License-Identifier: Apache-2.0
 *
 * stoker stage: a data set copied to a fast disk, or to memory. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stoker/stage.h>

#include "cli_value.h"
#include "commands.h"
#include "interrupt.h"
#include "json_out.h"
#include "progress.h"

typedef struct stage_args {
    stk_stage_options stage;
    bool evict, background, json;
    int progress;
} stage_args;

#define AT(member) .offset = offsetof(stage_args, member)
static const cli_option options[] = {
    {.kind = CLI_STRING,
     .name = "to",
     .argument = "auto|DIR",
     AT(stage.to),
     .help = "Where to. 'auto' (the default) looks at $STOKER_STAGE_DIR, /dev/shm, /root/autodl-tmp and /tmp: what "
             "kind of disk each is, and how much room it really has; memory counts against the container's limit."},
    {.kind = CLI_BYTES,
     .name = "keep-free",
     .argument = "SIZE",
     AT(stage.keep_free),
     .max = 1e18,
     .help = "Leave this much free there. By default a quarter of the memory (512MiB to 16GiB) in memory, 1GiB on a "
             "disk."},
    {.kind = CLI_FLAG,
     .name = "verify",
     AT(stage.verify),
     .help = "Compare every block of the copy with its checksum, and copy bad ones again."},
    {.kind = CLI_FLAG,
     .name = "evict",
     AT(evict),
     .help = "Remove the copies of DST instead. Without DST: all copies that nobody uses; with --keep-free SIZE those "
             "used longest ago, until SIZE is free. Looks where --to says; copies in a folder that is none of the "
             "usual places are found with --to only."},
    {.kind = CLI_FLAG, .name = "dry-run", AT(stage.dry_run), .help = "Say what would be done, and why. Write nothing."},
    {.kind = CLI_FLAG,
     .name = "background",
     AT(background),
     .help = "Return at once and copy in a process of its own. 'stoker stage --dry-run DST' tells how it gets on; the "
             "next 'stoker stage DST' waits for it, and says so if it failed."},
    {.letter = 'j',
     .kind = CLI_U32,
     .name = "threads",
     .argument = "N",
     AT(stage.n_threads),
     .min = 1,
     .max = 64,
     .help = "Ranges copied at once. By default 16 when the source answers slowly, else 2 to 4."},
    OPTION_PROGRESS(stage_args, progress),
    OPTION_JSON(stage_args, json, "Print the report as one JSON object on stdout."),
    OPTION_END};

static int run(int argc, char **argv);
const cli_command command_stage = {
    .name = "stage",
    .summary = "copy a data set to a fast disk or to memory",
    .synopsis = "[OPTION]... [DST]",
    .description =
        "Copies DST (a .stk file, a folder of shards, an HDF5 file) to a fast place of this machine, in blocks of "
        "64 MiB with checksums. One process copies, others wait for it; killed at any moment, it goes on when "
        "started again. A copy that is there already is checked and used. When there is no room for all, a part is "
        "staged and the rest is read from the source.\n\n"
        "Programs read the copy where they ask for it: stoker.open(DST, stage=\"auto\") in Python. A whole copy also "
        "opens as a file of its own: its path is printed.\n\n"
        "Copies lie in DIR/stoker-UID, closed to other users, under a name made of the data set's content, sizes and "
        "times: when DST changes, an old copy is not used any more.\n\n"
        "Without DST: lists the copies in the usual places, or in that of --to.",
    .options = options,
    .exit_status = "0 done, also when only a part had room\n1 error; DST can be read all the same\n64 wrong command line",
    .examples = "stoker stage train.stk\n"
                "stoker stage --to /root/autodl-tmp --background train.stk\n"
                "stoker stage --verify train.stk\n"
                "stoker stage --evict train.stk",
    .min_operands = 0,
    .max_operands = 1,
    .run = run};

static bool on_progress(void *user, const stk_stage_progress *p)
{
    progress_state state = {.phase = p->phase,
                            .done = p->bytes_done >> 20,
                            .total = p->bytes_total >> 20,
                            .bytes_done = p->bytes_done,
                            .bytes_total = p->bytes_total,
                            .unit = "MiB"};
    progress_update(user, &state);
    return !interrupted();
}

static void print_json(const stk_stage_report *r, bool background)
{
    json_out json = {.file = stdout};
    json_begin(&json, NULL, '{');
    json_text(&json, "state", stk_stage_state_name(r->state));
    json_text(&json, "folder", r->folder);
    json_text(&json, "path", r->path);
    json_text(&json, "reason", r->reason);
    json_u64(&json, "bytes", r->bytes);
    json_u64(&json, "bytes_staged", r->bytes_staged);
    json_u64(&json, "bytes_copied", r->bytes_copied);
    json_u64(&json, "bytes_resumed", r->bytes_resumed);
    json_u64(&json, "blocks_checked", r->blocks_checked);
    json_u64(&json, "blocks_mended", r->blocks_mended);
    json_real(&json, "seconds", r->seconds, 3);
    json_real(&json, "source_mb_s", r->source_mb_s, 1);
    json_real(&json, "target_mb_s", r->target_mb_s, 1);
    json_text(&json, "content_id", r->content_id);
    json_text(&json, "last_failure", r->last_failure);
    json_bool(&json, "background", background);
    json_end(&json, '}');
    fputc('\n', stdout);
}

static void print_text(const char *dst, const stk_stage_report *r, bool dry_run)
{
    char all[CLI_BYTES_TEXT], staged[CLI_BYTES_TEXT], copied[CLI_BYTES_TEXT];
    cli_bytes_text(r->bytes, all);
    cli_bytes_text(r->bytes_staged, staged);
    printf("%s\n", r->reason);
    if (dry_run || r->state == STK_STAGE_NEEDLESS) {
        printf("%s: %s, state: %s", dst, all, stk_stage_state_name(r->state));
        if (r->bytes_staged > 0) printf(" (%s of it)", staged);
        fputc('\n', stdout);
        return;
    }
    if (r->blocks_checked > 0)
        printf("%" PRIu64 " blocks compared with their checksums, %" PRIu64 " mended\n", r->blocks_checked,
               r->blocks_mended);
    if (r->bytes_copied > 0)
        printf("%s copied in %.1f s (%.0f MB/s)\n", cli_bytes_text(r->bytes_copied, copied), r->seconds,
               r->seconds > 0 ? (double)r->bytes_copied / 1e6 / r->seconds : 0);
    if (r->state == STK_STAGE_WHOLE)
        printf("%s: %s staged: %s\n", dst, all, r->path);
    else
        printf("%s: %s of %s staged in %s\n", dst, staged, all, r->folder);
}

static bool print_copy(void *user, const stk_stage_copy *copy)
{
    json_out *json = user;
    char size[CLI_BYTES_TEXT];
    if (json == NULL) {
        printf("%s\t%s\t%s%s\tused %.0f min ago\t%s\n", stk_stage_state_name(copy->state),
               cli_bytes_text(copy->disk_bytes, size), copy->folder, copy->in_use ? "\tin use" : "",
               copy->idle_seconds / 60, copy->source);
        return true;
    }
    json_begin(json, NULL, '{');
    json_text(json, "state", stk_stage_state_name(copy->state));
    json_text(json, "folder", copy->folder);
    json_text(json, "source", copy->source);
    json_u64(json, "bytes", copy->bytes);
    json_u64(json, "disk_bytes", copy->disk_bytes);
    json_real(json, "idle_seconds", copy->idle_seconds, 1);
    json_bool(json, "in_use", copy->in_use);
    json_end(json, '}');
    return true;
}

static int list(const stage_args *args)
{
    stk_error error = {0};
    json_out json = {.file = stdout};
    if (args->json) {
        json_begin(&json, NULL, '{');
        json_begin(&json, "copies", '[');
    }
    stk_status status = stk_stage_list(args->stage.to, print_copy, args->json ? &json : NULL, &error);
    if (args->json) {
        json_end(&json, ']');
        json_end(&json, '}');
        fputc('\n', stdout);
    }
    return status == STK_OK ? CLI_OK : cli_fail(&command_stage, status, &error);
}

static int evict(const stage_args *args, const char *dst)
{
    stk_error error = {0};
    uint64_t copies = 0, bytes = 0;
    char size[CLI_BYTES_TEXT];
    stk_status status = stk_stage_evict(dst, args->stage.to, args->stage.keep_free, &copies, &bytes, &error);
    if (status != STK_OK) return cli_fail(&command_stage, status, &error);
    if (copies == 0 && dst != NULL && (args->stage.to == NULL || strcmp(args->stage.to, "auto") == 0))
        cli_note(&command_stage, "%s: no copy in the usual places ($STOKER_STAGE_DIR, /dev/shm, /root/autodl-tmp, /tmp); "
                 "one in another folder is removed with --to DIR", dst);
    if (!args->json) {
        printf("removed %" PRIu64 " %s, %s\n", copies, copies == 1 ? "copy" : "copies", cli_bytes_text(bytes, size));
        return CLI_OK;
    }
    json_out json = {.file = stdout};
    json_begin(&json, NULL, '{');
    json_u64(&json, "copies", copies);
    json_u64(&json, "bytes", bytes);
    json_end(&json, '}');
    fputc('\n', stdout);
    return CLI_OK;
}

static int stage(stage_args *args, const char *dst)
{
    progress line;
    stk_error error = {0};
    stk_stage_report report;
    progress_start(&line, args->progress);
    args->stage.progress = on_progress;
    args->stage.user = &line;
    catch_interrupts();
    stk_status status = stk_stage(dst, &args->stage, &report, &error);
    progress_clear(&line);
    if (report.last_failure[0] != '\0')
        cli_note(&command_stage, "%s: an earlier run failed: %s", dst, report.last_failure);
    if (status == STK_ERR_CANCELLED)
        return cli_error(&command_stage, "interrupted; what was copied is kept, run it again to go on");
    if (status != STK_OK) return cli_fail(&command_stage, status, &error);
    if (args->json)
        print_json(&report, false);
    else
        print_text(dst, &report, args->stage.dry_run);
    return CLI_OK;
}

/* In the child of a child, which nobody waits for: no terminal, no output. Its outcome is the copy, or the status file
 * that the next call reads. */
static void copy_detached(stage_args *args, const char *dst)
{
    int null = open("/dev/null", O_RDWR);
    stk_stage_report report;
    (void)setsid();
    for (int fd = 0; null >= 0 && fd < 3; fd++) (void)dup2(null, fd);
    if (fork() != 0) _exit(0);
    catch_interrupts();
    args->stage.progress = NULL;
    stk_status status = stk_stage(dst, &args->stage, &report, NULL);
    _exit(status == STK_OK ? CLI_OK : CLI_ERROR);
}

/* What can be said beforehand is said now: a missing DST, no room, a copy that is there. */
static int stage_in_background(stage_args *args, const char *dst)
{
    stk_error error = {0};
    stk_stage_report report;
    stk_stage_options look = args->stage;
    look.dry_run = true;
    stk_status status = stk_stage(dst, &look, &report, &error);
    if (report.last_failure[0] != '\0')
        cli_note(&command_stage, "%s: an earlier run failed: %s", dst, report.last_failure);
    if (status != STK_OK) return cli_fail(&command_stage, status, &error);
    bool begin = report.state == STK_STAGE_NONE || report.state == STK_STAGE_PART || report.state == STK_STAGE_SUBSET ||
                 (report.state == STK_STAGE_WHOLE && args->stage.verify);
    fflush(stdout);
    pid_t child = begin ? fork() : 0;
    if (child < 0) return cli_error(&command_stage, "cannot start a process of its own");
    if (begin && child == 0) copy_detached(args, dst);
    if (begin) (void)waitpid(child, NULL, 0);
    if (args->json)
        print_json(&report, begin);
    else
        printf("%s\n%s: %s\n", report.reason, dst,
               begin ? "copying in the background" : stk_stage_state_name(report.state));
    return CLI_OK;
}

static int run(int argc, char **argv)
{
    stage_args args = {.progress = -1};
    cli_operands operands;
    stk_stage_options_init(&args.stage);
    int code = cli_parse(&command_stage, argc, argv, &args, &operands);
    if (code != CLI_GO) return code;
    const char *dst = operands.n > 0 ? operands.items[0] : NULL;
    bool makes = args.background || args.stage.verify || args.stage.dry_run || args.stage.n_threads != 0;
    if (args.evict && makes)
        return cli_misuse(&command_stage, "--evict removes copies; it goes with --to, --keep-free and --json only");
    if (args.evict && dst != NULL && args.stage.keep_free != STK_STAGE_KEEP_DEFAULT)
        return cli_misuse(&command_stage, "--evict --keep-free chooses among the copies of all data sets; leave %s out", dst);
    if (args.evict) return evict(&args, dst);
    if (dst == NULL && (makes || args.stage.keep_free != STK_STAGE_KEEP_DEFAULT))
        return cli_misuse(&command_stage, "give the data set that is to be staged");
    if (dst == NULL) return list(&args);
    if (args.stage.verify && args.stage.dry_run)
        cli_note(&command_stage, "--dry-run reads no copy: what --verify would find in one is not known");
    if (args.background && !args.stage.dry_run) return stage_in_background(&args, dst);
    return stage(&args, dst);
}
