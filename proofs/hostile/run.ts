import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createRandom } from '../random.ts'
import { preparations, type Surroundings } from '../../test/contract/openapi-examples-setup.ts'
import { startReceiver } from '../../test/fixtures/callback-receiver.ts'
import { operationsOf, type DocumentedOperation, type OpenApiDocument, type Values } from '../../test/fixtures/documented-operations.ts'
import { startModelServer } from '../../test/fixtures/model-server.ts'
import { createClient } from '../../test/fixtures/service-client.ts'
import { createSender } from './exchange.ts'
import { judge, type Exchange } from './judge.ts'
import { rawRequests, sendRaw } from './raw-requests.ts'
import { bodyOf, targetOf, validRequests, type ServiceRequest } from './request.ts'
import { startMeasuredService, type Held } from '../../test/fixtures/measured-service.ts'
import { pick, spoil } from './spoil.ts'

/**
 * Sends bad requests to every operation of the OpenAPI document, and to the port itself. The exit code is 1 when an answer was wrong, or when
 * the service has grown, logged an error, or left anything behind.
 */
const { values: options } = parseArgs({
  options: { requests: { type: 'string', default: '100000' }, connections: { type: 'string', default: '32' }, seed: { type: 'string' } },
})
const total = Number(options.requests)
const connections = Number(options.connections)
if (!(total >= 100 && total <= 10_000_000 && connections >= 1 && connections <= 500)) {
  console.error('Usage: npm run hostile -- [--requests 100-10000000] [--connections 1-500] [--seed N]')
  process.exit(2)
}
const seed = Number(options.seed ?? Date.now() % 1_000_000)
const random = createRandom(seed)
const ends: (() => unknown)[] = []
const scope = { after: (end: () => unknown) => void ends.unshift(end) }
const folder = await mkdtemp(path.join(os.tmpdir(), 'agent-core-hostile-'))
/** Faults with the requests that show them. */
const faults: { fault: string; shown: string }[] = []
const statuses = new Map<number, number>()
let slowest = { ms: 0, shown: '' }
const parts = total < 10_000 ? 2 : 10
/** More is no noise of caches and compiled code. */
const maxGrowthMb = 25

try {
  await run()
} finally {
  for (const end of ends) await end()
}
if (faults.length === 0) await rm(folder, { recursive: true, force: true })
else console.log(`Log of the service: ${folder}`)
process.exit(faults.length === 0 ? 0 : 1)

async function run(): Promise<void> {
  const receiver = await startReceiver(scope, () => 503)
  const embedder = await startModelServer(({ body }) => {
    const data = [body.input].flat().map((_: unknown, index: number) => ({ index, embedding: [0.25, -0.5, 0.125] }))
    return { body: { data, usage: { prompt_tokens: 6 } } }
  })
  scope.after(() => embedder.close())
  const service = await startMeasuredService(folder, {
    OUTBOUND_ALLOW: receiver.host,
    CALLBACK_RETRY_SECONDS: '3600',
    ARTIFACT_SHARE_DIR: path.join(folder, 'share'),
  })
  scope.after(() => service.isRunning() && service.end())
  const admin = createClient(service.url, service.adminKey)
  const { key: userKey } = (await admin.request('POST', '/core/v1/keys', { body: { sub: 'user', roles: ['user'] } })).body as {
    key: string
  }
  const surroundings: Surroundings = { admin, url: service.url, key: service.adminKey, receiver, embedder, record: () => undefined }
  const operations = operationsOf((await admin.request('GET', '/openapi.json')).body as OpenApiDocument)
  const creation = operations.find(({ operationId }) => operationId === 'postChainSubAgents')!
  console.log(`${total} requests to ${operations.length} operations over ${connections} connections, seed ${seed}.`)

  const sender = createSender(service.port, connections)
  const keys = [...Array.from({ length: 12 }, () => service.adminKey), userKey, userKey, userKey, '', 'x.y.z']
  const secrets = [service.adminKey, userKey]
  let before: Held | undefined
  const started = performance.now()
  // Deletions use up what was prepared: it is made again for each part.
  for (let part = 0; part < parts; part++) {
    // The newest key is the one that is revoked.
    await admin.request('POST', '/core/v1/keys', { body: { sub: 'nobody', roles: ['viewer'] } })
    const [first] = validRequests(creation)
    await sender.exchange({ ...first!, headers: { ...first!.headers, 'x-service-access': service.adminKey } })
    const valid = await prepare(operations, surroundings)
    const count = Math.ceil(total / parts)
    let sent = 0
    const client = async () => {
      while (sent++ < count) {
        const one = spoil(pick(pick(valid, random), random), random)
        const key = pick(keys, random)
        const request = key === '' ? one : { ...one, headers: { 'x-service-access': key, ...one.headers } }
        note(request, await sender.exchange(withoutEffect(request)), secrets)
      }
    }
    await Promise.all(Array.from({ length: connections }, client))
    if (!service.isRunning()) return fault('the service has ended', 'see its log')
    // The first part fills caches and compiles code.
    before ??= await service.measure()
  }
  for (const bytes of rawRequests) {
    const raw = await sendRaw(service.port, bytes).catch((error: Error) => error)
    if (raw instanceof Error) fault(raw.message, JSON.stringify(bytes.slice(0, 100)))
    else for (const status of raw) if (status >= 500) fault(`status ${status}`, JSON.stringify(bytes.slice(0, 100)))
  }
  sender.close()
  const seconds = (performance.now() - started) / 1000

  await sleep(2000)
  const after = await service.measure()
  const grownMb = (after.heapUsed + after.external - before!.heapUsed - before!.external) / 2 ** 20
  if (grownMb > maxGrowthMb) fault(`the heap grew by ${grownMb.toFixed(1)} MB`, JSON.stringify({ before, after }))
  const sockets = (held: Held) => held.handles['TCPSocketWrap'] ?? 0
  if (sockets(after) > 5) fault(`${sockets(after)} sockets are open`, JSON.stringify(after.handles))
  const { runs } = (await admin.request('GET', '/core/v1/runs?status=running')).body as { runs: { request_id: string }[] }
  for (const { request_id: id } of runs) fault('a run is left', id)
  for (const line of (await service.errors()).slice(0, 20)) fault('an error is logged', line.slice(0, 600))
  const code = await service.end()
  if (code !== 0) fault(`the service ends with ${code}`, 'after SIGTERM')
  report(seconds, before!, after)
}

/** The valid requests of each operation, with ids of things that exist. */
async function prepare(operations: readonly DocumentedOperation[], surroundings: Surroundings): Promise<ServiceRequest[][]> {
  const all: ServiceRequest[][] = []
  for (const operation of operations) {
    const values: Values = (await preparations[operation.operationId]?.(surroundings).catch(() => undefined)) ?? {}
    all.push(validRequests(operation, values))
  }
  return all
}

/** The agent must stay unchanged, so that the chats go on: a change of the configuration is checked only. */
function withoutEffect(request: ServiceRequest): ServiceRequest {
  if (!request.template.startsWith('/core/v1/agent/config') || request.method === 'GET') return request
  const query = request.query.filter(([name]) => name !== 'validate_only')
  const isRestore = request.template.endsWith('/restore')
  const template = isRestore ? '/core/v1/agent/config' : request.template
  return { ...request, template, query: [...query, ['validate_only', 'true']] }
}

function note(request: ServiceRequest, exchange: Exchange, secrets: readonly string[]): void {
  statuses.set(exchange.status, (statuses.get(exchange.status) ?? 0) + 1)
  const shown = () => {
    const body = bodyOf(request)?.toString('utf8').slice(0, 600) ?? ''
    const { 'x-service-access': key, ...headers } = request.headers
    const who = key === secrets[0] ? 'admin' : key === secrets[1] ? 'user' : 'nobody'
    const start = `${request.method} ${targetOf(request).slice(0, 300)} as ${who} ${JSON.stringify(headers).slice(0, 300)}`
    return `${start} [${request.spoiled.join(', ')}] ${body}\n      ${exchange.status} in ${Math.round(exchange.ms)} ms: ${exchange.text.slice(0, 300)}`
  }
  if (exchange.ms > slowest.ms) slowest = { ms: exchange.ms, shown: shown() }
  for (const one of judge(request, exchange, secrets)) fault(one, shown())
}

function fault(text: string, shown: string): void {
  faults.push({ fault: text, shown })
}

function report(seconds: number, before: Held, after: Held): void {
  const mb = (held: Held) => `${((held.heapUsed + held.external) / 2 ** 20).toFixed(1)} MB`
  const counts = [...statuses].toSorted(([a], [b]) => a - b).map(([status, times]) => `${status === 0 ? 'none' : status} ${times}`)
  console.log(`  answers        ${counts.join(', ')}`)
  console.log(`  time           ${seconds.toFixed(0)} s, slowest answer ${Math.round(slowest.ms)} ms: ${slowest.shown.slice(0, 300)}`)
  console.log(`  heap           ${mb(before)} after the first part, ${mb(after)} at the end`)
  const kinds = Map.groupBy(faults, ({ fault: name }) => name)
  console.log(kinds.size === 0 ? '\nNo wrong answer, and nothing left behind.' : `\n${faults.length} FAULTS`)
  for (const [name, all] of kinds) {
    console.log(`  ${name}: ${all.length} times`)
    for (const { shown } of all.slice(0, 6)) console.log(`    ${shown}`)
  }
}
