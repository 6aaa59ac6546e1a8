import type { ComponentProps } from 'react'
import { LoaderCircle } from 'lucide-react'

type Tone = 'plain' | 'accent' | 'danger' | 'quiet'

const tones: Record<Tone, string> = {
  plain: 'border border-line bg-panel hover:bg-sunken',
  accent: 'bg-accent text-accent-ink hover:opacity-90',
  danger: 'border border-line bg-panel text-bad hover:bg-bad-soft',
  quiet: 'text-muted hover:bg-sunken hover:text-ink',
}

interface Props extends ComponentProps<'button'> {
  tone?: Tone
  busy?: boolean
}

// At least 44 px to touch, less where there is a mouse.
export function Button({ tone = 'plain', busy = false, disabled, className = '', children, ...rest }: Props) {
  return (
    <button
      type="button"
      disabled={disabled === true || busy}
      aria-busy={busy}
      className={`inline-flex min-h-11 min-w-11 items-center justify-center gap-2 rounded-lg px-3 text-sm font-medium transition-colors disabled:opacity-50 md:min-h-9 md:min-w-9 ${tones[tone]} ${className}`}
      {...rest}
    >
      {busy && <LoaderCircle className="size-4 animate-spin" aria-hidden />}
      {children}
    </button>
  )
}
