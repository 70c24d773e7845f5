import { Client, hammer } from '../load.ts'
import { startPostgres, type BenchPostgres } from '../postgres-server.ts'
import { cpuMs, treeCpuMs, type Part } from '../processes.ts'
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
/** Chats of each process before the measurement: code that has run rarely is slow. */
const warmChats = 3000

interface Layout {
  label: string
  /** Number of services, each with a port of its own. */
  services: number
  /** Number of worker processes of each service. */
  workers: number
}

const layouts: readonly Layout[] = [
  { label: '1 process', services: 1, workers: 1 },
  { label: '2 processes', services: 2, workers: 1 },
  { label: '4 processes', services: 4, workers: 1 },
  { label: 'WORKERS=2', services: 1, workers: 2 },
  { label: 'WORKERS=4', services: 1, workers: 4 },
]

/** Lowest processor time per chat of one process, as a share of that of several. */
const efficiencyAim = 0.9

/**
 * Measures the same load with one and several processes on a shared Postgres. Each client keeps its connection. Nothing is pinned, so on few
 * cores the rates show shared capacity, not the limit of the processes; processor times can be compared.
 */
export async function processes({ model, seconds }: ProcessesInput): Promise<Figure[]> {
  const server = await startPostgres(undefined)
  const figures: Figure[] = []
  try {
    const url = await server.createDatabase()
    let single: Measured | undefined
    for (const layout of layouts) {
      const measured = await withProcesses(layout, url, model, (services) => measure(layout, services, server, model, seconds))
      single ??= measured
      figures.push(...toFigures(layout.label, measured, single))
    }
    return figures
  } finally {
    await server.stop()
  }
}

async function withProcesses<T>(layout: Layout, url: string, model: Part, work: (services: StartedService[]) => Promise<T>): Promise<T> {
  const folders = await Promise.all(Array.from({ length: layout.services }, makeFolder))
  const env = { ...postgresEnv(url), WORKERS: String(layout.workers) }
  try {
    const services: StartedService[] = []
    for (const { folder } of folders) {
      await writeAgent(folder, Number(model.firstLine), [])
      const service = await startService(folder, { core: undefined, env })
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

async function measure(
  layout: Layout,
  services: readonly StartedService[],
  server: BenchPostgres,
  model: Part,
  seconds: number,
): Promise<Measured> {
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
    services.reduce((sum, { part }) => sum + treeCpuMs(part.pid), 0),
    server.cpuMs(),
    cpuMs(model.pid) ?? NaN,
    cpuMs(process.pid) ?? NaN,
  ]
  for (let answers = 0; answers < warmChats * layout.services * layout.workers;) answers += (await load(1)).latencies.length
  const before = times()
  const { latencies, tookMs } = await load(seconds * rounds)
  const used = times().map((ms, index) => ms - before[index]!)
  for (const { client } of open) client.close()
  const perChat = (ms: number | undefined) => ((ms ?? NaN) / latencies.length) * 1000
  const shares = used.map((ms) => ms / tookMs)
  return { perSecond: (latencies.length / tookMs) * 1000, latencies, serviceUs: perChat(used[0]), postgresUs: perChat(used[1]), shares }
}

function toFigures(label: string, { perSecond, latencies, serviceUs, postgresUs, shares }: Measured, single: Measured): Figure[] {
  const at = `, ${label}`
  const efficiency = single.serviceUs / serviceUs
  return [
    { label: `chats/s${at}, ${clients} clients`, service: number(perSecond), ratio: number(perSecond / single.perSecond) },
    { label: `  p50 / p99${at}`, service: `${number(quantile(latencies, 0.5))} / ${number(quantile(latencies, 0.99), 'ms')}` },
    { label: `  processor time per chat, service / Postgres${at}`, service: `${number(serviceUs)} / ${number(postgresUs, 'us')}` },
    {
      label: `  efficiency: processor time per chat of 1 process by that of the service${at}`,
      service: number(efficiency),
      aim: `≥ ${efficiencyAim}`,
      isMet: efficiency >= efficiencyAim,
    },
    {
      label: `  busy: service / Postgres / model / load${at}`,
      service: shares.map((share) => `${Math.round(share * 100)}`).join('/'),
    },
  ]
}
