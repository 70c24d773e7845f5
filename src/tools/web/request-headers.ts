import type { ToolContext } from '../../agent/tool.ts'

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
