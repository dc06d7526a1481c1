/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands, one cmd_<name>.c each. */
#ifndef STK_TOOLS_COMMANDS_H
#define STK_TOOLS_COMMANDS_H

#include <stoker/dataset.h>

#include "cli.h"

extern const cli_command command_pack;
extern const cli_command command_info;
extern const cli_command command_ls;
extern const cli_command command_extract;
extern const cli_command command_export;
extern const cli_command command_verify;
extern const cli_command command_repair;
extern const cli_command command_bench;
extern const cli_command command_merge;
extern const cli_command command_cache;
extern const cli_command command_stage;

/* Options that several commands share, for their tables. T is the argument struct's type. */
#define OPTION_JSON(T, member, what)                                                                         \
    {                                                                                                        \
        .kind = CLI_FLAG, .name = "json", .offset = offsetof(T, member), .help = what                        \
    }
#define OPTION_PROGRESS(T, member)                                                                           \
    {                                                                                                        \
        .kind = CLI_SWITCH, .name = "progress", .offset = offsetof(T, member),                               \
        .help = "Show a progress line on stderr. By default only when stderr is a terminal."                 \
    }
#define OPTION_CHUNK_IMAGES(T, member)                                                                       \
    {                                                                                                        \
        .kind = CLI_U32, .name = "chunk-images", .argument = "N", .offset = offsetof(T, member), .min = 1,    \
        .max = 1e6, .help = "HDF5, raw images of one size: images in a chunk. Default about 1 MiB a chunk."                          \
    }
/* Which parts of an HDF5 file are meant; `member` is an stk_dataset_options. */
#define OPTIONS_HDF5(T, member)                                                                              \
    {.kind = CLI_STRING,                                                                                     \
     .name = "dataset",                                                                                      \
     .argument = "PATH",                                                                                     \
     .offset = offsetof(T, member.hdf5_images),                                                              \
     .help = "HDF5: the path of the images in the file. By default found by name and shape."},               \
        {.kind = CLI_STRING,                                                                                 \
         .name = "labels",                                                                                   \
         .argument = "PATH",                                                                                 \
         .offset = offsetof(T, member.hdf5_labels),                                                          \
         .help = "HDF5: the path of the labels in the file. By default found by name and shape."},           \
        {.kind = CLI_FLAG,                                                                                   \
         .name = "arrays",                                                                                   \
         .offset = offsetof(T, member.hdf5_arrays),                                                          \
         .help = "HDF5: serve the data set as arrays, as it is, also where it looks like images (masks)."},  \
    {                                                                                                        \
        .kind = CLI_CUSTOM, .name = "range", .argument = "MIN:MAX", .offset = offsetof(T, member),           \
        .parse = parse_value_range,                                                                          \
        .help = "HDF5: the range of pixel values that are not uint8; it is mapped to 0..255."                \
    }
/* How a data set is opened. */
#define OPTIONS_OPEN(T, member)                                                                              \
    OPTION_HEADING("How to open DST"),                                                                       \
        {.kind = CLI_FLAG,                                                                                   \
         .name = "salvage",                                                                                  \
         .offset = offsetof(T, member.salvage),                                                              \
         .help = "Open a .stk file that lost its end, by scanning for its records."},                        \
        OPTIONS_HDF5(T, member)
#define OPTION_HEADING(text)                                                                                 \
    {                                                                                                        \
        .kind = CLI_HEADING, .help = text                                                                    \
    }
#define OPTION_END                                                                                           \
    {                                                                                                        \
        .kind = CLI_HEADING                                                                                  \
    }

/* stk_dataset_open, but for options that DST has no use for: STK_ERR_ARGUMENT. What --salvage did not find is told in the
 * command's name. */
stk_status open_dataset(const cli_command *command, const char *path, const stk_dataset_options *options,
                        stk_dataset **out, stk_error *error);

/* Records as files below a folder, told in the name of `command` (cmd_extract.c). */
typedef struct extract_request {
    const cli_command *command;
    const stk_dataset *dataset;
    const char *folder; /* its name in what is told */
    int folder_fd;
    bool force;
    bool stop_at_conflict; /* another file by a record's name ends all; else it is told and left as it is */
    bool stop_at_bad; /* a record that cannot be read or written ends all; else it is told and left out */
    int progress;
    void (*skipped)(void *user, uint64_t number, const char *reason); /* NULL */
    void *user;
} extract_request;

typedef struct extract_counts {
    uint64_t written, same, skipped;
    uint64_t bytes, same_bytes; /* of what was written; of what was there already */
    bool interrupted;
    bool stopped; /* by a bad record, which was told */
} extract_counts;

/* Writes the records with these numbers, all when there are none. Looks at interrupted(). Returns an exit code; what ended
 * it was told, but for an interrupt. */
int extract_records(const extract_request *request, char **numbers, int n_numbers, extract_counts *counts);

/* All records into the folder out: one that is not there yet appears whole or not at all, one that is there gets file after
 * file (export_folder.c). Sets the request's folder. As extract_records, and tells of interrupts. */
int export_to_folder(extract_request *request, const char *out, extract_counts *counts);

/* Says how many records of the HDF5 file at path are tiles, which other software opens and cannot decode; returns it. */
uint64_t note_tiles(const cli_command *command, const stk_dataset *dataset, const char *path);

/* A cli_parse_fn for --range; its target is an stk_dataset_options. */
const char *parse_value_range(void *target, const char *value);

#endif
