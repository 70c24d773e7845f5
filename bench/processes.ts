import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** Starts, pins, measures and ends the processes of the benchmark, by process id only. */

export interface Part {
  name: string
  pid: number
  /** First line of standard output; empty when the output goes to a file. */
  firstLine: string
  /** Ends the process. Resolves after the exit. */
  stop(): Promise<void>
}

const hasTaskset = spawnSync('taskset', ['--version']).status === 0
const cores = availableParallelism()

/** Cores by role. Relay and service share the core `measured`, because they are never loaded at the same time. */
export const pins = hasTaskset && cores > 1 ? { measured: '0', model: '1', load: cores > 2 ? '2' : '1' } : undefined

/** Undoes the pin that a child process inherits from the load generator. */
export const allCores = hasTaskset ? `0-${cores - 1}` : undefined

export function describePins(): string {
  if (!pins) return 'processes are not pinned, because taskset is missing or the machine has a single core'
  return `service and relay on core ${pins.measured}, model on core ${pins.model}, load on core ${pins.load}, of ${cores}`
}

/** Pins the current process, the load generator. */
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
  /** File for the output. Without `logFile`, `start` waits for the first line of standard output. */
  logFile?: string
}

/** Starts `node <args>`, pinned to `core` if given. */
export async function start(name: string, args: string[], { core, env, cwd, logFile }: StartOptions): Promise<Part> {
  const command = [process.execPath, ...args]
  const [file, ...rest] = core === undefined ? command : ['taskset', '-c', core, ...command]
  const log = logFile === undefined ? undefined : openSync(logFile, 'a')
  const child = spawn(file!, rest, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', log ?? 'pipe', log ?? 'inherit'] })
  if (log !== undefined) closeSync(log)
  running.add(child)
  const exited = once(child, 'exit').then(() => void running.delete(child))
  const firstLine = child.stdout ? String((await once(child.stdout, 'data'))[0]).trim() : ''
  const stop = async () => {
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), stopMs)
    await exited
    clearTimeout(timer)
  }
  return { name, pid: child.pid!, firstLine, stop }
}

/** Time between SIGTERM and SIGKILL, in milliseconds. */
const stopMs = 2000

/** Length of a clock tick of `/proc`, in milliseconds: the same on every Linux supported by Node. */
export const msPerTick = 10

/** Processor time used so far, in milliseconds; undefined without `/proc`. */
export function cpuMs(pid: number): number | undefined {
  const fields = readProc(pid, 'stat')
    ?.replace(/^.*\) /s, '')
    .split(' ')
  return fields && (Number(fields[11]) + Number(fields[12])) * msPerTick
}

/** Processor time of the running threads of a process, in milliseconds, finer than `cpuMs`. NaN without `/proc`. */
export function threadsCpuMs(pid: number): number {
  const times = threads(pid).map((thread) => Number(readProc(pid, `task/${thread}/schedstat`)?.split(' ')[0] ?? NaN))
  return times.length === 0 ? NaN : times.reduce((sum, ns) => sum + ns, 0) / 1e6
}

/** Times of the main thread in milliseconds: on a core, and waiting for a core. NaN without `/proc`. */
export function mainThreadMs(pid: number): { runMs: number; delayMs: number } {
  const [runNs = NaN, delayNs = NaN] = (readProc(pid, `task/${pid}/schedstat`) ?? '').split(' ').map(Number)
  return { runMs: runNs / 1e6, delayMs: delayNs / 1e6 }
}

/** Ids of a process and its descendants; the process alone without `/proc`. */
export function processTree(pid: number): number[] {
  const children = threads(pid).flatMap((thread) => readProc(pid, `task/${thread}/children`)?.match(/\d+/g) ?? [])
  return [pid, ...children.flatMap((child) => processTree(Number(child)))]
}

/** Processor time of a process with its child processes, in milliseconds. */
export function treeCpuMs(pid: number): number {
  return processTree(pid).reduce((sum, id) => sum + (cpuMs(id) ?? 0), 0)
}

function threads(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

/** Resident memory in MB; undefined without `/proc`. */
export function residentMb(pid: number): number | undefined {
  const kb = /^VmRSS:\s+(\d+)/m.exec(readProc(pid, 'status') ?? '')?.[1]
  return kb === undefined ? undefined : Number(kb) / 1024
}

/** Bytes and calls of all writes of a process so far: to files, pipes and sockets. NaN without `/proc`. */
export function writesOf(pid: number): { bytes: number; calls: number } {
  const counters = readProc(pid, 'io') ?? ''
  const valueOf = (name: string) => Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(counters)?.[1] ?? NaN)
  return { bytes: valueOf('wchar'), calls: valueOf('syscw') }
}

/** Largest number of files that a process may open; Infinity without `/proc`. Node raises its soft limit to the hard one. */
export function openFileLimit(): number {
  const hard = /^Max open files +\d+ +(\d+)/m.exec(readProc(process.pid, 'limits') ?? '')?.[1]
  return hard === undefined ? Infinity : Number(hard)
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return undefined
  }
}
