import path from 'node:path'
import { mainThreadMs, pins, threadsCpuMs, type Part } from '../processes.ts'
import { startPostgres } from '../postgres-server.ts'
import { layerNames, timesOfLayers } from '../profile/layers.ts'
import { connectProfiler, profilerEnv, type Profiler } from '../profile/profiler.ts'
import { makeFolder, sources, startService, untilToolsReady, writeAgent } from '../service.ts'
import { connectTo, expectTokens, measureRound, serviceSide, type Bench, type Side } from '../sides.ts'
import { postgresEnv } from './postgres.ts'

const clients = 64
const streamedTokens = 100
/** Rounds before the profile, so that V8 has compiled the code. */
const warmUpRounds = 2
/** Length of a profile in rounds. */
const profiledRounds = 5

const loads = [
  { kind: 'json', title: 'JSON', order: 'bench:short', tokens: 8 },
  { kind: 'stream', title: `stream of ${streamedTokens} tokens`, order: `bench:tokens ${streamedTokens}`, tokens: streamedTokens },
] as const

interface Column {
  title: string
  /** Microseconds per chat of each layer. */
  layerUs: Map<string, number>
  /** Processor time per chat in microseconds. */
  mainThreadUs: number
  otherThreadsUs: number
}

/** Profiles the service with 64 clients, on both databases, and prints microseconds per chat as a Markdown table. */
export async function profile(model: Part, seconds: number): Promise<void> {
  const columns = await profileService('embedded', model, seconds, {})
  const server = await startPostgres(pins?.model)
  try {
    columns.push(...(await profileService('Postgres', model, seconds, postgresEnv(await server.createDatabase()))))
  } finally {
    await server.stop()
  }
  const row = (title: string, valueOf: (column: Column) => number) => {
    const values = columns.map(valueOf)
    if (values.some((value) => value >= 0.5)) console.log(`| ${[title, ...values.map((value) => value.toFixed(0))].join(' | ')} |`)
  }
  console.log(`\n| us per chat | ${columns.map(({ title }) => title).join(' | ')} |\n|---|${'--:|'.repeat(columns.length)}`)
  for (const layer of layerNames) row(layer, ({ layerUs }) => layerUs.get(layer) ?? 0)
  row('**all of the main thread**', ({ layerUs }) => sum(layerUs.values()))
  row('processor time of the main thread', ({ mainThreadUs }) => mainThreadUs)
  row('processor time of other threads', ({ otherThreadsUs }) => otherThreadsUs)
}

async function profileService(title: string, model: Part, seconds: number, env: NodeJS.ProcessEnv): Promise<Column[]> {
  const { folder, remove } = await makeFolder()
  try {
    await writeAgent(folder, Number(model.firstLine), [])
    const service = await startService(folder, { env: { ...env, ...profilerEnv }, args: sources })
    await untilToolsReady(service)
    const side = serviceSide(service)
    const bench: Bench = { relay: side, service: side, model, seconds }
    const profiler = await connectProfiler(path.join(folder, 'log'))
    const columns: Column[] = []
    for (const load of loads) columns.push({ ...(await profileLoad(bench, profiler, load)), title: `${title}, ${load.title}` })
    profiler.close()
    await service.part.stop()
    return columns
  } finally {
    await remove()
  }
}

async function profileLoad(
  bench: Bench,
  profiler: Profiler,
  { kind, order, tokens }: (typeof loads)[number],
): Promise<Omit<Column, 'title'>> {
  const side: Side = bench.service
  await expectTokens(side, kind, order, tokens)
  const open = connectTo(side, side[kind].end, clients)
  const request = side[kind].request(order)
  for (let round = 0; round < warmUpRounds; round++) await measureRound(bench, side, open, request)
  await profiler.start()
  const before = { main: mainThreadMs(side.part.pid), all: threadsCpuMs(side.part.pid) }
  const { latencies } = await measureRound({ ...bench, seconds: bench.seconds * profiledRounds }, side, open, request)
  const after = { main: mainThreadMs(side.part.pid), all: threadsCpuMs(side.part.pid) }
  const times = timesOfLayers(await profiler.stop())
  for (const client of open) client.close()
  const [runMs, delayMs] = [after.main.runMs - before.main.runMs, after.main.delayMs - before.main.delayMs]
  const chats = latencies.length
  // Time in which other processes had the core is taken from all layers evenly.
  const ownShare = runMs / (runMs + delayMs)
  return {
    layerUs: new Map([...times].map(([layer, us]) => [layer, (us * ownShare) / chats])),
    mainThreadUs: (runMs * 1000) / chats,
    otherThreadsUs: ((after.all - before.all - runMs) * 1000) / chats,
  }
}

function sum(values: Iterable<number>): number {
  return [...values].reduce((total, value) => total + value, 0)
}
