export interface Entry {
  name: string
  value: string
}

const head = /^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*/
const rest = /^[ \t]*(?:#.*)?$/
const escapes: Record<string, string> = { n: '\n', t: '\t', r: '\r' }

// The end of what begins behind a quote, which may be lines further down.
function endOfQuoted(text: string, from: number, quote: string): number {
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === quote) return at
    if (quote === '"' && text[at] === '\\') at += 1
  }
  return -1
}

// A .env file as `kndl vars import` reads it (cli/dotenv.h). Throws with the line's number, never
// with a value.
export function parseDotenv(text: string): Entry[] {
  const entries: Entry[] = []
  const whole = text.replace(/^\uFEFF/, '').replace(/\r\n/g, '\n')
  let line = 1
  let at = 0
  const wrong = () => new Error(`Line ${line} is not NAME=value.`)

  while (at < whole.length) {
    const lineEnd = whole.indexOf('\n', at) === -1 ? whole.length : whole.indexOf('\n', at)
    const current = whole.slice(at, lineEnd)
    if (rest.test(current)) {
      at = lineEnd + 1
      line += 1
      continue
    }
    const match = head.exec(current)
    if (match === null) throw wrong()
    const begin = at + match[0].length
    const quote = whole[begin]
    let value: string
    let end = lineEnd
    if (quote === '"' || quote === "'") {
      const close = endOfQuoted(whole, begin + 1, quote)
      if (close === -1) throw wrong()
      end = whole.indexOf('\n', close) === -1 ? whole.length : whole.indexOf('\n', close)
      if (!rest.test(whole.slice(close + 1, end))) throw wrong()
      value = whole.slice(begin + 1, close)
      if (quote === '"') value = value.replace(/\\([ntr"\\$`])/g, (_, c: string) => escapes[c] ?? c)
    } else {
      value = (/^#/.test(whole.slice(begin)) && /[ \t]$/.test(match[0]) ? '' : whole.slice(begin, lineEnd))
        .replace(/[ \t]#.*$/, '')
        .trimEnd()
    }
    const name = match[1]!
    if (entries.some((entry) => entry.name === name)) throw new Error(`Line ${line} sets ${name} again: leave one of them out.`)
    entries.push({ name, value })
    line += whole.slice(at, end).split('\n').length
    at = end + 1
  }
  return entries
}
