import type { Principal } from '../access/permissions.ts'
import { ServiceError } from '../errors.ts'
import type { SessionMessage, SessionRecord, SessionStore } from './session-store.ts'
import type { Owner } from '../access/owner.ts'

export type Metadata = Record<string, string>

/** Port: sessions that callers make and fill without a run. */
export interface ConversationStore {
  /** Creates a session, with messages or empty. False where the owner has a session of this id, which stays as it is. */
  create(session: NewSession): Promise<boolean>
  metadata(session: SessionRecord): Promise<Metadata>
  /** False where the session was deleted. */
  setMetadata(session: SessionRecord, metadata: Metadata): Promise<boolean>
  /**
   * Appends messages and returns the index of the first one. Throws `session_busy` while a run has the session, and `session_exists` where the session
   * has messages and `isFirst` is set; undefined for a deleted session.
   */
  append(
    session: SessionRecord,
    messages: readonly SessionMessage[],
    change: { now: number; checkpointId: string; shortName: string; isFirst?: boolean },
  ): Promise<number | undefined>
}

interface NewSession extends Owner {
  sessionId: string
  key: string
  checkpointId: string
  shortName: string
  metadata: Metadata
  messages: readonly SessionMessage[]
  createdAt: number
  updatedAt: number
}

/** A conversation that a caller brings from elsewhere. */
export interface BroughtSession {
  requestId: string
  /** Default: the request id. */
  sessionId: string | undefined
  /** Default: the beginning of the first question. */
  shortName: string | undefined
  /** At least one. `createdAt`: undefined for the time of the call. */
  messages: readonly BroughtMessage[]
}

export type BroughtMessage = Pick<SessionMessage, 'role' | 'content'> & { createdAt: number | undefined }

/** Sessions that callers make and fill without a run. */
export interface Conversations {
  /** Creates a session of the caller, with messages or empty. Throws `session_exists` where the caller has a session of the given id. */
  create(
    principal: Principal,
    content: { sessionId?: string; metadata: Metadata; messages: readonly SessionMessage[] },
  ): Promise<SessionRecord>
  /**
   * Creates a session from a conversation that was held elsewhere. A repeat of the request returns the session as it is now. Throws `session_exists` where
   * the caller has another session of the id.
   */
  bring(principal: Principal, brought: BroughtSession): Promise<SessionRecord>
  /**
   * Appends messages and returns the index of the first one; undefined for a deleted session. Throws `session_busy`, and with `isFirst`
   * `session_exists` where the session has messages.
   */
  append(session: SessionRecord, messages: readonly SessionMessage[], options?: { isFirst: boolean }): Promise<number | undefined>
  metadata: ConversationStore['metadata']
  setMetadata: ConversationStore['setMetadata']
}

interface ConversationDependencies {
  store: ConversationStore
  sessions: Pick<SessionStore, 'find' | 'message' | 'messages'>
  /** The name of a session in lists, from its first question. */
  nameOf(question: string): string
  newId(): string
  now(): number
}

export function createConversations({ store, sessions, nameOf, newId, now }: ConversationDependencies): Conversations {
  function shortNameOf(messages: readonly SessionMessage[]): string {
    return nameOf(messages.find(({ role }) => role === 'human')?.content ?? '')
  }

  return {
    async create({ tenant, owner }, { sessionId = newId(), metadata, messages }) {
      const createdAt = now()
      const session = { tenant, owner, sessionId, key: newId(), checkpointId: newId(), shortName: shortNameOf(messages) }
      const isNew = await store.create({ ...session, metadata, messages, createdAt, updatedAt: createdAt })
      if (!isNew) throw sessionExists(sessionId)
      return { ...session, messageCount: messages.length, createdAt, updatedAt: createdAt }
    },

    async bring(principal, { requestId, sessionId = requestId, shortName, messages }) {
      const { tenant, owner } = principal
      const updatedAt = now()
      const stored = messages.map((message, index) => toStored(message, updatedAt, index === 0 ? requestId : undefined))
      const session = { tenant, owner, sessionId, key: newId(), checkpointId: newId(), shortName: shortName ?? shortNameOf(stored) }
      const createdAt = stored[0]!.createdAt
      if (await store.create({ ...session, metadata: {}, messages: stored, createdAt, updatedAt }))
        return { ...session, messageCount: stored.length, createdAt, updatedAt }
      const known = await sessions.find(principal, sessionId, { anyOwner: false })
      // Deleted meanwhile: there is nothing in the way.
      if (!known) return this.bring(principal, { requestId, sessionId, shortName, messages })
      if (!(await isRepeat(sessions, known, { requestId, messages }))) throw sessionExists(sessionId)
      return known
    },

    append: (session, messages, { isFirst } = { isFirst: false }) =>
      store.append(session, messages, { now: now(), checkpointId: newId(), shortName: shortNameOf(messages), isFirst }),
    metadata: store.metadata,
    setMetadata: store.setMetadata,
  }
}

/** The first message names the request, so that a repeat is known. */
function toStored({ role, content, createdAt }: BroughtMessage, now: number, requestId: string | undefined): SessionMessage {
  return { role, content: content.toWellFormed(), createdAt: createdAt ?? now, data: requestId === undefined ? undefined : { requestId } }
}

/** True for a session that the same request has made of the same messages. The session may have grown since. */
async function isRepeat(
  sessions: ConversationDependencies['sessions'],
  { tenant, key, messageCount }: SessionRecord,
  { requestId, messages }: Pick<BroughtSession, 'requestId' | 'messages'>,
): Promise<boolean> {
  const first = await sessions.message(tenant, key, 0)
  if (first?.data?.requestId !== requestId || messageCount < messages.length) return false
  const stored = await sessions.messages(tenant, key)
  const byIndex = new Map(stored.map((message) => [message.index, message]))
  return messages.every(({ role, content, createdAt }, index) => {
    const known = byIndex.get(index)
    // Deleted meanwhile.
    if (!known) return true
    return known.role === role && known.content === content.toWellFormed() && (createdAt ?? known.createdAt) === known.createdAt
  })
}

export function sessionExists(sessionId: string): ServiceError {
  return new ServiceError('session_exists', `The caller has a session ${sessionId} already.`)
}
