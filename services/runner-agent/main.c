/* runner-agent: what runs on each host that starts Sandboxes. */

#include <stdio.h>

#include "child.h"
#include "verb.h"

int main(int argc, char **argv)
{
    int status;

    if (verb_main(argc, argv, &status))
        return status;
    children_prepare();
    (void)fprintf(stderr, "runner-agent: nothing but verbs yet\n");
    return 2;
}
