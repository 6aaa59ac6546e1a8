import type { ReactNode } from 'react'

import type { Variable } from '@/gen/kndl/secrets/v1/variable_pb'
import { ago } from '@/lib/time'
import { Clamp } from '@/ui/clamp'

import { maskedText } from './masked'
import { beginning, sizeText, visible } from './value'

// The whole of a value that is not on its line.
function Whole({ name, value }: { name: string; value: string }) {
  return (
    <details className="text-sm">
      <summary className="min-h-11 cursor-pointer py-2 text-muted md:min-h-9">
        All of {name}: {sizeText(value)}
      </summary>
      <Clamp text={value} />
    </details>
  )
}

export function VariableRow({ variable, children }: { variable: Variable; children?: ReactNode }) {
  const isShown = !variable.sensitive && !variable.unreadable
  const shown = beginning(variable.value)
  return (
    <li className="flex flex-wrap items-start gap-2 p-3">
      <div className="min-w-0 flex-1 basis-64">
        <p className={`font-mono text-sm break-all ${variable.overridden ? 'line-through' : ''}`}>
          {variable.name}
          {isShown && (
            <span className="text-muted">
              =<bdi>{visible(shown)}</bdi>
              {shown !== variable.value && '…'}
            </span>
          )}
        </p>
        {isShown && shown !== variable.value && <Whole name={variable.name} value={variable.value} />}
        <p className="text-sm text-muted">
          {[
            variable.sensitive ? 'Sensitive' : 'not Sensitive',
            variable.atBuild ? 'at build' : '',
            variable.sharedId === '' ? '' : 'Shared',
            variable.overridden ? 'the Repo’s own wins' : '',
            `set ${ago(variable.changedAtMs)}`,
            maskedText(variable.masked),
          ]
            .filter((part) => part !== '')
            .join(', ')}
        </p>
        {variable.unreadable && (
          <p className="text-sm text-bad">
            Its value cannot be read any more, and no Session starts with it: set it again or remove it.
          </p>
        )}
      </div>
      {children}
    </li>
  )
}
