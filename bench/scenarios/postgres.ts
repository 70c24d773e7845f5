import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { pins, type Part } from '../processes.ts'
import { startPostgres } from '../postgres-server.ts'
import { number, type Figure } from '../report.ts'
import { makeFolder, startService, untilToolsReady, writeAgent, type StartedService } from '../service.ts'
import { compare, connectTo, expectTokens, quantile, serviceSide, type Bench, type Side } from '../sides.ts'
import { meterWire, type WireMeter } from '../wire-meter.ts'
import { tokenText } from '../wire.ts'
import { busy } from './chats.ts'

interface PostgresInput {
  model: Part
  seconds: number
}

/** Chats of eight tokens: the service on its embedded database (left) and on Postgres (right). */
export async function postgres({ model, seconds }: PostgresInput): Promise<Figure[]> {
  const server = await startPostgres(pins?.model)
  const folders = [await makeFolder(), await makeFolder(), await makeFolder()] as const
  try {
    for (const { folder } of folders) await writeAgent(folder, Number(model.firstLine), ['current_time'])
    const embedded = await start(folders[0].folder)
    const shared = await start(folders[1].folder, postgresEnv(await server.createDatabase()))
    const bench: Bench = { relay: serviceSide(embedded), service: serviceSide(shared), model, seconds, databaseMs: server.cpuMs }
    for (const side of [bench.relay, bench.service]) await expectTokens(side, 'json', 'bench:short', 8)
    const figures: Figure[] = []
    for (const clients of [1, 16, 64]) figures.push(...(await chats(bench, clients)))
    figures.push(await firstToken(bench))
    await Promise.all([embedded.part.stop(), shared.part.stop()])
    return [...figures, ...(await wire(folders[2].folder, await server.createDatabase()))]
  } finally {
    await server.stop()
    for (const { remove } of folders) await remove()
  }
}

/** Environment that makes the service use the Postgres database at `url`. */
export function postgresEnv(url: string): NodeJS.ProcessEnv {
  return { DATABASE_URL: url, SECRET_KEY: 'b'.repeat(32) }
}

async function start(folder: string, env: NodeJS.ProcessEnv = {}): Promise<StartedService> {
  const service = await startService(folder, { env })
  await untilToolsReady(service)
  return service
}

async function chats(bench: Bench, clients: number): Promise<Figure[]> {
  const {
    relay: embedded,
    service: shared,
    ratio,
  } = await compare(bench, clients, 'json', { relay: 'bench:short', service: 'bench:short' })
  const at = `, ${clients} ${clients === 1 ? 'client' : 'clients'}`
  const latency = (q: number): Figure => {
    const [embeddedMs, postgresMs] = [quantile(embedded.latencies, q), quantile(shared.latencies, q)]
    return {
      label: `  p${q * 100}${at}`,
      relay: number(embeddedMs, 'ms'),
      service: number(postgresMs, 'ms'),
      ratio: number(postgresMs / embeddedMs),
    }
  }
  const cpu = { relay: number(embedded.cpuUs, 'us'), service: number(shared.cpuUs, 'us'), ratio: number(shared.cpuUs / embedded.cpuUs) }
  return [
    { label: `chats/s${at}`, relay: number(embedded.perSecond), service: number(shared.perSecond), ratio: number(ratio) },
    latency(0.5),
    latency(0.99),
    { label: `  processor time of the service per chat${at}`, ...cpu },
    { label: `  processor time of Postgres per chat${at}`, service: number(shared.databaseUs, 'us') },
    { label: `  busy: service / model / load${at}`, relay: busy(embedded), service: busy(shared) },
  ]
}

const samples = 200

async function firstToken(bench: Bench): Promise<Figure> {
  const medianMs = async (side: Side) => {
    const [client] = connectTo(side, side.stream.end, 1)
    const ms: number[] = []
    for (let sample = -samples; sample < samples; sample++) {
      const { sentAt, tokenAt = NaN } = await client!.send(side.stream.request('bench:tokens 8'), { token: tokenText })
      if (sample >= 0) ms.push(tokenAt - sentAt)
    }
    client!.close()
    return quantile(ms, 0.5)
  }
  const [embeddedMs, postgresMs] = [await medianMs(bench.relay), await medianMs(bench.service)]
  return {
    label: 'time to first token, 1 client, median',
    relay: number(embeddedMs, 'ms'),
    service: number(postgresMs, 'ms'),
    ratio: `+${number(postgresMs - embeddedMs, 'ms')}`,
  }
}

/** Time for the work that follows chats, and length of the measurement, in milliseconds. */
const settleMs = 70_000
const idleMs = 30_000
const aimOfIdle = 2

/** Counts the statements of a service without requests. */
async function idle(meter: WireMeter): Promise<Figure> {
  await sleep(settleMs)
  meter.count()
  await sleep(idleMs)
  const perSecond = (meter.count().statements / idleMs) * 1000
  return {
    label: 'statements per second without requests',
    service: number(perSecond),
    aim: `<= ${aimOfIdle}`,
    isMet: perSecond <= aimOfIdle,
  }
}

const measuredChats = 200
/** Sessions used in turns, because a long session would also make summaries. */
const sessionCount = 40
const aims = { first: 3, later: 3, tool: 5 }

/** Measures the Postgres traffic per chat of sequential chats, including heartbeats. */
async function wire(folder: string, databaseUrl: string): Promise<Figure[]> {
  const meter = await meterWire(databaseUrl)
  const service = await start(folder, postgresEnv(meter.url))
  const side = serviceSide(service)
  const [client] = connectTo(side, side.json.end, 1)
  const sessionIds = Array.from({ length: sessionCount }, () => randomUUID())
  const cost = async (name: keyof typeof aims, order: string, headers: (n: number) => Record<string, string>): Promise<Figure> => {
    for (let n = -sessionCount; n < 0; n++) await client!.send(side.json.request(order, headers(n)))
    meter.count()
    for (let n = 0; n < measuredChats; n++) await client!.send(side.json.request(order, headers(n)))
    const { roundTrips, statements } = meter.count()
    const label = { first: 'first chat of a session', later: 'later chat', tool: 'chat with one tool call' }[name]
    const isMet = roundTrips / measuredChats < aims[name] + 0.5
    return {
      label: `round trips / statements, ${label}`,
      service: `${number(roundTrips / measuredChats)} / ${number(statements / measuredChats)}`,
      aim: `<= ${aims[name]}`,
      isMet,
    }
  }
  const figures = [
    await cost('first', 'bench:short', () => ({ 'session-id': randomUUID() })),
    await cost('later', 'bench:short', (n) => ({ 'session-id': sessionIds[(n + sessionCount) % sessionCount]! })),
    await cost('tool', 'bench:tools 1', () => ({ 'session-id': randomUUID() })),
  ]
  client!.close()
  figures.push(await idle(meter))
  await service.part.stop()
  meter.close()
  return figures
}
