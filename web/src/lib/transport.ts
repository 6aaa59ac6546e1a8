// Connect calls to the Hub that served this page, in protobuf's binary form, by cookie.
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-web'

import { RedactorService } from '@/gen/kndl/redactor/v1/redactor_service_pb'
import { RepoAccessService } from '@/gen/kndl/repo_access/v1/repo_access_service_pb'
import { SecretsService } from '@/gen/kndl/secrets/v1/secrets_service_pb'
import { RunnersService } from '@/gen/kndl/sessions/v1/runners_service_pb'
import { SessionsService } from '@/gen/kndl/sessions/v1/sessions_service_pb'

const transport = createConnectTransport({
  baseUrl: window.location.origin,
  useBinaryFormat: true,
  defaultTimeoutMs: 30_000,
})

export const sessions = createClient(SessionsService, transport)
export const runners = createClient(RunnersService, transport)
export const secrets = createClient(SecretsService, transport)
export const redactor = createClient(RedactorService, transport)
export const repoAccess = createClient(RepoAccessService, transport)

// The Hub's words where they begin a line.
export const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1)

// What a person reads when a call failed.
export function sentence(error: unknown): string {
  if (error instanceof ConnectError) {
    return error.rawMessage === '' ? 'The Hub gave no reason.' : capital(error.rawMessage)
  }
  return error instanceof Error ? error.message : String(error)
}

export function hasCode(error: unknown, code: Code): boolean {
  return error instanceof ConnectError && error.code === code
}

export { Code }
