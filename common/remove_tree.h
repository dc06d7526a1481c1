/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STK_COMMON_REMOVE_TREE_H
#define STK_COMMON_REMOVE_TREE_H

/* Removes a file, or a folder with everything in it; links are removed, never followed. What cannot be
 * removed stays. Returns 0, or the errno of the first failure. */
int stk_remove_tree(const char *path);

#endif
