import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { freePort, startPostgres } from '../test/fixtures/postgres-server.ts'
import { createClient } from '../test/fixtures/service-client.ts'
import { startBalancer } from './balancer.ts'
import { sendChats, type Chat } from './chats.ts'
import { startCutProxy } from './cut-proxy.ts'
import { makeFaults, roll } from './faults.ts'
import { callbackSecret, ledgerDocument, startOutside } from './outside.ts'
import { createRandom } from './random.ts'
import { Replica } from './replica.ts'
import { verify } from './verify.ts'

/**
 * Runs replicas of the service on a shared Postgres behind a load balancer. Clients send chats of all three modes while faults are injected,
 * and the results are verified at the end. The exit code is 1 when anything was lost, made twice, or left behind.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '120' },
    replicas: { type: 'string', default: '3' },
    clients: { type: 'string', default: '12' },
    seed: { type: 'string' },
    rolling: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
})
const seconds = Number(values.seconds)
const count = Number(values.replicas)
const clients = Number(values.clients)
if (!(seconds >= 5 && seconds <= 3600 && count >= 2 && count <= 8 && clients >= 1 && clients <= 200)) {
  console.error('Usage: npm run chaos -- [--seconds 5-3600] [--replicas 2-8] [--clients 1-200] [--seed N] [--rolling] [--keep]')
  process.exit(2)
}
const seed = Number(values.seed ?? Date.now() % 1_000_000)
const random = createRandom(seed)
const violations: string[] = []

const folder = await mkdtemp(path.join(os.tmpdir(), 'agent-core-chaos-'))
const outside = await startOutside(random)
const postgres = await startPostgres()
const databaseUrl = await postgres.createDatabase()
const proxies = await Promise.all(Array.from({ length: count }, () => startCutProxy(Number(new URL(databaseUrl).port))))
await writeConfiguration()
const replicas = await Promise.all(proxies.map(async ({ port }, index) => openReplica(`replica-${index + 1}`, port)))
const balancer = await startBalancer(replicas.map(({ port }) => port))
let isLoad = true
try {
  // Started together, so that all replicas migrate the same database at once.
  await Promise.all(replicas.map((replica) => replica.start()))
  const key = (await readFile(path.join(folder, replicas[0]!.name, 'admin.key'), 'utf8')).trim()
  console.log(`${count} replicas, ${clients} clients, ${seconds} s, seed ${seed}${values.rolling ? ', rolling restarts' : ''}.`)
  const load = {
    url: balancer.url,
    key,
    callbackUrl: outside.callbackUrl,
    random,
    retries: !values.rolling,
    violations,
    isActive: () => isLoad,
  }
  const sending = Promise.all(Array.from({ length: clients }, (_, sender) => sendChats(sender, load)))
  const until = Date.now() + seconds * 1000
  const scene = { replicas, proxies, outside, random, violations, restartPostgres: () => postgres.restart(), terminateBackends }
  const faultCounts = await (values.rolling ? roll(scene, until) : makeFaults(scene, until))
  isLoad = false
  const chats = (await sending).flat()
  const client = createClient(balancer.url, key)
  const settledMs = await verify({ chats, repeated: balancer.repeated, client, outside, query, replicas: count, violations })
  for (const replica of replicas) if (replica.crashes > 0) violations.push(`${replica.name} exited unexpectedly ${replica.crashes} times`)
  report(chats, faultCounts, settledMs)
} finally {
  isLoad = false
  for (const replica of replicas) await replica.end('SIGKILL')
  balancer.close()
  for (const proxy of proxies) proxy.close()
  await postgres.stop()
  await outside.close()
  if (!values.keep && violations.length === 0) await rm(folder, { recursive: true, force: true })
  else console.log(`Logs: ${folder}`)
}
process.exit(violations.length > 0 ? 1 : 0)

async function writeConfiguration(): Promise<void> {
  const primary = { provider: 'openai-compatible', model: 'scripted', base_url: outside.modelUrl }
  const tools = [{ name: 'ledger', type: 'openapi', config: { spec: 'ledger.json', base_url: outside.ledgerUrl } }]
  // JSON is valid YAML.
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify({ llms: { primary }, tools }))
  await writeFile(path.join(folder, 'ledger.json'), JSON.stringify(ledgerDocument(outside.ledgerUrl)))
}

async function openReplica(name: string, databasePort: number): Promise<Replica> {
  const address = new URL(databaseUrl)
  address.port = String(databasePort)
  const environment = {
    DATABASE_URL: address.href,
    SECRET_KEY: 'only-for-this-run-and-for-nothing-else',
    CALLBACK_SECRET: callbackSecret,
    CALLBACK_RETRY_SECONDS: Array.from({ length: 20 }, () => '0.5').join(','),
    OUTBOUND_ALLOW: outside.callbackHost,
    LOG_FORMAT: 'json',
  }
  return new Replica({ name, port: await freePort(), folder, environment })
}

async function query(sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

async function terminateBackends(): Promise<void> {
  await query('select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()')
}

function report(chats: readonly Chat[], faultCounts: ReadonlyMap<string, number>, settledMs: number): void {
  const line = (label: string, value: string | number) => console.log(`  ${label.padEnd(28)}${value}`)
  console.log('\nInjected faults')
  for (const [name, times] of faultCounts) line(name, times)
  console.log('\nChats')
  for (const [mode, modeChats] of Map.groupBy(chats, (chat) => chat.mode))
    line(mode, `${modeChats.length}, ${sum(modeChats.map(({ tries }) => tries))} requests`)
  line('acknowledged', chats.filter(({ isAcknowledged }) => isAcknowledged).length)
  line('cancelled', chats.filter(({ isCancelled }) => isCancelled).length)
  line('writes', sum([...outside.writes.values()].map((keys) => sum([...keys.values()]))))
  line(
    'callbacks',
    `${outside.callbacks.size}, delivered ${sum([...outside.callbacks.values()].map(({ deliveries }) => deliveries))} times`,
  )
  line('by replica', [...balancer.passed.values()].join(', '))
  line('settled after', `${(settledMs / 1000).toFixed(1)} s`)
  console.log(violations.length === 0 ? '\nNothing was lost, made twice, or left behind.' : `\n${violations.length} VIOLATIONS`)
  for (const violation of violations.slice(0, 40)) console.log(`  ${violation}`)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, value) => total + value, 0)
}
