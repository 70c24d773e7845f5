import type { CallOptions, Query, Reply, RequestOptions } from '../operation.ts'
import type { Transport } from '../transport.ts'
import { readPages } from './pages.ts'

export type SessionPage = Reply<'GET', '/core/v1/sessions'>
export type SessionSummary = SessionPage['sessions'][number]
export type SessionFilter = Query<'GET', '/core/v1/sessions'>
export type Session = Reply<'GET', '/core/v1/sessions/{session_id}'>
export type NewSession = RequestOptions<'POST', '/core/v1/sessions'>['body']
type Deleted = Reply<'DELETE', '/core/v1/sessions/{session_id}'>
type Fork = Reply<'POST', '/core/v1/sessions/{session_id}/fork'>

export interface CreateSessionOptions extends CallOptions {
  /** Makes a repeated call safe: the same id and the same messages create one session. */
  requestId?: string | undefined
}

/** Conversations of the caller. */
export interface Sessions {
  /** Lists a page of sessions, most recent activity first. `before` is the id of the last session of the previous page. */
  list(filter?: SessionFilter, options?: CallOptions): Promise<SessionPage>
  /** Yields all sessions, page by page. */
  all(filter?: SessionFilter, options?: CallOptions): AsyncGenerator<SessionSummary, void>
  /** Brings a conversation from elsewhere. */
  create(session: NewSession, options?: CreateSessionOptions): Promise<Session>
  /** Returns a session with its messages. */
  get(sessionId: string, options?: CallOptions): Promise<Session>
  /** Cancels the runs of a session, and deletes the session with everything in it. */
  delete(sessionId: string, options?: CallOptions): Promise<Deleted>
  /** Makes a new session with the messages before `messageIndex`. */
  fork(sessionId: string, messageIndex: number, options?: CallOptions): Promise<Fork>
}

const defaultLimit = 45

export function createSessions(transport: Transport): Sessions {
  const list: Sessions['list'] = (query, options) => transport.request('GET', '/core/v1/sessions', { ...options, query })
  const parts = (sessionId: string, options?: CallOptions) => ({ ...options, path: { session_id: sessionId } })

  return {
    list,

    all(filter, options) {
      const limit = filter?.limit ?? defaultLimit
      const load = (before: string | undefined) => list({ ...filter, ...(before === undefined ? {} : { before }) }, options)
      const next = ({ sessions, next: following }: SessionPage) => {
        // The pages of a search may be short.
        if (filter?.q !== undefined) return following
        return sessions.length < limit ? undefined : sessions.at(-1)?.session_id
      }
      return readPages(load, { elements: ({ sessions }) => sessions, next })
    },

    create: (body, { requestId, ...options } = {}) =>
      transport.request('POST', '/core/v1/sessions', { ...options, body, headers: { 'request-id': requestId, ...options.headers } }),
    get: (sessionId, options) => transport.request('GET', '/core/v1/sessions/{session_id}', parts(sessionId, options)),
    delete: (sessionId, options) => transport.request('DELETE', '/core/v1/sessions/{session_id}', parts(sessionId, options)),
    fork: (sessionId, messageIndex, options) =>
      transport.request('POST', '/core/v1/sessions/{session_id}/fork', {
        ...parts(sessionId, options),
        body: { message_index: messageIndex },
      }),
  }
}
