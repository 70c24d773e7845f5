import type { Owner } from '../access/owner.ts'
import type { MessageData } from './message.ts'

/** Port: sessions as they are read. Every function answers for one tenant. */
export interface SessionStore {
  /** The caller's own session of this id; with `anyOwner` also another's of the tenant where the caller has none (the newest of them). */
  find(who: Owner, sessionId: string, options: { anyOwner: boolean }): Promise<SessionRecord | undefined>
  /** All messages, by index. */
  messages(tenant: string, session: string): Promise<SessionMessage[]>
  message(tenant: string, session: string, index: number): Promise<SessionMessage | undefined>
  /** Sessions with messages, latest activity first, behind `before` where given. */
  list(who: Owner, page: SessionPage): Promise<SessionRecord[]>
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
  createdAt: number
  updatedAt: number
}

export interface SessionMessage {
  role: 'human' | 'ai'
  content: string
  createdAt: number
  data: MessageData | undefined
}
