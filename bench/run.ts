import { parseArgs } from 'node:util'
import { fileURLToPath } from 'node:url'
import { describePins, pinLoad, pins, residentMb, start, type Part } from './processes.ts'
import { number, printTable, type Figure } from './report.ts'
import { allocation } from './scenarios/allocation.ts'
import { audit, budgets } from './scenarios/paired.ts'
import { lists } from './scenarios/lists.ts'
import { postgres } from './scenarios/postgres.ts'
import { profile } from './scenarios/profile.ts'
import { processes } from './scenarios/processes.ts'
import { chats, tools } from './scenarios/chats.ts'
import { sessions } from './scenarios/sessions.ts'
import { slowStreams } from './scenarios/slow-streams.ts'
import { starts } from './scenarios/start.ts'
import { firstToken, streams } from './scenarios/streams.ts'
import { writes } from './scenarios/writes.ts'
import { makeFolder, moduleTool, startService, untilToolsReady, writeAgent } from './service.ts'
import { relaySide, serviceSide, type Bench } from './sides.ts'

interface Scenario {
  title: string
  /** Titles of the compared columns; relay and service by default. */
  sides?: readonly [string, string]
  run(parts: ScenarioInput): Promise<Figure[]>
}

interface ScenarioInput {
  model: Part
  relay: Part
  /** Length of a round. */
  seconds: number
  /** Number of runs in the scenario `lists`. */
  runs: number
  /** Number of streams in the scenario `slow-streams`. */
  streams: number
}

const scenarios: Record<string, Scenario> = {
  start: { title: 'Start', sides: ['bare', 'service'], run: starts },
  'first-token': { title: 'First token', run: withService([], firstToken) },
  chats: { title: 'JSON chats of 8 tokens', run: withService([], chats) },
  writes: { title: 'Writes of a chat alone', run: withService([], writes) },
  allocation: { title: 'Allocated memory', sides: ['', 'service'], run: allocation },
  streams: { title: 'Streams', run: withService([], streams) },
  'slow-streams': {
    title: 'Slow streams',
    run: (parts) => withService([], slowStreams(parts.streams), { limits: { max_runs: 2 * parts.streams } })(parts),
  },
  sessions: { title: 'Long session', run: withService([], sessions) },
  tools: { title: 'Calls of current_time in one turn (relay: a chat without tools)', run: withService(['current_time'], tools) },
  module: {
    title: 'Calls of a module tool in one turn (relay: a chat without tools)',
    run: withService([], tools, { tools: [moduleTool] }),
  },
  postgres: { title: 'The service on Postgres', sides: ['embedded', 'Postgres'], run: postgres },
  budgets: { title: 'Budgets', sides: ['without', 'with one'], run: budgets },
  audit: { title: 'Ledger: a chat with a write call', sides: ['without', 'with'], run: audit },
  lists: { title: 'Lists after a year', sides: ['embedded', 'Postgres'], run: lists },
  processes: { title: 'Processes that share a Postgres (ratio: to a single process)', sides: ['', 'all'], run: processes },
}

/** A client needs a port of its own for each stream. */
const maxStreams = 20_000

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    profile: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '2' },
    runs: { type: 'string', default: '1000000' },
    streams: { type: 'string', default: '2000' },
  },
})
const only = values.only?.split(',') ?? (values.profile ? [] : Object.keys(scenarios))
const unknown = only.find((name) => !(name in scenarios))
const seconds = Number(values.seconds)
const runs = Number(values.runs)
const streamCount = Number(values.streams)
const isStreamCount = Number.isInteger(streamCount) && streamCount >= 1 && streamCount <= maxStreams
if (unknown !== undefined || !(seconds > 0 && seconds <= 30) || !(runs >= 100_000) || !isStreamCount) {
  console.error(
    `Usage: npm run bench -- [--profile] [--only ${Object.keys(scenarios).join(',')}] [--seconds 1-30 per round] ` +
      `[--runs 100000 or more, for lists] [--streams 1-${maxStreams}, for slow-streams]`,
  )
  process.exit(2)
}

pinLoad()
const toPath = (file: string) => fileURLToPath(new URL(file, import.meta.url))
const model = await start('model', [toPath('model-server.ts')], { core: pins?.model })
const relay = await start('relay', [toPath('relay.ts'), model.firstLine], { core: pins?.measured })
console.log(`Node ${process.version}; ${describePins()}. Rounds of ${seconds} s, alternating between relay and service; medians.`)
if (values.profile) await profile(model, seconds)
for (const [name, { title, sides, run }] of Object.entries(scenarios)) {
  if (only.includes(name)) printTable(title, await run({ model, relay, seconds, runs, streams: streamCount }), sides)
}
await Promise.all([model.stop(), relay.stop()])

/** Runs the scenario with a new service, so that scenarios do not affect each other. */
function withService(tools: string[], measure: (bench: Bench) => Promise<Figure[]>, extraConfig: object = {}): Scenario['run'] {
  return async ({ model, relay, seconds }) => {
    const { folder, remove } = await makeFolder()
    try {
      await writeAgent(folder, Number(model.firstLine), tools, extraConfig)
      const service = await startService(folder)
      await untilToolsReady(service)
      const figures = await measure({ relay: relaySide(relay), service: serviceSide(service), model, seconds })
      const memory = number(residentMb(service.part.pid) ?? NaN, 'MB')
      await service.part.stop()
      return [...figures, { label: 'memory of the service at the end', service: memory }]
    } finally {
      await remove()
    }
  }
}
