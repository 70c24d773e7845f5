import type { JsonValue } from '../../agent/messages.ts'
import type { LoggedEvent } from '../run.ts'
import type { AttemptRecord, ModelRecord } from './records.ts'
import { toIso, type Part, type SpanStatus } from './span.ts'

export function turnId({ n }: Pick<ModelRecord, 'n'>): string {
  return `turn:${n}`
}

export function modelId({ n }: Pick<ModelRecord, 'n'>): string {
  return `model:${n}`
}

/** The span of a model call, inside of its turn. `endedAt` is the end of the run, if the run has ended. */
export function toModelPart(record: ModelRecord, events: readonly LoggedEvent[], endedAt: number | undefined): Part {
  const { usage, startedAt } = record
  const ended = record.endedAt ?? endedAt
  const attempts = record.attempts ?? (usage ? [{ model: usage.model, startedAt, ...(ended === undefined ? {} : { endedAt: ended }) }] : [])
  const status = statusOf(record, ended !== undefined)
  const model = usage?.model ?? attempts.at(-1)?.model ?? ''
  const { output, reasoning } = textsOf(record, events)
  const { firstTextAt, finish, cost } = record
  const error = status === 'error' ? attempts.at(-1)?.error?.message : undefined
  return {
    id: modelId(record),
    parent: turnId(record),
    kind: 'model',
    name: model,
    status,
    started: startedAt,
    ended,
    attributes: {
      model,
      fallback: model !== (attempts[0]?.model ?? model),
      attempts: attempts.map((attempt, index) => toAttempt(attempt, index === attempts.length - 1 ? status : 'error')),
      input_tokens: usage?.input ?? null,
      output_tokens: usage?.output ?? null,
      cached_input_tokens: usage?.cachedInput ?? null,
      cache_write_tokens: usage?.cacheWrite,
      reasoning_tokens: usage?.reasoning ?? null,
      cost: cost ?? null,
      time_to_first_token: firstTextAt === undefined ? null : (firstTextAt - startedAt) / 1000,
      finish_reason: finish,
      output: output === '' ? undefined : output,
      reasoning: reasoning === '' ? undefined : reasoning,
      error,
    },
  }
}

function statusOf({ usage, attempts, endedAt }: ModelRecord, hasEnded: boolean): SpanStatus {
  if (usage) return 'success'
  if (!hasEnded) return 'running'
  return endedAt !== undefined && attempts?.at(-1)?.error ? 'error' : 'cancelled'
}

function toAttempt({ model, startedAt, endedAt, error }: AttemptRecord, status: SpanStatus): JsonValue {
  return {
    model,
    status: error ? 'error' : status,
    started_at: toIso(startedAt),
    ended_at: endedAt === undefined ? null : toIso(endedAt),
    ...(error ? { error_type: error.type, error: error.message } : {}),
  }
}

/** The texts of the last attempt of a model call. Texts of sub-agents are not logged. */
export function textsOf({ callId, from, to }: ModelRecord, events: readonly LoggedEvent[]): { output: string; reasoning: string } {
  const texts = { output: '', reasoning: '' }
  if (callId !== undefined) return texts
  for (let at = from; at < Math.min(to ?? events.length, events.length); at++) {
    const event = events[at]!
    if (event.type === 'retrying') texts.output = texts.reasoning = ''
    if (event.type === 'text') texts[event.label === 'reasoning' ? 'reasoning' : 'output'] += event.text
  }
  return texts
}
