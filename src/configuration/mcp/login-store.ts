import type { ActingIn } from '../../audit/acts.ts'

/** The account of a person at an MCP server, through which the service calls the server for all callers. */
export interface Login {
  /** Address of the server without its query. The tokens are sent to no other server. */
  url: string
  authorizationServer: AuthorizationServer
  /** `authMethod`: how the client authenticates at the token endpoint, as registered. */
  client: { id: string; secret?: string; authMethod?: string }
  /** The resource of the tokens (RFC 8707); absent where the server has no metadata. */
  resource?: string
  /** Scopes of the access token, separated by spaces. */
  scope?: string
  accessToken: string
  refreshToken?: string
  /** Epoch milliseconds; absent for a token without a stated end. */
  expiresAt?: number
  /** Time of the login, epoch milliseconds. */
  loggedInAt: number
  /** Scopes that the server asked for since, and that the next login requests. */
  missingScope?: string
  /** Set once the token cannot be renewed: a person has to log in again. */
  isOver?: true
  /** Epoch milliseconds until which one process renews the token, while all others wait. */
  renewingUntil?: number
}

/** The part of an authorization server's metadata (RFC 8414) that renewals need. */
export interface AuthorizationServer {
  issuer: string
  tokenEndpoint: string
  revocationEndpoint?: string
  authMethods?: string[]
}

export interface StoredLogin {
  login: Login
  /** Differs after each change. */
  revision: string
}

/** Names a login: the entry of `tools`, and the key of the server's address (`serverKey`). */
export interface LoginKey {
  entry: string
  server: string
}

/** Port: the logins at MCP servers, shared by all processes of the service and encrypted. The adapter lives in store/. */
export interface LoginStore {
  /** Rejects when the stored login cannot be decrypted. */
  find(key: LoginKey): Promise<StoredLogin | undefined>
  /** The revision of the stored login; undefined for none. */
  revision(key: LoginKey): Promise<string | undefined>
  /**
   * Stores a login in place of the one with the revision `after`, or where there is none. Returns the new revision, or
   * undefined, and stores nothing, when another process was first. `any` replaces every login. `acting`: the person who logs in.
   */
  save(key: LoginKey, login: Login, after: string | undefined | typeof anyRevision, acting?: ActingIn): Promise<string | undefined>
  /** False when there was no login. */
  remove(key: LoginKey, acting?: ActingIn): Promise<boolean>
}

export const anyRevision = Symbol('any revision')

/** Logins that live as long as the process, for a trial of tools and for tests. */
export function createLoginMemory(): LoginStore {
  const logins = new Map<string, StoredLogin>()
  const keyOf = ({ entry, server }: LoginKey) => `${entry} ${server}`
  let changes = 0
  return {
    find: async (key) => structuredClone(logins.get(keyOf(key))),
    revision: async (key) => logins.get(keyOf(key))?.revision,
    async save(key, login, after) {
      if (after !== anyRevision && logins.get(keyOf(key))?.revision !== after) return undefined
      const revision = `${++changes}`
      logins.set(keyOf(key), { login: structuredClone(login), revision })
      return revision
    },
    remove: async (key) => logins.delete(keyOf(key)),
  }
}
