/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/settle.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/fail.h"
#include "packer/foreign.h"

void stk_product_leave_out(stk_product *p, stk_status failure, const char *action, const char *kind,
                           const char *format, ...)
{
    p->fate = STK_FATE_LEFT_OUT;
    p->failure = failure;
    p->action = action;
    p->kind = kind;
    va_list args;
    va_start(args, format);
    vsnprintf(p->reason, sizeof p->reason, format, args);
    va_end(args);
}

static void call_bad(stk_product *p, stk_status failure, const char *kind, const char *reason)
{
    stk_product_leave_out(p, failure, "skipped", kind, "%s", reason);
    p->bad = true;
}

static void ignore(stk_product *p)
{
    p->fate = STK_FATE_IGNORED;
    p->failure = STK_OK;
    p->action = NULL;
    p->bad = p->missing = false;
}

/* Entries that the list itself knows to have no file. True when that was all there is to do. */
bool stk_settle_by_state(const stk_sources *sources, const stk_source *source, stk_product *p)
{
    switch (source->state) {
    case STK_SOURCE_FILE:
    case STK_SOURCE_NO_CLASS: return false;
    case STK_SOURCE_MISSING:
        stk_product_leave_out(p, STK_ERR_NOT_FOUND, "missing", "missing", "%s",
                              source->name[0] == '\0' ? "the manifest's line names no file"
                                                      : "there is no such file");
        break;
    case STK_SOURCE_AMBIGUOUS:
        stk_product_leave_out(p, STK_ERR_NOT_FOUND, "missing", "ambiguous",
                              "several files have this name; write the folder before it");
        break;
    case STK_SOURCE_OUTSIDE:
        stk_product_leave_out(p, STK_ERR_NOT_FOUND, "missing", "outside",
                              "the path leads out of the folder %.150s", sources->root);
        break;
    case STK_SOURCE_UNREADABLE: {
        stk_error text;
        (void)stk_fail_errno(&text, sources->dirs[source->dir].error_number, "cannot list the folder");
        call_bad(p, STK_ERR_IO, "folder", text.text);
        return true;
    }
    case STK_SOURCE_LOOP:
        stk_product_leave_out(p, STK_OK, "ignored", "loop", "a link to a folder that holds it");
        p->fate = STK_FATE_IGNORED;
        return true;
    }
    p->missing = true;
    return true;
}

/* Files that could not be read. True when that settles it. */
bool stk_settle_by_reading(const stk_sources *sources, const stk_source *source,
                           const stk_source_bytes *bytes, stk_product *p)
{
    bool named = stk_has_image_extension(source->name);
    switch (bytes->result) {
    case STK_READ_OK:
    case STK_READ_NO_IMAGE: return false;
    case STK_READ_GONE:
        stk_product_leave_out(p, STK_ERR_NOT_FOUND, "missing", "missing",
                              "the file is gone, or a link that leads nowhere");
        p->missing = true;
        break;
    case STK_READ_OUTSIDE:
        stk_product_leave_out(p, STK_ERR_NOT_FOUND, "missing", "outside",
                              "a link leads out of the folder %.150s", sources->root);
        p->missing = true;
        break;
    case STK_READ_UNREADABLE: {
        stk_error text;
        (void)stk_fail_errno(&text, bytes->error_number, "cannot be read");
        call_bad(p, STK_ERR_IO, "io", text.text);
        break;
    }
    case STK_READ_NOT_A_FILE: call_bad(p, STK_ERR_IMAGE, "not-an-image", "a pipe, socket or device"); break;
    case STK_READ_TOO_LARGE:
        call_bad(p, STK_ERR_LIMIT, "too-large", "larger than --max-file (in Python max_file_bytes) allows");
        return true;
    }
    /* Without its content only the name tells what it was to be. */
    if (!named && !sources->confined) ignore(p);
    return true;
}

/* No codec takes it: litter and other files are ignored, what claims to be an image is named. */
void stk_settle_foreign(const stk_sources *sources, const stk_source *source, const stk_source_bytes *bytes,
                        stk_product *p)
{
    const char *what = NULL;
    stk_foreign foreign = stk_foreign_of(bytes->data, bytes->n_bytes, &what);
    bool wanted = stk_has_image_extension(source->name) || sources->confined;
    if (foreign == STK_FOREIGN_LITTER || source->state == STK_SOURCE_NO_CLASS) {
        ignore(p);
    } else if (foreign == STK_FOREIGN_IMAGE) {
        stk_product_leave_out(p, STK_ERR_UNSUPPORTED, "skipped", "unsupported",
                              "%s, which is not read here: convert it", what);
        p->bad = true;
    } else if (!wanted) {
        ignore(p);
    } else if (bytes->size == 0) {
        call_bad(p, STK_ERR_IMAGE, "empty", "the file has 0 bytes");
    } else {
        stk_product_leave_out(p, STK_ERR_IMAGE, "skipped", "not-an-image", "the content is no image%s%s",
                              what != NULL ? " but " : "", what != NULL ? what : "");
        p->bad = true;
    }
}

/* A failed call on the image's bytes: out of memory ends the pack, all else is the image's own fault. */
stk_status stk_settle_failure(stk_status status, const stk_error *text, stk_product *p, stk_error *error)
{
    switch (status) {
    case STK_OK: return STK_OK;
    case STK_ERR_LIMIT: call_bad(p, status, "too-large", text->text); return STK_OK;
    case STK_ERR_UNSUPPORTED: call_bad(p, status, "unsupported", text->text); return STK_OK;
    case STK_ERR_IMAGE:
    case STK_ERR_DAMAGED:
    case STK_ERR_CORRUPT: call_bad(p, STK_ERR_IMAGE, "unreadable", text->text); return STK_OK;
    default:
        if (error != NULL) *error = *text;
        return status;
    }
}

stk_status stk_settle_policy(const stk_pack_options *o, const char *path, const stk_product *product,
                             stk_error *error)
{
    bool damaged = product->damage != 0 && product->fate == STK_FATE_LEFT_OUT;
    bool fails = damaged ? o->on_damaged == STK_DAMAGED_FAIL : product->bad && o->on_bad == STK_BAD_FAIL;
    if (!fails) return STK_OK;
    return stk_fail(error, product->failure, "%s: %s: %s (--%s skip leaves such files out)", path,
                    product->kind, product->reason, damaged ? "on-damaged" : "on-bad");
}
