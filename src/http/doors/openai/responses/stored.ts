import { ServiceError } from '../../../../errors.ts'
import type { Owner } from '../../../../access/owner.ts'
import { isReadable, type LoggedEvent, type RunKey } from '../../../../runs/run.ts'
import { storedEvents, wholeRun } from '../../../../runs/parts.ts'
import { hasSchema } from '../../../../runs/open-run.ts'
import type { RunStore, StoredRun } from '../../../../runs/run-store.ts'
import type { ToReaderFiles } from '../../../answer-files.ts'
import { parseResponseId } from '../ids.ts'
import { partEchoOf, type PartEcho } from './echo.ts'
import type { OutputItem } from './items.ts'
import { countParts, endOfPart, isPartEnd, partOf } from './parts.ts'
import { createOutput, openResponse, toResponse, type ResponseHead } from './response.ts'

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
