import type { Owner } from '../../access/owner.ts'
import type { ChatRequest, RunKey } from '../run.ts'

/** Messages that a person sends to a run while the run goes on. */

/** `steer`: delivered before the next model call of the run. `follow_up`: answered by a run of its own, behind the end of the run. */
export type MessageMode = 'steer' | 'follow_up'

export interface NewRunMessage {
  /** Unique among the messages of the caller: the request id of the request that sends the message. */
  id: string
  mode: MessageMode
  text: string
  now: number
}

/** A message that waits for its delivery. */
export interface WaitingMessage {
  id: string
  mode: MessageMode
  text: string
  /** Number of the message in the run that it was sent to, from 1. */
  position: number
  /** Order of delivery in the run that delivers the message. */
  rank: number
}

/** A message, as its sender sees it. */
export interface SentMessage extends Omit<WaitingMessage, 'rank'> {
  createdAt: number
  /** Epoch milliseconds; undefined while the message waits. */
  deliveredAt: number | undefined
  /** The run that delivers the message. Differs from the addressed run when the addressed run has ended before. */
  deliveredTo: string
}

export const messageLimits = { open: 10, characters: 16_000 } as const

/**
 * The request of the run that answers an undelivered message of an earlier run: with the rights and wishes of the earlier run, without
 * the attachments of the earlier question.
 */
export function nextRequest(earlier: ChatRequest, text: string): ChatRequest {
  const { filters, headers, roles, retain, instructions, clientTools, modelOptions, responseSchema } = earlier
  const { hasCallback, callbackLinks, reportsInterruptions } = earlier
  return {
    messages: [{ role: 'user', content: text }],
    filters,
    headers,
    ...(roles && { roles }),
    ...(retain && { retain }),
    ...(instructions !== undefined && { instructions }),
    ...(clientTools && { clientTools }),
    ...(modelOptions && { modelOptions }),
    ...(responseSchema !== undefined && { responseSchema }),
    ...(hasCallback && { hasCallback }),
    ...(callbackLinks && { callbackLinks }),
    ...(reportsInterruptions && { reportsInterruptions }),
  }
}

/** Port: part of the storage of runs. Each function is one transaction, durable when the promise resolves. */
export interface MessageStore {
  /**
   * Stores a message for an unended run, and returns its position. The same message again gets the same position, also after the end of the run.
   * Undefined where the caller has no such run. Throws `run_ended`, `request_id_reused` for an id that was used for anything else, and
   * `rate_limited` while too many messages of the run wait.
   */
  addMessage(key: RunKey, message: NewRunMessage): Promise<{ position: number } | undefined>
  /** The messages that a run is to deliver, in order. */
  openMessages(key: RunKey): Promise<WaitingMessage[]>
  /** The message of a caller with an id. */
  findMessage(owner: Owner, id: string): Promise<(Pick<SentMessage, 'text' | 'position'> & { requestId: string }) | undefined>
  /** The unended run that has a session of the caller. */
  activeRun(owner: Owner, sessionId: string): Promise<RunKey | undefined>
  /** The messages that were sent to a run, in order. */
  messagesTo(key: RunKey): Promise<SentMessage[]>
}
