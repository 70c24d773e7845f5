import fs from 'node:fs'
import { registerHooks } from 'node:module'
import process from 'node:process'

/** What Pyodide asks for while it is loaded and lives well without. */
const stubbed = /^(?:ws|(?:node:)?(?:child_process|net|tls|https?|http2|dgram|dns|cluster|inspector|worker_threads|undici)(?:\/.*)?)$/

const nothing = 'data:text/javascript,export default {}'

/** Of the globals, what leads to other hosts, to threads, or to modules. */
const closedGlobals = [
  ...['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest', 'Request', 'Response', 'BroadcastChannel', 'MessageChannel', 'MessagePort'],
  ...['Worker', 'SharedWorker', 'require', 'module', 'process', 'Buffer', 'navigator', 'localStorage', 'sessionStorage', 'gc'],
]

/** Stays, for Node itself. */
const keptOfProcess = new Set([
  'nextTick',
  'emit',
  'emitWarning',
  'on',
  'once',
  'off',
  'listenerCount',
  'hrtime',
  'versions',
  'version',
  'arch',
  'platform',
  'env',
  '_tickCallback',
  '_fatalException',
  'exitCode',
  'execPath',
  'cwd',
  'uptime',
  'features',
  'config',
  'release',
  'argv',
  'execArgv',
  'pid',
])

/**
 * Makes JavaScript around Python a place without doors, for code that finds a way into it: the process itself may read only Pyodide's own files
 * and start nothing (Node's permissions), text never becomes code (a setting of V8), and here modules, sockets and the powers of `process` go.
 * Answers with what shuts the last of them, once Python is loaded.
 */
export function raiseWalls(): () => void {
  let isShut = false
  registerHooks({
    resolve(specifier, context, next) {
      if (isShut) throw new Error('Nothing is loaded here.')
      return stubbed.test(specifier) ? { url: nothing, shortCircuit: true } : next(specifier, context)
    },
  })
  for (const name of closedGlobals.slice(0, 4)) Reflect.deleteProperty(globalThis, name)
  // Pyodide asks for the names of file modes, which the permissions would refuse.
  Object.defineProperty(process, 'binding', {
    configurable: true,
    value: (name: string) => (name === 'constants' ? { fs: fs.constants } : {}),
  })
  return () => {
    isShut = true
    for (const name of closedGlobals) Reflect.deleteProperty(globalThis, name)
    for (const key of Reflect.ownKeys(process)) {
      if (typeof key === 'string' && !keptOfProcess.has(key)) Reflect.deleteProperty(process, key)
    }
  }
}
