import { pins, type Part } from '../processes.ts'
import { startPostgres } from '../postgres-server.ts'
import { number, type Figure } from '../report.ts'
import { makeFolder, startService, untilToolsReady, writeAgent } from '../service.ts'
import { compare, quantile, serviceSide, type Bench } from '../sides.ts'
import { postgresEnv } from './postgres.ts'

interface PairedInput {
  model: Part
  seconds: number
}

/** What two services differ in. */
interface Pair {
  /** Parts of agent.yaml: without (left) and with (right). */
  configs: readonly [object, object]
  /** Order to the scripted model. */
  order: string
  /** Numbers of clients at the same time. */
  clients: readonly number[]
  /** The most processor time of a chat with, divided by that without. */
  aim: number
}

const caller = { name: 'callers', scope: 'caller', window: 'day', limit: { tokens: 1_000_000_000_000 } }

/** Chats of eight tokens: without budgets (left) and with a budget of their caller (right), on both databases. */
export function budgets(input: PairedInput): Promise<Figure[]> {
  return onBothDatabases(input, { configs: [{}, { budgets: [caller] }], order: 'bench:short', clients: [1, 16, 64], aim: 1.08 })
}

const tools = [{ name: 'current_time', effect: 'write' }]

/** Chats with one `write` call, which does next to nothing: without the ledger (left) and with it (right), on both databases. */
export function audit(input: PairedInput): Promise<Figure[]> {
  const configs = [{ tools, audit: { enabled: false } }, { tools }] as const
  return onBothDatabases(input, { configs, order: 'bench:tools 1', clients: [1, 16], aim: 1.03 })
}

async function onBothDatabases({ model, seconds }: PairedInput, pair: Pair): Promise<Figure[]> {
  const server = await startPostgres(pins?.model)
  try {
    const embedded = await compareOn('embedded', [{}, {}], { model, seconds }, pair)
    const env = async () => postgresEnv(await server.createDatabase())
    return [...embedded, ...(await compareOn('Postgres', [await env(), await env()], { model, seconds, databaseMs: server.cpuMs }, pair))]
  } finally {
    await server.stop()
  }
}

async function compareOn(
  name: string,
  environments: readonly [NodeJS.ProcessEnv, NodeJS.ProcessEnv],
  parts: Pick<Bench, 'model' | 'seconds' | 'databaseMs'>,
  pair: Pair,
): Promise<Figure[]> {
  const folders = [await makeFolder(), await makeFolder()] as const
  try {
    for (const [index, { folder }] of folders.entries()) await writeAgent(folder, Number(parts.model.firstLine), [], pair.configs[index])
    const services = [
      await startService(folders[0].folder, { env: environments[0] }),
      await startService(folders[1].folder, { env: environments[1] }),
    ] as const
    for (const service of services) await untilToolsReady(service)
    const bench = { relay: serviceSide(services[0]), service: serviceSide(services[1]), ...parts }
    const figures: Figure[] = []
    for (const clients of pair.clients) figures.push(...(await chats(bench, clients, `${name}, ${clients} clients`, pair)))
    await Promise.all(services.map(({ part }) => part.stop()))
    return figures
  } finally {
    for (const { remove } of folders) await remove()
  }
}

async function chats(bench: Bench, clients: number, at: string, { order, aim }: Pair): Promise<Figure[]> {
  const { relay: without, service: counted } = await compare(bench, clients, 'json', { relay: order, service: order })
  const cpu = (label: string, before: number, after: number) => {
    return { label: `${label}, ${at}`, relay: number(before, 'us'), service: number(after, 'us'), ratio: number(after / before) }
  }
  const isMet = counted.cpuUs / without.cpuUs <= aim
  const [before, after] = [without.latencies, counted.latencies].map((latencies) => quantile(latencies, 0.5)) as [number, number]
  return [
    { ...cpu('processor time per chat', without.cpuUs, counted.cpuUs), aim: `<= ${aim}`, isMet },
    ...(bench.databaseMs ? [cpu('  processor time of Postgres', without.databaseUs, counted.databaseUs)] : []),
    { label: `  p50, ${at}`, relay: number(before, 'ms'), service: number(after, 'ms'), ratio: number(after / before) },
  ]
}
