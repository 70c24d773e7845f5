import type { SessionMessage, SessionRecord } from './session-store.ts'
import type { Owner } from '../access/owner.ts'

export type Metadata = Record<string, string>

/** Port: sessions that callers make and fill without a run. */
export interface ConversationStore {
  /** Creates a session, with messages or empty. */
  create(session: NewSession): Promise<void>
  metadata(session: SessionRecord): Promise<Metadata>
  /** False where the session was deleted. */
  setMetadata(session: SessionRecord, metadata: Metadata): Promise<boolean>
  /** Appends messages and returns the index of the first one. Throws `session_busy` while a run has the session; undefined for a deleted session. */
  append(
    session: SessionRecord,
    messages: readonly SessionMessage[],
    change: { now: number; checkpointId: string; shortName: string },
  ): Promise<number | undefined>
}

export interface NewSession extends Owner {
  sessionId: string
  key: string
  checkpointId: string
  shortName: string
  metadata: Metadata
  messages: readonly SessionMessage[]
  now: number
}
