import { computeScopeUnion, extractWWWAuthenticateParams } from '@modelcontextprotocol/client'
import type { Login } from '../../../configuration/mcp/login-store.ts'
import { leewayMs } from '../../client-credentials.ts'
import { toLine } from '../../plain-text.ts'
import { resourceOf, type Credentials, type TokenOptions } from '../client-credentials.ts'
import type { RemoteServer } from '../server.ts'
import { loginEnded, noLogin, renewLogin, scopeMissing, type Logins } from './logins.ts'

/** Characters of a scope in an error. */
const maxScope = 120
/** For so long a login is used without asking the store whether it was changed or removed. */
const readMs = 3000

/**
 * Access tokens of the login that `agent-core tool login` has stored. The token is renewed before its expiry and when the server refuses
 * it. Throws `LoginRequired` for a refusal without a login that can be renewed.
 */
export function createLoginCredentials(server: RemoteServer, logins: Logins, { fetchFn, onToken }: TokenOptions): Credentials {
  const { store, key } = logins
  const url = resourceOf(server.url)
  let login: Login | undefined
  let readAt = -Infinity
  let sent: string | undefined
  let renewing: Promise<Login | undefined> | undefined

  async function read(): Promise<Login | undefined> {
    if (performance.now() - readAt < readMs) return login
    return use((await store.find(key))?.login)
  }

  function use(stored: Login | undefined): Login | undefined {
    // The address may come from a variable: tokens of another server are not sent.
    login = stored?.url === url ? stored : undefined
    readAt = performance.now()
    if (login) onToken(login.accessToken)
    return login
  }

  /** Requests that are refused at the same time share one renewal. */
  const renew = (refused: string) =>
    (renewing ??= renewLogin(refused, { logins, client: server.login, fetchFn, now: Date.now }).finally(() => (renewing = undefined)))

  async function usable(): Promise<Login | undefined> {
    const current = await read()
    const isExpiring = current?.expiresAt !== undefined && Date.now() > current.expiresAt - leewayMs
    if (!current || current.isOver || !isExpiring || current.refreshToken === undefined) return current
    return use(await renew(current.accessToken))
  }

  return {
    async token() {
      const current = await usable()
      if (current?.isOver) throw loginEnded(key.entry)
      return (sent = current?.accessToken)
    },
    async onUnauthorized() {
      readAt = -Infinity
      const refused = sent
      const stored = await read()
      if (!stored) throw noLogin(key.entry)
      // Another process has renewed the token, or a person has logged in again.
      if (!stored.isOver && stored.accessToken !== refused) return
      const renewed = stored.isOver ? stored : use(await renew(stored.accessToken))
      if (!renewed || renewed.isOver) throw loginEnded(key.entry)
    },
    async widen(response) {
      const { error, scope } = extractWWWAuthenticateParams(response)
      if (error !== 'insufficient_scope' || scope === undefined) return undefined
      const stored = await store.find(key)
      const missingScope = computeScopeUnion(stored?.login.scope, stored?.login.missingScope, scope)
      if (stored && missingScope !== undefined && missingScope !== stored.login.missingScope)
        await store.save(key, { ...stored.login, missingScope }, stored.revision)
      throw scopeMissing(key.entry, toLine(scope, maxScope))
    },
  }
}
