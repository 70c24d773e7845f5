import type { Principal } from '../access/permissions.ts'
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

interface NewSession extends Owner {
  sessionId: string
  key: string
  checkpointId: string
  shortName: string
  metadata: Metadata
  messages: readonly SessionMessage[]
  now: number
}

/** Sessions that callers make and fill without a run. */
export interface Conversations {
  /** Creates a session of the caller, with messages or empty. */
  create(principal: Principal, content: { metadata: Metadata; messages: readonly SessionMessage[] }): Promise<SessionRecord>
  /** Appends messages and returns the index of the first one; undefined for a deleted session. Throws `session_busy`. */
  append(session: SessionRecord, messages: readonly SessionMessage[]): Promise<number | undefined>
  metadata: ConversationStore['metadata']
  setMetadata: ConversationStore['setMetadata']
}

interface ConversationDependencies {
  store: ConversationStore
  /** The name of a session in lists, from its first question. */
  nameOf(question: string): string
  newId(): string
  now(): number
}

export function createConversations({ store, nameOf, newId, now }: ConversationDependencies): Conversations {
  function shortNameOf(messages: readonly SessionMessage[]): string {
    return nameOf(messages.find(({ role }) => role === 'human')?.content ?? '')
  }

  return {
    async create({ tenant, owner }, { metadata, messages }) {
      const createdAt = now()
      const session = { tenant, owner, sessionId: newId(), key: newId(), checkpointId: newId(), shortName: shortNameOf(messages) }
      await store.create({ ...session, metadata, messages, now: createdAt })
      return { ...session, messageCount: messages.length, createdAt, updatedAt: createdAt }
    },

    append: (session, messages) => store.append(session, messages, { now: now(), checkpointId: newId(), shortName: shortNameOf(messages) }),
    metadata: store.metadata,
    setMetadata: store.setMetadata,
  }
}
