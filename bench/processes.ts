import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** The processes of a run: started, pinned, measured and ended here, by their ids alone. */

export interface Part {
  name: string
  pid: number
  /** First line that it printed; empty where its output goes to a file. */
  firstLine: string
  /** Resolves when it is gone. */
  stop(): Promise<void>
}

const hasTaskset = spawnSync('taskset', ['--version']).status === 0
const cores = availableParallelism()

/** Where each runs. What is measured has a core of its own: relay and service are never busy at the same time. */
export const pins = hasTaskset && cores > 1 ? { measured: '0', model: '1', load: cores > 2 ? '2' : '1' } : undefined

export function describePins(): string {
  if (!pins) return 'nothing is pinned: no taskset here, or a single core'
  return `service and relay on core ${pins.measured}, model on core ${pins.model}, load on core ${pins.load}, of ${cores}`
}

/** Pins this process, which makes the load. */
export function pinLoad(): void {
  if (pins) spawnSync('taskset', ['-acp', pins.load, String(process.pid)])
}

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

export interface StartOptions {
  core: string | undefined
  env?: NodeJS.ProcessEnv
  cwd?: string
  /** Where its output goes; without one its first line is awaited. */
  logFile?: string
}

/** Starts `node <args>`. */
export async function start(name: string, args: string[], { core, env, cwd, logFile }: StartOptions): Promise<Part> {
  const command = [process.execPath, ...args]
  const [file, ...rest] = core === undefined ? command : ['taskset', '-c', core, ...command]
  const log = logFile === undefined ? undefined : openSync(logFile, 'a')
  const child = spawn(file!, rest, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', log ?? 'pipe', log ?? 'inherit'] })
  if (log !== undefined) closeSync(log)
  running.add(child)
  const gone = once(child, 'exit').then(() => void running.delete(child))
  const firstLine = child.stdout ? String((await once(child.stdout, 'data'))[0]).trim() : ''
  const stop = async () => {
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), stopMs)
    await gone
    clearTimeout(timer)
  }
  return { name, pid: child.pid!, firstLine, stop }
}

/** A part that takes longer to stop is ended. */
const stopMs = 2000

/** Clock ticks of /proc are hundredths of a second on every Linux that Node runs on. */
export const msPerTick = 10

/** Processor time used so far, in milliseconds; undefined where there is no /proc. */
export function cpuMs(pid: number): number | undefined {
  const fields = readProc(pid, 'stat')
    ?.replace(/^.*\) /s, '')
    .split(' ')
  return fields && (Number(fields[11]) + Number(fields[12])) * msPerTick
}

/** Resident memory in MB; undefined where there is no /proc. */
export function residentMb(pid: number): number | undefined {
  const kb = /^VmRSS:\s+(\d+)/m.exec(readProc(pid, 'status') ?? '')?.[1]
  return kb === undefined ? undefined : Number(kb) / 1024
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return undefined
  }
}
