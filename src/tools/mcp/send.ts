import type { FetchLike } from '@modelcontextprotocol/client'
import type { Outbound } from '../builder.ts'
import { boundResponse } from './bounded-body.ts'
import type { RemoteServer } from './remote-server.ts'

/** A `fetch` with limits for the size and, with `ms`, for the time of a response. */
export type Send = (target: string | URL, init: RequestInit | undefined, limit: { bytes: number; ms?: number }) => Promise<Response>

export interface SendOptions {
  outbound: Outbound
  onTooLong(reason: string): void
}

/** Sends requests of an MCP client. Addresses named only by the server must pass the outbound rules; configured origins need not. */
export function createSend({ url, oauth, login }: RemoteServer, { outbound, onTooLong }: SendOptions): Send {
  const configuredUrls = [url.href, oauth?.tokenUrl, login?.issuer].filter((address) => address !== undefined)
  const configured = new Set(configuredUrls.map((address) => new URL(address).origin))
  return async (target, init, limit) => {
    const address = new URL(target)
    const headers = Object.fromEntries(new Headers(init?.headers))
    const timeout = limit.ms === undefined ? [] : [AbortSignal.timeout(limit.ms)]
    const signal = AbortSignal.any([...(init?.signal ? [init.signal] : []), ...timeout])
    const { method = 'GET', body, redirect = 'follow' } = init ?? {}
    const text = typeof body === 'string' ? body : body instanceof URLSearchParams ? body.toString() : undefined
    const request = { method, headers, redirect, signal, ...(text !== undefined && { body: text }) }
    const fetch = configured.has(address.origin) ? outbound.fetchConfigured : outbound.fetch
    return boundResponse(await fetch(address.href, request), limit.bytes, onTooLong)
  }
}

/** Limits for a response of an authorization server. */
const oauthBytes = 1024 * 1024
export const oauthMs = 15_000

/** A `fetch` for requests to authorization servers and for metadata. */
export function createOAuthFetch(send: Send): FetchLike {
  return (target, init) => send(target, init, { bytes: oauthBytes, ms: oauthMs })
}
