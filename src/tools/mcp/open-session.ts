import { stat } from 'node:fs/promises'
import { SdkError, SdkHttpError } from '@modelcontextprotocol/client'
import { connect } from './client-session.ts'
import { mayBeOldTransport, oldTransport, speaksOldTransport } from './old-transport.ts'
import type { Server } from './server.ts'
import type { Session, SessionEvents, SessionOptions } from './session.ts'

/** Connects with the newest protocol that both sides support. Rejects with a reason for an operator, or with an error of the SDK. */
export async function openSession(server: Server, options: SessionOptions, events: SessionEvents, signal: AbortSignal): Promise<Session> {
  if (server.kind === 'remote') {
    return connect(server, options, events, signal, 'auto').catch(async (error: unknown) => {
      if (signal.aborted) throw error
      // Some servers of the 2025 protocol fail at the unknown probe.
      if (error instanceof SdkHttpError && error.status >= 500) return connect(server, options, events, signal, 'legacy')
      const isOld = mayBeOldTransport(statusOf(error)) && (await speaksOldTransport(server, options.outbound, signal))
      throw isOld ? new Error(oldTransport, { cause: error }) : error
    })
  }
  const folder = await stat(server.cwd).catch(() => undefined)
  if (!folder?.isDirectory()) throw new Error(`There is no folder ${server.cwd}.`)
  let exitReason: string | undefined
  let isOpen = false
  const startEvents: SessionEvents = { ...events, lost: (reason) => (isOpen ? events.lost(reason) : void (exitReason = reason)) }
  try {
    const session = await connect(server, options, startEvents, signal, 'auto').catch((error: unknown) => {
      if (exitReason === undefined || signal.aborted) throw error
      exitReason = undefined
      // Some servers of the 2025 protocol exit at the probe before the handshake: the second attempt skips the probe.
      return connect(server, options, startEvents, signal, 'legacy')
    })
    if (exitReason !== undefined) throw new Error(exitReason)
    isOpen = true
    return session
  } catch (error) {
    throw exitReason === undefined ? error : new Error(exitReason, { cause: error })
  }
}

/** The HTTP status of an error; the probe for the newest protocol may wrap the error. */
function statusOf(error: unknown): number | undefined {
  if (error instanceof SdkHttpError) return error.status
  return error instanceof SdkError ? statusOf(error.cause) : undefined
}
