import type { Owner } from '../access/owner.ts'
import type { MessageData } from './message.ts'

/** Port: sessions as they are read. Every function answers for one tenant. */
export interface SessionStore {
  /** The caller's own session of this id; with `anyOwner` also another's of the tenant where the caller has none (the newest of them). */
  find(caller: Owner, sessionId: string, options: { anyOwner: boolean }): Promise<SessionRecord | undefined>
  /** All messages, by index. */
  messages(tenant: string, session: string): Promise<SessionMessage[]>
  message(tenant: string, session: string, index: number): Promise<SessionMessage | undefined>
  /** Sessions with messages, latest activity first, behind `before` where given. */
  list(caller: Owner, page: SessionPage): Promise<SessionRecord[]>
  /**
   * Deletes the caller's own session with all that belongs to it, and memories that come from nowhere else; its runs become marks
   * without content. Promises to tell whoever keeps things under its key. False where there is none.
   */
  remove(caller: Owner, sessionId: string, by: { jobId: string; now: number }): Promise<boolean>
  /** Makes a session of the messages before an index. `too_far`: the session has fewer. */
  fork(from: SessionRecord, fork: NewFork): Promise<'done' | 'unknown' | 'too_far'>
}

export interface NewFork extends Owner {
  sessionId: string
  key: string
  checkpointId: string
  messageIndex: number
  now: number
}

export interface SessionPage {
  limit: number
  anyOwner: boolean
  before: SessionRecord | undefined
}

/** Times in epoch milliseconds. */
export interface SessionRecord extends Owner {
  sessionId: string
  /** Ours; what belongs to the session refers to it. */
  key: string
  shortName: string
  checkpointId: string
  messageCount: number
  createdAt: number
  updatedAt: number
}

export interface SessionMessage {
  role: 'human' | 'ai'
  content: string
  createdAt: number
  data: MessageData | undefined
}
