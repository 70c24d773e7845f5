import type { Logger } from 'pino'
import { createConsoleSessions } from '../access/console/console-sessions.ts'
import { createIdentityProvider, type FetchText } from '../access/console/identity-provider.ts'
import { type LivePrincipalOptions, createLivePrincipals } from '../access/identity.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'
import type { Bus } from '../replicas/bus.ts'
import type { Settings } from '../settings/settings.ts'
import type { Database } from '../store/database.ts'
import { createConsoleStore } from '../store/secrets/console.ts'

interface ConsoleOptions {
  database: Database
  settings: Settings
  bus: Bus
  outbound: GuardedFetch
  keys: LivePrincipalOptions
  now(): number
  log: Logger
}

/** Wires the sign-in of the console: its sessions, and the identity provider. */
export function openConsole(stack: AsyncDisposableStack, options: ConsoleOptions) {
  const { database, settings, bus, outbound, keys, now, log } = options
  const store = createConsoleStore(database)
  const consoleSessions = createConsoleSessions({ store, bus, toLivePrincipal: createLivePrincipals(keys), now })
  stack.adopt(consoleSessions, (sessions) => sessions.close())
  const { accessProvider, consoleSignIn } = settings
  const onError = (err: unknown) => log.warn({ err }, 'identity provider of the console')
  const identityProvider =
    accessProvider && consoleSignIn
      ? createIdentityProvider({ issuer: accessProvider.issuer, ...consoleSignIn }, { fetchText: fetchTextBy(outbound), now, onError })
      : undefined
  return { consoleSessions, identityProvider, consoleStore: store }
}

const timeoutMs = 10_000
/** Longest answer of an identity provider: tokens and metadata have a few KB. */
const maxAnswerBytes = 1024 * 1024

/** The operator configured the provider, so that its address need not be public. */
function fetchTextBy({ fetchConfigured }: GuardedFetch): FetchText {
  return async (url, init) => {
    const response = await fetchConfigured(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(timeoutMs) })
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of response.body ?? []) {
      const piece = chunk as Uint8Array
      bytes += piece.length
      if (bytes > maxAnswerBytes) throw new Error(`${new URL(url).host} sent more than ${maxAnswerBytes} bytes.`)
      chunks.push(piece)
    }
    return { status: response.status, text: Buffer.concat(chunks).toString() }
  }
}
