import type { PendingCall } from '../../agent/approval.ts'
import type { Step, TextLabel } from '../../agent/events.ts'
import type { AnswerFile } from '../../artifacts/answer-files.ts'
import { ServiceError, toErrorBody } from '../../errors.ts'
import { isLastEvent, type EndEvent, type InterruptEvent, type LoggedEvent } from '../../runs/run.ts'
import type { UsageEntry } from '../../sessions/message.ts'
import type { Projection } from '../projection.ts'

/** The events of runs as their logs have them, for the tests of projections. */

export const text = (words: string, label: TextLabel = 'answer'): LoggedEvent => ({ type: 'text', label, text: words })

const stepOf = (id: string, tool: string) => ({ id, type: 'tool_call' as const, tool, input: { of: id }, startedAt: 1 })

export const start = (id: string, tool = 'look'): LoggedEvent => ({ type: 'step_start', step: stepOf(id, tool) })

export function stop(id: string, more: Partial<Step> = {}): LoggedEvent {
  return { type: 'step_end', step: { ...stepOf(id, 'look'), log: '', output: { seen: id }, status: 'success', durationMs: 1, ...more } }
}

/** Usage of one model after so many input tokens. */
export function usageOf(input: number): UsageEntry[] {
  const details = { input, output: 1, cached_input: 0, reasoning: 0 }
  return [{ unit: 'tokens', costAttribute: 'm', amount: input + 1, details } as unknown as UsageEntry]
}

export function end(more: Partial<EndEvent> = {}): EndEvent {
  return { type: 'end', reason: 'stop', usage: usageOf(5), thoughts: [], ...more }
}

export const failed = end({ reason: 'error', error: toErrorBody(new ServiceError('model_unavailable', 'The model is gone.')) })

export function interrupt(...calls: PendingCall[]): InterruptEvent {
  return { type: 'interrupt', calls, usage: usageOf(3), thoughts: [] }
}

export const waiting = (callId: string, by: PendingCall['by'] = 'caller'): PendingCall => ({
  callId,
  tool: 'send',
  input: { to: 'Bo' },
  by,
})

export const runs = {
  text: [text('Hel'), text('lo'), end()],
  reasoning: [text('Hm.', 'reasoning'), text('Yes.'), end()],
  tools: [
    text('I look.'),
    start('a'),
    start('b'),
    stop('b'),
    stop('a', { status: 'error', output: { error: 'dark' } }),
    text('Both.'),
    end(),
  ],
  retry: [text('Hal'), { type: 'retrying' }, text('Hallo'), end()],
  approval: [text('I send.'), interrupt(waiting('c'))],
  approved: [start('c', 'send'), stop('c', { tool: 'send', output: 'sent' }), text('Done.'), end()],
  failure: [text('Hal'), failed],
  cancelled: [text('Hal'), end({ reason: 'cancelled' })],
} satisfies Record<string, LoggedEvent[]>

const fileOf = (artifact_id: string, file_name: string, file_type: string): AnswerFile => {
  return { artifact_id, file_name, file_type, size: 3, sha256: '0', tool: 'look', created_at: '2026-01-01T00:00:00Z' }
}
export const picture: AnswerFile = { ...fileOf('f1', 'a.png', 'image/png'), download_url: 'https://x/f1' }
export const table: AnswerFile = { ...fileOf('f2', 'a.csv', 'text/csv'), download_url: 'https://x/f2' }
/** For a key that may not read files. */
export const unlinked = fileOf('f3', 'b.csv', 'text/csv')

/** The objects of a projection for the events of a run. */
export function project<T>(projection: Projection<T>, events: readonly LoggedEvent[], files: readonly AnswerFile[] = []): T[] {
  return events.flatMap((event, index) =>
    index === events.length - 1 && isLastEvent(event) ? projection.last(event, index + 1, files) : projection.take(event, index + 1),
  )
}
