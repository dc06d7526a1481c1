/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "packer/source_store.h"
#include "packer/table.h"

void stk_source_dir_free(stk_source_dir *dir)
{
    free(dir->path);
    free(dir->names);
    free(dir->offsets);
    *dir = (stk_source_dir){0};
}

void stk_sources_free(stk_sources *sources)
{
    for (size_t i = 0; i < sources->n_dirs; i++)
        stk_source_dir_free(&sources->dirs[i]);
    for (uint32_t i = 0; i < sources->n_classes; i++)
        free(sources->class_names[i]);
    free(sources->class_names);
    free(sources->dirs);
    free(sources->root);
    free(sources->states);
    free(sources->labels);
    free(sources->label_note);
    free(sources->image_note);
    free(sources->member_note);
    stk_table_free(sources->table);
    if (sources->store != NULL) sources->store->close(sources->store);
    *sources = (stk_sources){0};
}

stk_source_dir *stk_sources_add_dir(stk_sources *sources)
{
    if (sources->n_dirs == sources->dirs_capacity) {
        size_t capacity = sources->dirs_capacity == 0 ? 16 : sources->dirs_capacity * 2;
        stk_source_dir *dirs = realloc(sources->dirs, capacity * sizeof *dirs);
        if (dirs == NULL) return NULL;
        sources->dirs = dirs;
        sources->dirs_capacity = capacity;
    }
    stk_source_dir *dir = &sources->dirs[sources->n_dirs++];
    *dir = (stk_source_dir){.label = -1};
    return dir;
}

void stk_sources_number(stk_sources *sources)
{
    sources->n = 0;
    for (size_t i = 0; i < sources->n_dirs; i++) {
        sources->dirs[i].first = sources->n;
        sources->n += sources->dirs[i].n;
    }
}

void stk_sources_get(const stk_sources *sources, uint64_t position, stk_source *out)
{
    /* The last folder that begins at or before the position and is not empty. */
    size_t low = 0, high = sources->n_dirs;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (sources->dirs[middle].first <= position)
            low = middle;
        else
            high = middle;
    }
    const stk_source_dir *dir = &sources->dirs[low];
    out->dir = low;
    out->name = dir->names + dir->offsets[position - dir->first];
    out->position = position;
    out->label = sources->labels != NULL ? sources->labels[position] : dir->label;
    out->state = sources->states != NULL ? (stk_source_state)sources->states[position] : dir->state;
}

size_t stk_source_path(const stk_sources *sources, const stk_source *source, char *text, size_t capacity)
{
    const char *folder = sources->dirs[source->dir].path;
    size_t n_folder = strlen(folder), n_name = strlen(source->name);
    bool slash = n_folder > 0 && n_name > 0;
    snprintf(text, capacity, "%s%s%s", folder, slash ? "/" : "", source->name);
    return n_folder + (slash ? 1 : 0) + n_name;
}

bool stk_has_image_extension(const char *name)
{
    static const char *const EXTENSIONS[] = {
        "jpg", "jpeg", "jpe", "jfif", "mpo", "png",  "apng", "webp", "tif", "tiff", "bmp", "dib",
        "ppm", "pgm",  "pbm", "pnm",  "gif", "heic", "heif", "avif", "jxl", "jp2",  "ico",
    };
    const char *dot = strrchr(name, '.');
    if (dot == NULL) return false;
    for (size_t i = 0; i < sizeof EXTENSIONS / sizeof *EXTENSIONS; i++)
        if (strcasecmp(dot + 1, EXTENSIONS[i]) == 0) return true;
    return false;
}
