import { useState } from 'react'

import type { Invite, Member } from '@/gen/kndl/repo_access/v1/repo_access_service_pb'
import { ago, fullTime } from '@/lib/time'
import { sentence } from '@/lib/transport'
import { Button } from '@/ui/button'
import { Confirm } from '@/ui/confirm'
import { ErrorText, Loading } from '@/ui/feedback'
import { Field } from '@/ui/field'
import { Once } from '@/ui/once'
import { Page } from '@/ui/page'

import {
  useHandOverOwnership,
  useInviteMember,
  useInvites,
  useMembers,
  useRemoveMember,
  useRevokeInvite,
} from './api/members'

function MemberRow({ member, isMe, canChange }: { member: Member; isMe: boolean; canChange: boolean }) {
  const remove = useRemoveMember()
  const handOver = useHandOverOwnership()
  const person = member.person
  if (person === undefined) return null
  return (
    <li className="flex flex-col gap-2 p-3">
      <div className="min-w-0">
        <p className="truncate font-medium">
          {person.login}
          {person.isOwner && <span className="ml-2 text-sm font-normal text-accent">Owner</span>}
          {isMe && <span className="ml-2 text-sm font-normal text-muted">you</span>}
        </p>
        <p className="truncate text-sm text-muted">
          {person.name === '' ? '' : `${person.name}, `}since {fullTime(member.sinceMs)}
        </p>
      </div>
      {canChange && !isMe && (
        <div className="flex flex-wrap gap-2">
          <Confirm
            label={`Remove ${person.login}`}
            question="They are signed out everywhere at once, their awake Sessions go to sleep, their setup token is deleted."
            busy={remove.isPending}
            onConfirm={() => remove.mutate(person.id)}
          />
          <Confirm
            label={`Make ${person.login} the Owner`}
            question="There is one Owner: you will be an ordinary Member."
            busy={handOver.isPending}
            onConfirm={() => handOver.mutate(person.id)}
          />
        </div>
      )}
      {remove.isError && <ErrorText>{sentence(remove.error)}</ErrorText>}
      {handOver.isError && <ErrorText>{sentence(handOver.error)}</ErrorText>}
    </li>
  )
}

function InviteRow({ invite }: { invite: Invite }) {
  const revoke = useRevokeInvite()
  return (
    <li className="flex flex-wrap items-center gap-3 p-3">
      <div className="min-w-0 flex-1">
        <p className="truncate font-medium">{invite.login}</p>
        <p className="text-sm text-muted">
          invited {ago(invite.createdAtMs)}, until {fullTime(invite.endsAtMs)}
        </p>
      </div>
      <Button tone="danger" busy={revoke.isPending} onClick={() => revoke.mutate(invite.id)}>
        Revoke
      </Button>
      {revoke.isError && <ErrorText>{sentence(revoke.error)}</ErrorText>}
    </li>
  )
}

function Invites() {
  const invites = useInvites()
  const invite = useInviteMember()
  const [login, setLogin] = useState('')

  return (
    <section className="flex flex-col gap-3">
      <h2 className="text-lg font-semibold">Invites</h2>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          invite.mutate(login.trim(), { onSuccess: () => setLogin('') })
        }}
      >
        <Field label="GitHub login" value={login} onChange={setLogin} autoComplete="off" />
        <Button className="self-start" type="submit" tone="accent" busy={invite.isPending} disabled={login.trim() === ''}>
          Invite
        </Button>
      </form>
      {invite.isError && <ErrorText>{sentence(invite.error)}</ErrorText>}
      {invite.data !== undefined && (
        <Once secret={invite.data.link} testId="invite-link" key={invite.data.link}>
          Give this link to <strong>{invite.data.invite?.login}</strong>. It is for that GitHub account alone, works
          once and for seven days, and is not shown again.
        </Once>
      )}
      {invites.isPending && <Loading what="the Invites" />}
      {invites.isError && <ErrorText retry={() => void invites.refetch()}>{sentence(invites.error)}</ErrorText>}
      {invites.data?.length === 0 && <p className="text-sm text-muted">Nobody is invited at the moment.</p>}
      {invites.data !== undefined && invites.data.length > 0 && (
        <ul aria-label="Invites" className="divide-y divide-line rounded-lg border border-line bg-panel">
          {invites.data.map((entry) => (
            <InviteRow key={entry.id} invite={entry} />
          ))}
        </ul>
      )}
    </section>
  )
}

// `me`: who looks at it. What only the Owner may do is decided by the Hub; here it is not offered.
export function MembersPage({ me }: { me: { id: string; isOwner: boolean } }) {
  const members = useMembers()

  return (
    <Page title="Members">
      {members.isPending && <Loading what="the Members" />}
      {members.isError && <ErrorText retry={() => void members.refetch()}>{sentence(members.error)}</ErrorText>}
      {members.data !== undefined && (
        <ul aria-label="Members" className="divide-y divide-line rounded-lg border border-line bg-panel">
          {members.data.map((member) => (
            <MemberRow
              key={member.person?.id ?? ''}
              member={member}
              isMe={member.person?.id === me.id}
              canChange={me.isOwner}
            />
          ))}
        </ul>
      )}
      {me.isOwner && <Invites />}
    </Page>
  )
}
