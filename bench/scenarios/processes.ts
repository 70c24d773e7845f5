import { Client, hammer } from '../load.ts'
import { startPostgres, type BenchPostgres } from '../postgres-server.ts'
import { cpuMs, type Part } from '../processes.ts'
import { number, type Figure } from '../report.ts'
import { makeFolder, startService, untilToolsReady, writeAgent, type StartedService } from '../service.ts'
import { quantile, serviceSide } from '../sides.ts'
import { postgresEnv } from './postgres.ts'

interface ProcessesInput {
  model: Part
  seconds: number
}

const clients = 64
const rounds = 3

/**
 * Measures the same load with one, two and four service processes on a shared Postgres. Each client uses a fixed process. Nothing is
 * pinned, so on few cores the figures show shared capacity, not the limit of the processes.
 */
export async function processes({ model, seconds }: ProcessesInput): Promise<Figure[]> {
  const server = await startPostgres(undefined)
  const figures: Figure[] = []
  try {
    const url = await server.createDatabase()
    let singleProcessRate: number | undefined
    for (const count of [1, 2, 4]) {
      const measured = await withProcesses(count, url, model, (services) => measure(services, server, model, seconds))
      singleProcessRate ??= measured.perSecond
      figures.push(...toFigures(count, measured, singleProcessRate))
    }
    return figures
  } finally {
    await server.stop()
  }
}

async function withProcesses<T>(count: number, url: string, model: Part, work: (services: StartedService[]) => Promise<T>): Promise<T> {
  const folders = await Promise.all(Array.from({ length: count }, makeFolder))
  try {
    const services: StartedService[] = []
    for (const { folder } of folders) {
      await writeAgent(folder, Number(model.firstLine), [])
      const service = await startService(folder, { core: undefined, env: postgresEnv(url) })
      await untilToolsReady(service)
      services.push(service)
    }
    const result = await work(services)
    await Promise.all(services.map(({ part }) => part.stop()))
    return result
  } finally {
    for (const { remove } of folders) await remove()
  }
}

interface Measured {
  perSecond: number
  latencies: number[]
  /** Processor time per chat in microseconds, of all service processes and of Postgres. */
  serviceUs: number
  postgresUs: number
  /** Shares of a core: service processes, Postgres, model, load generator. */
  shares: number[]
}

async function measure(services: readonly StartedService[], server: BenchPostgres, model: Part, seconds: number): Promise<Measured> {
  const sides = services.map(serviceSide)
  const open = Array.from({ length: clients }, (_, n) => {
    const side = sides[n % sides.length]!
    return { client: new Client(side.port, side.json.end), request: side.json.request('bench:short') }
  })
  const load = async (loadSeconds: number) => {
    const results = await Promise.all(open.map(({ client, request }) => hammer([client], request, loadSeconds)))
    return { latencies: results.flatMap(({ latencies }) => latencies), tookMs: Math.max(...results.map(({ tookMs }) => tookMs)) }
  }
  const times = () => [
    services.reduce((sum, { part }) => sum + (cpuMs(part.pid) ?? NaN), 0),
    server.cpuMs(),
    cpuMs(model.pid) ?? NaN,
    cpuMs(process.pid) ?? NaN,
  ]
  await load(Math.min(seconds, 1))
  const before = times()
  const { latencies, tookMs } = await load(seconds * rounds)
  const used = times().map((ms, index) => ms - before[index]!)
  for (const { client } of open) client.close()
  const perChat = (ms: number | undefined) => ((ms ?? NaN) / latencies.length) * 1000
  const shares = used.map((ms) => ms / tookMs)
  return { perSecond: (latencies.length / tookMs) * 1000, latencies, serviceUs: perChat(used[0]), postgresUs: perChat(used[1]), shares }
}

function toFigures(count: number, { perSecond, latencies, serviceUs, postgresUs, shares }: Measured, singleProcessRate: number): Figure[] {
  const at = `, ${count} ${count === 1 ? 'process' : 'processes'}`
  return [
    { label: `chats/s${at}, ${clients} clients`, service: number(perSecond), ratio: number(perSecond / singleProcessRate) },
    { label: `  p50 / p99${at}`, service: `${number(quantile(latencies, 0.5))} / ${number(quantile(latencies, 0.99), 'ms')}` },
    { label: `  processor time per chat, service / Postgres${at}`, service: `${number(serviceUs)} / ${number(postgresUs, 'us')}` },
    {
      label: `  busy: service / Postgres / model / load${at}`,
      service: shares.map((share) => `${Math.round(share * 100)}`).join('/'),
    },
  ]
}
