import { Agent, fetch, type Response } from 'undici'
import { followRedirects, type OutboundInit, type Send } from './redirects.ts'

export interface ConfiguredFetch {
  fetch(url: string, init?: OutboundInit): Promise<Response>
  close(): Promise<void>
}

/**
 * Fetches from an origin that an administrator configured, at any address; redirects to other origins go through
 * `guarded`.
 */
export function createConfiguredFetch(guarded: Send): ConfiguredFetch {
  // An answer may take as long as the tool may: the caller's signal sets the limit.
  const agent = new Agent({ allowH2: false, headersTimeout: 0, bodyTimeout: 0 })
  const send: Send = (url, init, hasLeft) => (hasLeft ? guarded(url, init, hasLeft) : fetch(url, { ...init, dispatcher: agent }))
  return {
    fetch: (url, init = {}) => followRedirects(url, init, send),
    close: () => agent.destroy(),
  }
}
