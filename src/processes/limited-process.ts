import { spawn, type ChildProcess } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { Socket } from 'node:net'
import path from 'node:path'
import { execPath } from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { openChannel } from './child-channel.ts'
import type { MessageLimits } from './message-frames.ts'

export interface ProcessLimits {
  /** Memory that may be written to, of every kind; where the system knows no such limit, the process goes without. */
  dataKb: number
  /** Of JavaScript's own memory. */
  heapMb: number
  /** Of all its threads, in its whole life. */
  cpuSeconds?: number
}

export interface ProcessOptions {
  limits: ProcessLimits
  env?: Record<string, string>
  /** What one message of the process may have. Default: a megabyte, and no byte arrays. */
  messages?: Partial<MessageLimits>
  /** Of Node, beside its memory: what it may not do. */
  nodeFlags?: readonly string[]
  args?: readonly string[]
  cwd?: string
  /** For code of others: what it writes can be read from `stdout` and `stderr`. */
  isForeign?: boolean
  /** A file that is open: the process has it as descriptor 4. */
  descriptor?: number
  /** Where the system lets users make one, it gets a network of its own without a way out, and no new privileges. */
  isIsolated?: boolean
}

const defaultMessages: MessageLimits = { structure: 1024 * 1024, bytes: 0 }

/** What a process reads before its own program, the first of them by name: one with Node's permissions needs them to be readable. */
export const channelFiles: readonly string[] = ['parent-channel', 'parent-socket', 'message-frames'].map((name) =>
  realpathSync(path.join(import.meta.dirname, `${name}${path.extname(import.meta.filename)}`)),
)

/** Each of them where it is there and allowed; what this prepares for is held by others where none is. */
const isolated =
  'w=; if unshare -Un true 2>/dev/null; then w="unshare -Un --"; fi; ' +
  'if $w setpriv --nnp true 2>/dev/null; then w="$w setpriv --nnp --"; fi; '

/**
 * Runs a module (its URL without the ending) in a process with a channel for messages and no environment but `env`. Memory that runs out
 * ends this process alone, where a thread would take the service with it. It rests (`setBusy`) when it starts. It leads a group of its own:
 * what it has started ends with it, and all of them with the service, also while they are busy and hear nothing.
 */
export function startLimited(module: URL, options: ProcessOptions): ChildProcess {
  const { limits, env = {}, messages, nodeFlags = [], args = [], cwd } = options
  const { isForeign = false, isIsolated = false, descriptor = 'ignore' } = options
  // The ending is this file's own: `.js` once the service is built.
  const entry = fileURLToPath(module) + path.extname(import.meta.filename)
  const { dataKb, heapMb, cpuSeconds } = limits
  const allowed = [`-d ${dataKb}`, '-c 0', ...(cpuSeconds === undefined ? [] : [`-t ${cpuSeconds}`])]
  const limited = allowed.map((limit) => `ulimit ${limit} 2>/dev/null; `).join('')
  const script = `${limited}${isIsolated ? isolated : 'w=; '}${watched}exec $w "$0" "$@"`
  const output = isForeign ? 'pipe' : 'ignore'
  const flags = [`--max-old-space-size=${heapMb}`, ...nodeFlags, `--import=${pathToFileURL(channelFiles[0]!).href}`]
  const child = spawn('/bin/sh', ['-c', script, execPath, ...flags, entry, ...args], {
    env,
    cwd,
    detached: true,
    stdio: ['ignore', output, output, 'pipe', descriptor, 'pipe'],
  })
  openChannel(child, 3, { ...defaultMessages, ...messages })
  setBusy(child, false)
  // By this what it leaves behind is ended.
  child.once('exit', () => child.stdio.at(5)?.destroy())
  return child
}

/**
 * In the group of the process a shell waits for the end of a pipe that the service alone holds, and ends the group: its number stays theirs as
 * long as the shell is in it. It holds no other pipe open.
 */
const watched = '{ read -r _; kill -s KILL -- -$$; } <&5 >/dev/null 2>&1 3>&- 4>&- & exec 5<&-; '

/** While a process is busy its parent does not exit by itself; one that rests holds nobody. */
export function setBusy(child: ChildProcess, isBusy: boolean): void {
  if (isBusy) child.ref()
  else child.unref()
  for (const pipe of child.stdio.filter((one) => one instanceof Socket)) {
    if (isBusy) pipe.ref()
    else pipe.unref()
  }
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
