import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { endGroup, ownGroup } from './processes.ts'

export interface CommandResult {
  /** Status of the first command that failed, 0 if none did. `timeout` and `exited` end the shell. */
  status: number | 'timeout' | 'exited'
  /** Standard output and standard error, in the order in which they were written. */
  output: string
}

/** One bash, whose variables and background processes live on from block to block. */
export interface Shell {
  run(commands: string, limitMs: number): Promise<CommandResult>
  /** Ends the shell and everything that its blocks started. */
  end(): void
}

/** The blocks are files beside the folder, so that the folder holds what the page makes and nothing else. */
export async function startShell(folder: string, environment: Record<string, string>): Promise<Shell> {
  const files = `${folder}.blocks`
  await mkdir(files)
  // Detached: a process group of its own, which ends together.
  const shell = spawn('bash', ['--noprofile', '--norc'], {
    cwd: folder,
    env: environment,
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
  })
  ownGroup(shell)
  const ended = once(shell, 'exit').then(() => 'exited' as const)
  const stop = () => endGroup(shell.pid)
  const statuses = createInterface({ input: shell.stdio[3] as Readable })
  shell.stdin!.on('error', () => undefined)
  // The trap sees every command that fails outside of a condition.
  shell.stdin!.write(`set -E; trap ': "\${docs_failed:=$?}"' ERR\n`)
  let count = 0

  async function run(commands: string, limitMs: number): Promise<CommandResult> {
    const file = path.join(files, `${++count}`)
    await writeFile(`${file}.sh`, `${commands}\n`)
    await writeFile(`${file}.out`, '')
    const answered = once(statuses, 'line').then(([line]) => Number(line))
    const timer = Promise.withResolvers<'timeout'>()
    const timeout = setTimeout(() => timer.resolve('timeout'), limitMs)
    shell.stdin!.write(`docs_failed=; . '${file}.sh' > '${file}.out' 2>&1 < /dev/null; echo "\${docs_failed:-$?}" >&3\n`)
    const status = await Promise.race([answered, ended, timer.promise])
    clearTimeout(timeout)
    if (status === 'timeout') stop()
    return { status, output: await readFile(`${file}.out`, 'utf8') }
  }

  return { run, end: stop }
}
