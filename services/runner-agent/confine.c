/* Gives up all rights for good. */

#include "confine.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int confine(uid_t uid, struct kndl_error *err)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {0};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || setgroups(0, NULL) < 0 ||
        setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0 ||
        syscall(SYS_capset, &header, none) < 0)
        return kndl_fail(err, KNDL_INTERNAL, "cannot become uid %u: %s", (unsigned)uid,
                         strerror(errno));
    return 0;
}
