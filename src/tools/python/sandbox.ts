import fs from 'node:fs'
import { registerHooks } from 'node:module'
import process from 'node:process'

/** Modules which Pyodide imports while loading but does not need. */
const stubbed = /^(?:ws|(?:node:)?(?:child_process|net|tls|https?|http2|dgram|dns|cluster|inspector|worker_threads|undici)(?:\/.*)?)$/

const emptyModule = 'data:text/javascript,export default {}'

/** Globals which give access to hosts, threads or modules. */
const closedGlobals = [
  ...['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest', 'Request', 'Response', 'BroadcastChannel', 'MessageChannel', 'MessagePort'],
  ...['Worker', 'SharedWorker', 'require', 'module', 'process', 'Buffer', 'navigator', 'localStorage', 'sessionStorage', 'gc'],
]

/** Properties of `process` needed by Node itself. */
const neededByNode = new Set(
  `nextTick emit emitWarning on once off listenerCount hrtime versions version arch platform \
env _tickCallback _fatalException exitCode execPath cwd uptime features config release argv execArgv \
pid`.split(' '),
)

/**
 * Restricts the JavaScript around Python, for the case that code breaks out of Python. The process may read only the files of Pyodide and may
 * start nothing (Node permissions), no text becomes code (a V8 flag), and this function removes modules, sockets and most of `process`.
 * Returns a function to call after Python has loaded, which closes the remaining access.
 */
export function closeSandbox(): () => void {
  let isShut = false
  registerHooks({
    resolve(specifier, context, next) {
      if (isShut) throw new Error('No module can be loaded here.')
      return stubbed.test(specifier) ? { url: emptyModule, shortCircuit: true } : next(specifier, context)
    },
  })
  for (const name of closedGlobals.slice(0, 4)) Reflect.deleteProperty(globalThis, name)
  // Pyodide reads the names of file modes, which the permissions would refuse.
  Object.defineProperty(process, 'binding', {
    configurable: true,
    value: (name: string) => (name === 'constants' ? { fs: fs.constants } : {}),
  })
  return () => {
    isShut = true
    for (const name of closedGlobals) Reflect.deleteProperty(globalThis, name)
    for (const key of Reflect.ownKeys(process)) {
      if (typeof key === 'string' && !neededByNode.has(key)) Reflect.deleteProperty(process, key)
    }
  }
}
