import { pins, type Part } from '../processes.ts'
import { startPostgres } from '../postgres-server.ts'
import { number, type Figure } from '../report.ts'
import { makeFolder, startService, untilToolsReady, writeAgent } from '../service.ts'
import { compare, quantile, serviceSide, type Bench } from '../sides.ts'
import { postgresEnv } from './postgres.ts'

interface BudgetsInput {
  model: Part
  seconds: number
}

const caller = { name: 'callers', scope: 'caller', window: 'day', limit: { tokens: 1_000_000_000_000 } }
const aim = 1.08

/** Chats of eight tokens: without budgets (left) and with a budget of their caller (right), on both databases. */
export async function budgets({ model, seconds }: BudgetsInput): Promise<Figure[]> {
  const server = await startPostgres(pins?.model)
  try {
    const embedded = await compareOn('embedded', [{}, {}], { model, seconds })
    const env = async () => postgresEnv(await server.createDatabase())
    return [...embedded, ...(await compareOn('Postgres', [await env(), await env()], { model, seconds, databaseMs: server.cpuMs }))]
  } finally {
    await server.stop()
  }
}

async function compareOn(
  name: string,
  [without, withBudget]: [NodeJS.ProcessEnv, NodeJS.ProcessEnv],
  parts: Pick<Bench, 'model' | 'seconds' | 'databaseMs'>,
): Promise<Figure[]> {
  const folders = [await makeFolder(), await makeFolder()] as const
  try {
    await writeAgent(folders[0].folder, Number(parts.model.firstLine), [])
    await writeAgent(folders[1].folder, Number(parts.model.firstLine), [], { budgets: [caller] })
    const services = [
      await startService(folders[0].folder, { env: without }),
      await startService(folders[1].folder, { env: withBudget }),
    ] as const
    for (const service of services) await untilToolsReady(service)
    const bench = { relay: serviceSide(services[0]), service: serviceSide(services[1]), ...parts }
    const figures: Figure[] = []
    for (const clients of [1, 16, 64]) figures.push(...(await chats(bench, clients, `${name}, ${clients} clients`)))
    await Promise.all(services.map(({ part }) => part.stop()))
    return figures
  } finally {
    for (const { remove } of folders) await remove()
  }
}

async function chats(bench: Bench, clients: number, at: string): Promise<Figure[]> {
  const { relay: without, service: counted } = await compare(bench, clients, 'json', { relay: 'bench:short', service: 'bench:short' })
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
