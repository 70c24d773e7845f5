import type { ChildProcess } from 'node:child_process'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { ToolContext } from '../../agent/tool.ts'
import { messageOf } from '../../errors.ts'
import { endProcess, setBusy, startLimited } from '../../processes/limited-process.ts'
import { FrameFault } from '../../processes/message-frames.ts'
import type { FileMark } from './file-mark.ts'
import type { ModuleDefinition, FromModule, ToModule } from './messages.ts'
import { readLines } from './output.ts'

export interface ModuleLimits {
  /** Milliseconds from the start of the process until the module must be loaded. */
  loadMs: number
  /** Milliseconds between the abort of a call and the end of the process, where the call has not stopped. */
  graceMs: number
}

export const defaultLimits: ModuleLimits = { loadMs: 20_000, graceMs: 1_000 }

interface ModuleProcessOptions {
  path: string
  cwd: string
  env: Record<string, string>
  limits: ModuleLimits
  onFiles(files: FileMark[]): void
  /** Receives the lines of standard output and of standard error. */
  onOutput(line: string, isError: boolean): void
  onCrash(message: string): void
}

/** A module in a process of its own. */
export interface ModuleProcess {
  /** Rejects with an `Error` in words for the author of the module. */
  readonly loaded: Promise<ModuleDefinition>
  /** True while the process takes new calls. */
  isUsable(): boolean
  call(input: JsonObject, context: ToolContext): Promise<JsonValue>
  /** Lets open calls finish and ends the process with the last one. */
  retire(): void
  /** Ends the process at once. */
  end(reason: string): Promise<void>
}

interface OpenCall {
  context: ToolContext
  resolve(result: JsonValue): void
  reject(error: Error): void
  /** The process has confirmed the abort, so its thread is not stuck. */
  isAbortConfirmed?: boolean
  graceTimeout?: NodeJS.Timeout
}

/** A `retired` process takes no new calls and ends with the last open call. A process that is `gone` has ended or is being ended. */
type ProcessState = 'loading' | 'ready' | 'retired' | 'gone'

/** Memory limits: generous for the work of a tool, and too small to hurt the machine. */
const memory = { dataKb: 2_000_000, heapMb: 768 }
/** A result has at most 10,000,000 characters, a file at most 256 MiB. */
const messageLimits = { structure: 24 * 1024 * 1024, bytes: 256 * 1024 * 1024 }
const nodeFlags = ['--disable-warning=ExperimentalWarning', '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON']
/** Milliseconds after the exit of the process in which a last message may still arrive. */
const lastMessageMs = 1000
const retryAdvice = 'The next call has a new one.'

/**
 * Runs a module in a process of its own. A thread would start faster (30 ms instead of 80) and take less memory, but cannot be contained: an
 * array of a gigabyte, or a native package that fails, ends the whole service with the thread, whatever `resourceLimits` say.
 */
export function startModule(options: ModuleProcessOptions): ModuleProcess {
  const { cwd, env } = options
  const limited = { limits: memory, env, cwd, nodeFlags, messages: messageLimits, isForeign: true }
  return new LimitedModule(startLimited(new URL('./worker', import.meta.url), limited), options)
}

class LimitedModule implements ModuleProcess {
  private readonly child: ChildProcess
  private readonly options: ModuleProcessOptions
  private readonly loading = Promise.withResolvers<ModuleDefinition>()
  private readonly loadTimeout: NodeJS.Timeout
  private readonly calls = new Map<number, OpenCall>()
  private state: ProcessState = 'loading'
  private lastCall = 0
  /** Why the process ends, where the reason is known before the exit. */
  private endReason: string | undefined

  constructor(child: ChildProcess, options: ModuleProcessOptions) {
    this.child = child
    this.options = options
    const { loadMs } = options.limits
    this.loadTimeout = setTimeout(() => void this.end(`it did not finish loading within ${loadMs / 1000} s`), loadMs)
    // A process may end before anybody awaits `loaded`; such a rejection is no fault of the service.
    this.loading.promise.catch(() => undefined)
    setBusy(child, true)
    this.listen()
    this.send({ type: 'load', path: options.path })
  }

  get loaded(): Promise<ModuleDefinition> {
    return this.loading.promise
  }

  isUsable(): boolean {
    return this.state === 'loading' || this.state === 'ready'
  }

  call(input: JsonObject, context: ToolContext): Promise<JsonValue> {
    const { signal, callId, sessionId, headers } = context
    const filters = context.filters.map(({ key, type, value }) => ({ key, type, value }))
    return new Promise<JsonValue>((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error)
      if (this.state === 'gone') return reject(new Error(`The process of the tool has ended. ${retryAdvice}`))
      const call = ++this.lastCall
      const abort = () => this.stop(call)
      const listening =
        <T>(settle: (value: T) => void) =>
        (value: T) => {
          signal.removeEventListener('abort', abort)
          settle(value)
        }
      signal.addEventListener('abort', abort, { once: true })
      this.calls.set(call, { context, resolve: listening(resolve), reject: listening(reject) })
      setBusy(this.child, true)
      this.send({ type: 'call', call, input, context: { callId, session: sessionId, headers, filters } })
    })
  }

  retire(): void {
    if (this.state !== 'gone') this.state = 'retired'
    this.endIfIdle()
  }

  end(reason: string): Promise<void> {
    this.endReason ??= reason
    const ended = endProcess(this.child)
    this.lose(this.endReason)
    return ended
  }

  private listen(): void {
    const { child, options } = this
    child.on('message', (message: FromModule) => {
      try {
        this.receive(message)
      } catch {
        // Some packages send messages of their own over this channel; such messages are ignored.
      }
    })
    child.on('error', (error) => this.lose(error instanceof FrameFault ? error.message : `it cannot be started: ${error.message}`))
    child.on('exit', (code, signal) => {
      const lose = () => this.lose(this.endReason ?? (signal ? 'it needed too much memory' : `it ended itself with code ${code}`))
      // A message with the reason may still be on its way.
      if (!child.connected) return lose()
      child.once('disconnect', lose)
      setTimeout(lose, lastMessageMs).unref()
    })
    if (child.stdout) readLines(child.stdout, (line) => options.onOutput(line, false))
    if (child.stderr) readLines(child.stderr, (line) => options.onOutput(line, true))
  }

  private send(message: ToModule): void {
    // A process that has ended reports that by its `exit`, so a failure to send is ignored.
    this.child.send(message, () => undefined)
  }

  private receive(message: FromModule): void {
    switch (message.type) {
      case 'files':
        return this.options.onFiles(message.files)
      case 'loaded':
        return this.becomeReady(message.definition)
      case 'failed':
        return void this.end(message.message)
      case 'crashed':
        this.endReason ??= message.message
        return this.options.onCrash(message.message)
      case 'log':
        return this.calls.get(message.call)?.context.log(message.text)
      case 'artifact':
        return void this.keepArtifact(message)
      case 'aborted': {
        const call = this.calls.get(message.call)
        if (call) call.isAbortConfirmed = true
        return
      }
      case 'result':
        return this.settle(message.call, ({ resolve }) => resolve(JSON.parse(message.json) as JsonValue))
      case 'error':
        return this.settle(message.call, ({ reject }) => reject(new Error(message.message)))
    }
  }

  private becomeReady(definition: ModuleDefinition): void {
    clearTimeout(this.loadTimeout)
    if (this.state === 'loading') this.state = 'ready'
    this.endIfIdle()
    this.loading.resolve(definition)
  }

  /** Ends a retired process without open calls; any other process without open calls rests. */
  private endIfIdle(): void {
    if (this.calls.size > 0 || this.state === 'gone') return
    setBusy(this.child, false)
    if (this.state === 'retired') void endProcess(this.child)
  }

  private settle(id: number, settleCall: (call: OpenCall) => void): void {
    const call = this.calls.get(id)
    if (!call) return
    this.calls.delete(id)
    clearTimeout(call.graceTimeout)
    settleCall(call)
    this.endIfIdle()
  }

  private async keepArtifact({ call, file, name, mediaType, bytes, use }: Extract<FromModule, { type: 'artifact' }>): Promise<void> {
    try {
      const context = this.calls.get(call)?.context
      if (!context) throw new Error('its call has ended')
      const { id, name: storedName, type, size, sha256 } = await context.artifact(name, mediaType, bytes, use)
      this.send({ type: 'kept', file, artifact: { id, name: storedName, type, size, sha256 } })
    } catch (error) {
      this.send({ type: 'refused', file, message: `The file ${name} cannot be kept: ${messageOf(error)}` })
    }
  }

  /**
   * Aborts a call. A call that does not stop in time costs its process: at once where the process did not confirm the abort and must be stuck,
   * otherwise when the other calls are done.
   */
  private stop(id: number): void {
    this.send({ type: 'abort', call: id })
    const call = this.calls.get(id)
    if (!call) return
    call.graceTimeout = setTimeout(() => {
      if (!call.isAbortConfirmed) return void this.end('another call of the tool did not stop when its time was up')
      if (this.state !== 'gone') this.state = 'retired'
      this.settle(id, ({ reject }) => reject(new Error('The call did not stop when its time was up.')))
    }, this.options.limits.graceMs)
  }

  /** The process has ended or is being ended: every open call fails. */
  private lose(reason: string): void {
    if (this.state === 'gone') return
    this.state = 'gone'
    clearTimeout(this.loadTimeout)
    this.loading.reject(new Error(reason))
    const error = () => new Error(`The process of the tool has ended: ${reason}. ${retryAdvice}`)
    for (const call of this.calls.keys()) this.settle(call, ({ reject }) => reject(error()))
  }
}
