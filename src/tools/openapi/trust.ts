import type { Api, Operation } from './api.ts'

/** Where an API is called, and whether that is somebody's word who may give its credentials away. */
export interface Bases {
  /** Throws where credentials are configured that would have to go where nobody but the document says. */
  of(operation: Operation): { base: URL; isTrusted: boolean }
  /** Of a document that is a file of the administrator's, all that it names is. */
  isTrusted(url: URL): boolean
}

interface BaseOptions {
  /** Configured. */
  base: URL | undefined
  /** Where the document was fetched from; undefined for a file. */
  document: URL | undefined
  hasSecrets: boolean
}

export function createBases({ base, document, hasSecrets }: BaseOptions): Bases {
  const isTrusted = (url: URL) => document === undefined || [base, document].some((one) => one?.origin === url.origin)

  function of({ id, server }: Operation): { base: URL; isTrusted: boolean } {
    if (base) return { base, isTrusted: true }
    const address = server ?? '/'
    if (!URL.canParse(address, document?.href))
      throw new Error('The OpenAPI document names no server with an address of its own: set base_url.')
    const url = new URL(address, document?.href)
    if (!/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
      throw new Error(`The server of ${id} is no http or https address: set base_url.`)
    if (hasSecrets && !isTrusted(url)) {
      throw new Error(
        `The OpenAPI document names ${url.origin} as the server of ${id}, which is not where the document is: set base_url, so that credentials go where you say.`,
      )
    }
    return { base: url, isTrusted: isTrusted(url) }
  }

  return { of, isTrusted }
}

interface TokenUrlOptions {
  credentials: Readonly<Record<string, string>>
  bases: Bases
  /** Configured: in place of the document's. */
  tokenUrl: string | undefined
}

/** Makes each token's address whole. A document that was fetched may not name a third party that is given the client's secret. */
export function checkTokenUrls({ schemes, operations }: Api, { credentials, bases, tokenUrl }: TokenUrlOptions): void {
  for (const [name, scheme] of Object.entries(schemes)) {
    if (scheme.type !== 'clientCredentials' || !Object.hasOwn(credentials, name)) continue
    const base = findBase(operations, bases)
    const address = tokenUrl ?? scheme.tokenUrl
    if (!URL.canParse(address, base?.href)) throw new Error(`The token address of ${name} is none: set token_url.`)
    const url = new URL(address, base?.href)
    if (!/^https?:$/.test(url.protocol)) throw new Error(`The token address of ${name} is no http or https address: set token_url.`)
    if (tokenUrl === undefined && !bases.isTrusted(url)) {
      throw new Error(
        `The OpenAPI document names ${url.origin} for tokens of ${name}, which is neither where it is nor base_url: set token_url.`,
      )
    }
    scheme.tokenUrl = url.href
  }
}

/** Of the first operation that has one: another may name a server that cannot be called. */
function findBase(operations: readonly Operation[], bases: Bases): URL | undefined {
  for (const operation of operations) {
    try {
      return bases.of(operation).base
    } catch {
      continue
    }
  }
  return undefined
}
