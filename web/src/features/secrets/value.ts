const beginningChars = 120

// As much of a value as stands on its line.
export const beginning = (value: string) => [...value.split('\n', 1)[0]!].slice(0, beginningChars).join('')

// With a mark for what has no look of its own, or turns the direction of writing around.
export const visible = (value: string) => value.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, '·')

export function sizeText(value: string): string {
  const lines = value.replace(/\n$/, '').split('\n').length
  return `${[...value].length.toLocaleString('en')} characters${lines === 1 ? '' : `, ${lines.toLocaleString('en')} lines`}`
}

// As secrets counts it, without blanks at the ends and without controls, of which a tab is none: too
// short for a Sensitive one.
export const isTooShort = (value: string) =>
  [...value.replace(/(?!\t)\p{Cc}/gu, '').replace(/^[ \t]+|[ \t]+$/g, '')].length < 4
