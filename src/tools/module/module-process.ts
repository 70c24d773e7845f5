import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { ToolContext } from '../../agent/tool.ts'
import { endProcess, setBusy, startLimited } from '../../processes/limited-process.ts'
import { FrameFault } from '../../processes/message-frames.ts'
import type { FileMark } from './file-mark.ts'
import type { ModuleDefinition, FromModule, ToModule } from './messages.ts'
import { readLines } from './output.ts'
import { messageOf } from '../../errors.ts'

export interface ModuleLimits {
  /** From the start of the process until the module is there. */
  loadMs: number
  /** From the end of a call's time until its process is ended, if the call has not. */
  graceMs: number
}

export const defaultLimits: ModuleLimits = { loadMs: 20_000, graceMs: 1_000 }

interface ProcessOptions {
  path: string
  cwd: string
  env: Record<string, string>
  limits: ModuleLimits
  onFiles(files: FileMark[]): void
  /** What it writes to its standard output, or its error output. */
  onOutput(line: string, isError: boolean): void
  onCrash(message: string): void
}

/** A module that runs. */
export interface ModuleProcess {
  /** Rejects with an `Error` in words for the module's author. */
  readonly loaded: Promise<ModuleDefinition>
  /** Whether new calls can be made in it. */
  isUsable(): boolean
  call(input: JsonObject, context: ToolContext): Promise<JsonValue>
  /** Calls that are under way go on; it ends with the last of them. */
  retire(): void
  /** Ends it at once. */
  end(reason: string): Promise<void>
}

interface OpenCall {
  context: ToolContext
  resolve(result: JsonValue): void
  reject(error: Error): void
  /** Aborted, and the process has said so. */
  isHeard?: boolean
  stopping?: NodeJS.Timeout
}

/** Generous for a tool's own work, and too little to hurt the machine. */
const memory = { dataKb: 2_000_000, heapMb: 768 }
/** A result has 10,000,000 characters at most, a file 256 MiB. */
const messageLimits = { structure: 24 * 1024 * 1024, bytes: 256 * 1024 * 1024 }
const nodeFlags = ['--disable-warning=ExperimentalWarning', '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON']

/**
 * Runs a module in a process of its own. A thread would start faster (30 ms in place of 80) and take less memory, but does not hold: an array
 * of a gigabyte, or a native package that fails, ends the whole service with it, whatever `resourceLimits` say.
 */
export function startModule({ path, cwd, env, limits, onFiles, onOutput, onCrash }: ProcessOptions): ModuleProcess {
  const child = startLimited(new URL('./worker', import.meta.url), {
    ...{ limits: memory, env, cwd, nodeFlags },
    messages: messageLimits,
    isForeign: true,
  })
  const calls = new Map<number, OpenCall>()
  const loading = Promise.withResolvers<ModuleDefinition>()
  let lastCall = 0
  let isRetired = false
  let isGone = false
  /** Why it is being ended, where that is known before it has. */
  let reason: string | undefined
  setBusy(child, true)
  const late = setTimeout(() => void end(`it did not finish loading within ${limits.loadMs / 1000} s`), limits.loadMs)
  // Whoever waits for it hears of it; what ends before anybody does is no fault of the service.
  loading.promise.catch(() => undefined)

  function send(message: ToModule): void {
    // One that is gone tells of its exit.
    child.send(message, () => undefined)
  }

  function rest(): void {
    if (calls.size > 0 || isGone) return
    setBusy(child, false)
    if (isRetired) void endProcess(child)
  }

  function settle(call: number, tell: (open: OpenCall) => void): void {
    const open = calls.get(call)
    if (!open) return
    calls.delete(call)
    clearTimeout(open.stopping)
    tell(open)
    rest()
  }

  function hear(message: FromModule): void {
    switch (message.type) {
      case 'files':
        return onFiles(message.files)
      case 'loaded':
        clearTimeout(late)
        rest()
        return loading.resolve(message.definition)
      case 'failed':
        return void end(message.message)
      case 'crashed':
        reason ??= message.message
        return onCrash(message.message)
      case 'log':
        return calls.get(message.call)?.context.log(message.text)
      case 'artifact':
        return void keep(message)
      case 'aborted': {
        const open = calls.get(message.call)
        if (open) open.isHeard = true
        return
      }
      case 'result':
        return settle(message.call, (open) => open.resolve(JSON.parse(message.json) as JsonValue))
      case 'error':
        return settle(message.call, (open) => open.reject(new Error(message.message)))
    }
  }

  async function keep({ call, file, name, mediaType, bytes, use }: Extract<FromModule, { type: 'artifact' }>): Promise<void> {
    try {
      const open = calls.get(call)
      if (!open) throw new Error('its call has ended')
      const { id, name: kept, type, size, sha256 } = await open.context.artifact(name, mediaType, bytes, use)
      send({ type: 'kept', file, artifact: { id, name: kept, type, size, sha256 } })
    } catch (error) {
      send({ type: 'refused', file, message: `The file ${name} can't be kept: ${messageOf(error)}` })
    }
  }

  /** One that does not listen is ended with its process: at once where that is stuck, else when the other calls are done. */
  function stop(call: number): void {
    send({ type: 'abort', call })
    const open = calls.get(call)
    if (!open) return
    open.stopping = setTimeout(() => {
      if (!open.isHeard) return void end('another call of the tool did not stop when its time was up')
      isRetired = true
      settle(call, ({ reject }) => reject(new Error('The call did not stop when its time was up.')))
    }, limits.graceMs)
  }

  function lose(why: string): void {
    if (isGone) return
    isGone = true
    clearTimeout(late)
    loading.reject(new Error(why))
    for (const call of calls.keys()) settle(call, ({ reject }) => reject(new Error(`The process of the tool has ended: ${why}. ${again}`)))
  }

  function end(why: string): Promise<void> {
    reason ??= why
    const ended = endProcess(child)
    lose(reason)
    return ended
  }

  child.on('message', (message: FromModule) => {
    try {
      hear(message)
    } catch {
      // What the module itself sends over this channel, as some packages do, is nothing to us.
    }
  })
  child.on('error', (error) => lose(error instanceof FrameFault ? error.message : `it can't be started: ${error.message}`))
  child.on('exit', (code, signal) => {
    const gone = () => lose(reason ?? (signal ? 'it needed too much memory' : `it ended itself with code ${code}`))
    // Its last word may be on its way still: why it ended.
    if (!child.connected) return gone()
    child.once('disconnect', gone)
    setTimeout(gone, lastWordMs).unref()
  })
  if (child.stdout) readLines(child.stdout, (line) => onOutput(line, false))
  if (child.stderr) readLines(child.stderr, (line) => onOutput(line, true))
  send({ type: 'load', path })

  return {
    loaded: loading.promise,
    isUsable: () => !isGone && !isRetired,
    call(input, context) {
      const { signal, callId, sessionId, headers } = context
      const filters = context.filters.map(({ key, type, value }) => ({ key, type, value }))
      return new Promise<JsonValue>((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason as Error)
        if (isGone) return reject(new Error(`The process of the tool has ended. ${again}`))
        const call = ++lastCall
        const abort = () => stop(call)
        const listening =
          <T>(done: (value: T) => void) =>
          (value: T) => {
            signal.removeEventListener('abort', abort)
            done(value)
          }
        signal.addEventListener('abort', abort, { once: true })
        calls.set(call, { context, resolve: listening(resolve), reject: listening(reject) })
        setBusy(child, true)
        send({ type: 'call', call, input, context: { callId, session: sessionId, headers, filters } })
      })
    },
    retire() {
      isRetired = true
      rest()
    },
    end,
  }
}

const again = 'The next call has a new one.'

const lastWordMs = 1000
