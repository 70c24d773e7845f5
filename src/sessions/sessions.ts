import { isAdmin, type Principal } from '../access/permissions.ts'
import type { AuditReads } from '../audit/reads.ts'
import type { Artifact } from '../agent/messages.ts'
import { invalid, ServiceError } from '../errors.ts'
import { mediaTypeOf } from '../files/media.ts'
import { toCitationContext, toContext, type AdditionalContext, type MessageData } from './message.ts'
import type { PlacedMessage, SessionRecord, SessionStore } from './session-store.ts'

interface SessionView {
  session_id: string
  short_name: string
  created_at: string
  updated_at: string
  messages: MessageView[]
}

interface MessageView {
  /** The place of the message in the session, behind a deleted message; otherwise the place in the list. */
  message_index?: number
  role: 'human' | 'ai'
  content: string
  /** Epoch seconds. */
  timestamp: number
  /** Of a message that was sent to a running run. */
  message_id?: string
  images?: AttachedView[]
  context_files?: AttachedView[]
  additional_context?: AdditionalContext[]
  response_metadata?: Record<string, unknown>
}

/** `kind` is a MIME type. */
interface AttachedView {
  name: string
  kind: string
}

interface SessionList {
  sessions: { session_id: string; checkpoint_id: string; short_name: string; created_at: string }[]
  /** The `checkpoint_id` of the last session; empty for an empty page. */
  offset: string
  count: number
  /** Only of a search: the session id after which the search goes on; absent when no session is left. */
  next?: string
}

interface ListQuery {
  limit: number
  /** A session id: the page begins after this session. */
  before: string | undefined
  /** Words that a session must contain. */
  q: string | undefined
}

export interface Sessions {
  /** Throws `not_found`, also for another caller's session. */
  read(principal: Principal, sessionId: string): Promise<SessionView>
  list(principal: Principal, query: ListQuery): Promise<SessionList>
  /** Whether the caller has a session of this id with messages. */
  isStarted(principal: Principal, sessionId: string): Promise<boolean>
}

/** Words of a search; each is compared with every message. */
const maxWords = 10

export function createSessions(store: SessionStore, reads: Pick<AuditReads, 'read'>): Sessions {
  return {
    async read(principal, sessionId) {
      const session = await store.find(principal, sessionId, { anyOwner: isAdmin(principal) })
      if (!session) throw new ServiceError('not_found', `There is no session ${sessionId}.`)
      if (session.owner !== principal.owner) await reads.read(principal, `session:${sessionId}`)
      const messages = await store.messages(session.tenant, session.key)
      return {
        session_id: session.sessionId,
        short_name: session.shortName,
        created_at: toIso(session.createdAt),
        updated_at: toIso(session.updatedAt),
        messages: messages.map(toMessageView),
      }
    },

    async isStarted(principal, sessionId) {
      const session = await store.find(principal, sessionId, { anyOwner: false })
      return session !== undefined && session.messageCount > 0
    },

    async list(principal, { limit, before, q }) {
      const anyOwner = isAdmin(principal)
      const last = before === undefined ? undefined : await store.find(principal, before, { anyOwner })
      if (before !== undefined && !last) throw invalid(['query', 'before'], `there is no session ${before}`)
      if (anyOwner) await reads.read(principal, 'sessions')
      const words = wordsOf(q ?? '')
      if (words.length === 0) return toList(await store.list(principal, { limit, anyOwner, before: last }))
      const { sessions, scannedTo } = await store.search(principal, { words, limit, anyOwner, before: last })
      return { ...toList(sessions), ...(scannedTo ? { next: scannedTo.sessionId } : {}) }
    },
  }
}

/** The words of a search text, without those that another word contains. */
function wordsOf(q: string): string[] {
  const words = [...new Set(q.toLowerCase().split(/\s+/))].filter((word) => word !== '')
  if (words.length > maxWords) throw invalid(['query', 'q'], `has ${words.length} words; at most ${maxWords} are allowed`)
  return words.filter((word) => !words.some((other) => other !== word && other.includes(word)))
}

function toList(sessions: readonly SessionRecord[]): SessionList {
  return { sessions: sessions.map(toSummary), offset: sessions.at(-1)?.checkpointId ?? '', count: sessions.length }
}

function toSummary(session: SessionRecord): SessionList['sessions'][number] {
  const { sessionId, checkpointId, shortName, createdAt } = session
  return { session_id: sessionId, checkpoint_id: checkpointId, short_name: shortName, created_at: toIso(createdAt) }
}

function toMessageView({ index, role, content, createdAt, data }: PlacedMessage, position: number): MessageView {
  const placeField = index === position ? {} : { message_index: index }
  const view: MessageView = { ...placeField, role, content, timestamp: Math.floor(createdAt / 1000) }
  const ofRun = data?.messageId === undefined ? {} : { message_id: data.messageId }
  if (role === 'human') return { ...view, ...ofRun, ...toAttachedViews(data) }
  const thoughts = [...toContext('reasoning', data?.reasoning), ...toContext('planning', data?.planning)]
  return {
    ...view,
    additional_context: [...thoughts, ...toCitationContext(data?.citations)],
    response_metadata: {
      ...(data?.model ? { request_id: data.requestId, model: data.model, finish_reason: data.finishReason } : {}),
      usage: data?.usage ?? [],
      intermediate_steps: data?.steps ?? [],
      generated_artifacts: (data?.artifacts ?? []).map(toGeneratedArtifact),
    },
  }
}

/** A file in the callers' view. */
export interface GeneratedArtifact {
  artifact_id: string
  file_name: string
  /** MIME type. */
  file_type: string
  /** Bytes. */
  size: number
  sha256: string
  tool: string
  created_at: string
}

export function toGeneratedArtifact({ id, name, type, size, sha256, tool, createdAt }: Artifact): GeneratedArtifact {
  return { artifact_id: id, file_name: name, file_type: type, size, sha256, tool, created_at: toIso(createdAt) }
}

/** Attachments of a human message, by name and kind; absent for none. */
function toAttachedViews(data: MessageData | undefined): Pick<MessageView, 'images' | 'context_files'> {
  const contextFiles = [
    ...(data?.contextFiles ?? []).map((name) => ({ name, kind: mediaTypeOf(name) })),
    ...(data?.files ?? []).map(({ name, mediaType }) => ({ name, kind: mediaType })),
  ]
  return {
    ...(data?.images?.length ? { images: data.images.map(({ name, mediaType }) => ({ name, kind: mediaType })) } : {}),
    ...(contextFiles.length > 0 ? { context_files: contextFiles } : {}),
  }
}

function toIso(ms: number): string {
  return new Date(ms).toISOString()
}
