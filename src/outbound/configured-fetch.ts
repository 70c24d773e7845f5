import { Agent, fetch, type Response } from 'undici'
import { followRedirects, type OutboundInit, type Send } from './redirects.ts'

export interface ConfiguredFetch {
  fetch(url: string, init?: OutboundInit): Promise<Response>
  close(): Promise<void>
}

/** The origin that an administrator has configured is reached wherever it is; where it redirects to elsewhere goes through `guarded`. */
export function createConfiguredFetch(guarded: Send): ConfiguredFetch {
  // An answer may take as long as its tool may: who asks sets the time, by a signal.
  const agent = new Agent({ allowH2: false, headersTimeout: 0, bodyTimeout: 0 })
  const send: Send = (url, init, hasLeft) => (hasLeft ? guarded(url, init, hasLeft) : fetch(url, { ...init, dispatcher: agent }))
  return {
    fetch: (url, init = {}) => followRedirects(url, init, send),
    close: () => agent.destroy(),
  }
}
