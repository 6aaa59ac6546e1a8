// One thing in the transcript. Each is frozen once its Event is there: nothing above moves while
// something below streams.
import { memo, type ReactNode } from 'react'
import {
  Bot,
  Brain,
  Check,
  ChevronRight,
  CircleAlert,
  Info,
  LoaderCircle,
  Scissors,
  TriangleAlert,
  Wrench,
  X,
} from 'lucide-react'

import {
  Answer_Outcome,
  Delta_Kind,
  Note_Level,
  Prompt_Origin,
  State,
  SubagentEnded_Status,
  TurnEnded_Reason,
} from '@/gen/kndl/event/v1/event_pb'
import type { LiveBlock } from '@/lib/session-log'
import { clockTime, duration, fullTime } from '@/lib/time'
import { Clamp } from '@/ui/clamp'
import { CutNote } from '@/ui/cut-note'
import { Markdown } from '@/ui/markdown'

import { stateName } from './state-badge'
import { toolInput, toolSummary, type Item } from './transcript-model'

type Of<K extends Item['kind']> = Extract<Item, { kind: K }>

function Folded({ summary, children, tone = '' }: { summary: ReactNode; children: ReactNode; tone?: string }) {
  return (
    <details className="group min-w-0">
      <summary
        className={`flex min-h-11 list-none items-center gap-2 rounded-lg px-2 text-sm hover:bg-sunken md:min-h-8 [&::-webkit-details-marker]:hidden ${tone}`}
      >
        {summary}
        <ChevronRight className="ml-auto size-4 shrink-0 text-muted transition-transform group-open:rotate-90" aria-hidden />
      </summary>
      <div className="flex min-w-0 flex-col gap-2 px-2 pt-1 pb-3">{children}</div>
    </details>
  )
}

function PromptItem({ item }: { item: Of<'prompt'> }) {
  const { prompt } = item
  if (prompt.origin === Prompt_Origin.SYSTEM)
    return (
      <Folded summary={<span className="truncate text-muted">Claude Code’s own: {prompt.text.split('\n', 1)[0]}</span>}>
        <Clamp text={prompt.text} fullBytes={prompt.fullBytes} />
      </Folded>
    )
  const origin =
    prompt.origin === Prompt_Origin.TERMINAL ? ' in the terminal' : prompt.origin === Prompt_Origin.STEER ? ', steering' : ''
  return (
    <div className="flex justify-end">
      <div className="max-w-[90%] min-w-0 rounded-2xl rounded-br-md ground-accent px-4 py-2">
        <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{prompt.text}</p>
        <CutNote text={prompt.text} fullBytes={prompt.fullBytes} />
        <p className="mt-1 text-right text-xs text-muted">
          <time title={fullTime(item.atMs)}>{clockTime(item.atMs)}</time>
          {origin}
        </p>
      </div>
    </div>
  )
}

// Under what Claude had not finished when its Turn or Claude Code ended.
function CutOff() {
  return (
    <p className="mt-1 flex items-center gap-1 text-xs text-warn">
      <Scissors className="size-3 shrink-0" aria-hidden /> Cut off here: Claude had not finished.
    </p>
  )
}

function TextItem({ item }: { item: Of<'text'> }) {
  const { text, fullBytes, isUnfinished } = item.said
  return (
    <div>
      <Markdown text={text} />
      <CutNote text={text} fullBytes={fullBytes} />
      {isUnfinished && <CutOff />}
    </div>
  )
}

function Thought({ summary, live = false, text, children }: { summary: string; live?: boolean; text: string; children?: ReactNode }) {
  return (
    <Folded
      summary={
        <>
          <Brain className={`size-4 shrink-0 text-muted ${live ? 'animate-pulse' : ''}`} aria-hidden />
          <span className="min-w-0 truncate text-muted">{summary}</span>
        </>
      }
    >
      <p className="text-sm whitespace-pre-wrap text-muted [overflow-wrap:anywhere]">{text}</p>
      {children}
    </Folded>
  )
}

function ThinkingItem({ item }: { item: Of<'thinking'> }) {
  const { text, fullBytes, isUnfinished } = item.thought
  return (
    <Thought summary={`${isUnfinished ? 'Thought, cut off' : 'Thought'}: ${text.split('\n', 1)[0]}`} text={text}>
      <CutNote text={text} fullBytes={fullBytes} />
      {isUnfinished && <CutOff />}
    </Thought>
  )
}

function ToolItem({ item }: { item: Of<'tool'> }) {
  const { call, result } = item
  const failed = result?.isError === true
  return (
    <Folded
      summary={
        <>
          {item.open ? (
            <LoaderCircle className="size-4 shrink-0 animate-spin text-accent" aria-label="running" />
          ) : failed ? (
            <X className="size-4 shrink-0 text-bad" aria-label="failed" />
          ) : (
            <Wrench className="size-4 shrink-0 text-muted" aria-hidden />
          )}
          <span className="shrink-0 font-medium">{call.name}</span>
          {call.isUnfinished && <span className="shrink-0 text-xs text-muted">cut off, never made</span>}
          <span className="min-w-0 truncate font-mono text-xs text-muted">{toolSummary(call)}</span>
        </>
      }
    >
      <Clamp text={toolInput(call)} fullBytes={call.fullBytes} />
      {call.isUnfinished && <CutOff />}
      {result !== undefined && (
        <>
          <p className={`text-xs ${failed ? 'text-bad' : 'text-muted'}`}>{failed ? 'It failed:' : 'Result:'}</p>
          <Clamp text={result.text === '' ? '(no output)' : result.text} fullBytes={result.fullBytes} />
        </>
      )}
    </Folded>
  )
}

function QuestionItem({ item }: { item: Of<'question'> }) {
  const { question, answer } = item
  const outcome =
    answer === undefined
      ? 'Waits for an answer'
      : answer.outcome === Answer_Outcome.UNANSWERED
        ? 'Was not answered'
        : answer.outcome === Answer_Outcome.ANSWERED_ELSEWHERE
          ? 'Answered in the terminal'
          : `Answered at ${clockTime(item.atMs)}`
  return (
    <div className="rounded-xl border border-line bg-panel p-4">
      {question.questions.map((asked, index) => (
        <div key={index} className="mb-2">
          <p className="font-medium">{asked.question}</p>
          {answer?.answers[index] !== undefined && (
            <p className="mt-1 flex items-center gap-2 text-sm text-good">
              <Check className="size-4" aria-hidden /> {answer.answers[index]}
            </p>
          )}
        </div>
      ))}
      <p className="text-xs text-muted">{outcome}</p>
    </div>
  )
}

const endings: Record<TurnEnded_Reason, string> = {
  [TurnEnded_Reason.UNSPECIFIED]: 'Ended',
  [TurnEnded_Reason.ANSWER]: 'Worked for',
  [TurnEnded_Reason.STOPPED]: 'Stopped after',
  [TurnEnded_Reason.REFUSAL]: 'Claude refused after',
  [TurnEnded_Reason.ERROR]: 'Failed after',
  [TurnEnded_Reason.INTERRUPTED]: 'Interrupted: Claude Code ended',
}

function TurnEndedItem({ item }: { item: Of<'turnEnded'> }) {
  const { ended } = item
  const tokens = ended.usage
  return (
    <div className="flex flex-col gap-2">
      {ended.error !== '' && (
        <p className="flex items-start gap-2 rounded-lg bg-bad-soft p-3 text-sm text-bad">
          <CircleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
          <span className="min-w-0 break-words">{ended.error}</span>
        </p>
      )}
      <p className="flex items-center gap-3 text-xs text-muted">
        <span className="h-px flex-1 bg-line" aria-hidden />
        {endings[ended.reason]}
        {ended.reason !== TurnEnded_Reason.INTERRUPTED && ` ${duration(ended.durationMs)}`}
        {tokens !== undefined && ` · ${(tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens).toLocaleString()} in, ${tokens.outputTokens.toLocaleString()} out`}
        <span className="h-px flex-1 bg-line" aria-hidden />
      </p>
    </div>
  )
}

function NoteItem({ item }: { item: Of<'note'> }) {
  const { note } = item
  const error = note.level === Note_Level.ERROR
  const warning = note.level === Note_Level.WARNING
  const Icon = error ? CircleAlert : warning ? TriangleAlert : Info
  return (
    <p
      className={`flex items-start gap-2 rounded-lg px-3 py-2 text-sm ${error ? 'bg-bad-soft text-bad' : warning ? 'bg-warn-soft text-warn' : 'bg-sunken text-muted'}`}
    >
      <Icon className="mt-0.5 size-4 shrink-0" aria-hidden />
      <span className="min-w-0 break-words">{note.text}</span>
    </p>
  )
}

function StateItem({ item }: { item: Of<'state'> }) {
  const { changed } = item
  const failed = changed.state === State.FAILED
  return (
    <p className={`text-center text-xs [overflow-wrap:anywhere] ${failed ? 'text-bad' : 'text-muted'}`}>
      {stateName(changed.state)}
      {changed.reason !== '' && `: ${changed.reason}`} · <time title={fullTime(item.atMs)}>{clockTime(item.atMs)}</time>
    </p>
  )
}

const subagentStates: Record<SubagentEnded_Status, string> = {
  [SubagentEnded_Status.UNSPECIFIED]: 'ended',
  [SubagentEnded_Status.COMPLETED]: 'done',
  [SubagentEnded_Status.STOPPED]: 'stopped',
  [SubagentEnded_Status.FAILED]: 'failed',
  [SubagentEnded_Status.INTERRUPTED]: 'interrupted',
}

function SubagentItem({ item }: { item: Of<'subagent'> }) {
  return (
    <Folded
      tone="border border-line bg-panel"
      summary={
        <>
          <Bot className={`size-4 shrink-0 text-accent ${item.ended === undefined ? 'animate-pulse' : ''}`} aria-hidden />
          <span className="min-w-0 truncate">
            <span className="font-medium">{item.started?.agentType ?? 'Subagent'}</span>{' '}
            <span className="text-muted">{item.started?.description}</span>
          </span>
          <span className="shrink-0 text-xs text-muted">
            {item.ended === undefined ? 'working' : subagentStates[item.ended.status]}
          </span>
        </>
      }
    >
      <div className="flex flex-col gap-3 border-l-2 border-line pl-3">
        {item.items.map((each) => (
          <TranscriptItem key={each.key} item={each} />
        ))}
      </div>
    </Folded>
  )
}

function LiveItem({ block }: { block: LiveBlock }) {
  const text = block.missing ? `…${block.text}` : block.text
  switch (block.kind) {
    case Delta_Kind.THINKING:
      return <Thought summary={`Thinking: ${text.slice(-120)}`} text={text} live />
    case Delta_Kind.TOOL_INPUT:
      return (
        <p className="flex min-h-8 items-center gap-2 px-2 text-sm">
          <LoaderCircle className="size-4 shrink-0 animate-spin text-accent" aria-hidden />
          <span className="shrink-0 font-medium">{block.toolName === '' ? 'Tool' : block.toolName}</span>
          <span className="min-w-0 truncate font-mono text-xs text-muted">{text.slice(-200)}</span>
        </p>
      )
    default:
      return <Markdown text={text} live />
  }
}

export const TranscriptItem = memo(function TranscriptItem({ item }: { item: Item }) {
  switch (item.kind) {
    case 'prompt':
      return <PromptItem item={item} />
    case 'text':
      return <TextItem item={item} />
    case 'thinking':
      return <ThinkingItem item={item} />
    case 'tool':
      return <ToolItem item={item} />
    case 'question':
      return <QuestionItem item={item} />
    case 'turnEnded':
      return <TurnEndedItem item={item} />
    case 'note':
      return <NoteItem item={item} />
    case 'state':
      return <StateItem item={item} />
    case 'compaction':
      return (
        <Folded
          summary={
            <>
              <Scissors className="size-4 shrink-0 text-muted" aria-hidden />
              <span className="text-muted">Claude Code summed up the conversation to make room</span>
            </>
          }
        >
          <Clamp text={item.compaction.summary} fullBytes={item.compaction.fullBytes} />
        </Folded>
      )
    case 'subagent':
      return <SubagentItem item={item} />
    case 'live':
      return <LiveItem block={item.block} />
    case 'unknown':
      return <p className="text-center text-xs text-muted">({item.name})</p>
  }
})
