// Asks a service by the NATS service protocol, as any stock tool would, and prints what it learnt
// as one line of JSON. Run by libs/bus/tests/test_inspect.c.
//
//   node inspect.mjs nats://127.0.0.1:4222 creds/inspect.creds redactor
import { readFile } from 'node:fs/promises'
import { Svcm } from '@nats-io/services'
import { connect, credsAuthenticator } from '@nats-io/transport-node'

const [url, creds, name] = process.argv.slice(2)
const nats = await connect({
  servers: url,
  authenticator: credsAuthenticator(await readFile(creds)),
  inboxPrefix: '_INBOX.inspect',
})
const client = new Svcm(nats).client({ strategy: 'timer', maxWait: 1000 })

async function all(answers) {
  const list = []
  for await (const answer of await answers) list.push(answer)
  return list
}

const everyone = await all(client.ping())
const [ping] = await all(client.ping(name))
const [info] = await all(client.info(name, ping.id))
const [stats] = await all(client.stats(name, ping.id))
const strangers = await all(client.ping('stranger')).catch(() => [])
console.log(JSON.stringify({ everyone, ping, info, stats, strangers }))
await nats.close()
