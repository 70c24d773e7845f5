import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createClient, type Client } from './service-client.ts'

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))

/** A command line of this program, as a process of its own. */
export interface Process {
  child: ChildProcess
  /** What it has written so far. */
  stdout(): string
  stderr(): string
  /** Its exit code, or the signal that ended it. */
  ended: Promise<number | NodeJS.Signals>
}

export interface RunningService extends Process {
  url: string
  /** The administrator's. */
  client: Client
}

export async function makeFolder(t: Pick<TestContext, 'after'>): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-core-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Runs a command in a folder, with nothing of this process's settings; killed when the test ends. */
export function runCommand(
  t: Pick<TestContext, 'after'>,
  folder: string,
  args: string[],
  environment: Record<string, string> = {},
  /** Blocks of 512 bytes that a file may have. */
  maxBlocks?: number,
): Process {
  const env = { PATH: process.env['PATH'], HOME: folder, PORT: '0', ...environment }
  const limit = maxBlocks === undefined ? '' : `ulimit -f ${maxBlocks}; `
  const child = spawn('sh', ['-c', `${limit}exec "$0" "$@"`, process.execPath, main, ...args], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const written = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) child[name].setEncoding('utf8').on('data', (text: string) => (written[name] += text))
  const ended = once(child, 'close').then(([code, signal]) => (signal ?? code) as number | NodeJS.Signals)
  t.after(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return { child, ended, stdout: () => written.stdout, stderr: () => written.stderr }
}

/** `serve`, as far as it listens and has told all that it says at its start. */
export async function serve(
  t: Pick<TestContext, 'after'>,
  folder: string,
  environment?: Record<string, string>,
  maxBlocks?: number,
): Promise<RunningService> {
  const running = runCommand(t, folder, ['serve', '--init'], environment, maxBlocks)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  running.child.stdout?.on('data', () => {
    const [, url] = /listens on (http\S+)[\s\S]*Read more/.exec(running.stdout()) ?? []
    if (url) resolve(url)
  })
  void running.ended.then((code) => reject(new Error(`It ended with ${code}: ${running.stderr()}`)))
  const url = await promise
  const key = (await readFile(path.join(folder, '.agent-core', 'admin.key'), 'utf8')).trim()
  return { ...running, url, client: createClient(url, key) }
}
