import path from 'node:path'
import type { FetchLike } from '@modelcontextprotocol/client'
import { anyRevision, type LoginKey, type LoginStore } from '../configuration/login-store.ts'
import { serverKey } from '../configuration/tool-pins/pin-store.ts'
import type { AgentConfig } from '../configuration/schema.ts'
import { messageWithCause } from '../errors.ts'
import { createGuardedFetch } from '../outbound/guarded-fetch.ts'
import { openLogins } from '../service/logins.ts'
import { openDatabase } from '../store/open.ts'
import { logIn } from '../tools/mcp/login/flow.ts'
import { revokeLogin } from '../tools/mcp/login/renew.ts'
import { hasOwnCredentials, toServer, type RemoteServer, type McpConfig } from '../tools/mcp/server.ts'
import { createOAuthFetch, createSend } from '../tools/mcp/bounded-messages.ts'
import { openLoginCallback } from './login-callback.ts'
import { readSettings } from './prepare.ts'
import { CommandFailure, type Terminal } from './terminal.ts'
import { loadUsedConfiguration, toFailure } from './used-configuration.ts'

/** An entry of type `mcp` with a server at an address. */
interface ServerEntry {
  server: RemoteServer
  logins: LoginStore
  key: LoginKey
  fetchFn: FetchLike
}

/** Logs a person in, and stores the login for all processes of the service. Throws `CommandFailure`. */
export async function runLogin(terminal: Terminal, name: string, port: number): Promise<void> {
  await withEntry(terminal, name, async ({ server, logins, key, fetchFn }) => {
    // A former login that cannot be decrypted is replaced.
    const former = await logins.find(key).catch(() => undefined)
    const callback = await openLoginCallback(terminal, port)
    try {
      const login = await logIn({
        server,
        redirectUrl: callback.redirectUrl,
        missingScope: former?.login.missingScope,
        fetchFn,
        now: Date.now,
        authorize(url, isReply) {
          terminal.stderr.write('Open this address in a browser, and log in with the account that the service should use:\n')
          terminal.stdout.write(`${url.href}\n`)
          return callback.receive(isReply)
        },
      })
      await logins.save(key, login, anyRevision)
      terminal.stdout.write(
        `Logged in at ${server.url.host}${login.scope ? ` (${login.scope})` : ''}. Running replicas use the login within 5 s.\n`,
      )
      if (login.refreshToken === undefined && login.expiresAt !== undefined) {
        const end = new Date(login.expiresAt).toISOString()
        terminal.stderr.write(`The server allows no renewal: the login ends at ${end}, and has to be repeated then.\n`)
      }
    } catch (error) {
      if (error instanceof CommandFailure) throw error
      throw new CommandFailure(1, [`The login at ${server.url.host} failed: ${messageWithCause(error)}`])
    } finally {
      callback.close()
    }
  })
}

/** Removes a login, and revokes its tokens. Throws `CommandFailure` when there is none. */
export async function runLogout(terminal: Terminal, name: string): Promise<void> {
  await withEntry(terminal, name, async ({ server, logins, key, fetchFn }) => {
    const stored = await logins.find(key).catch(() => undefined)
    if (!(await logins.remove(key))) throw new CommandFailure(1, [`There is no login for ${name}.`])
    const isRevoked = stored !== undefined && (await revokeLogin(stored.login, server.login, fetchFn))
    const rest = isRevoked ? 'Its tokens are revoked.' : 'Its tokens could not be revoked: remove the access in the account itself.'
    terminal.stdout.write(`Logged out at ${server.url.host}. ${rest}\n`)
  })
}

/** Calls `use` with the server of an entry, the logins of the service and a guarded fetch. */
async function withEntry(terminal: Terminal, name: string, use: (entry: ServerEntry) => Promise<void>): Promise<void> {
  const settings = readSettings(terminal)
  const { config } = await loadUsedConfiguration(settings).catch((error: unknown) => Promise.reject(toFailure(1, settings, error)))
  const mcp = findConfig(config, name)
  const server = toServer(mcp, { environment: terminal.environment, configDir: path.dirname(path.resolve(settings.agentConfig)) })
  if (server.kind === 'local') throw new CommandFailure(1, [`The entry ${name} starts a command; only a server at a url has a login.`])
  if (hasOwnCredentials(server))
    throw new CommandFailure(1, [`The entry ${name} has credentials. Remove oauth or the header authorization to use a login.`])
  const outbound = createGuardedFetch({ allowed: settings.outboundAllow })
  const database = await openDatabase(settings)
  try {
    const fetchFn = createOAuthFetch(createSend(server, { outbound, onTooLong: () => undefined }))
    await use({ server, logins: openLogins(database, settings), key: { entry: name, server: serverKey(mcp) }, fetchFn })
  } finally {
    await database.close()
    await outbound.close()
  }
}

function findConfig({ tools }: Pick<AgentConfig, 'tools'>, name: string): McpConfig {
  const entries = tools.filter(({ type, name: ownName }) => (type ?? ownName) === 'mcp')
  const entry = entries.find((candidate) => candidate.name === name)
  if (entry) return entry.config ?? {}
  const advice = entries.length > 0 ? `It has: ${entries.map((candidate) => candidate.name).join(', ')}.` : 'It has none.'
  throw new CommandFailure(1, [`agent.yaml has no entry ${JSON.stringify(name)} of type mcp. ${advice}`])
}
