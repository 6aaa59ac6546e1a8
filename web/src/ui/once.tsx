import { useState, type ReactNode } from 'react'

import { Button } from './button'

// A secret that is shown this once, to be copied; `children` say what it is for.
export function Once({ secret, testId, children }: { secret: string; testId: string; children: ReactNode }) {
  const [isCopied, setCopied] = useState(false)
  return (
    <div className="flex flex-col gap-2 rounded-lg ground-accent p-3" role="status">
      <p className="text-sm">{children}</p>
      <code className="rounded bg-panel p-2 font-mono text-xs break-all select-all" data-testid={testId}>
        {secret}
      </code>
      <Button
        className="self-start"
        onClick={() => void navigator.clipboard.writeText(secret).then(() => setCopied(true))}
      >
        {isCopied ? 'Copied' : 'Copy'}
      </Button>
    </div>
  )
}
