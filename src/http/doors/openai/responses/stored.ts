import { ServiceError } from '../../../../errors.ts'
import type { Owner } from '../../../../access/owner.ts'
import { isReadable, type LoggedEvent, type RunKey } from '../../../../runs/run.ts'
import { storedEvents, wholeRun } from '../../../../runs/parts.ts'
import { hasSchema } from '../../../../runs/open-run.ts'
import type { RunStore, StoredRun } from '../../../../runs/run-store.ts'
import { endRun } from '../../../named-runs.ts'
import type { ToReaderFiles } from '../../../reader.ts'
import { parseResponseId } from '../ids.ts'
import type { OutputItem } from './items.ts'
import { countParts, endOfPart, isPartEnd, partOf } from './parts.ts'
import { createOutput, openResponse, toResponse, type ResponseHead } from './response.ts'
import type { JsonObject } from '../../../../agent/messages.ts'
import type { ResponseFields } from './parameters.ts'
import type { InputItem } from './schemas.ts'
import type { Principal } from '../../../../access/permissions.ts'
import type { EchoStore } from '../../../../runs/log/echo-store.ts'
import type { Runs } from '../../../../runs/runs.ts'
import type { SessionChanges } from '../../../../sessions/session-changes.ts'
import type { SessionStore } from '../../../../sessions/session-store.ts'

/** A response of the caller, read from the store. */
export interface StoredResponse {
  run: StoredRun
  events: readonly LoggedEvent[]
  echo: PartEcho
  head: ResponseHead
}

/** Throws `not_found` for an id of no response of the caller, and for a response that was not to be stored. */
export async function findResponse(store: Pick<RunStore, 'find'>, { tenant, owner }: Owner, id: string): Promise<StoredResponse> {
  const key = parseResponseId(id)
  const run = key && (await findRun(store, { tenant, owner, requestId: key.requestId }))
  const echo = run && partEchoOf(run, key.part)
  if (!run || !isReadable(run) || !echo?.fields.store) throw noResponse(id)
  const events = storedEvents(run)
  if (key.part > countParts(events)) throw noResponse(id)
  const { created, fields } = echo
  return { run, events, echo, head: { key, part: partOf(events, key.part, run.status), created, fields } }
}

/** Undefined also for a run that was removed. */
export async function findRun(store: Pick<RunStore, 'find'>, key: RunKey): Promise<StoredRun | undefined> {
  try {
    return await store.find(key)
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'gone') return undefined
    throw error
  }
}

export function noResponse(id: string, field?: string): ServiceError {
  const msg = `there is no response ${id}`
  const faults = field === undefined ? [] : [{ loc: ['body', field], msg, type: 'previous_response_not_found' }]
  return new ServiceError('not_found', `There is no response ${id}.`, { faults })
}

/** The response as JSON, in its current state. */
export async function readResponse({ run, events, head }: StoredResponse, toFiles: ToReaderFiles): Promise<object> {
  const end = endOfPart(events, head.key.part)
  if (run.status === 'pending' && run.messageIndex === undefined) return openResponse(head, 'queued')
  const isAtRest = run.endedAt !== undefined || run.status === 'interrupted'
  // The log of a running run is the log up to its last interruption.
  if (end === undefined && !isAtRest) return openResponse(head, 'in_progress')
  const shown = events.slice(0, end)
  const last = shown.at(-1)
  const kept = last?.type === 'end' || last?.type === 'interrupt' ? last.files : undefined
  return toResponse(head, shown, { hasSchema: hasSchema(run), endedAt: run.endedAt, files: kept && (await toFiles(kept)) })
}

/** All output items of a run's responses, for references to items. */
export function outputOf(run: StoredRun): OutputItem[] {
  const echo = partEchoOf(run, 1)
  const events = storedEvents(run)
  if (!echo || events.length === 0) return []
  const { created, fields } = echo
  const output = createOutput({ key: { requestId: run.requestId, part: 1 }, part: wholeRun, created, fields }, hasSchema(run))
  const items: OutputItem[] = []
  for (const [index, event] of events.entries()) {
    const isLast = index === events.length - 1
    if ((isPartEnd(event) || isLast) && (event.type === 'interrupt' || event.type === 'end')) items.push(...output.skip(event))
    else output.take(event)
  }
  return items
}

/** What is stored with a run for its responses. */
interface ResponseEcho extends PartEcho {
  route: 'responses'
  /** The further requests that the run answers, by part. */
  parts?: Record<string, PartEcho>
}

/** A single request: the parameters, and the input items. */
export interface PartEcho {
  /** Epoch seconds. */
  created: number
  fields: ResponseFields
  input: InputItem[]
}

export function toEcho(part: PartEcho): JsonObject {
  return { route: 'responses', ...part } satisfies ResponseEcho
}

/** Undefined for a run of another route, and for a response that was deleted. */
function echoOf({ endedAt, log, request }: Pick<StoredRun, 'endedAt' | 'log' | 'request'>): ResponseEcho | undefined {
  const echo = (endedAt === undefined ? request?.echo : log?.echo) as unknown as ResponseEcho | undefined
  return echo?.route === 'responses' ? echo : undefined
}

/** The echo of a part. The client may answer calls by another route: then the part has the parameters of the first. */
export function partEchoOf(run: Pick<StoredRun, 'endedAt' | 'log' | 'request'>, part: number): PartEcho | undefined {
  const echo = echoOf(run)
  if (!echo || part === 1) return echo
  return echo.parts?.[part] ?? { ...echo, input: [] }
}

/** The echo with the request of a further part. */
export function withPart(run: StoredRun, part: number, partEcho: PartEcho): JsonObject | undefined {
  const echo = echoOf(run)
  return echo && { ...echo, parts: { ...echo.parts, [part]: partEcho } }
}

interface DeleteServices {
  runs: Pick<Runs, 'cancel'>
  echoes: Pick<EchoStore, 'remove'>
  sessionStore: Pick<SessionStore, 'find' | 'messages'>
  changes: Pick<SessionChanges, 'remove'>
}

/**
 * Cancels and deletes a response. The session is deleted with the only response; a session with further turns, or a session that the
 * caller made as a conversation, keeps the messages.
 */
export async function deleteResponse(services: DeleteServices, principal: Principal, { run, echo }: StoredResponse): Promise<void> {
  const { runs, echoes, changes } = services
  await endRun(runs, run)
  const isAlone = !echo.fields.conversation && (await isOnlyRun(services, principal, run))
  if (isAlone) await changes.remove(principal, run.sessionId)
  else await echoes.remove(run)
}

/** True if every message of the session is of this run: of its request, or its answer. */
async function isOnlyRun({ sessionStore }: DeleteServices, principal: Principal, run: StoredResponse['run']): Promise<boolean> {
  const session = await sessionStore.find(principal, run.sessionId, { anyOwner: false })
  if (!session) return false
  const messages = await sessionStore.messages(session.tenant, session.key)
  return messages.every(({ index, data }) => index === run.messageIndex || data?.requestId === run.requestId)
}
