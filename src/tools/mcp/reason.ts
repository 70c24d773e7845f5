import {
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { toLine } from '../plain-text.ts'
import type { Server } from './server.ts'

const maxCharacters = 300

/** Why a server can't be used, in a sentence for an operator: no secret, and not much of what the server said itself. */
export function reasonOf(error: unknown, server: Server): string {
  return server.secrets.hide(toLine(toWords(error, server), maxCharacters))
}

function toWords(error: unknown, server: Server): string {
  const status = error instanceof UnauthorizedError ? 401 : error instanceof SdkHttpError ? error.status : undefined
  if ((status === 401 || status === 403) && !hasCredentials(server))
    return `The server wants credentials (${status}): set headers or oauth.`
  if (status === 401 || status === 403) return `The server refused the credentials (${status}).`
  if (error instanceof InsufficientScopeError) return toScopeWords(error)
  if (error instanceof SdkHttpError) return toStatusWords(error)
  // The probe for the newest protocol stands between an error and its cause.
  if (error instanceof SdkError && error.cause instanceof Error) return toWords(error.cause, server)
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) return 'The server did not answer in time.'
  if (error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed) return 'The server closed the connection.'
  if (error instanceof ProtocolError) return `The server answered with an error: ${error.message}`
  if (!(error instanceof Error)) return 'The server can not be used.'
  if (error.name === 'TimeoutError') return 'The server did not answer in time.'
  return error.message === 'fetch failed' ? `The server can't be reached: ${causeOf(error)}.` : error.message
}

function hasCredentials(server: Server): boolean {
  return server.kind === 'remote' && (server.oauth !== undefined || Object.keys(server.headers).length > 0)
}

function toScopeWords({ requiredScope }: InsufficientScopeError): string {
  const scopes = requiredScope === undefined ? 'other scopes' : `the scopes ${toLine(requiredScope, 120)}`
  return `The server wants ${scopes} for this (403), which the token of oauth does not have.`
}

function toStatusWords({ status, data, message }: SdkHttpError): string {
  if (status === 404) return 'There is no MCP server at this address (404).'
  // Only this text says where a redirect leads.
  if (status !== undefined && status >= 300 && status < 400) return `The server redirects (${status}): ${message.replace(/^.*?: /, '')}`
  const said = typeof data?.text === 'string' ? `: ${toLine(data.text, 120)}` : ''
  return `The server answered with status ${status}${said}`
}

function causeOf({ cause }: Error): string {
  const inner = cause instanceof AggregateError ? cause.errors[0] : cause
  return inner instanceof Error && inner.message ? inner.message : 'the connection failed'
}
