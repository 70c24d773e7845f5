import { mkdtemp, readFile, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { settle } from '../chaos/last-reads.ts'
import { checkLedger } from '../chaos/ledger-checks.ts'
import { openService } from '../chaos/service.ts'
import { createRandomOf } from '../random.ts'
import { callsPerChat, startOutside } from './outside.ts'

/**
 * Three replicas on a shared Postgres execute write calls while processes are killed. A receiver counts what arrives. The exit code is 1 when an
 * effect has not exactly one start in the ledger, a start not exactly one end or `unknown`, or the chain cannot be verified.
 */
const { values: options } = parseArgs({
  options: {
    writes: { type: 'string', default: '10000' },
    replicas: { type: 'string', default: '3' },
    clients: { type: 'string', default: '16' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const [writes, count, clients, seed] = [options.writes, options.replicas, options.clients, options.seed].map(Number) as [
  number,
  number,
  number,
  number,
]
if (
  ![writes, count, clients, seed].every(Number.isSafeInteger) ||
  writes < 20 ||
  writes > 1_000_000 ||
  count < 1 ||
  count > 9 ||
  clients < 1 ||
  clients > 100
) {
  console.error('Usage: npm run ledger -- [--writes 20-1000000] [--replicas 1-9] [--clients 1-100] [--seed N]')
  process.exit(2)
}

const randomOf = createRandomOf(seed)
const folder = await mkdtemp(path.join(os.tmpdir(), 'agent-core-ledger-'))
const outside = await startOutside(randomOf('outside'))
const service = await openService(folder, { count, outside, random: randomOf('connections'), from: undefined })
const { replicas, query } = service
let kills = 0
let isLoad = true
let anomalies: string[] = ['The proof has not ended.']
try {
  await Promise.all(replicas.map((replica) => replica.start()))
  const key = (await readFile(path.join(folder, replicas[0]!.name, 'data', 'admin.key'), 'utf8')).trim()
  console.log(`${writes} write calls on ${count} replicas, ${clients} clients, seed ${seed}.`)
  const startedAt = Date.now()
  // A tenth of the writes are executed without a chat.
  const direct = Math.ceil(writes / 10)
  const requests = [
    ...Array.from({ length: Math.ceil((writes - direct) / callsPerChat) }, (_, n) => ({ id: `chat-${n}`, isChat: true })),
    ...Array.from({ length: direct }, (_, n) => ({ id: `direct-${n}`, isChat: false })),
  ].values()
  const killing = killOften()
  await Promise.all(Array.from({ length: clients }, (_, n) => work(requests, key, randomOf(`client ${n}`))))
  isLoad = false
  await killing
  await settle(query)
  console.log(`${kills} processes were killed in ${Math.round((Date.now() - startedAt) / 1000)} s.`)
  anomalies = await checkLedger(query, outside.effects, replicas[0]!)
  for (const anomaly of anomalies.slice(0, 20)) console.log(`  FAULT: ${anomaly}`)
} finally {
  isLoad = false
  await service.stop()
  await outside.close()
  if (anomalies.length === 0) await rm(folder, { recursive: true, force: true })
  else console.log(`Logs: ${folder}`)
}
console.log(
  anomalies.length === 0 ? '\nEach effect has one start, each start one end, and the chain is whole.' : `\n${anomalies.length} FAULTS`,
)
process.exit(anomalies.length === 0 ? 0 : 1)

/** Sends requests, and repeats each with its id until a replica has an outcome. */
async function work(requests: Iterator<{ id: string; isChat: boolean }>, key: string, random: () => number): Promise<void> {
  for (let next = requests.next(); !next.done; next = requests.next()) while (!(await send(next.value, key, random))) await sleep(200)
}

async function send({ id, isChat }: { id: string; isChat: boolean }, key: string, random: () => number): Promise<boolean> {
  const { port } = replicas[Math.floor(random() * count)]!
  const route = isChat ? '/core/v1/chain' : '/core/v1/tool/execute'
  const body = isChat ? { messages: [{ role: 'user', content: id }] } : { tool_name: 'ledger__record', tool_input: { what: id } }
  const headers = { 'content-type': 'application/json', 'x-service-access': key, 'request-id': id }
  try {
    const reply = await fetch(`http://127.0.0.1:${port}${route}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await reply.text()
    // A direct write whose process died is never repeated: its outcome stays unknown.
    return reply.ok || (!isChat && text.includes('ProcessLost'))
  } catch {
    return false
  }
}

async function killOften(): Promise<void> {
  const random = randomOf('kills')
  while (isLoad) {
    await sleep(1000 + random() * 2000)
    if (!isLoad) return
    const replica = replicas[Math.floor(random() * count)]!
    await replica.end('SIGKILL')
    kills++
    await replica.start()
  }
}
