import type { AnswerFile } from '../../artifacts/answer-files.ts'
import { hideUrlSecrets } from '../../configuration/redact.ts'
import { toWaitingFields } from '../approvals/approval-view.ts'
import { fromCompact } from '../log/compact-log.ts'
import { collect } from '../log/outcome.ts'
import { resultOf } from '../run-result.ts'
import type { StoredRun } from '../run-store.ts'
import type { CallbackAttempt, CallbackStatus, StoredCallback } from './callback-store.ts'

const completedType = 'ai.service.agent.chain.completed'
const failedType = 'ai.service.agent.chain.failed'
export const interruptedType = 'ai.service.agent.chain.interrupted'

/** The CloudEvents types of callbacks. */
export const callbackTypes = [completedType, failedType, interruptedType] as const

/** The id of the event that reports interruption number `n` of a run. */
export function interruptionEventId(requestId: string, n: number): string {
  return `${requestId}:interrupt:${n}`
}

interface CallbackBodyOptions {
  eventId: string
  /** The service's public address. */
  source: string
  files: readonly AnswerFile[]
}

/** A CloudEvents 1.0 event in structured mode, as JSON. Deterministic: repeated calls with equal options return equal text. */
export function toCallbackBody(run: StoredRun, { eventId, source, files }: CallbackBodyOptions): string {
  const { outcome, error } = resultOf(run)
  return toEventText(run, {
    type: error ? failedType : completedType,
    source,
    id: run.requestId,
    time: run.endedAt ?? run.createdAt,
    data: { event_id: eventId, ...(error ? { error } : { body: outcome && { ...outcome.answer, generated_artifacts: files } }) },
  })
}

/** An interruption of a run: its number, from 1, and its time in epoch milliseconds. */
interface Interrupting {
  n: number
  at: number
}

/** The event about an interruption of a run, with the calls that the run waits for. */
export function toInterruptionBody(run: StoredRun, { n, at }: Interrupting, { eventId, source, files }: CallbackBodyOptions): string {
  const { answer, end } = collect(run.log?.input ?? '', fromCompact(run.log?.events ?? []))
  const calls = end.type === 'interrupt' ? toWaitingFields(run.requestId, end.calls) : {}
  return toEventText(run, {
    type: interruptedType,
    source,
    id: interruptionEventId(run.requestId, n),
    time: at,
    data: { event_id: eventId, body: { ...answer, generated_artifacts: files }, ...calls },
  })
}

interface EventFields {
  type: (typeof callbackTypes)[number]
  source: string
  id: string
  /** Epoch milliseconds. */
  time: number
  data: { event_id: string; [field: string]: unknown }
}

function toEventText({ requestId, sessionId }: StoredRun, { type, source, id, time, data: { event_id, ...fields } }: EventFields): string {
  return JSON.stringify({
    specversion: '1.0',
    type,
    source,
    id,
    subject: sessionId,
    time: new Date(time).toISOString(),
    data: { event_id, request_id: requestId, session_id: sessionId, ...fields },
  })
}

/** JSON view of a callback for the run's caller. The URL has no user or password. */
export interface CallbackView {
  url: string
  status: CallbackStatus
  attempts: { at: string; event?: typeof interruptedType; status: number | null; error?: string }[]
}

export function toCallbackView({ url, status, attempts }: StoredCallback): CallbackView {
  return { url: withoutUser(url), status, attempts: attempts.map(toAttempt) }
}

export function toAttempt({ at, status, error, interruption }: CallbackAttempt): CallbackView['attempts'][number] {
  return {
    at: new Date(at).toISOString(),
    ...(interruption === undefined ? {} : { event: interruptedType }),
    status,
    ...(error === undefined ? {} : { error }),
  }
}

/** The URL for readers who are not the owner of the run: user, password and query are masked. */
export function toForeignUrl(address: string): string {
  return hideUrlSecrets(new URL(address).href)
}

export function withoutUser(address: string): string {
  const url = new URL(address)
  if (url.username === '' && url.password === '') return address
  url.username = ''
  url.password = ''
  return url.href
}
