import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'

import { Delta_Kind, EventSchema, ToolCallSchema, type Event } from '@/gen/kndl/event/v1/event_pb'
import { append, applyDelta, nothingLive, prepend, settle, type LiveBlock } from '@/lib/session-log'

import { toItems, toolSummary } from './transcript-model'

let seq = 0n
function event(kind: NonNullable<Parameters<typeof create<typeof EventSchema>>[1]>['kind'], subagentId = ''): Event {
  seq += 1n
  return create(EventSchema, { seq, subagentId, kind })
}

function block(id: string, text = '', subagentId = ''): LiveBlock {
  return { id, subagentId, kind: Delta_Kind.TEXT, text, end: BigInt(text.length), missing: false, toolUseId: '', toolName: '' }
}

function delta(blockId: string, offset: bigint, text: string) {
  return { blockId, subagentId: '', kind: Delta_Kind.TEXT, offset, text, toolUseId: '', toolName: '' } as Parameters<typeof applyDelta>[1]
}

describe('the log', () => {
  it('EV-07 takes no Event twice', () => {
    const first = [event({ case: 'text', value: { text: 'a' } }), event({ case: 'text', value: { text: 'b' } })]
    const more = [first[1]!, event({ case: 'text', value: { text: 'c' } })]
    expect(append(first, more).map((each) => each.seq)).toEqual([first[0]!.seq, first[1]!.seq, more[1]!.seq])
    expect(append(first, first)).toBe(first)
  })

  it('EV-08 puts older pages before what is there', () => {
    const [a, b, c] = [1, 2, 3].map((n) => event({ case: 'text', value: { text: String(n) } }))
    expect(prepend([b!, c!], [a!, b!]).map((each) => each.seq)).toEqual([a!.seq, b!.seq, c!.seq])
  })

  it('EV-01 grows a block by its deltas, counted in bytes', () => {
    let live = applyDelta(nothingLive, delta('b', 0n, 'é'))
    live = applyDelta(live, delta('b', 2n, 'x'))
    live = applyDelta(live, delta('b', 2n, 'x'))
    expect(live.blocks).toMatchObject([{ text: 'éx', missing: false }])
  })

  it('begins a block anew where what was lost is asked for again', () => {
    let live = applyDelta(nothingLive, delta('b', 0n, 'one two'))
    live = applyDelta(live, delta('b', 0n, 'on'))
    live = applyDelta(live, delta('b', 2n, 'ce'))
    expect(live.blocks).toMatchObject([{ text: 'once', missing: false, end: 4n }])
  })

  it('shows that the beginning of a block was missed', () => {
    const live = applyDelta(nothingLive, delta('b', 10n, 'tail'))
    expect(live.blocks).toMatchObject([{ text: 'tail', missing: true }])
  })

  it('EV-07 replaces a block by the Event that names it, and drops the rest when the Turn ends', () => {
    const live = { ...nothingLive, blocks: [block('b1'), block('b2'), block('s1', '', 'agent')] }
    const text = event({ case: 'text', value: { blockId: 'b1', text: 'done' } })
    expect(settle(live, [text]).blocks.map((each) => each.id)).toEqual(['b2', 's1'])
    const ended = event({ case: 'turnEnded', value: {} })
    expect(settle(live, [ended]).blocks.map((each) => each.id)).toEqual(['s1'])
  })

  it('EV-07 shows what was cut off in the place of its block, once', () => {
    const input = { ...block('b3', '{"comm'), toolUseId: 't' }
    const live = { ...nothingLive, blocks: [block('b1', 'it is'), block('b2', 'hm'), input] }
    const text = event({ case: 'text', value: { blockId: 'b1', text: 'it is', isUnfinished: true } })
    const thought = event({ case: 'thinking', value: { blockId: 'b2', text: 'hm', isUnfinished: true } })
    const call = event({
      case: 'toolCall',
      value: { toolUseId: 't', name: 'Bash', inputJson: '{"comm', isUnfinished: true },
    })
    const left = settle(live, [text, thought, call])
    expect(left.blocks).toEqual([])
    expect(toItems([text, thought, call], left.blocks)).toMatchObject([
      { kind: 'text', said: { text: 'it is', isUnfinished: true } },
      { kind: 'thinking', thought: { text: 'hm', isUnfinished: true } },
      { kind: 'tool', call: { inputJson: '{"comm', isUnfinished: true }, open: false },
    ])
  })

  it('EV-07 shows nothing of a delta that comes after its block’s Event', () => {
    const text = event({ case: 'text', value: { blockId: 'b1', text: 'done' } })
    const live = settle(nothingLive, [text])
    expect(applyDelta(live, delta('b1', 0n, 'done')).blocks).toEqual([])
  })
})

describe('the transcript', () => {
  it('pairs a tool call with its result and folds it', () => {
    const items = toItems(
      [
        event({ case: 'toolCall', value: { toolUseId: 't', name: 'Bash', inputJson: '{"command":"ls"}' } }),
        event({ case: 'toolResult', value: { toolUseId: 't', text: 'README.md' } }),
      ],
      [],
    )
    expect(items).toMatchObject([{ kind: 'tool', open: false, result: { text: 'README.md' } }])
  })

  it('EV-05 shows a Subagent’s own Events under it', () => {
    const items = toItems(
      [
        event({ case: 'subagentStarted', value: { agentType: 'Explore' } }, 'a1'),
        event({ case: 'text', value: { text: 'inside' } }, 'a1'),
        event({ case: 'text', value: { text: 'outside' } }),
        event({ case: 'subagentEnded', value: {} }, 'a1'),
      ],
      [],
    )
    expect(items.map((item) => item.kind)).toEqual(['subagent', 'text'])
    expect(items[0]).toMatchObject({ items: [{ kind: 'text', said: { text: 'inside' } }] })
  })

  it('EV-03 shows a question once, with its answer', () => {
    const items = toItems(
      [
        event({ case: 'toolCall', value: { toolUseId: 'q', name: 'AskUserQuestion', inputJson: '{}' } }),
        event({ case: 'question', value: { id: 'q', questions: [{ question: 'Which?' }] } }),
        event({ case: 'answer', value: { questionId: 'q', answers: ['Red'] } }),
        event({ case: 'toolResult', value: { toolUseId: 'q', text: 'Red' } }),
      ],
      [],
    )
    expect(items).toMatchObject([{ kind: 'question', answer: { answers: ['Red'] } }])
  })

  it('says what a tool does in one line', () => {
    const call = create(ToolCallSchema, { name: 'Bash', inputJson: '{"command":"echo a\\nrm b","description":"x"}' })
    expect(toolSummary(call)).toBe('echo a')
    expect(toolSummary(create(ToolCallSchema, { inputJson: 'no JSON' }))).toBe('')
  })
})
