/* The numbers of a release before this one: flows start a Runner that differs in them alone. */

#include "own_release.h"

const struct own_release own_release = {"0.0.9", 0};
