import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import type { TestContext } from 'node:test'
import { runCommand } from './command.ts'
import type { Terminal } from './terminal.ts'

/** A folder for one test. */
export async function createFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-core-cli-'))
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }))
  return folder
}

export interface TestTerminal {
  terminal: Terminal
  stdin: PassThrough
  /** The output so far. */
  out(): string
  err(): string
  /** Resolves when the output has the text. The time limit of the test ends a wait in vain. */
  saw(text: string): Promise<void>
  stop(): void
}

export function createTestTerminal(
  cwd: string,
  { isTTY = false, environment = {} }: { isTTY?: boolean; environment?: Record<string, string> } = {},
): TestTerminal {
  const stopping = new AbortController()
  const stdin = Object.assign(new PassThrough(), { isTTY })
  const stdout = record(isTTY)
  const stderr = record(isTTY)
  return {
    terminal: {
      environment: { PORT: '0', ...environment },
      cwd,
      command: 'agent-core',
      stdin,
      stdout: stdout.stream,
      stderr: stderr.stream,
      stopping: stopping.signal,
    },
    stdin,
    out: stdout.text,
    err: stderr.text,
    async saw(text) {
      while (!stdout.text().includes(text) && !stderr.text().includes(text)) await Promise.race([stdout.more(), stderr.more()])
    },
    stop: () => stopping.abort(),
  }
}

/** Runs one command line to its end. */
export async function runIn(
  cwd: string,
  args: string[],
  environment: Record<string, string> = {},
): Promise<{ code: number; out: string; err: string }> {
  const { terminal, stdin, out, err } = createTestTerminal(cwd, { environment })
  stdin.end()
  const code = await runCommand(args, terminal)
  return { code, out: out(), err: err() }
}

function record(isTTY: boolean) {
  let text = ''
  let next = Promise.withResolvers<void>()
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      text += chunk.toString()
      next.resolve()
      next = Promise.withResolvers()
      done()
    },
  })
  return { stream: Object.assign(stream, { isTTY, columns: 100 }), text: () => text, more: () => next.promise }
}
