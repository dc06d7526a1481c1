/* SPDX-License-Identifier: Apache-2.0
 *
 * What a killed run of a job has noted of its sources, and how far that still holds: a run that goes on takes
 * over the records up to the first source that has changed since. */
#ifndef STK_PACKER_RESUME_H
#define STK_PACKER_RESUME_H

#include "packer/pack_pipeline.h"
#include "packer/source_history.h"

typedef struct stk_resume {
    stk_buffer text;    /* the killed run's list, perhaps without its end */
    uint64_t *lines;    /* offsets of the file lines */
    uint64_t n_lines;   /* those that hold, after stk_resume_check */
    uint64_t n_records; /* among them */
} stk_resume;

/* Reads the list at path. One that cannot be used has no lines; that is no error. */
stk_status stk_resume_read(const char *path, const char *recipe, stk_resume *out, stk_error *error);
void stk_resume_free(stk_resume *resume);

/* Looks at the sources again, in all of the pipeline's threads, and keeps the lines before the first that has
 * changed. */
stk_status stk_resume_check(stk_resume *resume, const stk_pipeline *pipeline, stk_error *error);

/* Line i < n_lines as a product without payload. */
bool stk_resume_product(const stk_resume *resume, uint64_t i, stk_buffer *scratch, stk_product *out);

#endif
