import { Client, hammer, toRequest } from './load.ts'
import { cpuMs, type Part } from './processes.ts'
import type { StartedService } from './service.ts'
import { tokenText } from './wire.ts'

/** The two that are compared, relay and service, and how one round of load on one of them is measured. */

export interface Side {
  part: Part
  port: number
  /** Requests, given what the model is to answer; `end` is what its answers end with. */
  json: { request(order: string, headers?: Record<string, string>): Buffer; end: string }
  stream: { request(order: string): Buffer; end: string }
}

export function relaySide(part: Part): Side {
  const port = Number(part.firstLine)
  return {
    part,
    port,
    json: { request: (order) => toRequest({ port, path: '/json' }, order), end: `${tokenText}"}` },
    stream: { request: (order) => toRequest({ port, path: '/stream' }, order), end: '[DONE]' },
  }
}

export function serviceSide({ part, port, key }: StartedService): Side {
  const access = { 'x-service-access': key }
  const json = (order: string, headers?: Record<string, string>) =>
    toRequest({ port, path: '/core/v1/chain', headers: { ...access, ...headers } }, order)
  return {
    part,
    port,
    json: { request: json, end: '}]}}' },
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
  /** Of one round. */
  seconds: number
  /** Processor time so far of what works for the measured side, its database, in milliseconds. */
  besideMs?(): number
}

export interface Round {
  perSecond: number
  latencies: number[]
  /** Processor time of the measured process per answer, in microseconds. */
  cpuUs: number
  /** The same of what works for it. */
  besideUs: number
  /** Shares of one core, from 0 to 1: who was busy. */
  shares: { measured: number; model: number; load: number }
}

/** Open connections to one side. */
export function connectTo({ port }: Side, end: string, count: number): Client[] {
  return Array.from({ length: count }, () => new Client(port, end))
}

/** Nothing is measured before it is seen that every token arrives. */
export async function expectTokens(side: Side, kind: 'json' | 'stream', order: string, count: number): Promise<void> {
  const [client] = connectTo(side, side[kind].end, 1) as [Client]
  const { text } = await client.send(side[kind].request(order), { keeps: true })
  client.close()
  const found = text.split(tokenText).length - 1
  if (found !== count) throw new Error(`${side.part.name} delivered ${found} tokens of ${count}`)
}

/** One round of load, with the processor time that it took. */
export async function round(bench: Bench, side: Side, clients: readonly Client[], request: Buffer): Promise<Round> {
  const pids = [side.part.pid, bench.model.pid, process.pid]
  const before = pids.map(readCpu)
  const besideBefore = bench.besideMs?.() ?? 0
  const { latencies, tookMs } = await hammer(clients, request, bench.seconds)
  const used = pids.map((pid, index) => readCpu(pid) - before[index]!)
  const [measured = NaN, model = NaN, load = NaN] = used.map((ms) => ms / tookMs)
  return {
    perSecond: (latencies.length / tookMs) * 1000,
    latencies,
    cpuUs: (used[0]! / latencies.length) * 1000,
    besideUs: (((bench.besideMs?.() ?? 0) - besideBefore) / latencies.length) * 1000,
    shares: { measured, model, load },
  }
}

function readCpu(pid: number): number {
  return cpuMs(pid) ?? NaN
}

export interface Compared {
  relay: Round
  service: Round
  /** Service over relay, the median of the pairs. */
  ratio: number
}

const pairs = 3

/** Rounds of relay and service in turns, so that what else the machine does falls on both; medians of all. */
export async function compare(
  bench: Bench,
  clients: number,
  kind: 'json' | 'stream',
  orders: { relay: string; service: string },
): Promise<Compared> {
  const rounds = { relay: [] as Round[], service: [] as Round[] }
  for (let pair = 0; pair <= pairs; pair++) {
    for (const name of ['relay', 'service'] as const) {
      const side = bench[name]
      const open = connectTo(side, side[kind].end, clients)
      // The first pair warms up.
      const one = await round(
        pair === 0 ? { ...bench, seconds: Math.min(bench.seconds, 1) } : bench,
        side,
        open,
        side[kind].request(orders[name]),
      )
      for (const client of open) client.close()
      if (pair > 0) rounds[name].push(one)
    }
  }
  const ratios = rounds.service.map((one, index) => one.perSecond / rounds.relay[index]!.perSecond)
  return { relay: middle(rounds.relay), service: middle(rounds.service), ratio: quantile(ratios, 0.5) }
}

/** The round with the median rate, with the latencies of all. */
function middle(rounds: Round[]): Round {
  const sorted = rounds.toSorted((a, b) => a.perSecond - b.perSecond)
  return { ...sorted[Math.floor(sorted.length / 2)]!, latencies: rounds.flatMap((one) => one.latencies) }
}

/** The value below which the share `q` of the values lies. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN
}
