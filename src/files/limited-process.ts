import { spawn, type ChildProcess, type SerializationType } from 'node:child_process'
import path from 'node:path'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'

export interface ProcessLimits {
  /** Memory that may be written to, of every kind; where the system knows no such limit, the process goes without. */
  dataKb: number
  /** Of JavaScript's own memory. */
  heapMb: number
  /** For a process that is busy when the service dies: it does not hear its channel close. */
  cpuSeconds?: number
}

export interface ProcessOptions {
  limits: ProcessLimits
  env?: Record<string, string>
  /** `advanced` carries bytes. */
  serialization?: SerializationType
  /** Of Node, beside its memory: what it may not do. */
  nodeFlags?: readonly string[]
}

/**
 * Runs a module (its URL without the ending) in a process with an IPC channel and no environment but `env`. Memory that runs out
 * ends this process alone, where a thread would take the service with it. It rests (`setBusy`) when it starts.
 */
export function startLimited(module: URL, { limits, env = {}, serialization = 'json', nodeFlags = [] }: ProcessOptions): ChildProcess {
  // The ending is this file's own: `.js` once the service is built.
  const entry = fileURLToPath(module) + path.extname(import.meta.filename)
  const { dataKb, heapMb, cpuSeconds } = limits
  const allowed = [`-d ${dataKb}`, '-c 0', ...(cpuSeconds === undefined ? [] : [`-t ${cpuSeconds}`])]
  const limited = `${allowed.map((limit) => `ulimit ${limit} 2>/dev/null; `).join('')}exec "$0" "$@"`
  const child = spawn('/bin/sh', ['-c', limited, execPath, `--max-old-space-size=${heapMb}`, ...nodeFlags, entry], {
    env,
    serialization,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  setBusy(child, false)
  return child
}

/** While a process is busy its parent does not exit by itself; one that rests holds nobody. */
export function setBusy(child: ChildProcess, isBusy: boolean): void {
  if (isBusy) child.ref()
  else child.unref()
  if (isBusy) child.channel?.ref()
  else child.channel?.unref()
}

/** Kills it, whatever it does, and resolves when it is gone. */
export function endProcess(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    // One that never started has no exit.
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return resolve()
    child.ref()
    child.once('exit', () => resolve())
    child.kill('SIGKILL')
  })
}
