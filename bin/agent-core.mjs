#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// This file is plain JavaScript, so that an older Node prints the message below instead of a syntax error.
const needed = 24
if (Number(process.versions.node.split('.', 1)[0]) < needed) {
  process.stderr.write(
    `agent-core needs Node.js ${needed}, but this is ${process.version}. Start it with "npm start" or "npx agent-core".\n`,
  )
  process.exit(1)
}
// Compiled code is cached beside the packages: later starts take a quarter less time. A folder that cannot be written disables the cache.
const { enableCompileCache } = await import('node:module')
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/agent-core', import.meta.url)))
// A checkout without a build runs its sources. Node strips types only outside of node_modules, so a package needs the build.
const built = new URL('../dist/src/main.js', import.meta.url)
await import(existsSync(built) ? built.href : '../src/main.ts')
