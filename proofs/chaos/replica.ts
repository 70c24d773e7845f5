import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, type WriteStream } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { programOf } from '../../scripts/build/source-hash.ts'

const current = fileURLToPath(new URL('../..', import.meta.url))
const recorder = new URL('state-recorder.ts', import.meta.url).href

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

export interface ReplicaOptions {
  name: string
  port: number
  /** Folder of `agent.yaml`, with a separate data directory for each replica. */
  folder: string
  environment: Record<string, string>
  /** Checkout whose program runs until `upgrade`. Default: the current checkout. */
  checkout?: string | undefined
}

/** Process of the service that can be ended and restarted. */
export class Replica {
  readonly name: string
  readonly port: number
  /** File with the rare states of all processes of the replica. */
  readonly statesFile: string
  /** Number of exits without a call of `end`. */
  crashes = 0
  private starts = 0
  private readonly options: ReplicaOptions
  private readonly log: WriteStream
  private child: ChildProcess | undefined
  private isEndRequested = false
  private checkout: string

  constructor(options: ReplicaOptions) {
    this.options = options
    this.name = options.name
    this.checkout = options.checkout ?? current
    this.port = options.port
    this.statesFile = path.join(options.folder, `${options.name}.states`)
    this.log = createWriteStream(path.join(options.folder, `${options.name}.log`), { flags: 'a' })
  }

  /**
   * Starts the process. Resolves when the replica is ready. A start without a database ends with exit code 1 and is repeated, as an
   * orchestrator does. Throws on any other exit, and when the replica is not ready after `startMs`.
   */
  async start(): Promise<void> {
    const until = Date.now() + startMs
    while (!(await this.tryStart(until))) await sleep(restartMs)
  }

  /** False when the process refused to start. */
  private async tryStart(until: number): Promise<boolean> {
    const { folder, name } = this.options
    const child = this.spawn(['serve'])
    this.child = child
    this.starts++
    this.isEndRequested = false
    for (const output of [child.stdout, child.stderr]) output.pipe(this.log, { end: false })
    running.add(child)
    let isStarting = true
    child.once('exit', () => {
      running.delete(child)
      if (!this.isEndRequested && !(isStarting && child.exitCode === 1)) this.crashes++
    })
    while (!(await this.isReady())) {
      if (child.exitCode === 1 && Date.now() < until) return false
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${name} exited during its start. The log is in ${folder}.`)
      if (Date.now() > until) throw new Error(`${name} is not ready after ${startMs / 1000} s. The log is in ${folder}.`)
      await sleep(pollMs)
    }
    isStarting = false
    return true
  }

  private spawn(args: readonly string[]) {
    const { folder, name, port, environment } = this.options
    const files = { HOME: folder, PORT: String(port), DATA_DIR: path.join(folder, name), STATES_FILE: this.statesFile }
    const env = { PATH: process.env['PATH'], ...files, ...environment }
    return spawn(process.execPath, ['--import', recorder, programOf(this.checkout), ...args], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }

  /** Executes a command of the command line in the environment of the process. */
  async command(args: readonly string[]): Promise<{ code: number | null; output: string }> {
    const child = this.spawn(args)
    running.add(child)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => void (output += String(piece)))
    const [code] = (await once(child, 'close')) as [number | null]
    running.delete(child)
    return { code, output }
  }

  /** Name of the current process. */
  get process(): string {
    return `${this.name}#${this.starts}`
  }

  /** True if the program is that of this checkout. */
  get isCurrent(): boolean {
    return this.checkout === current
  }

  /** The next start runs the program of this checkout. */
  upgrade(): void {
    this.checkout = current
  }

  get isRunning(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null
  }

  async isReady(): Promise<boolean> {
    const answer = await fetch(`http://127.0.0.1:${this.port}/health/ready`, { signal: AbortSignal.timeout(2000) }).catch(() => undefined)
    await answer?.arrayBuffer().catch(() => undefined)
    return answer?.ok ?? false
  }

  /** Sends `signal`. Resolves with the exit code or signal after the exit. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | string> {
    const { child } = this
    if (!child || !this.isRunning) return 'not running'
    this.isEndRequested = true
    const exited = once(child, 'exit')
    child.kill(signal)
    const [code, exitSignal] = (await exited) as [number | null, string | null]
    return code ?? exitSignal ?? 'unknown'
  }

  /** Suspends the process until `resume`, like a machine that swaps or is being migrated. */
  freeze(): void {
    this.child?.kill('SIGSTOP')
  }

  resume(): void {
    this.child?.kill('SIGCONT')
  }
}

/** A start takes a minute on a machine with ten times more work than processors. */
const startMs = 180_000
const restartMs = 500
const pollMs = 50
