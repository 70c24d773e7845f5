import type { Owner } from '../access/owner.ts'
import type { Acting } from '../audit/acts.ts'
import type { MessageData } from './message.ts'

/** Port: the store of sessions. Every function works on one tenant. */
export interface SessionStore {
  /** Finds the caller's own session; with `anyOwner` otherwise the newest session of this id in the tenant. */
  find(caller: Owner, sessionId: string, options: { anyOwner: boolean }): Promise<SessionRecord | undefined>
  /** All messages, ordered by index. Deleted messages leave gaps. */
  messages(tenant: string, session: string): Promise<PlacedMessage[]>
  message(tenant: string, session: string, index: number): Promise<SessionMessage | undefined>
  /** Lists sessions with messages, latest activity first, after `before` when given. */
  list(caller: Owner, page: SessionPage): Promise<SessionRecord[]>
  /** Like `list`, but only sessions whose short name or one of whose messages contains all words. Ignores case. */
  search(caller: Owner, page: SessionPage & { words: readonly string[] }): Promise<SessionMatches>
  /**
   * Deletes the caller's own session with all data, and memories without another source; the runs keep marks without
   * content. Adds the job that calls the deletion hooks. False when there is no such session.
   */
  remove(caller: Owner, sessionId: string, deletion: { jobId: string; now: number; acting?: Acting }): Promise<boolean>
  /**
   * Deletes the message at an index, with its runs, media, files, and memories without another source. The message keeps its place, so that later
   * messages keep theirs. False when there is no such message. Throws `session_busy` while a run has the session.
   */
  removeMessage(session: SessionRecord, deletion: MessageDeletion): Promise<boolean>
  /** Creates a session from the messages before an index. `too_far`: the session has fewer messages. `taken`: the owner has a session of the new id. */
  fork(source: SessionRecord, fork: NewFork): Promise<'done' | 'unknown' | 'too_far' | 'taken'>
}

export interface MessageDeletion {
  index: number
  /** The name of the session, if its name was taken from the deleted message. */
  nameOf(question: string): string
  checkpointId: string
  jobId: string
  now: number
  acting?: Acting
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

export interface SessionMatches {
  sessions: SessionRecord[]
  /** The last session that the search has read; undefined when no session is left. */
  scannedTo: SessionRecord | undefined
}

/** Times in epoch milliseconds. */
export interface SessionRecord extends Owner {
  sessionId: string
  /** Internal key, which all data of the session refers to. */
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

/** A message of a session, with its place. */
export interface PlacedMessage extends SessionMessage {
  index: number
}
