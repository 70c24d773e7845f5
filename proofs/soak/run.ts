import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createRandom } from '../random.ts'
import { startMeasuredService, type Held } from '../../test/fixtures/measured-service.ts'
import { createClient } from '../../test/fixtures/service-client.ts'
import { sendLoad } from './load.ts'
import { slopeOf } from './slope.ts'

/**
 * Sends a mixed load to the service for an hour, and measures its memory after forced garbage collections. The exit code is 1 when the memory
 * grows, a request is refused, or something is left open.
 */
const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    clients: { type: 'string', default: '8' },
    seed: { type: 'string', default: '1' },
  },
})
const minutes = Number(options.minutes)
const clients = Number(options.clients)
if (!(minutes >= 1 && minutes <= 10_000 && clients >= 1 && clients <= 200)) {
  console.error('Usage: npm run soak -- [--minutes 1-10000] [--clients 1-200] [--seed N]')
  process.exit(2)
}
/** The first part of the time fills caches and compiles code, with five times the load: V8 still compiles after 50,000 requests. */
const warmUpShare = 0.2
const warmUpSpeed = 5
const samples = 60
const maxMbPerHour = 3
/** A short run says little about an hour. */
const isLong = minutes >= 30
const random = createRandom(Number(options.seed))
const wrong: string[] = []
const folder = await mkdtemp(path.join(os.tmpdir(), 'agent-core-soak-'))
const service = await startMeasuredService(folder, {})
const client = createClient(service.url, service.adminKey)
const counts = new Map<string, { done: number; refused: number }>()
let isActive = true
let isWarm = false
/** Present during a measurement, while which the clients wait between two requests. */
let rest: { waiting: number; over: PromiseWithResolvers<void> } | undefined
try {
  const atRest = await service.measure()
  console.log(
    `${minutes} minutes, ${clients} clients. At rest: ${mb(atRest).toFixed(1)} MB of heap, ${Math.round(atRest.rss / 2 ** 20)} MB resident.`,
  )
  const load = Array.from({ length: clients }, (_, index) =>
    sendLoad({ client, name: `soak-${index}`, random, isActive: () => isActive, pause, count: note }),
  )
  const points = await sample()
  isActive = false
  await Promise.all(load)
  await check(points)
} finally {
  if (service.isRunning()) await service.end()
}
if (wrong.length === 0) await rm(folder, { recursive: true, force: true })
else console.log(`Log of the service: ${folder}`)
process.exit(wrong.length === 0 ? 0 : 1)

function note(operation: string, isRefused: boolean): void {
  const count = counts.get(operation) ?? { done: 0, refused: 0 }
  count[isRefused ? 'refused' : 'done']++
  counts.set(operation, count)
}

async function pause(): Promise<void> {
  await sleep((50 + random() * 300) / (isWarm ? 1 : warmUpSpeed))
  if (!rest) return
  rest.waiting++
  await rest.over.promise
}

/** Measures while nothing is at work: what requests in flight hold depends on the speed of the machine. */
async function measureAtRest(): Promise<Held> {
  rest = { waiting: 0, over: Promise.withResolvers() }
  // A run that does not end is measured too, and told at the end.
  const until = performance.now() + 30_000
  while (performance.now() < until && (rest.waiting < clients || (await runningRuns()) > 0)) await sleep(100)
  const held = await service.measure()
  rest.over.resolve()
  rest = undefined
  return held
}

async function runningRuns(): Promise<number> {
  const { body } = await client.request('GET', '/core/v1/runs?status=running')
  return body.runs.length
}

interface Point {
  /** Hours since the start. */
  x: number
  /** MB. */
  y: number
  /** MB of compiled code, a part of `y`. */
  code: number
}

/** Measures at even intervals. The points after the warm-up. */
async function sample(): Promise<Point[]> {
  const points: Point[] = []
  const started = performance.now()
  for (let index = 1; index <= samples; index++) {
    await sleep(Math.max(0, started + (index / samples) * minutes * 60_000 - performance.now()))
    const held = await measureAtRest()
    const hours = (performance.now() - started) / 3_600_000
    isWarm = index / samples >= warmUpShare
    if (isWarm) points.push({ x: hours, y: mb(held), code: held.code / 2 ** 20 })
    if (index % 5 === 0)
      console.log(`  ${(hours * 60).toFixed(1).padStart(6)} min  ${mb(held).toFixed(1).padStart(6)} MB  ${graph(mb(held))}`)
  }
  return points
}

async function check(points: readonly Point[]): Promise<void> {
  // Sandboxes that are not needed end by themselves.
  await sleep(5000)
  const after = await service.measure()
  const { slope, margin } = slopeOf(points)
  const code = slopeOf(points.map((point) => ({ x: point.x, y: point.code })))
  const done = [...counts].map(([operation, count]) => `${operation} ${count.done}`).join(', ')
  console.log(`\n  done      ${done}`)
  console.log(
    `  slope     ${slope.toFixed(2)} MB an hour, 95 % interval ${(slope - margin).toFixed(2)} to ${(slope + margin).toFixed(2)}; of it compiled code ${code.slope.toFixed(2)}`,
  )
  console.log(
    `  at rest   ${mb(after).toFixed(1)} MB of heap, ${Math.round(after.rss / 2 ** 20)} MB resident, ${JSON.stringify(after.handles)}`,
  )
  if (isLong && slope + margin > maxMbPerHour) wrong.push(`the heap may grow by ${(slope + margin).toFixed(1)} MB an hour`)
  if ((after.handles['TCPSocketWrap'] ?? 0) > clients + 2) wrong.push(`${after.handles['TCPSocketWrap']} sockets are open`)
  for (const [operation, { refused }] of counts) if (refused > 0) wrong.push(`${operation}: ${refused} refused`)
  for (const line of (await service.errors()).slice(0, 10)) wrong.push(`an error is logged: ${line.slice(0, 300)}`)
  const left = await runningRuns()
  if (left > 0) wrong.push(`${left} runs are left`)
  console.log(
    wrong.length === 0
      ? `\n${isLong ? 'The memory is flat, and nothing' : 'Nothing'} was refused or left.`
      : `\n${wrong.length} FAULTS\n  ${wrong.join('\n  ')}`,
  )
}

function mb({ heapUsed, external }: Held): number {
  return (heapUsed + external) / 2 ** 20
}

function graph(value: number): string {
  return '#'.repeat(Math.round(value / 2))
}
