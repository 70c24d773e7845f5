import type { Owner } from '../../access/owner.ts'
import { ServiceError } from '../../errors.ts'
import { eventKey, type ChatEvent } from '../ownership/async-runs.ts'
import type { Cancellation } from '../ownership/cancel.ts'
import type { RunStore } from '../run-store.ts'
import type { Steering } from './steering.ts'

/** What a chat does whose session has a run: wait, be refused, become a message to the run, or cancel the run. */
export type OnBusy = 'queue' | 'reject' | 'steer' | 'cancel_running'

/** A chat that became a message to the run of its session. */
export interface SteeredChat {
  requestId: string
  messageId: string
  position: number
}

/** A chat with another wish than to wait. */
export interface BusyChat extends Owner {
  requestId: string
  sessionId: string
  onBusy: OnBusy
  text: string
  /** Names the message of an async chat: a repeated event may have another request id. */
  event?: Pick<ChatEvent, 'source' | 'id'> | undefined
}

interface WhenBusyDependencies {
  store: Pick<RunStore, 'findRequest' | 'findEvent' | 'findMessage' | 'activeRun'>
  steering: Steering
  cancel: Cancellation['cancel']
}

/**
 * Acts for a chat whose session may be busy, before the chat begins. Resolves to the message that the chat has become; undefined for a chat that
 * begins a run. `reject` is decided by the begin itself, so that two chats cannot both find the session free.
 */
export type WhenBusy = (chat: BusyChat) => Promise<SteeredChat | undefined>

export function createWhenBusy({ store, steering, cancel }: WhenBusyDependencies): WhenBusy {
  return async ({ onBusy, sessionId, text, event, ...key }) => {
    const id = event ? `event-${eventKey(event)}` : key.requestId
    if (onBusy === 'queue' || onBusy === 'reject') return undefined
    const sent = onBusy === 'steer' ? await store.findMessage(key, id) : undefined
    if (sent) {
      // The data of a repeated event is not read.
      if (sent.text !== text && !event) throw new ServiceError('request_id_reused', `The request id ${id} was used for another request.`)
      return { requestId: sent.requestId, messageId: id, position: sent.position }
    }
    for (;;) {
      const active = await store.activeRun(key, sessionId)
      // A repeat of a chat that began a run joins this run, which may be the active one.
      const isKnown = active && (event ? store.findEvent(key, eventKey(event)) : store.findRequest(key))
      if (!active || (await isKnown)) return undefined
      try {
        if (onBusy === 'cancel_running') return await cancel(active).then(() => undefined)
        const { position } = await steering.send(active, { id, mode: 'steer', text })
        return { requestId: active.requestId, messageId: id, position }
      } catch (error) {
        // The run has ended meanwhile: another one may have the session now.
        if (!(error instanceof ServiceError && error.code === 'run_ended')) throw error
      }
    }
  }
}
