import type { Principal } from '../../../access/permissions.ts'
import { invalid, type Fault, ServiceError } from '../../../errors.ts'
import type { SessionChanges } from '../../../sessions/session-changes.ts'
import type { SessionMessage, SessionRecord, SessionStore } from '../../../sessions/session-store.ts'
import { type Content, contentOf, type ContentServices } from './content.ts'

/**
 * Threads of LangGraph: sessions of the caller. A run from a checkpoint that is not the last one, such as an edited question, goes on in a branch: a
 * session of its own with the messages before, whose id follows from the id of the thread.
 */
export interface Thread {
  threadId: string
  /** The session of the thread's id, which has the metadata, then the branches. */
  sessions: readonly [SessionRecord, ...SessionRecord[]]
  /** The session that has changed last, where the thread goes on. */
  head: SessionRecord
}

export interface ThreadServices extends ContentServices {
  sessionStore: Pick<SessionStore, 'find' | 'messages' | 'list'>
}

const maxBranches = 32

/** The id of the thread that a session is of. */
export function threadIdOf(sessionId: string): string {
  return sessionId.replace(/:b\d{1,2}$/, '')
}

export function isOfThread(sessionId: string, threadId: string): boolean {
  return sessionId === threadId || threadIdOf(sessionId) === threadId
}

export async function lookUpThread(
  { sessionStore }: Pick<ThreadServices, 'sessionStore'>,
  principal: Principal,
  threadId: string,
): Promise<Thread | undefined> {
  const find = (sessionId: string) => sessionStore.find(principal, sessionId, { anyOwner: false })
  const root = await find(threadId)
  if (!root) return undefined
  const sessions: [SessionRecord, ...SessionRecord[]] = [root]
  while (sessions.length <= maxBranches) {
    const branch = await find(`${threadId}:b${sessions.length}`)
    if (!branch) break
    sessions.push(branch)
  }
  return { threadId, sessions, head: newestFirst(sessions)[0]! }
}

export async function findThread(services: Pick<ThreadServices, 'sessionStore'>, principal: Principal, threadId: string): Promise<Thread> {
  const thread = await lookUpThread(services, principal, threadId)
  if (!thread) throw new ServiceError('not_found', `There is no thread ${threadId}.`)
  return thread
}

/** The later branch is the newer session, if two sessions have changed at the same time. */
function newestFirst<T extends SessionRecord>(sessions: readonly T[]): T[] {
  return sessions.toReversed().toSorted((a, b) => b.updatedAt - a.updatedAt)
}

/** A state of a thread: the messages of a session up to one of them. */
export interface State {
  /** The name of the checkpoint: the number of messages, and the branch. Branches share the states before their first own message. */
  id: string
  parent: string | undefined
  session: SessionRecord
  content: Content
  /** Number of messages of the session. */
  index: number
  /** Number of messages in the form of LangChain. */
  count: number
}

/** The states of a thread, newest first; the first state is the head of the thread. */
export async function statesOf(services: ThreadServices, { sessions, head }: Thread): Promise<State[]> {
  const branches: { session: SessionRecord; stored: readonly SessionMessage[]; ids: string[]; states: State[] }[] = []
  for (const [n, session] of sessions.entries()) {
    const content = await contentOf(services, session)
    const { stored, ends } = content
    const origins = branches.map(({ stored: earlier, ids }) => ids.slice(0, 1 + countShared(earlier, stored)))
    const shared = origins.toSorted((a, b) => b.length - a.length)[0] ?? []
    const ids = ends.map((count, index) => shared[index] ?? (n === 0 ? String(count) : `${count}:b${n}`))
    const states = ids.map((id, index) => ({ id, parent: ids[index - 1], session, content, index, count: ends[index]! }))
    branches.push({ session, stored, ids, states: states.slice(shared.length).toReversed() })
  }
  const listed = newestFirst(sessions).flatMap((session) => branches.find((branch) => branch.session === session)!.states)
  // A branch without a message of its own is the head at a state of another session.
  const at = branches.find(({ session }) => session === head)!.ids.at(-1)
  return listed.toSorted((a, b) => Number(b.id === at) - Number(a.id === at))
}

/** Number of messages that two sessions begin with. */
function countShared(a: readonly SessionMessage[], b: readonly SessionMessage[]): number {
  const first = a.findIndex(({ role, content, createdAt }, index) => {
    const counterpart = b[index]
    return !counterpart || counterpart.createdAt !== createdAt || counterpart.role !== role || counterpart.content !== content
  })
  return first < 0 ? a.length : first
}

/** The state of a checkpoint. Throws a validation error for an unknown one. */
export async function findState(services: ThreadServices, thread: Thread, checkpoint: string, loc: Fault['loc']): Promise<State> {
  const state = (await statesOf(services, thread)).find(({ id }) => id === checkpoint)
  if (!state) throw invalid(loc, 'is not a checkpoint of the thread: take one of its history')
  return state
}

/** Makes a branch of a session with the messages before an index, and returns its id. */
export async function fork(
  { changes }: { changes: Pick<SessionChanges, 'fork'> },
  principal: Principal,
  { threadId, sessions }: Thread,
  { session, index, content }: Pick<State, 'session' | 'index' | 'content'>,
): Promise<string> {
  const last = content.stored[index - 1]
  const firstLeftOut = last ? last.index + 1 : index
  for (let n = sessions.length; n <= maxBranches; n++) {
    try {
      return await changes.fork(principal, session.sessionId, firstLeftOut, `${threadId}:b${n}`)
    } catch (error) {
      // Another request has made this branch.
      if (!(error instanceof ServiceError) || error.code !== 'session_exists') throw error
    }
  }
  throw new ServiceError('session_exists', `The thread has ${maxBranches} branches, which is the most: go on from its last checkpoint.`)
}
