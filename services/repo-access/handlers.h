#pragma once

/*
 * Handlers that have a file of their own: members.c, sign_ins.c and devices.c of RepoAccessService,
 * which rpc.c registers, arrivals.c and two of devices.c of RepoAccessInternalService, which
 * rpc_internal.c registers; and what they check.
 */

#include "kndl/permit.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/rpc.h"
#include "signin.h"
#include "store.h"

/* members.c */
int list_members(struct kndl_call *call, const Kndl__RepoAccess__V1__ListMembersRequest *req,
                 Kndl__RepoAccess__V1__ListMembersResponse *resp);
int list_invites(struct kndl_call *call, const Kndl__RepoAccess__V1__ListInvitesRequest *req,
                 Kndl__RepoAccess__V1__ListInvitesResponse *resp);
int invite_member(struct kndl_call *call, const Kndl__RepoAccess__V1__InviteMemberRequest *req,
                  Kndl__RepoAccess__V1__InviteMemberResponse *resp);
int revoke_invite(struct kndl_call *call, const Kndl__RepoAccess__V1__RevokeInviteRequest *req,
                  Kndl__RepoAccess__V1__RevokeInviteResponse *resp);
int remove_member(struct kndl_call *call, const Kndl__RepoAccess__V1__RemoveMemberRequest *req,
                  Kndl__RepoAccess__V1__RemoveMemberResponse *resp);
int hand_over_ownership(struct kndl_call *call,
                        const Kndl__RepoAccess__V1__HandOverOwnershipRequest *req,
                        Kndl__RepoAccess__V1__HandOverOwnershipResponse *resp);

/* sign_ins.c */
int sign_out(struct kndl_call *call, const Kndl__RepoAccess__V1__SignOutRequest *req,
             Kndl__RepoAccess__V1__SignOutResponse *resp);
int list_sign_ins(struct kndl_call *call, const Kndl__RepoAccess__V1__ListSignInsRequest *req,
                  Kndl__RepoAccess__V1__ListSignInsResponse *resp);
int end_sign_in(struct kndl_call *call, const Kndl__RepoAccess__V1__EndSignInRequest *req,
                Kndl__RepoAccess__V1__EndSignInResponse *resp);
int end_all_sign_ins(struct kndl_call *call, const Kndl__RepoAccess__V1__EndAllSignInsRequest *req,
                     Kndl__RepoAccess__V1__EndAllSignInsResponse *resp);

/* arrivals.c */
int get_sign_in_methods(struct kndl_call *call,
                        const Kndl__RepoAccess__V1__GetSignInMethodsRequest *req,
                        Kndl__RepoAccess__V1__GetSignInMethodsResponse *resp);
int begin_sign_in(struct kndl_call *call, const Kndl__RepoAccess__V1__BeginSignInRequest *req,
                  Kndl__RepoAccess__V1__BeginSignInResponse *resp);
int complete_sign_in(struct kndl_call *call, const Kndl__RepoAccess__V1__CompleteSignInRequest *req,
                     Kndl__RepoAccess__V1__CompleteSignInResponse *resp);

/* devices.c; the first two are the internal service's */
int begin_device(struct kndl_call *call, const Kndl__RepoAccess__V1__BeginDeviceRequest *req,
                 Kndl__RepoAccess__V1__BeginDeviceResponse *resp);
int poll_device(struct kndl_call *call, const Kndl__RepoAccess__V1__PollDeviceRequest *req,
                Kndl__RepoAccess__V1__PollDeviceResponse *resp);
int begin_confirmation(struct kndl_call *call,
                       const Kndl__RepoAccess__V1__BeginConfirmationRequest *req,
                       Kndl__RepoAccess__V1__BeginConfirmationResponse *resp);
int take_confirmation(struct kndl_call *call,
                      const Kndl__RepoAccess__V1__TakeConfirmationRequest *req,
                      Kndl__RepoAccess__V1__TakeConfirmationResponse *resp);
int find_device(struct kndl_call *call, const Kndl__RepoAccess__V1__FindDeviceRequest *req,
                Kndl__RepoAccess__V1__FindDeviceResponse *resp);
int decide_device(struct kndl_call *call, const Kndl__RepoAccess__V1__DecideDeviceRequest *req,
                  Kndl__RepoAccess__V1__DecideDeviceResponse *resp);

/* By the name under which the store keeps it; UNSPECIFIED for "", a sign-in's. */
Kndl__RepoAccess__V1__Purpose devices_purpose(const char *name);

enum { MACHINE_CHARS_MAX = 100 };

/* kndl_stand_fn of this service's methods of people: rpc.c. */
int stand(struct kndl_call *call, const struct kndl_public *row, const ProtobufCMessage *request,
          unsigned *ret_who);

/* The caller, as who asks for a change; `message` is the request. Fails as
 * kndl_call_check_request_id(). */
int rpc_ask(struct kndl_call *call, const char *request_id, const ProtobufCMessage *message,
            struct kndl_asked *ret_asked);
int check_machine(struct kndl_call *call, const char *machine);

/* What a browser had before it got another credential ends. */
int replace_credential(struct kndl_call *call, const ProtobufCBinaryData *hash);
