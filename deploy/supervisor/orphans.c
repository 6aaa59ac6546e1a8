/* Finds the children of this process below /proc. */

#include "orphans.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kndl/mem.h"

/* From /proc/PID/stat: "pid (comm) state ppid …"; comm may hold anything. */
static bool is_live_child(const char *pid, pid_t parent)
{
    KNDL_CLEANUP(kndl_close) int fd = -1;
    char path[64];
    char text[512];
    char state;
    int ppid;
    ssize_t size;
    const char *end;

    (void)snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size = read(fd, text, sizeof text - 1);
    if (size <= 0)
        return false;
    text[size] = '\0';
    end = strrchr(text, ')');
    if (end == NULL || sscanf(end, ") %c %d", &state, &ppid) != 2)
        return false;
    return ppid == parent && state != 'Z';
}

size_t orphans_signal(int number)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    size_t count = 0;

    if (proc == NULL)
        return 0;
    while ((entry = readdir(proc)) != NULL) {
        if (!isdigit((unsigned char)entry->d_name[0]) || !is_live_child(entry->d_name, getpid()))
            continue;
        /* A child that nobody waited for keeps its pid: this reaches no stranger. */
        (void)kill((pid_t)strtol(entry->d_name, NULL, 10), number);
        count++;
    }
    (void)closedir(proc);
    return count;
}
