import { describe, expect, it } from 'vitest'

import { parseDotenv } from './dotenv'

const read = (text: string) =>
  parseDotenv(text)
    .map(({ name, value }) => `<${name}=${value}>`)
    .join('')

// The cases of cli/tests/test_dotenv.c.
describe('a .env file', () => {
  it('is read as shells do', () => {
    expect(read('\n# nothing\n\n')).toBe('')
    expect(read('A=1\nB=two words  \r\n\nexport C=x=y')).toBe('<A=1><B=two words><C=x=y>')
    expect(read('\uFEFFA=1')).toBe('<A=1>')
    expect(read('A=\nB = spaced # comment\nC=no#comment\nD= # c')).toBe('<A=><B=spaced><C=no#comment><D=>')
  })

  it('keeps lines and escapes in quotes', () => {
    expect(read("A='one\ntwo $X \\n' # c\nB=2")).toBe('<A=one\ntwo $X \\n><B=2>')
    expect(read('A="one\\ntwo \\"q\\" \\\\ \\$X \\d"\nB=2')).toBe('<A=one\ntwo "q" \\ $X \\d><B=2>')
    expect(read('A=""\nB=\'\'')).toBe('<A=><B=>')
  })

  it('refuses a name that is there twice, by its line', () => {
    expect(() => parseDotenv('A=1\nB=2\n# again\nA=3')).toThrow('Line 4 sets A again: leave one of them out.')
  })

  it('ends lines in quotes as Unix does', () => {
    expect(read('A="one\r\ntwo"\r\nB=2\r\n')).toBe('<A=one\ntwo><B=2>')
  })

  it('refuses what is none by its line, quoting nothing', () => {
    for (const text of ['A=1\nnonsense secret', 'A=1\n=secret', "A=1\nB='secret", 'A=1\nB="secret" more'])
      expect(() => parseDotenv(text)).toThrow(/^Line 2 is not NAME=value\.$/)
  })
})
