import { resolveReferences, type Environment } from '../../configuration/references.ts'
import { isFieldName, isFieldValue } from '../web/request-headers.ts'
import { isSecretHeader } from '../web/secrets.ts'
import type { Api, Operation, SecurityScheme } from './api.ts'
import type { Request } from './request.ts'
import type { Tokens } from './tokens.ts'

export interface CredentialOptions {
  /** By scheme, and the headers that are always sent: as configured, references unresolved. */
  credentials: Readonly<Record<string, string>>
  headers: Readonly<Record<string, string>>
  environment: Environment
  tokens: Tokens
}

/** What was put onto a request and is to be seen nowhere else. */
export interface Signed {
  secrets: string[]
  /** Gets other tokens; false where there are none to be renewed. */
  renew(): boolean
}

/** Throws where a configuration names what a document does not have, or nothing can be done with. */
export function checkCredentials({ schemes }: Api, { credentials, headers }: Pick<CredentialOptions, 'credentials' | 'headers'>): void {
  const wrong = Object.keys(headers).find((name) => !isFieldName(name))
  if (wrong !== undefined) throw new Error(`headers: ${JSON.stringify(wrong)} is not the name of a header.`)
  for (const name of Object.keys(credentials)) {
    const scheme = Object.hasOwn(schemes, name) ? schemes[name] : undefined
    const known = Object.keys(schemes).join(', ') || 'none'
    if (!scheme) throw new Error(`credentials: the document has no security scheme ${name}; it has ${known}.`)
    if (scheme.type === 'other') throw new Error(`credentials: the security scheme ${name} (${scheme.called}) is not supported.`)
  }
}

/** Puts the configured headers and the credentials that an operation needs onto its request. */
export async function sign(
  request: Request,
  { operation, schemes }: { operation: Operation; schemes: Api['schemes'] },
  { credentials, headers, environment, tokens }: CredentialOptions,
  signal: AbortSignal,
): Promise<Signed> {
  const secrets: string[] = []
  const renewals: (() => void)[] = []
  const resolve = (value: string, name: string, isSecret: boolean) => {
    const resolved = resolveReferences(value, environment)
    if (isSecret) secrets.push(resolved)
    if (!isFieldValue(resolved)) throw new Error(`The value that is configured for ${name} holds characters that can not be sent.`)
    return resolved
  }
  for (const [name, value] of Object.entries(headers))
    request.headers[name.toLowerCase()] = resolve(value, name, isSecretHeader(name, value))
  for (const [name, scopes] of Object.entries(chosen(operation, credentials))) {
    const scheme = schemes[name]!
    const value = resolve(credentials[name]!, name, true)
    const token =
      scheme.type === 'clientCredentials' && value.includes(':') ? await tokens.get(scheme.tokenUrl, value, scopes, signal) : undefined
    if (token !== undefined) {
      secrets.push(token.value)
      renewals.push(token.forget)
    }
    secrets.push(...put(request, scheme, token?.value ?? value))
  }
  return {
    secrets,
    renew() {
      for (const forget of renewals) forget()
      return renewals.length > 0
    },
  }
}

/** The first alternative that everything is configured for. Where a document says nothing of security at all, whatever is configured. */
function chosen({ security }: Operation, credentials: Readonly<Record<string, string>>): Record<string, string[]> {
  if (!security) return Object.fromEntries(Object.keys(credentials).map((name) => [name, []]))
  const isConfigured = (alternative: Record<string, string[]>) => Object.keys(alternative).every((name) => Object.hasOwn(credentials, name))
  const possible = security.filter(isConfigured)
  // "None" is an alternative too, and the poorest.
  return possible.find((one) => Object.keys(one).length > 0) ?? {}
}

/** Returns what else is secret now. */
function put(request: Request, scheme: SecurityScheme, value: string): string[] {
  if (scheme.type === 'apiKey') {
    if (scheme.in === 'header') request.headers[scheme.name.toLowerCase()] = value
    // As text: parameters that are encoded in their own way would be encoded anew.
    if (scheme.in === 'query')
      request.url.search += `${request.url.search === '' ? '' : '&'}${encodeURIComponent(scheme.name)}=${encodeURIComponent(value)}`
    if (scheme.in === 'cookie') request.cookies.push(`${scheme.name}=${encodeURIComponent(value)}`)
    return []
  }
  const basic = scheme.type === 'basic' ? Buffer.from(value).toString('base64') : undefined
  request.headers['authorization'] = basic === undefined ? `Bearer ${value.replace(/^Bearer /i, '')}` : `Basic ${basic}`
  // Of `user:password` the password alone is one too.
  return basic === undefined ? [] : [basic, value.slice(value.indexOf(':') + 1)]
}
