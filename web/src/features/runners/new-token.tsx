import { Once } from '@/ui/once'

// A RUNNER_TOKEN, this once.
export function NewToken({ name, token }: { name: string; token: string }) {
  if (token === '')
    return (
      <p role="status" className="rounded-lg bg-warn-soft p-3 text-sm text-warn">
        Its token was shown once already. Rotate it to get another.
      </p>
    )
  return (
    <Once secret={token} testId="runner-token" key={token}>
      The token of <strong>{name}</strong> is shown this once. Put it into a file of mode 0600 on that machine and name
      the file in <code className="font-mono">RUNNER_TOKEN_FILE</code>.
    </Once>
  )
}
