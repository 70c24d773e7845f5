#!/usr/bin/env -S node --max-semi-space-size=16

// The limit of the young generation bounds the memory of a service under load: a smaller limit takes processor time (docs/guides/sizing.md). A
// running process cannot set the limit: `npm start` and the benchmark have the same flag.

// Nothing is imported, and no syntax is used, that an old Node.js does not know: it must come as far as the message.
const needed = 24
const major = Number(process.versions.node.split('.', 1)[0])

if (major < needed) refuse()
else void start()

function refuse() {
  const isPackaged = process.platform === 'linux' && /^(x64|arm64)$/.test(process.arch)
  const remedy = isPackaged ? `, or add one to the project: npm install node-linux-${process.arch}@${needed}` : '.'
  process.stderr.write(`agent-core needs Node.js ${needed} or later, but this is ${process.version}. Install a newer one${remedy}\n`)
  process.exitCode = 1
}

async function start() {
  // An import of a builtin would read all of its exports, for which Node loads more modules.
  const { existsSync } = process.getBuiltinModule('fs')
  const { enableCompileCache } = process.getBuiltinModule('module')
  const { fileURLToPath } = process.getBuiltinModule('url')
  const { setFlagsFromString } = process.getBuiltinModule('v8')
  // The optimizing compiler is 5 MB of code, which the system loads for the first function that is called often. Hardly any function of a start
  // is: until a service has started (src/cli/small-start.ts), ten times the calls are needed.
  setFlagsFromString('--invocation-count-for-turbofan=30000')
  // Compiled code is cached beside the packages: later starts take a quarter less time. A folder that cannot be written disables the cache.
  enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/agent-core', import.meta.url)))
  // A checkout without a build runs its sources. Node strips types only outside of node_modules, so a package needs the build.
  const built = new URL('../dist/src/main.js', import.meta.url)
  await import(existsSync(built) ? built.href : '../src/main.ts')
}
