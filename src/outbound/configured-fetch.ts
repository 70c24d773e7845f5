import type { Agent, Response } from 'undici'
import type { OutboundInit, Send } from './redirects.ts'

export interface ConfiguredFetch {
  fetch(url: string, init?: OutboundInit): Promise<Response>
  close(): Promise<void>
}

/**
 * Fetches from an origin that an administrator configured, at any address; redirects to other origins go through
 * `guarded`.
 */
export function createConfiguredFetch(guarded: Send): ConfiguredFetch {
  let agent: Agent | undefined
  const send: Send = async (url, init, hasLeft) => {
    if (hasLeft) return guarded(url, init, hasLeft)
    const { Agent, fetch } = await import('undici')
    // An answer may take as long as the tool may: the caller's signal sets the limit.
    agent ??= new Agent({ allowH2: false, headersTimeout: 0, bodyTimeout: 0 })
    return fetch(url, { ...init, dispatcher: agent })
  }
  return {
    fetch: async (url, init = {}) => (await import('./redirects.ts')).followRedirects(url, init, send),
    close: async () => agent?.destroy(),
  }
}
