import type { ReactNode } from 'react'

import type { Variable } from '@/gen/kndl/secrets/v1/variable_pb'
import { ago } from '@/lib/time'

import { maskedText } from './masked'

export function VariableRow({ variable, children }: { variable: Variable; children?: ReactNode }) {
  return (
    <li className="flex flex-wrap items-start gap-2 p-3">
      <div className="min-w-0 flex-1 basis-64">
        <p className={`font-mono text-sm break-all ${variable.overridden ? 'line-through' : ''}`}>
          {variable.name}
          {!variable.sensitive && !variable.unreadable && <span className="text-muted">={variable.value}</span>}
        </p>
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
