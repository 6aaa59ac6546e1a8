import { cutText } from '@/lib/size'

// Under a text that was cut: how much more there was.
export function CutNote({ text, fullBytes }: { text: string; fullBytes: bigint }) {
  return fullBytes > 0n && <p className="mt-1 text-xs text-muted">{cutText(text, fullBytes)}</p>
}
