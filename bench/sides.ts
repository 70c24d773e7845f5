import { Client, hammer, toRequest } from './load.ts'
import { cpuMs, treeCpuMs, type Part } from './processes.ts'
import type { StartedService } from './service.ts'
import { tokenText } from './wire.ts'

/** The two compared servers (relay and service), and the measurement of a round of load. */

export interface Side {
  part: Part
  port: number
  /** Builds requests from an order to the scripted model. Every complete answer contains `end` near its last byte. */
  json: { request(order: string, headers?: Record<string, string>): Buffer; end: string }
  stream: { request(order: string): Buffer; end: string }
}

/** `path`: `/json`, or `/tools` for a relay that makes tool calls. */
export function relaySide(part: Part, path = '/json'): Side {
  const port = Number(part.firstLine)
  // The relay forwards the body, and the model streams only if the request says so.
  const fields = { stream: true }
  return {
    part,
    port,
    json: { request: (order) => toRequest({ port, path, fields }, order), end: `${tokenText}"}` },
    stream: { request: (order) => toRequest({ port, path: '/stream', fields }, order), end: '[DONE]' },
  }
}

export function serviceSide({ part, port, key }: StartedService): Side {
  const access = { 'x-service-access': key }
  const json = (order: string, headers?: Record<string, string>) =>
    toRequest({ port, path: '/core/v1/chain', headers: { ...access, ...headers } }, order)
  return {
    part,
    port,
    json: { request: json, end: '"generated_artifacts":[]}}' },
    stream: {
      request: (order) => toRequest({ port, path: '/core/v1/chain_streaming', headers: access }, order),
      end: '"finish_reason":"stop"',
    },
  }
}

export interface Bench {
  relay: Side
  service: Side
  model: Part
  /** Length of a round. */
  seconds: number
  /** Processor time of the database server so far, in milliseconds. */
  databaseMs?(): number
}

export interface Round {
  perSecond: number
  latencies: number[]
  /** Processor time of the measured process and its child processes per answer, in microseconds. */
  cpuUs: number
  /** Processor time of the database server per answer, in microseconds. */
  databaseUs: number
  /** Load of each process, as a share of a core from 0 to 1. */
  shares: { measured: number; model: number; load: number }
}

/** Opens `count` connections to a side. */
export function connectTo({ port }: Side, end: string, count: number): Client[] {
  return Array.from({ length: count }, () => new Client(port, end))
}

/** Throws unless the side delivers all tokens. Scenarios call this function before measuring. */
export async function expectTokens(side: Side, kind: 'json' | 'stream', order: string, count: number): Promise<void> {
  const [client] = connectTo(side, side[kind].end, 1) as [Client]
  const { text } = await client.send(side[kind].request(order), { keepText: true })
  client.close()
  const tokenCount = text.split(tokenText).length - 1
  if (tokenCount !== count) throw new Error(`${side.part.name} delivered ${tokenCount} tokens of ${count}`)
}

/** Runs a round of load and measures the processor time used. */
export async function measureRound(bench: Bench, side: Side, clients: readonly Client[], request: Buffer): Promise<Round> {
  // The load generator is the parent of all others.
  const readAll = () => [treeCpuMs(side.part.pid), readCpu(bench.model.pid), readCpu(process.pid)]
  const before = readAll()
  const databaseMsBefore = bench.databaseMs?.() ?? 0
  const { latencies, tookMs } = await hammer(clients, request, bench.seconds)
  const used = readAll().map((ms, index) => ms - before[index]!)
  const [measured = NaN, model = NaN, load = NaN] = used.map((ms) => ms / tookMs)
  return {
    perSecond: (latencies.length / tookMs) * 1000,
    latencies,
    cpuUs: (used[0]! / latencies.length) * 1000,
    databaseUs: (((bench.databaseMs?.() ?? 0) - databaseMsBefore) / latencies.length) * 1000,
    shares: { measured, model, load },
  }
}

function readCpu(pid: number): number {
  return cpuMs(pid) ?? NaN
}

export interface Comparison {
  relay: Round
  service: Round
  /** Service divided by relay, median over the pairs of rounds. */
  ratio: number
}

const warmUpClients = 64
const warmUpSeconds = 15

/** Loads both sides until V8 has compiled the functions that are used often. Without `warmUp`, the rounds have the processor time of the compilation too. */
export async function warmUp(bench: Bench, orders: { relay: string; service: string }): Promise<void> {
  for (const name of ['relay', 'service'] as const) {
    const side = bench[name]
    const open = connectTo(side, side.json.end, warmUpClients)
    await hammer(open, side.json.request(orders[name]), warmUpSeconds)
    for (const client of open) client.close()
  }
}

const pairs = 3

/** Alternates rounds of relay and service, so that other load on the machine affects both, and returns the median rounds. */
export async function compare(
  bench: Bench,
  clients: number,
  kind: 'json' | 'stream',
  orders: { relay: string; service: string },
): Promise<Comparison> {
  const rounds = { relay: [] as Round[], service: [] as Round[] }
  for (let pair = 0; pair <= pairs; pair++) {
    for (const name of ['relay', 'service'] as const) {
      const side = bench[name]
      const open = connectTo(side, side[kind].end, clients)
      // The first pair warms up.
      const measuredRound = await measureRound(
        pair === 0 ? { ...bench, seconds: Math.min(bench.seconds, 1) } : bench,
        side,
        open,
        side[kind].request(orders[name]),
      )
      for (const client of open) client.close()
      if (pair > 0) rounds[name].push(measuredRound)
    }
  }
  const ratios = rounds.service.map((serviceRound, index) => serviceRound.perSecond / rounds.relay[index]!.perSecond)
  return { relay: medianRound(rounds.relay), service: medianRound(rounds.service), ratio: quantile(ratios, 0.5) }
}

/** Returns the round with the median rate, with the latencies of all rounds. */
function medianRound(rounds: Round[]): Round {
  const sorted = rounds.toSorted((a, b) => a.perSecond - b.perSecond)
  return { ...sorted[Math.floor(sorted.length / 2)]!, latencies: rounds.flatMap((pairRound) => pairRound.latencies) }
}

/** Returns the quantile `q` (0 to 1) of the values. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN
}
