import path from 'node:path'
import type { FetchLike } from '@modelcontextprotocol/client'
import type { ActingIn } from '../../audit/acts.ts'
import { anyRevision, type LoginKey, type LoginStore } from '../../configuration/mcp/login-store.ts'
import { serverKey } from '../../configuration/mcp/pin-store.ts'
import type { AgentConfig } from '../../configuration/schema.ts'
import { messageWithCause } from '../../errors.ts'
import { AddressRefused, createGuardedFetch } from '../../outbound/guarded-fetch.ts'
import { openLogins } from '../../service/logins.ts'
import { logIn } from '../../tools/mcp/login/flow.ts'
import { revokeLogin } from '../../tools/mcp/login/logins.ts'
import { hasOwnCredentials, toServer, type RemoteServer, type McpConfig } from '../../tools/mcp/server.ts'
import { createOAuthFetch, createSend } from '../../tools/mcp/bounded-messages.ts'
import { actingUnder } from '../acting.ts'
import { readSettings } from '../prepare.ts'
import { CommandFailure, type Terminal } from '../terminal.ts'
import { loadUsedConfiguration, toFailure, withDatabase } from '../used-configuration.ts'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'

/** An entry of type `mcp` with a server at an address. */
interface ServerEntry {
  server: RemoteServer
  logins: LoginStore
  key: LoginKey
  fetchFn: FetchLike
  acting: ActingIn | undefined
}

/** Logs a person in, and stores the login for all processes of the service. Throws `CommandFailure`. */
export async function runLogin(terminal: Terminal, name: string, port: number): Promise<void> {
  await withEntry(terminal, name, async ({ server, logins, key, fetchFn, acting }) => {
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
      await logins.save(key, login, anyRevision, acting)
      terminal.stdout.write(
        `Logged in at ${server.url.host}${login.scope ? ` (${login.scope})` : ''}. Running replicas use the login within 5 s.\n`,
      )
      if (login.refreshToken === undefined && login.expiresAt !== undefined) {
        const end = new Date(login.expiresAt).toISOString()
        terminal.stderr.write(`The server allows no renewal: the login ends at ${end}, and has to be repeated then.\n`)
      }
    } catch (error) {
      if (error instanceof CommandFailure) throw error
      throw new CommandFailure(1, [`The login at ${server.url.host} failed: ${messageWithCause(error)}${adviceFor(error)}`])
    } finally {
      callback.close()
    }
  })
}

function adviceFor(error: unknown): string {
  const isRefused = error instanceof Error && error.cause instanceof AddressRefused
  return isRefused ? ' Set OUTBOUND_ALLOW for this command and for the service.' : ''
}

/** Removes a login, and revokes its tokens. Throws `CommandFailure` when there is none. */
export async function runLogout(terminal: Terminal, name: string): Promise<void> {
  await withEntry(terminal, name, async ({ server, logins, key, fetchFn, acting }) => {
    const stored = await logins.find(key).catch(() => undefined)
    if (!(await logins.remove(key, acting))) throw new CommandFailure(1, [`There is no login for ${name}.`])
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
  const fetchFn = createOAuthFetch(createSend(server, { outbound, onTooLong: () => undefined }))
  const key = { entry: name, server: serverKey(mcp) }
  const acting = actingUnder(config, settings)
  try {
    await withDatabase(settings, (database) => use({ server, logins: openLogins(database, settings), key, fetchFn, acting }))
  } finally {
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

/** Receives the answer of an authorization server. */
interface LoginCallback {
  /** Address on the loopback interface to which the authorization server sends the browser. */
  redirectUrl: string
  /**
   * The query of the first redirect for which `isReply` is true, from the browser or pasted into the terminal. Other answers are refused, and
   * end nothing. Rejects when the command is asked to stop.
   */
  receive(isReply: (query: URLSearchParams) => boolean): Promise<URLSearchParams>
  close(): void
}

const callbackPath = '/callback'

const foreign = 'The answer belongs to another login. Use the address that this command has shown.'

/** Listens on 127.0.0.1 (RFC 8252, 7.3) for one answer. Port 0 is any free port. Throws `CommandFailure` when the port is taken. */
async function openLoginCallback({ stdin, stderr, stopping }: Terminal, port: number): Promise<LoginCallback> {
  const { promise: reply, resolve, reject } = Promise.withResolvers<URLSearchParams>()
  // The reply may be rejected before it is awaited.
  reply.catch(() => undefined)
  let isExpected = (_query: URLSearchParams) => false
  const take = (query: URLSearchParams): boolean => {
    const isReply = isExpected(query)
    if (isReply) resolve(query)
    return isReply
  }
  const server = http.createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    const isAnswer = url.pathname === callbackPath && hasAnswer(url.searchParams)
    const isTaken = isAnswer && take(url.searchParams)
    const text = isTaken ? 'The answer has arrived. Go back to the terminal.' : isAnswer ? foreign : 'There is nothing here.'
    response.writeHead(isTaken ? 200 : isAnswer ? 400 : 404, {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      connection: 'close',
    })
    response.end(`${text}\n`)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailure(1, [`Port ${port} of 127.0.0.1 cannot be used (${error.code}). Choose another with --port.`])
  })
  const lines = createInterface({ input: stdin })
  lines.on('line', (line) => {
    const query = queryOf(line)
    if (query && !take(query)) stderr.write(`${foreign}\n`)
  })
  const stop = () => reject(new CommandFailure(1, ['The login was cancelled.']))
  stopping.addEventListener('abort', stop, { once: true })
  return {
    redirectUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${callbackPath}`,
    receive(isReply) {
      isExpected = isReply
      return reply
    },
    close() {
      stopping.removeEventListener('abort', stop)
      lines.close()
      server.close()
      server.closeAllConnections()
    },
  }
}

/** The query of a pasted address; undefined for other text. */
function queryOf(line: string): URLSearchParams | undefined {
  const text = line.trim()
  const query = URL.canParse(text) ? new URL(text).searchParams : undefined
  return query && hasAnswer(query) ? query : undefined
}

function hasAnswer(query: URLSearchParams): boolean {
  return query.has('code') || query.has('error')
}
