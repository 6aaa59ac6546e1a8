/* docs/permissions.md. */

#include <stdlib.h>
#include <string.h>

#include "kndl/buf.h"
#include "kndl/gateway/v1/frame.pb-c.h"
#include "kndl/publics.h"

enum { PRINCIPALS = 10 };

static const char *const principals[PRINCIPALS] = {
    "Creator",   "other Participant", "Member without Repo access",
    "Owner",     "removed Member",    "Runner",
    "mod token", "CLI token",         "confirmed CLI",
    "anonymous"};

enum { IN_BROWSER = 4, WITHOUT_REPO = 2, BY_CLI = 7, BY_CONFIRMED = 8 };

struct cells {
    const char *of[PRINCIPALS];
};

static struct cells cells_of(enum kndl_who who)
{
    switch (who) {
    case KNDL_WHO_MEMBER:
        return (struct cells){{"A", "A", "A", "A", "R", "R", "R", "=", "R", "R"}};
    case KNDL_WHO_PARTICIPANT:
    case KNDL_WHO_KEEPER:
        return (struct cells){{"A", "A", "N", "A", "R", "R", "R", "=", "R", "R"}};
    case KNDL_WHO_CREATOR:
        return (struct cells){{"A", "R", "N", "R", "R", "R", "R", "=", "R", "R"}};
    case KNDL_WHO_OWNER:
        return (struct cells){{"R", "R", "R", "A", "R", "R", "R", "=", "R", "R"}};
    case KNDL_WHO_RUNNER:
        return (struct cells){{"R", "R", "R", "R", "R", "A", "R", "R", "R", "R"}};
    case KNDL_WHO_SANDBOX:
        return (struct cells){{"R", "R", "R", "R", "R", "R", "A", "R", "R", "R"}};
    case KNDL_WHO_ANYBODY:
        return (struct cells){{"A", "A", "A", "A", "A", "A", "A", "A", "A", "A"}};
    }
    abort();
}

static const char *about_name(enum kndl_about about)
{
    switch (about) {
    case KNDL_ABOUT_NOTHING:
        return "";
    case KNDL_ABOUT_SEEN:
        return "a list";
    case KNDL_ABOUT_REPO:
        return "a Repo";
    case KNDL_ABOUT_SESSION:
        return "a Session";
    case KNDL_ABOUT_SHARED:
        return "a Shared variable";
    }
    abort();
}

/* What a CLI's person confirms to have it call the method. */
static const char *confirmed_name(enum kndl_client clients)
{
    if (clients & KNDL_BY_CONFIRMED_SEE_MEMBERS)
        return "= see Members, change Members";
    if (clients & KNDL_BY_CONFIRMED_CHANGE_MEMBERS)
        return "= change Members";
    if (clients & KNDL_BY_CONFIRMED_SETUP_TOKEN)
        return "= setup token";
    return clients & KNDL_BY_CONFIRMED_RUNNERS ? "= Runners" : "R";
}

static struct cells cells_of_row(const struct kndl_public *row)
{
    struct cells cells = cells_of(row->who);

    if (row->about == KNDL_ABOUT_SEEN)
        cells.of[WITHOUT_REPO] = "absent";
    if (!(row->clients & KNDL_BY_CLI))
        cells.of[BY_CLI] = "R";
    if (row->clients == KNDL_BY_CLI) { /* nobody else's, whoever they are */
        for (int i = 0; i < IN_BROWSER; i++)
            cells.of[i] = "R";
        cells.of[BY_CLI] = "A";
    }
    cells.of[BY_CONFIRMED] = confirmed_name(row->clients);
    return cells;
}

static void print_head(struct kndl_buf *out, const char *title, const char *first,
                       const char *second)
{
    kndl_buf_printf(out, "\n## %s\n\n| %s | %s |", title, first, second);
    for (int i = 0; i < PRINCIPALS; i++)
        kndl_buf_printf(out, " %s |", principals[i]);
    kndl_buf_append_text(out, "\n|---|---|");
    for (int i = 0; i < PRINCIPALS; i++)
        kndl_buf_append_text(out, "---|");
    kndl_buf_append_text(out, "\n");
}

static void print_cells(struct kndl_buf *out, const struct cells *cells)
{
    for (int i = 0; i < PRINCIPALS; i++)
        kndl_buf_printf(out, " %s |", cells->of[i]);
    kndl_buf_append_text(out, "\n");
}

static void print_services(struct kndl_buf *out, const struct kndl_public_service *services)
{
    for (; services->service != NULL; services++) {
        print_head(out, services->service->name, "method", "names");
        for (unsigned i = 0; i < services->service->n_methods; i++) {
            const struct kndl_public *row = kndl_public_find(&services->service->methods[i]);
            struct cells cells;

            if (row == NULL)
                abort(); /* one is there twice, another is missing */
            cells = cells_of_row(row);
            kndl_buf_printf(out, "| `%s` | %s |", row->method, about_name(row->about));
            print_cells(out, &cells);
        }
    }
}

static enum kndl_who find_message(const char *name)
{
    for (unsigned i = 0; i < kndl_public_message_count; i++)
        if (strcmp(kndl_public_messages[i].name, name) == 0)
            return kndl_public_messages[i].who;
    abort();
}

static void print_messages(struct kndl_buf *out)
{
    const ProtobufCMessageDescriptor *frame = &kndl__gateway__v1__client_frame__descriptor;

    print_head(out, "Messages on an open socket", "message", "names");
    for (unsigned i = 0; i < frame->n_fields; i++) {
        const struct cells cells = cells_of(find_message(frame->fields[i].name));

        kndl_buf_printf(out, "| `%s` | |", frame->fields[i].name);
        print_cells(out, &cells);
    }
}

static void print_paths(struct kndl_buf *out)
{
    print_head(out, "Paths", "path", "with");
    for (unsigned i = 0; i < kndl_path_count; i++) {
        const struct kndl_path *path = &kndl_paths[i];
        struct cells cells;

        if (path->id == KNDL_PATH_NONE)
            continue;
        cells = cells_of(path->who);
        kndl_buf_printf(out, "| `%s%s%s` | %s |",
                        strcmp(path->method, "*") == 0      ? ""
                        : strcmp(path->method, "READ") == 0 ? "GET"
                                                            : path->method,
                        strcmp(path->method, "*") == 0 ? "" : " ", path->path, path->remark);
        print_cells(out, &cells);
    }
}

void kndl_publics_print(struct kndl_buf *out)
{
    kndl_buf_append_text(
        out,
        "# Permissions\n\n"
        "Who may do what: made from `libs/bus/publics.c`; a test fails when this is stale, and "
        "another tries every\nkind of caller on every row "
        "(`integration-tests/flows/matrix.flow.mjs`).\n\n"
        "Checked in this order: the credential (401, alike for all), the object and its Repo "
        "(404, alike for what is\nnot there and what one may not see), who one is to it (403), the "
        "state (409), the rest of the request.\n\n"
        "**A** allowed, **N** refused as not found, **R** refused, **=** as the person whose CLI "
        "it is, *absent* left\nout of the list. A *confirmed CLI* is one whose person said yes in "
        "the browser to what follows the =\n(docs/adr/0024). The columns: a Session's Creator, "
        "while they "
        "see its Repo; who sees the Repo; a Member who does\nnot, its Creator and the Owner "
        "alike; the Owner, seeing it. A Runner has its own Sessions alone, others are N.\nA "
        "Shared variable is changed by who sees every Repo that it is linked to: who sees some of "
        "them is refused, R.\n");
    print_services(out, kndl_public_services);
    print_messages(out);
    print_paths(out);
    print_services(out, kndl_runner_services);
}
