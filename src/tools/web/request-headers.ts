import type { ToolContext } from '../../agent/tool.ts'
import { referencesIn } from '../../configuration/references.ts'

/** Headers of requests that a model writes. Headers of the connection and of the caller are forbidden: with them, a model could impersonate another client. */

const forbiddenHeaders = new Set([
  ...['connection', 'content-length', 'expect', 'host', 'http2-settings', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  // Method overrides: a server with support for these headers would execute a forbidden method.
  ...['x-http-method', 'x-http-method-override', 'x-method-override'],
])

/** RFC 9110, 5.6.2. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Visible characters, blanks and tabs of Latin-1 (RFC 9110, 5.5). */
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/

/** The reason why a model may not send a header; undefined when the header is allowed. */
export function headerFault(name: string, value: string): string | undefined {
  const lower = name.toLowerCase()
  if (!token.test(name)) return `${JSON.stringify(name.slice(0, 64))} is not the name of a header.`
  if (forbiddenHeaders.has(lower) || lower.startsWith('proxy-')) return `The header ${lower} cannot be set.`
  if (lower.startsWith('stix')) return `The header ${lower} belongs to the caller and cannot be set.`
  return isFieldValue(value) ? undefined : `The value of the header ${lower} contains characters that cannot be sent in a header.`
}

export function isFieldName(name: string): boolean {
  return token.test(name)
}

export function isFieldValue(value: string): boolean {
  return fieldValue.test(value)
}

/** The trace header of a call (W3C Trace Context). */
export function toTraceHeaders({ traceparent }: Pick<ToolContext, 'traceparent'>): Record<string, string> {
  return traceparent === undefined ? {} : { traceparent }
}

/** The caller's `stix*` headers, without those that are not valid HTTP headers. */
export function toContextHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name, value]) => isFieldName(name) && isFieldValue(value)))
}

/** Shorter secrets would match ordinary text by chance. */
const minCharacters = 8

/** Replaces secrets that a server sends back: the whole secret, and its last word (`Bearer ...`), plain, JSON-escaped and URL-encoded. */
export function createMask(secrets: readonly string[]): (text: string) => string {
  const masked = secrets
    .flatMap((secret) => [secret, secret.split(' ').at(-1)!])
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret.toWellFormed())])
    .filter((secret) => secret.length >= minCharacters)
  const longestFirst = [...new Set(masked)].sort((first, second) => second.length - first.length)
  return (text) => longestFirst.reduce((rest, secret) => rest.replaceAll(secret, '********'), text)
}

/** True when a configured header is a secret. `api-version: 2024-01-01` is not, and masking the value would damage responses. */
export function isSecretHeader(name: string, configured: string): boolean {
  return referencesIn(configured).length > 0 || isSecretName(name)
}

/** True when a value of this name is most likely a secret. */
export function isSecretName(name: string): boolean {
  return /auth|key|token|secret|cookie|pass|credential|signature/i.test(name)
}
