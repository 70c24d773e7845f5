import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { argv, execPath } from 'node:process'
import { type Client, createClient } from '../../../client/src/index.ts'
import { orAborted } from '../../concurrency/or-aborted.ts'
import { CommandFailure, print, type Terminal } from '../terminal.ts'
import { openShop, shopApi, type Shop } from './shop.ts'

export interface DemoOptions {
  keep?: true
  json?: true
}

/** A service in a process of its own. */
export interface DemoService {
  url: string
  client: Client
  /** SIGKILL. Resolves when the process is gone. */
  kill(): Promise<void>
}

/** A folder, a shop and the processes of a demonstration. */
export interface Stage {
  shop: Shop
  /** Aborted when the command is stopped, and when the demonstration takes too long. */
  signal: AbortSignal
  /** Prints what happens, with the time since the start; `figures` are for `--json`. */
  say(event: string, text: string, figures?: object): void
  /** Writes agent.yaml. */
  configure(text: string): Promise<void>
  start(port?: number): Promise<DemoService>
}

const maxMs = 30_000

/** Runs a demonstration in a folder and processes of its own. Nothing of both is left, however the command ends. */
export async function onStage(terminal: Terminal, options: DemoOptions, work: (stage: Stage) => Promise<boolean>): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-core-demo-'))
  const guard = startGuard(folder)
  const signal = AbortSignal.any([terminal.stopping, AbortSignal.timeout(maxMs)])
  const shop = await openShop()
  const say = createVoice(terminal, options)
  try {
    await writeFile(path.join(folder, 'shop.json'), JSON.stringify(shopApi))
    const start = (port = 0) => startService({ folder, port, guard, signal, searchPath: terminal.environment['PATH'] })
    const configure = (text: string) => writeFile(path.join(folder, 'agent.yaml'), text)
    const isRight = await orAborted(work({ shop, signal, say, start, configure }), signal)
    if (options.keep) say('kept', folder, { folder })
    if (!isRight) throw new CommandFailure(1, [])
  } catch (error) {
    if (!signal.aborted) throw error
    throw new CommandFailure(1, [terminal.stopping.aborted ? 'Stopped.' : `Not finished within ${maxMs / 1000} s.`])
  } finally {
    shop.close()
    await guard.end(options.keep === true)
  }
}

function createVoice(terminal: Terminal, { json }: DemoOptions): Stage['say'] {
  const began = performance.now()
  return (event, text, figures = {}) => {
    const seconds = (performance.now() - began) / 1000
    if (json) print(terminal, JSON.stringify({ at_ms: Math.round(seconds * 1000), event, text, ...figures }))
    else print(terminal, `${seconds.toFixed(2).padStart(5, '0')} s  ${event.padEnd(8)}  ${text}`.trimEnd())
  }
}

/** An agent with the tools of the shop, and the script as its model. */
export function toConfig(
  { url }: Shop,
  { instructions = 'You refund orders that arrived broken.', effects = {}, prices, maxOutputTokens, budgets }: AgentParts = {},
): string {
  return JSON.stringify({
    id: 'refunds',
    instructions,
    llms: {
      primary: { provider: 'openai-compatible', model: 'script', base_url: `${url}/v1`, prices, max_output_tokens: maxOutputTokens },
    },
    budgets,
    tools: [{ name: 'shop', type: 'openapi', config: { spec: 'shop.json', base_url: url, effects } }],
  })
}

interface AgentParts {
  instructions?: string
  /** Effects of operations. Default: `read` for GET, else `write`. */
  effects?: Record<string, 'read' | 'write'>
  prices?: { input: number; output: number }
  maxOutputTokens?: number
  budgets?: object[]
}

/** Removes the processes and the folder when the command ends, also when the command itself is killed. */
interface Guard {
  watch(pid: number): void
  end(keepsFolder: boolean): Promise<void>
}

/**
 * The guard is a shell in a session of its own, so that Ctrl-C does not reach the shell. The shell acts when the pipe from the command is
 * closed, and waits for the end of the process before the folder is removed.
 */
const guardScript = `
pid=0
while read -r word value; do case $word in pid) pid=$value ;; keep) keep=1 ;; esac; done
if [ "$pid" -gt 0 ]; then
  kill -s KILL "$pid" 2>/dev/null
  tries=0
  while kill -0 "$pid" 2>/dev/null && [ $tries -lt 100 ]; do sleep 0.02; tries=$((tries + 1)); done
fi
[ -n "$keep" ] || rm -rf -- "$0" || rm -rf -- "$0"
`

function startGuard(folder: string): Guard {
  const shell = spawn('/bin/sh', ['-c', guardScript, folder], { detached: true, cwd: '/', env: {}, stdio: ['pipe', 'ignore', 'ignore'] })
  const ended = once(shell, 'exit')
  return {
    watch: (pid) => void shell.stdin.write(`pid ${pid}\n`),
    async end(keepsFolder) {
      shell.stdin.end(keepsFolder ? 'keep\n' : '')
      await ended
    },
  }
}

interface Start {
  folder: string
  port: number
  guard: Guard
  signal: AbortSignal
  searchPath: string | undefined
}

/** Runs `agent-core serve` and waits until the service listens. Settings of the caller's own service do not count. */
async function startService({ folder, port, guard, signal, searchPath }: Start): Promise<DemoService> {
  signal.throwIfAborted()
  const env = { PATH: searchPath, HOST: '127.0.0.1', PORT: String(port), EMBEDDED_ENCODER: 'off', LOG_LEVEL: 'error' }
  const child = spawn(execPath, [argv[1]!, 'serve'], { cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  if (child.pid !== undefined) guard.watch(child.pid)
  const url = await addressOf(child, signal)
  const accessKey = (await readFile(path.join(folder, '.agent-core/admin.key'), 'utf8')).trim()
  return {
    url,
    client: createClient({ baseUrl: url, accessKey }),
    async kill() {
      guard.watch(0)
      child.kill('SIGKILL')
      await ended
    },
  }
}

function addressOf({ stdout, stderr }: ChildProcess, signal: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let output = ''
  for (const stream of [stdout!, stderr!])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = `${output}${text}`.slice(-maxOutput)
      const [, url] = /listens on (http\S+)/.exec(output) ?? []
      if (url && output.includes('Read more')) resolve(url)
    })
  stdout!.once('end', () => reject(new CommandFailure(1, ['The service has not started:', ...output.trim().split('\n')])))
  signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  return promise
}

/** Characters of output that are searched for the address. */
const maxOutput = 10_000
