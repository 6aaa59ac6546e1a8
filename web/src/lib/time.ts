const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'narrow' })
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const date = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

export function ago(ms: bigint, now = Date.now()): string {
  const seconds = Math.round((Number(ms) - now) / 1000)
  if (seconds > -45) return 'now'
  if (seconds > -3600) return relative.format(Math.round(seconds / 60), 'minute')
  if (seconds > -86_400) return relative.format(Math.round(seconds / 3600), 'hour')
  return relative.format(Math.round(seconds / 86_400), 'day')
}

export const clockTime = (ms: bigint) => clock.format(Number(ms))
export const fullTime = (ms: bigint) => date.format(Number(ms))

export function duration(ms: bigint): string {
  const seconds = Number(ms) / 1000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 60) return `${Math.floor(seconds)} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes} m ${Math.floor(seconds % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} m`
}
