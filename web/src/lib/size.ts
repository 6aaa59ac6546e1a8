const units = ['KiB', 'MiB', 'GiB', 'TiB']

// A number of bytes, as people read it: "312 bytes", "1.2 MiB".
export function sizeText(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? '1 byte' : `${bytes} bytes`
  let size = bytes / 1024
  let unit = 0
  while (size >= 1023.95 && unit < units.length - 1) {
    size /= 1024
    unit += 1
  }
  return `${size.toFixed(1)} ${units[unit]}`
}

// What is said under a text of which only `text` is here; `fullBytes`: how long it was, 0 if that is all.
export function cutText(text: string, fullBytes: bigint): string {
  if (fullBytes === 0n) return ''
  const full = Number(fullBytes)
  const more = full - new TextEncoder().encode(text).length
  const all = `all of it has ${sizeText(full)}`
  return more > 0 ? `… ${sizeText(more)} more; ${all}` : `Shortened; ${all}`
}
