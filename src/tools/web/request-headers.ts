import type { ToolContext } from '../../agent/tool.ts'

/** What of a request's headers is the connection's own or a secret's place. A model that set them could speak for somebody else. */

const ofConnection = new Set([
  ...['connection', 'content-length', 'expect', 'host', 'http2-settings', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  // Servers that heed these would run another method than the one that was allowed.
  ...['x-http-method', 'x-http-method-override', 'x-method-override'],
])

/** RFC 9110, 5.6.2. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Visible characters, blanks and tabs, as far as Latin-1 goes (RFC 9110, 5.5). */
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/

/** Why a model may not send a header; undefined where it may. */
export function headerFault(name: string, value: string): string | undefined {
  const lower = name.toLowerCase()
  if (!token.test(name)) return `${JSON.stringify(name.slice(0, 64))} is not the name of a header.`
  if (ofConnection.has(lower) || lower.startsWith('proxy-')) return `The header ${lower} can not be set.`
  if (lower.startsWith('stix')) return `The header ${lower} is the caller's own and can not be set.`
  return isFieldValue(value) ? undefined : `The value of the header ${lower} holds characters that can not be sent.`
}

export function isFieldName(name: string): boolean {
  return token.test(name)
}

export function isFieldValue(value: string): boolean {
  return fieldValue.test(value)
}

/** The trace that a call belongs to, for its server (W3C Trace Context). */
export function toTraceHeaders({ traceparent }: Pick<ToolContext, 'traceparent'>): Record<string, string> {
  return traceparent === undefined ? {} : { traceparent }
}

/** What of the caller's context can be sent as headers. */
export function toContextHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name, value]) => isFieldName(name) && isFieldValue(value)))
}
