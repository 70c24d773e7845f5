/** The process: environment, arguments, signals. Nothing else touches `process`. */
import { runCommand } from './cli/command.ts'

const stopping = new AbortController()
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    // A second one ends at once what the first asked for.
    if (stopping.signal.aborted) process.exit(1)
    stopping.abort()
  })
}

const code = await runCommand(process.argv.slice(2), {
  environment: process.env,
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  stopping: stopping.signal,
})
process.exitCode = code
