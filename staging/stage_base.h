/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder in a place that holds this user's copies, and the locks in it. Names there:
 *
 *   KEY/          a published copy: `record` and the data
 *   KEY.part/     one that is being made, or was when its maker died
 *   KEY.lock      held by whoever makes, mends or removes the copy
 *   KEY.status    how the making is getting on, or how it ended
 *   choose.lock   held while a place is decided on, so that two calls at once decide the same
 *   trash.N/      about to be removed
 */
#ifndef STK_STAGING_STAGE_BASE_H
#define STK_STAGING_STAGE_BASE_H

#include <stdbool.h>
#include <stdint.h>

#include <stoker/stage.h>
#include <stoker/status.h>

/* "PLACE/stoker-UID", made if need be. Whoever may write into the place could put a folder or a link of that name there
 * first, so it must be a real folder, this user's, and closed to others; and where others may write, only a sticky place
 * keeps them from exchanging it. STK_ERR_UNSUPPORTED otherwise. With create false a missing one is STK_ERR_NOT_FOUND. */
stk_status stk_stage_base(const char *place, bool create, char base[STK_STAGE_PATH], stk_error *error);

/* BASE/NAME+ENDING; false when that is too long. */
bool stk_stage_join(char out[STK_STAGE_PATH], const char *base, const char *name, const char *ending);

/* A lock file, locked: the kernel lets go of it when the process dies. *fd >= 0 on success. STK_AGAIN: another holds it,
 * *holder (may be NULL) is its process number, 0 = not known. */
stk_status stk_stage_lock(const char *path, int *fd, long *holder, stk_error *error);
void stk_stage_unlock(int *fd);
/* Whether somebody holds it now. */
bool stk_stage_is_locked(const char *path);
/* Removes a lock file that this process holds, and lets go. */
void stk_stage_drop_lock(const char *path, int *fd);

/* Readers of a copy hold a shared lock on its record (staged.c); whoever takes from it what they read must hold the
 * other kind. how: LOCK_SH, or LOCK_EX | LOCK_NB. The descriptor, to be given to stk_stage_unlock; -1 with errno:
 * EWOULDBLOCK = somebody else holds it, ENOENT = there is no record, or the copy was moved away meanwhile. */
int stk_stage_hold(const char *folder, int how);
/* Whether somebody reads the copy in folder now. */
bool stk_stage_in_use(const char *folder);

/* Moves a folder out of the way in one step and removes it then. 0 or an errno. */
int stk_stage_discard(const char *base, const char *path);

/* Bytes that a folder's files take on disk, all levels. */
uint64_t stk_stage_disk_bytes(const char *path);

#endif
