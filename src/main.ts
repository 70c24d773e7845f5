#!/usr/bin/env node
/** The process: environment, arguments, signals. Nothing else touches `process`. */
const oldest = 24
const running = Number(process.versions.node.split('.', 1)[0])
if (running < oldest) {
  process.stderr.write(`agent-core needs Node.js ${oldest}; this is ${process.version}. "npm start" and "npx agent-core" bring it.\n`)
  process.exit(1)
}

const { runCommand } = await import('./cli/command.ts')

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
