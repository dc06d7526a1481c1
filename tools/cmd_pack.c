/* SPDX-License-Identifier: Apache-2.0
 *
 * stoker pack: the options of stk_pack() as a command. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <stoker/pack.h>

#include "cli_value.h"
#include "commands.h"
#include "interrupt.h"
#include "json_out.h"
#include "progress.h"

/* Left-out files named on stderr one by one; all of them stand in DST.report.jsonl. */
enum { NAMED_ISSUES = 1000, MAX_KINDS = 32, MAX_NOTES = 8 };

typedef struct pack_args {
    stk_pack_options pack;
    stk_dataset_options source;
    cli_strings columns;
    int progress, resume;
    int format; /* index into format_words */
    bool json, quiet;
} pack_args;

/* How often each kind of problem was met. */
typedef struct kind_count {
    char kind[32];
    char action[16];
    uint64_t n;
} kind_count;

/* What was told of the source as a whole, not of one file. */
typedef struct source_note {
    char kind[16];
    char reason[600];
} source_note;

typedef struct pack_run {
    const pack_args *args;
    source_note notes[MAX_NOTES];
    size_t n_notes;
    progress line;
    uint64_t n_issues;
    kind_count kinds[MAX_KINDS];
    size_t n_kinds;
} pack_run;

static const cli_choice encode_words[] = {{"auto", STK_ENCODE_AUTO},
                                          {"keep", STK_ENCODE_KEEP},
                                          {"tiles", STK_ENCODE_TILES},
                                          {"raw", STK_ENCODE_RAW},
                                          {NULL, 0}};
static const cli_choice check_words[] = {
    {"decode", STK_CHECK_DECODE}, {"header", STK_CHECK_HEADER}, {NULL, 0}};
static const cli_choice exif_words[] = {{"apply", STK_EXIF_APPLY}, {"ignore", STK_EXIF_IGNORE}, {NULL, 0}};
static const cli_choice mode_words[] = {{"RGB", STK_MODE_RGB}, {"L", STK_MODE_L}, {NULL, 0}};
static const cli_choice filter_words[] = {{"bilinear", STK_FILTER_BILINEAR}, {"bicubic", STK_FILTER_BICUBIC},
                                          {"box", STK_FILTER_BOX},           {"hamming", STK_FILTER_HAMMING},
                                          {"lanczos", STK_FILTER_LANCZOS},   {NULL, 0}};

static const char *parse_part(void *args, const char *value)
{
    stk_pack_options *pack = &((pack_args *)args)->pack;
    char first[12];
    const char *slash = strchr(value, '/');
    if (slash == NULL || (size_t)(slash - value) >= sizeof first) return "is not K/N";
    memcpy(first, value, (size_t)(slash - value));
    first[slash - value] = '\0';
    if (!cli_to_u32(first, &pack->part) || !cli_to_u32(slash + 1, &pack->n_parts) || pack->part < 1 ||
        pack->part > pack->n_parts)
        return "is not K/N with K from 1 to N";
    return NULL;
}

static const cli_choice format_words[] = {{"stk", 1}, {"hdf5", 2}, {NULL, 0}};

static const char *parse_resize(void *args, const char *value)
{
    stk_pack_options *pack = &((pack_args *)args)->pack;
    uint32_t n = 0;
    if (strncmp(value, "exact=", 6) == 0 &&
        cli_to_size(value + 6, &pack->resize_width, &pack->resize_height)) {
        pack->resize = STK_RESIZE_EXACT;
        return NULL;
    }
    bool is_short = strncmp(value, "short=", 6) == 0, is_long = strncmp(value, "long=", 5) == 0;
    if ((!is_short && !is_long) || !cli_to_u32(strchr(value, '=') + 1, &n) || n == 0)
        return "is not short=N, long=N or exact=WxH (pixels)";
    pack->resize = is_short ? STK_RESIZE_SHORT : STK_RESIZE_LONG;
    pack->resize_width = n;
    return NULL;
}

static const char *parse_shuffle(void *args, const char *value)
{
    stk_pack_options *pack = &((pack_args *)args)->pack;
    pack->shuffle = true;
    return cli_to_u64(value, &pack->shuffle_seed) ? NULL : "is not a whole number";
}

static const char *parse_tile(void *args, const char *value)
{
    uint32_t *pixels = &((pack_args *)args)->pack.tile_pixels;
    return cli_to_u32(value, pixels) && (*pixels == 16 || *pixels == 32 || *pixels == 64)
               ? NULL
               : "is none of 16 32 64";
}

/* One word of keep=kind,... to its bit; 0 when there is no such kind. */
static uint32_t damage_bit(const char *word, size_t length)
{
    for (uint32_t bit = STK_DAMAGE_EXTRANEOUS; bit <= STK_DAMAGE_OTHER; bit <<= 1) {
        const char *name = stk_damage_name((stk_damage)bit);
        if (strlen(name) == length && strncmp(name, word, length) == 0) return bit;
    }
    return 0;
}

static const char *parse_on_damaged(void *args, const char *value)
{
    stk_pack_options *pack = &((pack_args *)args)->pack;
    pack->keep_damage = 0;
    pack->on_damaged = STK_DAMAGED_KEEP;
    if (strcmp(value, "skip") == 0)
        pack->on_damaged = STK_DAMAGED_SKIP;
    else if (strcmp(value, "fail") == 0)
        pack->on_damaged = STK_DAMAGED_FAIL;
    else if (strncmp(value, "keep=", 5) != 0 && strcmp(value, "keep") != 0)
        return "is not skip, fail, keep or keep=KIND,...";
    if (strncmp(value, "keep=", 5) != 0) return NULL;
    for (const char *word = value + 5;; word++) {
        size_t length = strcspn(word, ",");
        uint32_t bit = damage_bit(word, length);
        if (bit == 0)
            return "names an unknown kind; the kinds are extraneous truncated entropy checksum header "
                   "overflow other";
        pack->keep_damage |= bit;
        word += length;
        if (*word == '\0') return NULL;
    }
}

static const char *parse_on_bad(void *args, const char *value)
{
    stk_pack_options *pack = &((pack_args *)args)->pack;
    pack->on_bad = STK_BAD_SKIP;
    if (strcmp(value, "skip") == 0) return NULL;
    pack->on_bad = STK_BAD_FAIL;
    if (strcmp(value, "fail") == 0) return NULL;
    pack->on_bad = STK_BAD_QUARANTINE;
    pack->quarantine = value + strlen("quarantine=");
    if (strncmp(value, "quarantine=", 11) == 0 && value[11] != '\0') return NULL;
    return "is not skip, fail or quarantine=DIR";
}

#define AT(member) .offset = offsetof(pack_args, member)
static const cli_option options[] = {
    OPTION_HEADING("What to pack"),
    {.kind = CLI_STRING,
     .name = "manifest",
     .argument = "FILE",
     AT(pack.manifest),
     .help =
         "Pack the files that a .csv or .jsonl file lists, in its order. SRC may be left out. All columns "
         "besides path and label are kept."},
    {.kind = CLI_STRING,
     .name = "path-column",
     .argument = "NAME",
     AT(pack.path_column),
     .help = "The manifest's column with the paths. By default path, file, filename, image, img and the like "
             "are looked for."},
    {.kind = CLI_STRING,
     .name = "label-column",
     .argument = "NAME",
     AT(pack.label_column),
     .help =
         "The manifest's column with the labels (text or numbers). By default label, class, target and the "
         "like are looked for; an empty name means none."},
    {.kind = CLI_STRING,
     .name = "root",
     .argument = "DIR",
     AT(pack.root),
     .help =
         "The folder that the manifest's paths are relative to. By default SRC, else the manifest's folder."},
    {.kind = CLI_STRINGS,
     .name = "column",
     .argument = "NAME:TYPE",
     AT(columns),
     .help =
         "The type of a manifest's column: bool, int8 to int64, uint8 to uint64, float32, float64, string. "
         "By default a column is typed only if every value survives it, so '001' stays text. May be "
         "repeated."},
    {.kind = CLI_STRING,
     .name = "dataset",
     .argument = "PATH",
     AT(source.hdf5_images),
     .help = "SRC is an HDF5 file: the path of the images in it. By default found by name and shape."},
    {.kind = CLI_STRING,
     .name = "labels",
     .argument = "PATH",
     AT(source.hdf5_labels),
     .help = "SRC is an HDF5 file: the path of the labels in it. By default found by name and shape."},
    {.kind = CLI_FLAG,
     .name = "arrays",
     AT(source.hdf5_arrays),
     .help = "SRC is an HDF5 file: store the data set as arrays, as it is, also where it looks like images (masks)."},
    {.kind = CLI_CUSTOM,
     .name = "range",
     .argument = "MIN:MAX",
     AT(source),
     .parse = parse_value_range,
     .help = "SRC is an HDF5 file: the range of pixel values that are not uint8; it is mapped to 0..255."},
    OPTION_HEADING("What to store"),
    {.kind = CLI_CHOICE,
     .name = "encode",
     .argument = "HOW",
     AT(pack.encode),
     .choices = encode_words,
     .help =
         "auto (default) never changes pixels: JPEGs become tiles, which load faster; images up to 4096 "
         "pixels become raw; the rest stays as it is. keep stores each file's own bytes, tiles insists on "
         "tiles for every JPEG, raw stores decoded pixels."},
    {.kind = CLI_CUSTOM,
     .name = "tile",
     .argument = "PX",
     .parse = parse_tile,
     .help = "Width of a tile: 16, 32 (default) or 64 pixels."},
    {.kind = CLI_CUSTOM,
     .name = "resize",
     .argument = "HOW",
     .parse = parse_resize,
     .help = "short=N, long=N (that side becomes N pixels) or exact=WxH (squashes). Images are encoded anew, "
             "so their pixels change. By default nothing is resized."},
    {.kind = CLI_CHOICE,
     .name = "resample",
     .argument = "FILTER",
     AT(pack.resample),
     .choices = filter_words,
     .help = "The filter of --resize: bilinear, bicubic (default), box, hamming or lanczos."},
    {.kind = CLI_U32,
     .name = "quality",
     .argument = "N",
     AT(pack.quality),
     .min = 1,
     .max = 100,
     .help = "JPEG quality of images that --resize encodes anew. Default 90, with 4:2:0 chroma."},
    {.kind = CLI_FLAG,
     .name = "chroma-444",
     AT(pack.chroma_444),
     .help = "Encode resized images with full chroma (4:4:4)."},
    {.kind = CLI_CHOICE,
     .name = "exif",
     .argument = "HOW",
     AT(pack.exif),
     .choices = exif_words,
     .help = "apply (default) turns images as their EXIF orientation says, as a viewer does; ignore leaves "
             "them as stored, as torchvision's ImageFolder does."},
    {.kind = CLI_CHOICE,
     .name = "mode",
     .argument = "MODE",
     AT(pack.mode),
     .choices = mode_words,
     .help = "RGB (default) or L, grey."},
    {.kind = CLI_CUSTOM,
     .name = "shuffle",
     .argument = "SEED",
     .parse = parse_shuffle,
     .help = "Store the records in random order. By default as torchvision's ImageFolder lists them."},
    OPTION_HEADING("Bad files"),
    {.kind = CLI_CHOICE,
     .name = "check",
     .argument = "HOW",
     AT(pack.check),
     .choices = check_words,
     .help = "decode (default) decodes each image once to find damage; header reads only its header."},
    {.kind = CLI_CUSTOM,
     .name = "on-damaged",
     .argument = "HOW",
     .parse = parse_on_damaged,
     .help = "Images that decode, but not cleanly: skip (default), fail, keep, or keep=KIND,... with kinds "
             "extraneous truncated entropy checksum header overflow other."},
    {.kind = CLI_CUSTOM,
     .name = "on-bad",
     .argument = "HOW",
     .parse = parse_on_bad,
     .help =
         "Files that cannot be decoded: skip (default), fail, or quarantine=DIR, which copies them there."},
    {.kind = CLI_U64,
     .name = "max-pixels",
     .argument = "N",
     AT(pack.max_pixels),
     .min = 1,
     .max = 1e12,
     .help = "Refuse larger images. Default 178956970, as Pillow."},
    {.kind = CLI_BYTES,
     .name = "max-file",
     .argument = "SIZE",
     AT(pack.max_file_bytes),
     .min = 1,
     .max = 4294967295.0,
     .help = "Refuse larger files. Default just below 4GiB."},
    OPTION_HEADING("Not doing things twice"),
    {.kind = CLI_SWITCH,
     .name = "resume",
     AT(resume),
     .help = "Go on where a killed pack of the same sources and options was. Default on; --no-resume starts "
             "afresh."},
    {.kind = CLI_FLAG,
     .name = "rehash",
     AT(pack.rehash),
     .help =
         "With --force over an older DST: read every source file and compare its content. By default a "
         "file with the same path, size and time counts as unchanged, and its record is taken from the old "
         "DST."},
    {.kind = CLI_STRING,
     .name = "cache",
     .argument = "DIR",
     AT(pack.cache),
     .help = "A folder of finished records, shared between outputs (see stoker-cache)."},
    {.kind = CLI_CUSTOM,
     .name = "part",
     .argument = "K/N",
     .parse = parse_part,
     .help = "Pack part K of N only, for 'stoker merge': many machines, one data set."},
    OPTION_HEADING("Output and run"),
    {.letter = 'f',
     .kind = CLI_FLAG,
     .name = "force",
     AT(pack.force),
     .help = "Replace DST if it exists and is a data set or empty. The old one stays until the new one is whole."},
    {.kind = CLI_FLAG,
     .name = "append",
     AT(pack.append),
     .help = "Add the images of SRC to DST/, a folder of shards, as new shards. Programs that have it open go on with "
             "what they opened. Classes are joined by name, new ones come last; options and columns must be those of "
             "the first pack. SRC is not compared with what DST holds: paths that are there already are packed again and "
             "stand there twice. The very same files with the same options are refused a second time; --append --force adds them once "
             "more. For a folder that has grown, --force without --append is the way, which takes over what is "
             "unchanged."},
    {.kind = CLI_BYTES,
     .name = "shard-size",
     .argument = "SIZE",
     AT(pack.shard_bytes),
     .min = 1048576,
     .max = 1e15,
     .help = "Size of the files when DST is a folder (ends with '/'). Default 4GiB."},
    {.letter = 'j',
     .kind = CLI_U32,
     .name = "threads",
     .argument = "N",
     AT(pack.n_threads),
     .min = 1,
     .max = 1024,
     .help =
         "Threads. By default as many as this process may really use (affinity, cgroup quota). The output "
         "does not depend on it."},
    {.kind = CLI_CHOICE,
     .name = "format",
     .argument = "NAME",
     AT(format),
     .choices = format_words,
     .help = "stk or hdf5. By default hdf5 when DST ends with .h5 or .hdf5, else stk."},
    OPTION_CHUNK_IMAGES(pack_args, pack.chunk_images),
    {.kind = CLI_STRING,
     .name = "hdf5-filter",
     .argument = "NAME",
     AT(pack.hdf5_filter),
     .help = "HDF5: none (default), gzip, gzip:LEVEL or lzf. Filtered files load slower."},
    OPTION_PROGRESS(pack_args, progress),
    OPTION_JSON(pack_args, json, "Print the report as one JSON object on stdout."),
    {.letter = 'q',
     .kind = CLI_FLAG,
     .name = "quiet",
     AT(quiet),
     .help = "Do not name left-out files on stderr and print no summary; the report file has them."},
    OPTION_END};

static int run(int argc, char **argv);
const cli_command command_pack = {
    .name = "pack",
    .summary = "pack a folder of images into a few big files",
    .synopsis = "[OPTION]... SRC DST",
    .description =
        "Packs the images of SRC into DST. SRC is a folder (sub-folders are classes, as torchvision's "
        "ImageFolder(allow_empty=True) reads them; without sub-folders there are no labels), a "
        ".csv or .jsonl manifest, a "
        ".tar archive (WebDataset's grouping by name), an HDF5 file, or a folder of .npy arrays. DST is a "
        "file x.stk, a folder of shards when it ends with '/', or an HDF5 file x.h5.\n\n"
        "DST appears whole or not at all. The same input gives the same bytes, for any number of threads. "
        "Files are recognised by content, not by name; those that are no images are ignored. Files that "
        "are left out, and why, are named on stderr and in DST.report.jsonl.",
    .options = options,
    .exit_status = "0 every image was packed\n"
                   "1 error; DST is as it was before\n"
                   "2 packed, but some images were left out\n"
                   "64 wrong command line",
    .examples = "stoker pack photos/train train.stk\n"
                "stoker pack --manifest labels.csv --root photos train.stk\n"
                "stoker pack --resize short=256 photos/train small.stk\n"
                "stoker pack --append photos/new train/",
    .min_operands = 1,
    .max_operands = 2,
    .run = run};

static bool on_progress(void *user, const stk_pack_progress *p)
{
    pack_run *r = user;
    progress_state state = {.phase = p->phase,
                            .done = p->files_done,
                            .total = p->files_total,
                            .bytes_done = p->bytes_done,
                            .bytes_total = p->bytes_total,
                            .bad = p->n_bad,
                            .unit = "files"};
    progress_update(&r->line, &state);
    return !interrupted();
}

static void count_kind(pack_run *r, const stk_pack_issue *issue)
{
    kind_count *k = r->kinds, *end = r->kinds + r->n_kinds;
    while (k < end && (strcmp(k->kind, issue->kind) != 0 || strcmp(k->action, issue->action) != 0))
        k++;
    if (k == end) {
        if (r->n_kinds == MAX_KINDS) return;
        r->n_kinds++;
        snprintf(k->kind, sizeof k->kind, "%s", issue->kind);
        snprintf(k->action, sizeof k->action, "%s", issue->action);
        k->n = 0;
    }
    k->n++;
}

static void keep_note(pack_run *r, const stk_pack_issue *issue)
{
    static const char *const kinds[] = {"label", "images", "members", "twice"};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds && r->n_notes < MAX_NOTES; k++) {
        if (strcmp(issue->kind, kinds[k]) != 0) continue;
        source_note *note = &r->notes[r->n_notes++];
        snprintf(note->kind, sizeof note->kind, "%s", issue->kind);
        snprintf(note->reason, sizeof note->reason, "%s", issue->reason);
    }
}

static void on_issue(void *user, const stk_pack_issue *issue)
{
    pack_run *r = user;
    count_kind(r, issue);
    keep_note(r, issue);
    if (r->args->quiet || r->n_issues++ >= NAMED_ISSUES) return;
    progress_clear(&r->line);
    cli_note(&command_pack, "%s: %s (%s): %s", issue->path, issue->action, issue->kind, issue->reason);
}

static void print_json(const pack_run *r, const stk_pack_report *report)
{
    json_out json = {.file = stdout};
    json_begin(&json, NULL, '{');
    json_u64(&json, "records", report->records);
    json_u64(&json, "skipped", report->skipped);
    json_u64(&json, "damaged", report->damaged);
    json_u64(&json, "reused", report->reused);
    json_u64(&json, "resumed", report->resumed);
    json_u64(&json, "bytes", report->bytes);
    json_real(&json, "seconds", report->seconds, 3);
    json_u64(&json, "files", report->files);
    json_u64(&json, "missing", report->missing);
    json_u64(&json, "ignored", report->ignored);
    json_u64(&json, "reencoded", report->reencoded);
    json_u64(&json, "resampled", report->resampled);
    json_u64(&json, "verbatim", report->verbatim);
    json_u64(&json, "source_bytes", report->source_bytes);
    json_text(&json, "dataset_id", report->dataset_id);
    json_begin(&json, "notes", '[');
    for (size_t i = 0; i < r->n_notes; i++) {
        json_begin(&json, NULL, '{');
        json_text(&json, "kind", r->notes[i].kind);
        json_text(&json, "reason", r->notes[i].reason);
        json_end(&json, '}');
    }
    json_end(&json, ']');
    json_end(&json, '}');
    fputc('\n', stdout);
}

static void print_summary(const char *dst, const stk_pack_report *report)
{
    char size[CLI_BYTES_TEXT], source[CLI_BYTES_TEXT];
    double s = report->seconds > 0 ? report->seconds : 1e-9;
    printf("%s: %" PRIu64 " records, %s (source files: %s) in %.2f s, %.0f files/s, %.1f MB/s", dst,
           report->records, cli_bytes_text(report->bytes, size), cli_bytes_text(report->source_bytes, source),
           report->seconds, (double)report->files / s, (double)report->source_bytes / s / 1e6);
    /* What was not done again explains the rate. */
    if (report->resumed > 0) printf("; %" PRIu64 " resumed from a killed run", report->resumed);
    if (report->reused > 0) printf("; %" PRIu64 " reused", report->reused);
    putchar('\n');
}

/* What a person should know although nothing failed, on stderr. */
static void print_notes(const pack_run *r, const char *dst, const stk_pack_report *report)
{
    for (size_t i = 0; i < r->n_kinds; i++)
        cli_note(&command_pack, "%" PRIu64 " %s: %s", r->kinds[i].n, r->kinds[i].action, r->kinds[i].kind);
    if (r->n_issues > NAMED_ISSUES)
        cli_note(&command_pack, "%" PRIu64 " more are not named here", r->n_issues - NAMED_ISSUES);
    size_t length = strlen(dst);
    while (length > 1 && dst[length - 1] == '/')
        length--;
    if (r->n_kinds > 0) cli_note(&command_pack, "each one stands in %.*s.report.jsonl", (int)length, dst);
    if (report->resampled > 0)
        cli_note(&command_pack, "--resize resampled %" PRIu64 " images that are stored raw: their pixels are not the source's",
                 report->resampled);
    if (report->reencoded > 0)
        cli_note(&command_pack,
                 "%s encoded %" PRIu64 " images anew (JPEG quality %" PRIu32
                 ", %s): their pixels are not the source's",
                 r->args->pack.resize == STK_RESIZE_NONE ? "--encode tiles" : "--resize", report->reencoded, r->args->pack.quality, r->args->pack.chroma_444 ? "4:4:4" : "4:2:0");
    if (report->verbatim > 0)
        cli_note(&command_pack,
                 "%" PRIu64
                 " JPEGs cannot become tiles without loss and were stored as they are; they load slower",
                 report->verbatim);
}

/* An HDF5 file is made for other software more often than not. */
static void note_hdf5_tiles(pack_run *r, const char *dst)
{
    const char *end = strrchr(dst, '.');
    bool by_name = end != NULL && (strcasecmp(end, ".h5") == 0 || strcasecmp(end, ".hdf5") == 0);
    stk_dataset *dataset = NULL;
    if (r->args->pack.format != NULL ? strcmp(r->args->pack.format, "hdf5") != 0 : !by_name) return;
    if (stk_dataset_open(dst, NULL, &dataset, NULL) != STK_OK) return;
    uint64_t n = note_tiles(&command_pack, dataset, dst);
    stk_dataset_close(&dataset);
    if (n == 0 || r->n_notes == MAX_NOTES) return;
    source_note *note = &r->notes[r->n_notes++];
    snprintf(note->kind, sizeof note->kind, "tiles");
    snprintf(note->reason, sizeof note->reason, "%" PRIu64 " records are tiles, which only stoker decodes", n);
}

static int finish(pack_run *r, const char *dst, const stk_pack_report *report)
{
    if (!r->args->quiet) print_notes(r, dst, report);
    if (!r->args->quiet) note_hdf5_tiles(r, dst);
    if (r->args->json)
        print_json(r, report);
    else if (!r->args->quiet)
        print_summary(dst, report);
    return report->skipped > 0 ? CLI_SKIPPED : CLI_OK;
}

/* ---- Options that say nothing for what was asked for. They are told, not refused: scripts give them to every pack. */

enum { UNSAID = -1 };

static void forget_said(stk_pack_options *o)
{
    o->quality = o->tile_pixels = 0;
    o->shard_bytes = 0;
    o->resample = (stk_filter)UNSAID;
}

static void note_unused(const stk_pack_options *o, const char *dst)
{
    bool resized = o->resize != STK_RESIZE_NONE, shards = dst[strlen(dst) - 1] == '/';
    bool anew = o->encode == STK_ENCODE_TILES || (resized && o->encode != STK_ENCODE_RAW);
    bool tiles = o->encode == STK_ENCODE_AUTO || o->encode == STK_ENCODE_TILES;
    if ((o->quality != 0 || o->chroma_444) && !anew)
        cli_note(&command_pack, "%s has no effect here: no image is encoded anew without --resize",
                 o->quality != 0 ? "--quality" : "--chroma-444");
    if (o->resample != (stk_filter)UNSAID && !resized)
        cli_note(&command_pack, "--resample has no effect here: nothing is resized without --resize");
    if (o->tile_pixels != 0 && !tiles)
        cli_note(&command_pack, "--tile has no effect here: no tiles are made with this --encode");
    if (o->shard_bytes != 0 && !shards)
        cli_note(&command_pack, "--shard-size has no effect here: %s is one file; write %s/ for a folder of shards", dst, dst);
    if (o->rehash && !o->force)
        cli_note(&command_pack, "--rehash has no effect here: without --force nothing is taken over from an older pack");
}

static void fill_unsaid(stk_pack_options *o, const stk_pack_options *defaults)
{
    if (o->quality == 0) o->quality = defaults->quality;
    if (o->tile_pixels == 0) o->tile_pixels = defaults->tile_pixels;
    if (o->shard_bytes == 0) o->shard_bytes = defaults->shard_bytes;
    if (o->resample == (stk_filter)UNSAID) o->resample = defaults->resample;
}

static int run(int argc, char **argv)
{
    pack_args args = {.progress = -1, .resume = -1};
    pack_run r = {.args = &args};
    cli_operands operands;
    stk_error error = {0};
    stk_pack_report report;
    stk_pack_options_init(&args.pack);
    stk_dataset_options_init(&args.source);
    args.pack.source = &args.source;
    const stk_pack_options defaults = args.pack;
    forget_said(&args.pack);
    int code = cli_parse(&command_pack, argc, argv, &args, &operands);
    if (code != CLI_GO) return code;
    if (operands.n == 1 && args.pack.manifest == NULL)
        return cli_misuse(&command_pack, "too few operands: stoker pack %s", command_pack.synopsis);
    const char *src = operands.n == 2 ? operands.items[0] : NULL;
    const char *dst = operands.items[operands.n - 1];
    if (*dst != '\0') note_unused(&args.pack, dst);
    fill_unsaid(&args.pack, &defaults);
    args.pack.column_types = args.columns.items;
    args.pack.n_column_types = args.columns.n;
    if (args.resume >= 0) args.pack.resume = args.resume == 1;
    if (args.format != 0) args.pack.format = cli_choice_name(format_words, args.format);
    if (args.pack.hdf5_filter != NULL && strcmp(args.pack.hdf5_filter, "none") == 0)
        args.pack.hdf5_filter = NULL;
    args.pack.progress = on_progress;
    args.pack.issue = on_issue;
    args.pack.user = &r;
    catch_interrupts();
    progress_start(&r.line, args.progress);
    stk_status status = stk_pack(src, dst, &args.pack, &report, &error);
    progress_clear(&r.line);
    if (status == STK_ERR_CANCELLED)
        return cli_error(&command_pack,
                         "interrupted; %s is as it was before, and the same command goes on from here", dst);
    if (status != STK_OK) return cli_fail(&command_pack, status, &error);
    return finish(&r, dst, &report);
}
