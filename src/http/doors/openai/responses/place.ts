import type { FastifyRequest } from 'fastify'
import type { Principal } from '../../../../access/permissions.ts'
import { invalid, ServiceError } from '../../../../errors.ts'
import type { RunStore } from '../../../../runs/run-store.ts'
import type { SessionChanges } from '../../../../sessions/session-changes.ts'
import type { SessionRecord, SessionStore } from '../../../../sessions/session-store.ts'
import { isId } from '../../../server/request-headers.ts'
import { parseConversationId } from '../ids.ts'
import type { ResponseFields } from './parameters.ts'
import { countParts } from './parts.ts'
import { findResponse, findRun, noResponse, type StoredResponse } from './stored.ts'

/** The session of a new response. */
export interface Place {
  /** Undefined for a new session. */
  sessionId?: string
  /** Number of messages that the session has, where the response follows a certain one. */
  afterMessages?: number
  /** Branches the session behind these messages; called when the session has gone on meanwhile. */
  fork?(): Promise<string>
}

export interface PlaceServices {
  runStore: Pick<RunStore, 'find'>
  sessionStore: Pick<SessionStore, 'find' | 'message'>
  changes: Pick<SessionChanges, 'fork'>
}

type NamedPlace = Pick<ResponseFields, 'conversation' | 'previous_response_id' | 'store'>

/**
 * Finds the session that a request continues. The last response of a session goes on in the session; an earlier one branches it, as does a
 * response that is not to be stored. A repeated request id stays in the session of the first request.
 */
export async function findPlace(
  services: PlaceServices,
  request: FastifyRequest,
  principal: Principal,
  { conversation, previous_response_id: previous, store }: NamedPlace,
): Promise<Place> {
  if (conversation)
    return { sessionId: (await findConversation(services.sessionStore, principal, conversation.id, 'conversation')).sessionId }
  if (previous === null) return {}
  const { tenant, owner } = principal
  const earlier = isId(request.headers['request-id']) && (await findRun(services.runStore, { tenant, owner, requestId: request.id }))
  if (earlier) return { sessionId: earlier.sessionId }
  return placeAfter(services, principal, { previous, store })
}

interface Continuation {
  /** Id of the response that is continued. */
  previous: string
  /** False: in a branch, because the new turn is not kept. */
  store: boolean
}

async function placeAfter(services: PlaceServices, principal: Principal, { previous, store }: Continuation): Promise<Place> {
  const response = await findPrevious(services, principal, previous)
  refuseUnended(response, previous)
  const { session, messages } = await turnOf(services, principal, { response, previous })
  const { changes } = services
  const fork = () => changes.fork(principal, session.sessionId, messages)
  const sessionId = store && session.messageCount === messages ? session.sessionId : await fork()
  return { sessionId, afterMessages: messages, fork }
}

/** The response that a request continues; an unknown one is the fault of `previous_response_id`. */
function findPrevious({ runStore }: Pick<PlaceServices, 'runStore'>, principal: Principal, previous: string): Promise<StoredResponse> {
  return findResponse(runStore, principal, previous).catch((error: unknown) => {
    throw error instanceof ServiceError && error.code === 'not_found' ? noResponse(previous, 'previous_response_id') : error
  })
}

/** Messages of a session up to the end of a turn. */
interface TurnEnd {
  session: SessionRecord
  messages: number
}

async function turnOf(
  { sessionStore }: Pick<PlaceServices, 'sessionStore'>,
  principal: Principal,
  { response: { run }, previous }: { response: StoredResponse; previous: string },
): Promise<TurnEnd> {
  const session = await sessionStore.find(principal, run.sessionId, { anyOwner: false })
  if (!session || run.messageIndex === undefined) throw noResponse(previous, 'previous_response_id')
  let messages = run.messageIndex + 1
  // The answer, and what people have sent to the run while it went on.
  const isOfRun = async () => (await sessionStore.message(principal.tenant, session.key, messages))?.data?.requestId === run.requestId
  while (messages < session.messageCount && (await isOfRun())) messages++
  return { session, messages }
}

/** The messages that a request continues, without a branch; undefined for a new session. Throws `not_found`. */
export async function findContinued(
  services: Pick<PlaceServices, 'runStore' | 'sessionStore'>,
  principal: Principal,
  { conversation, previous_response_id: previous }: Omit<NamedPlace, 'store'>,
): Promise<TurnEnd | undefined> {
  if (conversation) {
    const session = await findConversation(services.sessionStore, principal, conversation.id, 'conversation')
    return { session, messages: session.messageCount }
  }
  if (previous === null) return undefined
  return turnOf(services, principal, { response: await findPrevious(services, principal, previous), previous })
}

function refuseUnended({ head, run, events }: StoredResponse, previous: string): void {
  const at = ['body', 'previous_response_id']
  if (run.status === 'interrupted') throw invalid(['body', 'input'], `${previous} waits for the outputs of its calls, or for an approval`)
  if (head.key.part < countParts(events)) throw invalid(at, `the calls of ${previous} have been answered: continue its last response`)
  if (run.endedAt === undefined) throw invalid(at, `${previous} has not ended yet`)
}

/** The session of a conversation; throws `not_found`. */
export async function findConversation(
  store: Pick<SessionStore, 'find'>,
  principal: Principal,
  id: string,
  field?: string,
): Promise<SessionRecord> {
  const sessionId = parseConversationId(id)
  const session = sessionId === undefined ? undefined : await store.find(principal, sessionId, { anyOwner: false })
  if (session) return session
  const faults = field === undefined ? [] : [{ loc: ['body', field], msg: `there is no conversation ${id}`, type: 'not_found' }]
  throw new ServiceError('not_found', `There is no conversation ${id}.`, { faults })
}
