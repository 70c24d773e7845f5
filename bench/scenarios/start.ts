import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { number, type Figure } from '../report.ts'
import { allCores, processTree, residentMb, start, threadsCpuMs, type Part } from '../processes.ts'
import { freePort, makeFolder, moduleTool, program, settingsOf, writeAgent } from '../service.ts'
import { connectTo, quantile, serviceSide } from '../sides.ts'

const pairs = 11
const idleMs = 5000
const maxRatio = 4
const maxMemoryMb = 95
const maxFirstChatMs = 300

/**
 * Starts of the built service, as an installed package runs it, with the sample agent on the embedded database. Each start is paired with
 * one of a bare `node:http` server, so that other load on the machine affects both.
 */
export async function starts({ model }: { model: Part }): Promise<Figure[]> {
  const { folder, remove } = await makeFolder()
  try {
    const first = await startService(folder)
    // The second start fills the compile cache with what only a later start loads.
    await startService(folder)
    const bare: Start[] = []
    const service: Start[] = []
    for (let pair = 0; pair < pairs; pair++) {
      bare.push(await startBare())
      service.push(await startService(folder, idleMs))
    }
    return [
      { label: 'first start, in an empty folder', service: number(first.readyMs, 'ms') },
      compareTimes('later starts until ready', bare, service, ({ readyMs }) => readyMs),
      compareTimes('  processor time until ready', bare, service, ({ cpuMs }) => cpuMs),
      compareMemory('memory after 5 s', service, ({ memoryMb }) => memoryMb),
      compareMemory('  with child processes', service, ({ treeMb }) => treeMb),
      { label: '  child processes', service: number(median(service, ({ children }) => children)) },
      await compareFirstChats(model),
    ]
  } finally {
    await remove()
  }
}

interface Start {
  /** From the start of the process to the first answer. */
  readyMs: number
  /** Processor time of the process and its threads, user and system, in the same period. */
  cpuMs: number
  memoryMb: number
  /** Resident memory of the process and its child processes. */
  treeMb: number
  children: number
}

const bareServer = fileURLToPath(new URL('../bare-server.mjs', import.meta.url))

async function startService(folder: string, waitMs = 0): Promise<Start> {
  const env = { ...settingsOf(folder), PORT: String(await freePort()) }
  const options = { core: allCores, env, cwd: folder, logFile: path.join(folder, 'log') }
  return measureStart([...program, 'serve', '--init'], options, waitMs)
}

async function startBare(): Promise<Start> {
  const env = { PORT: String(await freePort()) }
  return measureStart([bareServer], { core: allCores, env, logFile: '/dev/null' })
}

async function measureStart(args: string[], options: Parameters<typeof start>[2] & { env: { PORT: string } }, waitMs = 0): Promise<Start> {
  const startedAt = performance.now()
  const part = await start('service', args, options)
  while (!(await isReady(Number(options.env.PORT)))) await sleep(pollMs)
  const [readyMs, cpuMs] = [performance.now() - startedAt, threadsCpuMs(part.pid)]
  await sleep(waitMs)
  const memories = processTree(part.pid).map((pid) => residentMb(pid) ?? 0)
  await part.stop()
  const treeMb = memories.reduce((sum, mb) => sum + mb, 0)
  return { readyMs, cpuMs, memoryMb: memories[0] ?? NaN, treeMb, children: memories.length - 1 }
}

/** The first chat after a start, with a call of a module tool: the process of the module starts while the service does. */
async function compareFirstChats(model: Part): Promise<Figure> {
  const { folder, remove } = await makeFolder()
  try {
    await writeAgent(folder, Number(model.firstLine), [], { tools: [moduleTool] })
    await firstChatMs(folder)
    const times = []
    for (let pair = 0; pair < pairs; pair++) times.push(await firstChatMs(folder))
    const ms = quantile(times, 0.5)
    const service = number(ms, 'ms')
    return { label: 'first chat, with a module tool', service, aim: `<= ${maxFirstChatMs} ms`, isMet: ms <= maxFirstChatMs }
  } finally {
    await remove()
  }
}

/** Milliseconds of a chat that is sent as soon as the service is ready. */
async function firstChatMs(folder: string): Promise<number> {
  const port = await freePort()
  const env = { ...settingsOf(folder), PORT: String(port) }
  const part = await start('service', [...program, 'serve', '--init'], {
    core: allCores,
    env,
    cwd: folder,
    logFile: path.join(folder, 'log'),
  })
  while (!(await isReady(port))) await sleep(pollMs)
  const key = (await readFile(path.join(folder, 'data/admin.key'), 'utf8')).trim()
  const side = serviceSide({ part, port, key })
  const [client] = connectTo(side, side.json.end, 1)
  const { sentAt, endedAt } = await client!.send(side.json.request('bench:tools 1'))
  client!.close()
  await part.stop()
  return endedAt - sentAt
}

const pollMs = 2

function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, path: '/health/ready', agent: false }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode === 200))
    })
    sent.on('error', () => resolve(false)).end()
  })
}

function median(starts: readonly Start[], pick: (start: Start) => number): number {
  return quantile(starts.map(pick), 0.5)
}

function compareTimes(label: string, bare: readonly Start[], service: readonly Start[], pick: (start: Start) => number): Figure {
  const ratio = quantile(
    service.map((start, pair) => pick(start) / pick(bare[pair]!)),
    0.5,
  )
  const times = { relay: number(median(bare, pick), 'ms'), service: number(median(service, pick), 'ms') }
  return { label, ...times, ratio: number(ratio), aim: `<= ${maxRatio}`, isMet: ratio <= maxRatio }
}

function compareMemory(label: string, service: readonly Start[], pick: (start: Start) => number): Figure {
  const mb = median(service, pick)
  return { label, service: number(mb, 'MB'), aim: `<= ${maxMemoryMb} MB`, isMet: mb <= maxMemoryMb }
}
