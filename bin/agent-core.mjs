#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

// This file is plain JavaScript that Node.js 20 understands. The program itself needs a newer Node.
const needed = 24

if (Number(process.versions.node.split('.', 1)[0]) >= needed) await run()
else await runWith(findPackagedNode())

async function run() {
  // Node.js 20 lacks this function, so an import at the top would fail there.
  const { enableCompileCache } = await import('node:module')
  // Compiled code is cached beside the packages: later starts take a quarter less time. A folder that cannot be written disables the cache.
  enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/agent-core', import.meta.url)))
  // A checkout without a build runs its sources. Node strips types only outside of node_modules, so a package needs the build.
  const built = new URL('../dist/src/main.js', import.meta.url)
  await import(existsSync(built) ? built.href : '../src/main.ts')
}

/** The Node that is installed as an optional package; undefined on other systems than Linux on x64 and arm64. */
function findPackagedNode() {
  if (process.platform !== 'linux') return undefined
  try {
    return createRequire(import.meta.url).resolve(`node-linux-${process.arch}/bin/node`)
  } catch {
    return undefined
  }
}

/** Runs the same command line with another Node, which gets the signals of this process. */
async function runWith(node) {
  if (node === undefined) return refuse()
  const { spawn } = await import('node:child_process')
  const child = spawn(node, [...process.execArgv, ...process.argv.slice(1)], { stdio: 'inherit' })
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  // A terminal sends Ctrl-C to both processes. Passing it on would count as a second signal, which ends the service at once.
  process.on('SIGINT', () => undefined)
  child.on('error', refuse)
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

function refuse() {
  process.stderr.write(
    `agent-core needs Node.js ${needed} or later, but this is ${process.version}. Install Node.js ${needed} and run the command with it.\n`,
  )
  process.exit(1)
}
