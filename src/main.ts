/** The process: environment, arguments, signals. No other file uses `process`. */
import cluster from 'node:cluster'
import { runCommand } from './cli/command.ts'
import { findOwnCommand } from './cli/terminal.ts'

const stopping = new AbortController()
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    // A second signal ends the process at once. A terminal signals the workers too, so the primary process alone decides for them.
    if (stopping.signal.aborted && !cluster.isWorker) endAll()
    stopping.abort()
  })
}

function endAll(): never {
  for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGKILL')
  process.exit(1)
}

// A reader such as `head` may close the output before its end: the rest is dropped.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

const cwd = process.cwd()
const code = await runCommand(process.argv.slice(2), {
  environment: process.env,
  cwd,
  command: findOwnCommand({ script: process.argv[1] ?? '', cwd, searchPath: process.env['PATH'] }),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  stopping: stopping.signal,
})
process.exitCode = code
// Whatever a command that has ended left behind, such as a wait for the database: an orchestrator waits for the exit of a failed start.
setTimeout(() => process.exit(), 10_000).unref()
