import { spawn, type ChildProcess } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { Socket } from 'node:net'
import path from 'node:path'
import { execPath } from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createSend, FrameReader, type MessageLimits } from './message-frames.ts'

export interface ProcessLimits {
  /** Limit of writable memory of every kind (`ulimit -d`), in kilobytes. Not applied on systems without this limit. */
  dataKb: number
  /** Limit of the JavaScript heap, in megabytes. */
  heapMb: number
  /** CPU seconds over all threads and the whole life of the process. */
  cpuSeconds?: number
}

export interface ProcessOptions {
  limits: ProcessLimits
  env?: Record<string, string>
  /** Size limits for each message from the process. Default: 1 MB and no byte arrays. */
  messages?: Partial<MessageLimits>
  /** Node flags in addition to the memory limit, such as permissions. */
  nodeFlags?: readonly string[]
  args?: readonly string[]
  cwd?: string
  /** Set for third-party code: its output can be read from `stdout` and `stderr`. */
  isForeign?: boolean
  /** An open file, passed to the process as descriptor 4. */
  descriptor?: number
  /** Starts the process without new privileges and in a network namespace without a route, where the system allows either. */
  isIsolated?: boolean
}

const defaultMessages: MessageLimits = { structure: 1024 * 1024, bytes: 0 }

/** Files of this folder that a process loads; the first is preloaded by name. A process with Node permissions needs read access to all files. */
export const channelFiles: readonly string[] = ['parent-channel', 'message-frames', 'serve-questions'].map((name) =>
  realpathSync(path.join(import.meta.dirname, `${name}${path.extname(import.meta.filename)}`)),
)

/** Uses `unshare` and `setpriv` where each is installed and allowed. Without both, all further limits of the process still hold. */
const isolationScript =
  'w=; if unshare -Un true 2>/dev/null; then w="unshare -Un --"; fi; ' +
  'if $w setpriv --nnp true 2>/dev/null; then w="$w setpriv --nnp --"; fi; '

/**
 * Runs a module (URL without the extension) in a process with a message channel and no environment variables except `env`. Running out of memory
 * ends only the process, whereas a worker thread would end the service. The process starts idle (`setBusy`). Each process leads a process group,
 * so its children end with the process, and all processes end with the service, even while they are busy and read no messages.
 */
export function startLimited(module: URL, options: ProcessOptions): ChildProcess {
  const { limits, env = {}, messages, nodeFlags = [], args = [], cwd } = options
  const { isForeign = false, isIsolated = false, descriptor = 'ignore' } = options
  // Same extension as this file: `.ts` in the sources, `.js` in the build.
  const entry = fileURLToPath(module) + path.extname(import.meta.filename)
  const { dataKb, heapMb, cpuSeconds } = limits
  const ulimits = [`-d ${dataKb}`, '-c 0', ...(cpuSeconds === undefined ? [] : [`-t ${cpuSeconds}`])]
  // In a container without memory left, the system ends a child process instead of the service. Raising the own score needs no right.
  const firstToEnd = '{ echo 1000 > /proc/self/oom_score_adj; } 2>/dev/null; '
  const ulimitScript = firstToEnd + ulimits.map((limit) => `ulimit ${limit} 2>/dev/null; `).join('')
  const script = `${ulimitScript}${isIsolated ? isolationScript : 'w=; '}${watchdogScript}exec $w "$0" "$@"`
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
  // Closing the pipe makes the watchdog end the rest of the process group.
  child.once('exit', () => child.stdio.at(5)?.destroy())
  return child
}

/**
 * A shell in the group of the process waits until the pipe that only the service holds is closed, then kills the group. The shell is a member of
 * the group, so the group's number cannot be reused meanwhile. The shell closes its copies of all other pipes.
 */
const watchdogScript = '{ read -r _; kill -s KILL -- -$$; } <&5 >/dev/null 2>&1 3>&- 4>&- & exec 5<&-; '

/** A busy process keeps its parent from exiting; an idle process does not. */
export function setBusy(child: ChildProcess, isBusy: boolean): void {
  if (isBusy) child.ref()
  else child.unref()
  for (const pipe of child.stdio.filter((stream) => stream instanceof Socket)) {
    if (isBusy) pipe.ref()
    else pipe.unref()
  }
}

/** Kills the process and resolves when the process has exited. */
export function endProcess(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    // A process which never started has no `exit` event.
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return resolve()
    child.ref()
    child.once('exit', () => resolve())
    child.kill('SIGKILL')
  })
}

/**
 * Gives a child process `send`, `connected` and the events `message` and `disconnect` over the pipe at `descriptor`, as Node's own IPC channel does.
 * A process that sends more than `limits` allow is killed before its message is read, and `error` reports the reason: a compromised program
 * cannot fill the service's memory. Messages that are not objects are dropped.
 */
function openChannel(child: ChildProcess, descriptor: number, limits: MessageLimits): void {
  const pipe = child.stdio?.[descriptor]
  // A process which failed to start has no pipe. The `error` event reports the failure.
  if (!(pipe instanceof Socket)) return

  const reader = new FrameReader((message) => {
    if (typeof message === 'object' && message !== null) child.emit('message', message, undefined)
  }, limits)

  pipe.on('data', (chunk: Buffer) => {
    try {
      reader.push(chunk)
    } catch (error) {
      // Also reached when a `message` listener throws. The process is killed first: a closed pipe could let the process end by itself.
      child.kill('SIGKILL')
      pipe.destroy()
      child.emit('error', error)
    }
  })
  // A closed pipe is reported by `disconnect` and `exit`.
  pipe.on('error', () => undefined)
  pipe.on('close', () => child.emit('disconnect'))

  child.send = createSend(pipe, { isGrouped: true })
  Object.defineProperty(child, 'connected', { get: () => !pipe.destroyed, configurable: true })
}
