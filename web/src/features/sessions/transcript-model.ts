// From the log of Events, and the blocks that stream, to what a reader sees. Pure, so that it is
// tested without a browser.
import type {
  Answer,
  Compaction,
  Event,
  Note,
  Prompt,
  Question,
  StateChanged,
  SubagentEnded,
  SubagentStarted,
  Text,
  Thinking,
  ToolCall,
  ToolResult,
  TurnEnded,
} from '@/gen/kndl/event/v1/event_pb'
import type { LiveBlock } from '@/lib/session-log'

interface Base {
  key: string
  seq: bigint
  atMs: bigint
}

export type Item = Base &
  (
    | { kind: 'prompt'; prompt: Prompt }
    | { kind: 'text'; said: Text }
    | { kind: 'thinking'; thought: Thinking }
    | { kind: 'tool'; call: ToolCall; result: ToolResult | undefined; open: boolean }
    | { kind: 'question'; question: Question; answer: Answer | undefined }
    | { kind: 'turnEnded'; ended: TurnEnded }
    | { kind: 'note'; note: Note }
    | { kind: 'state'; changed: StateChanged }
    | { kind: 'compaction'; compaction: Compaction }
    | { kind: 'unknown'; name: string }
    | { kind: 'live'; block: LiveBlock }
    | {
        kind: 'subagent'
        id: string
        started: SubagentStarted | undefined
        ended: SubagentEnded | undefined
        items: Item[]
      }
  )

// The tool whose call is shown as the question itself.
const questionTool = 'AskUserQuestion'

type Subagent = Extract<Item, { kind: 'subagent' }>
type Tool = Extract<Item, { kind: 'tool' }>
type Asked = Extract<Item, { kind: 'question' }>

export function toItems(events: readonly Event[], blocks: readonly LiveBlock[]): Item[] {
  const main: Item[] = []
  const subagents = new Map<string, Subagent>()
  const tools = new Map<string, Tool>()
  const questions = new Map<string, Asked>()

  const subagentOf = (id: string, base: Base): Subagent => {
    let item = subagents.get(id)
    if (item === undefined) {
      item = { ...base, key: `agent-${id}`, kind: 'subagent', id, started: undefined, ended: undefined, items: [] }
      subagents.set(id, item)
      main.push(item)
    }
    return item
  }
  const listOf = (subagentId: string, base: Base) =>
    subagentId === '' ? main : subagentOf(subagentId, base).items

  for (const event of events) {
    const base: Base = { key: String(event.seq), seq: event.seq, atMs: event.atMs }
    const kind = event.kind
    const list = () => listOf(event.subagentId, base)
    switch (kind.case) {
      case 'prompt':
        list().push({ ...base, kind: 'prompt', prompt: kind.value })
        break
      case 'text':
        list().push({ ...base, kind: 'text', said: kind.value })
        break
      case 'thinking':
        list().push({ ...base, kind: 'thinking', thought: kind.value })
        break
      case 'toolCall': {
        const { isUnfinished } = kind.value
        if (kind.value.name === questionTool && !isUnfinished) break
        const item: Tool = { ...base, kind: 'tool', call: kind.value, result: undefined, open: !isUnfinished }
        tools.set(kind.value.toolUseId, item)
        list().push(item)
        break
      }
      case 'toolResult': {
        const item = tools.get(kind.value.toolUseId)
        if (item === undefined) break // of a question, or of a page that is not loaded
        item.result = kind.value
        item.open = false
        break
      }
      case 'question': {
        const item: Asked = { ...base, kind: 'question', question: kind.value, answer: undefined }
        questions.set(kind.value.id, item)
        list().push(item)
        break
      }
      case 'answer': {
        const item = questions.get(kind.value.questionId)
        if (item !== undefined) item.answer = kind.value
        break
      }
      case 'turnStarted':
        break
      case 'turnEnded':
        for (const tool of tools.values()) tool.open = false
        if (event.subagentId === '') main.push({ ...base, kind: 'turnEnded', ended: kind.value })
        break
      case 'subagentStarted':
        subagentOf(event.subagentId, base).started = kind.value
        break
      case 'subagentEnded':
        subagentOf(event.subagentId, base).ended = kind.value
        break
      case 'stateChanged':
        main.push({ ...base, kind: 'state', changed: kind.value })
        break
      case 'note':
        list().push({ ...base, kind: 'note', note: kind.value })
        break
      case 'compaction':
        list().push({ ...base, kind: 'compaction', compaction: kind.value })
        break
      default:
        main.push({ ...base, kind: 'unknown', name: 'an Event that this page is too old to show' })
    }
  }

  const last = events.at(-1)
  for (const block of blocks) {
    const base: Base = { key: `live-${block.id}`, seq: last?.seq ?? 0n, atMs: last?.atMs ?? 0n }
    listOf(block.subagentId, base).push({ ...base, kind: 'live', block })
  }
  return main
}

// One line that says what a tool call does, from its input.
export function toolSummary(call: ToolCall): string {
  let input: Record<string, unknown>
  try {
    input = JSON.parse(call.inputJson) as Record<string, unknown>
  } catch {
    return ''
  }
  for (const key of ['command', 'file_path', 'path', 'pattern', 'url', 'query', 'description', 'prompt']) {
    const value = input[key]
    if (typeof value === 'string' && value !== '') return value.split('\n', 1)[0]!
  }
  return ''
}

// The text of a tool's input, for reading.
export function toolInput(call: ToolCall): string {
  try {
    const input = JSON.parse(call.inputJson) as Record<string, unknown>
    const command = input.command
    if (typeof command === 'string' && Object.keys(input).every((k) => k === 'command' || k === 'description'))
      return command
    return JSON.stringify(input, null, 2)
  } catch {
    return call.inputJson
  }
}
