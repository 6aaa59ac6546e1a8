import { Check, ChevronRight, TriangleAlert } from 'lucide-react'

import type { TestRedactionResponse, Trial } from '@/gen/kndl/redactor/v1/trial_pb'
import { sentence } from '@/lib/transport'
import { Button } from '@/ui/button'
import { ErrorText } from '@/ui/feedback'

import { useTestRedaction } from './api/variables'
import { bySink, isWrong, onOneLine, sinkName, spellingName, spellingNames } from './trials'

function SinkRow({ trials }: { trials: Trial[] }) {
  const wrong = trials.filter(isWrong)
  return (
    <li>
      <details className="group text-sm">
        <summary className="flex min-h-11 cursor-pointer items-center gap-2 px-3 py-2 md:min-h-9">
          <ChevronRight className="size-4 shrink-0 text-muted group-open:rotate-90" aria-hidden />
          <span className="min-w-0 flex-1">{sinkName(trials[0]!.sink)}</span>
          {wrong.length === 0 ? (
            <span className="flex items-center gap-1 text-good">
              <Check className="size-4" aria-hidden /> masked
            </span>
          ) : (
            <span className="flex items-center gap-1 font-medium text-bad">
              <TriangleAlert className="size-4" aria-hidden /> shown{' '}
              {wrong.map(({ spelling }) => spellingName(spelling)).join(', ')}
            </span>
          )}
        </summary>
        <dl className="flex flex-col gap-2 px-3 pb-3 md:pl-9">
          {trials.map((trial) => (
            <div key={trial.spelling}>
              <dt className={isWrong(trial) ? 'text-bad' : 'text-muted'}>
                {spellingName(trial.spelling)}: {trial.masked ? 'masked' : trial.knownLimit ? 'not found, as known' : 'shown'}
              </dt>
              <dd className="font-mono break-all whitespace-pre-wrap">{onOneLine(trial.text)}</dd>
            </div>
          ))}
        </dl>
      </details>
    </li>
  )
}

function Outcome({ result }: { result: TestRedactionResponse }) {
  const wrong = result.trials.filter(isWrong).length
  return (
    <div className="flex flex-col gap-3">
      <p role="status" className={wrong === 0 ? 'text-good' : 'text-bad'}>
        {wrong === 0
          ? 'Masked everywhere.'
          : `A value shows in ${wrong} of ${result.trials.length} trials. Tell whoever runs the Hub.`}
      </p>
      <ul aria-label="What came out" className="divide-y divide-line rounded-lg border border-line bg-panel">
        {[...bySink(result.trials)].map(([sink, trials]) => (
          <SinkRow key={sink} trials={trials} />
        ))}
      </ul>
      <p className="text-sm text-muted">
        Tried {spellingNames(result.trials, false).join(', ')}; what streams, cut in two. Known not to be found:{' '}
        {spellingNames(result.trials, true).join(', ')}. Values that were masked along with it:{' '}
        {String(result.valueCount)}. Tested was one copy of redactor:{' '}
        <code className="font-mono break-all">{result.instanceId}</code>.
      </p>
    </div>
  )
}

export function RedactionTest({ repoId, name }: { repoId: bigint; name: string }) {
  const test = useTestRedaction(repoId)
  return (
    <section className="flex flex-col gap-3" aria-label={`Redaction of ${name}`}>
      <h2 className="text-lg font-semibold">Redaction</h2>
      <p className="text-sm text-muted">
        Sends a random value, none of yours, through everything that masks what Sessions on {name} say. Nothing of it
        is kept.
      </p>
      <Button busy={test.isPending} className="self-start" onClick={() => test.mutate()}>
        Test redaction
      </Button>
      {test.isError && <ErrorText>{sentence(test.error)}</ErrorText>}
      {test.data !== undefined && <Outcome result={test.data} />}
    </section>
  )
}
