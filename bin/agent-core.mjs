#!/usr/bin/env node
import { fileURLToPath } from 'node:url'

// Plain JavaScript, so that an older Node can say what is missing in place of a syntax error.
const needed = 24
if (Number(process.versions.node.split('.', 1)[0]) < needed) {
  process.stderr.write(`agent-core needs Node.js ${needed}; this is ${process.version}. "npm start" and "npx agent-core" bring it.\n`)
  process.exit(1)
}
// What was compiled once is kept beside the packages: later starts take a quarter less. Where it can't be written nothing is kept.
const { enableCompileCache } = await import('node:module')
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/agent-core', import.meta.url)))
await import('../src/main.ts')
