#!/usr/bin/env node
// Plain JavaScript, so that an older Node can say what is missing in place of a syntax error.
const needed = 24
if (Number(process.versions.node.split('.', 1)[0]) < needed) {
  process.stderr.write(`agent-core needs Node.js ${needed}; this is ${process.version}. "npm start" and "npx agent-core" bring it.\n`)
  process.exit(1)
}
await import('../src/main.ts')
