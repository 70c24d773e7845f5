import type { Api, Operation } from './api.ts'

interface BaseOptions {
  /** The configured `base_url`. */
  base: URL | undefined
  /** Address of the document; undefined for a file. */
  document: URL | undefined
  hasSecrets: boolean
}

/** Decides the base address of each operation, and whether the address may receive credentials. */
export function createBases({ base, document, hasSecrets }: BaseOptions) {
  /** True for the origins of `base_url` and the document. A document in a file of the administrator is trusted as a whole. */
  const isTrusted = (url: URL) => document === undefined || [base, document].some((trusted) => trusted?.origin === url.origin)

  /** Throws when the configured credentials would be sent to an address named only by the document. */
  function baseOf({ id, server }: Operation): { base: URL; isTrusted: boolean } {
    if (base) return { base, isTrusted: true }
    const address = server ?? '/'
    if (!URL.canParse(address, document?.href))
      throw new Error('The OpenAPI document names no server with an absolute address: set base_url.')
    const url = new URL(address, document?.href)
    if (!/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
      throw new Error(`The server of ${id} is not an http or https address: set base_url.`)
    if (hasSecrets && !isTrusted(url)) {
      throw new Error(
        `The OpenAPI document names ${url.origin} as the server of ${id}, which is not the origin of the document: set base_url to choose where credentials are sent.`,
      )
    }
    return { base: url, isTrusted: isTrusted(url) }
  }

  return { baseOf, isTrusted }
}

export type Bases = ReturnType<typeof createBases>

interface TokenUrlOptions {
  credentials: Readonly<Record<string, string>>
  bases: Bases
  /** The configured `token_url`, which replaces the URL of the document. */
  tokenUrl: string | undefined
}

/** Makes the token URLs absolute. Throws when a fetched document names a token URL on an untrusted origin, which would receive the client secret. */
export function checkTokenUrls({ schemes, operations }: Api, { credentials, bases, tokenUrl }: TokenUrlOptions): void {
  for (const [name, scheme] of Object.entries(schemes)) {
    if (scheme.type !== 'clientCredentials' || !Object.hasOwn(credentials, name)) continue
    const base = findBase(operations, bases)
    const address = tokenUrl ?? scheme.tokenUrl
    if (!URL.canParse(address, base?.href)) throw new Error(`The token URL of ${name} is invalid: set token_url.`)
    const url = new URL(address, base?.href)
    if (!/^https?:$/.test(url.protocol)) throw new Error(`The token URL of ${name} is not an http or https address: set token_url.`)
    if (tokenUrl === undefined && !bases.isTrusted(url)) {
      throw new Error(
        `The OpenAPI document names ${url.origin} for tokens of ${name}, which is neither the origin of the document nor of base_url: set token_url.`,
      )
    }
    scheme.tokenUrl = url.href
  }
}

/** The base of the first operation with a usable server. */
function findBase(operations: readonly Operation[], bases: Bases): URL | undefined {
  for (const operation of operations) {
    try {
      return bases.baseOf(operation).base
    } catch {
      continue
    }
  }
  return undefined
}
