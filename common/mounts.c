/* SPDX-License-Identifier: Apache-2.0 */
#include "common/mounts.h"

#include <string.h>

/* mountinfo writes space, tab, newline and backslash as \ooo. */
static void unescape(char *text)
{
    char *out = text;
    for (const char *p = text; *p != '\0'; p++) {
        if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' && p[2] <= '7' && p[3] >= '0' &&
            p[3] <= '7') {
            *out++ = (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + (p[3] - '0'));
            p += 3;
        } else {
            *out++ = *p;
        }
    }
    *out = '\0';
}

/* "id parent major:minor ROOT MOUNT options [optional]* - TYPE source SUPER". */
bool stk_mount_parse(char *line, stk_mount *out)
{
    char *fields[6], *save = NULL;
    line[strcspn(line, "\n")] = '\0';
    char *dash = strstr(line, " - ");
    if (dash == NULL) return false;
    *dash = '\0';
    for (int i = 0; i < 6; i++) {
        fields[i] = strtok_r(i == 0 ? line : NULL, " ", &save);
        if (fields[i] == NULL) return false;
    }
    out->root = fields[3];
    out->point = fields[4];
    out->type = strtok_r(dash + 3, " ", &save);
    out->source = out->type == NULL ? NULL : strtok_r(NULL, " ", &save);
    out->super = out->source == NULL ? NULL : strtok_r(NULL, " ", &save);
    if (out->super == NULL) return false;
    unescape(out->root);
    unescape(out->point);
    unescape(out->source);
    return true;
}

bool stk_mount_holds(const char *point, const char *path)
{
    size_t n = strlen(point);
    while (n > 0 && point[n - 1] == '/') n--;
    return strncmp(point, path, n) == 0 && (path[n] == '/' || path[n] == '\0');
}
