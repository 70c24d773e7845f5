import type { Logger } from 'pino'
import { createConsoleSessions } from '../access/console/console-sessions.ts'
import { createIdentityProvider, type FetchText } from '../access/console/identity-provider.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'
import { type Bus, localBus } from '../replicas/bus.ts'
import type { Settings } from '../settings/settings.ts'
import type { Database } from '../store/database.ts'
import { createConsoleStore } from '../store/secrets/console.ts'
import path from 'node:path'
import { openSigningKeys } from '../access/keys/signing-keys.ts'
import { createLivePrincipals, createVerifier, type LivePrincipalOptions } from '../access/verify.ts'
import { ServiceError } from '../errors.ts'
import { createPrivateFile } from '../store/disk/private-file.ts'
import { openDatabase } from '../store/open.ts'
import { openSecrets } from './secrets.ts'

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
  return { store, services: { consoleSessions, identityProvider } }
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

/** Stores a one-time code of the console for the administrator's key. Undefined when there is no valid key. */
export async function createAdminCode(settings: Settings): Promise<string | undefined> {
  await using stack = new AsyncDisposableStack()
  const now = Date.now
  const database = stack.adopt(await openDatabase(settings), (opened) => opened.close())
  const secrets = await openSecrets(database, settings, now)
  const key = (await (secrets.adminKey ?? createPrivateFile(path.join(settings.dataDir, 'admin.key'))).load())?.trim()
  if (key === undefined) return undefined
  const signing = await openSigningKeys(secrets.signingKeys, now)
  // A revoked key is refused when the code is used.
  const keys = { signing, adminTenant: settings.adminTenant, customRoles: () => noRoles, isRevoked: () => false }
  try {
    const caller = await createVerifier({ ...keys, now }).verify(key)
    const sessions = createConsoleSessions({
      store: createConsoleStore(database),
      bus: localBus,
      toLivePrincipal: createLivePrincipals(keys),
      now,
    })
    return (await sessions.createCode(caller, key)).code
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'unauthorized') return undefined
    throw error
  }
}

const noRoles = {}
