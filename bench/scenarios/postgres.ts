import { randomUUID } from 'node:crypto'
import { pins, type Part } from '../processes.ts'
import { startPostgres } from '../postgres-server.ts'
import { number, type Figure } from '../report.ts'
import { makeFolder, startService, untilToolsReady, writeAgent, type StartedService } from '../service.ts'
import { compare, connectTo, expectTokens, quantile, serviceSide, type Bench, type Side } from '../sides.ts'
import { meterWire } from '../wire-meter.ts'
import { tokenText } from '../wire.ts'
import { busy } from './chats.ts'

interface Parts {
  model: Part
  seconds: number
}

/** One service on Postgres (right) against the same on its embedded database (left), as chats of eight tokens. */
export async function postgres({ model, seconds }: Parts): Promise<Figure[]> {
  const server = await startPostgres(pins?.model)
  const folders = [await makeFolder(), await makeFolder(), await makeFolder()] as const
  try {
    for (const { folder } of folders) await writeAgent(folder, Number(model.firstLine), ['current_time'])
    const embedded = await start(folders[0].folder)
    const shared = await start(folders[1].folder, onPostgres(await server.createDatabase()))
    const bench: Bench = { relay: serviceSide(embedded), service: serviceSide(shared), model, seconds, besideMs: server.cpuMs }
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

/** What says that a service keeps its data there. */
export function onPostgres(url: string): NodeJS.ProcessEnv {
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
    const [left, right] = [quantile(embedded.latencies, q), quantile(shared.latencies, q)]
    return { what: `  p${q * 100}${at}`, relay: number(left, 'ms'), service: number(right, 'ms'), ratio: number(right / left) }
  }
  const cpu = { relay: number(embedded.cpuUs, 'us'), service: number(shared.cpuUs, 'us'), ratio: number(shared.cpuUs / embedded.cpuUs) }
  return [
    { what: `chats/s${at}`, relay: number(embedded.perSecond), service: number(shared.perSecond), ratio: number(ratio) },
    latency(0.5),
    latency(0.99),
    { what: `  processor time of the service per chat${at}`, ...cpu },
    { what: `  processor time of Postgres per chat${at}`, service: number(shared.besideUs, 'us') },
    { what: `  busy: service / model / load${at}`, relay: busy(embedded), service: busy(shared) },
  ]
}

const samples = 200

async function firstToken(bench: Bench): Promise<Figure> {
  const of = async (side: Side) => {
    const [client] = connectTo(side, side.stream.end, 1)
    const ms: number[] = []
    for (let sample = -samples; sample < samples; sample++) {
      const { sentAt, tokenAt = NaN } = await client!.send(side.stream.request('bench:tokens 8'), { token: tokenText })
      if (sample >= 0) ms.push(tokenAt - sentAt)
    }
    client!.close()
    return quantile(ms, 0.5)
  }
  const [left, right] = [await of(bench.relay), await of(bench.service)]
  return {
    what: 'time to first token, 1 client, median',
    relay: number(left, 'ms'),
    service: number(right, 'ms'),
    ratio: `+${number(right - left, 'ms')}`,
  }
}

const counted = 200
/** So many are gone on with in turns: a long one has its summary to make beside. */
const sessions = 40
const aims = { first: 3, later: 3, tool: 5 }

/** What goes over the wire for one chat after another, heartbeats included. */
async function wire(folder: string, databaseUrl: string): Promise<Figure[]> {
  const meter = await meterWire(databaseUrl)
  const service = await start(folder, onPostgres(meter.url))
  const side = serviceSide(service)
  const [client] = connectTo(side, side.json.end, 1)
  const known = Array.from({ length: sessions }, () => randomUUID())
  const cost = async (name: keyof typeof aims, order: string, headers: (n: number) => Record<string, string>): Promise<Figure> => {
    for (let n = -sessions; n < 0; n++) await client!.send(side.json.request(order, headers(n)))
    meter.count()
    for (let n = 0; n < counted; n++) await client!.send(side.json.request(order, headers(n)))
    const { roundTrips, statements } = meter.count()
    const what = { first: 'first chat of a session', later: 'later chat', tool: 'chat with one tool call' }[name]
    const isMet = roundTrips / counted < aims[name] + 0.5
    return {
      what: `round trips / statements, ${what}`,
      service: `${number(roundTrips / counted)} / ${number(statements / counted)}`,
      aim: `<= ${aims[name]}`,
      isMet,
    }
  }
  const figures = [
    await cost('first', 'bench:short', () => ({ 'session-id': randomUUID() })),
    await cost('later', 'bench:short', (n) => ({ 'session-id': known[(n + sessions) % sessions]! })),
    await cost('tool', 'bench:tools 1', () => ({ 'session-id': randomUUID() })),
  ]
  client!.close()
  await service.part.stop()
  meter.close()
  return figures
}
