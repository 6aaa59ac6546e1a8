// Calls a gateway with the client that the page uses, binary and in JSON, and checks what it makes
// of the answers. Run by services/api-gateway/tests/test_connect.c, which plays the services.
//
//   node connect.mjs http://127.0.0.1:PORT DESCRIPTORS <tokens.json
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createFileRegistry, fromBinary } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-web'

const [url, descriptors] = process.argv.slice(2)
const tokens = JSON.parse(readFileSync(0, 'utf8'))
const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, readFileSync(descriptors)),
)
const service = (name) => registry.getService(name)

const asCli = (next) => (request) => {
  request.header.set('authorization', `Bearer ${tokens.cli}`)
  return next(request)
}
const asPage = (next) => (request) => {
  request.header.set('cookie', `kndl_dev_${new URL(url).port}=${tokens.web}`)
  request.header.set('origin', url)
  return next(request)
}

async function refusal(call) {
  try {
    await call
  } catch (error) {
    assert.ok(error instanceof ConnectError)
    return error
  }
  assert.fail('was not refused')
}

for (const useBinaryFormat of [true, false]) {
  const client = (name, ...interceptors) =>
    createClient(
      service(name),
      createConnectTransport({ baseUrl: url, useBinaryFormat, interceptors }),
    )
  const people = client('kndl.repo_access.v1.RepoAccessService', asCli)
  const sessions = client('kndl.sessions.v1.SessionsService', asPage)
  let error

  const { person } = await people.whoAmI({})
  assert.equal(person.id, 'ada')
  assert.equal(person.name, 'Ada, Gräfin 🎩')
  assert.equal(person.githubId, 9007199254740993n)

  const page = await sessions.listEvents({
    sessionId: tokens.session,
    page: { case: 'afterSeq', value: 6n },
    waitMs: 5000,
  })
  assert.deepEqual(page.events.map((event) => event.seq), [7n])

  const { prompt } = await sessions.sendPrompt({
    sessionId: tokens.session,
    requestId: 'r',
    text: 'ü'.repeat(30000),
  })
  assert.equal(prompt.text.length, 30000)

  let trace
  await people.whoAmI({}, { onHeader: (headers) => (trace = headers.get('kndl-trace')) })
  assert.match(trace, /^[a-z2-7]{26}$/)

  error = await refusal(sessions.stopTurn({ sessionId: tokens.session }))
  assert.equal(error.code, Code.Aborted)
  assert.equal(error.rawMessage, 'no Turn runs')
  error = await refusal(sessions.getSession({ sessionId: tokens.session }))
  assert.equal(error.code, Code.NotFound)
  error = await refusal(client('kndl.sessions.v1.SessionsService').listSessions({}))
  assert.equal(error.code, Code.Unauthenticated)
  error = await refusal(client('kndl.secrets.v1.SecretsService', asCli).setSetupToken({}))
  assert.equal(error.code, Code.PermissionDenied)
  error = await refusal(
    client('kndl.repo_access.v1.RepoAccessInternalService', asPage).authenticate({}),
  )
  assert.equal(error.code, Code.Unimplemented)
  error = await refusal(sessions.sendPrompt({ text: 'x'.repeat(1_000_000) }))
  assert.equal(error.code, Code.ResourceExhausted)
  error = await refusal(sessions.wakeSession({}, { timeoutMs: 300 })) // nobody answers it
  assert.equal(error.code, Code.DeadlineExceeded)
}
