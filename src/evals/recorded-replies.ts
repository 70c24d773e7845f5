import type { Step } from '../agent/events.ts'
import { fitName } from '../agent/tool-names.ts'
import type { LoggedEvent } from '../runs/run.ts'
import type { ModelRecord, TraceRecord } from '../runs/trace/records.ts'
import type { RecordedCall, RecordedReply, RecordedRequest } from './example.ts'

type EndedRecord = ModelRecord & Required<Pick<ModelRecord, 'usage' | 'finish' | 'endedAt' | 'to'>>

/** The replies of all models of a log, in the order of their ends. `isComplete`: false where a part of a reply is not known. */
export function recordedReplies(
  events: readonly LoggedEvent[],
  records: readonly TraceRecord[],
  recording: readonly RecordedCall[],
): { replies: RecordedReply[]; isComplete: boolean } {
  const numbers = new Map(recording.flatMap(({ n, step }) => (step ? [[step.id, n] as const] : [])))
  const calls = new Map(recording.flatMap((call) => (call.step ? [[call.step.id, call] as const] : [])))
  const ended = records.filter((record): record is EndedRecord => record.type === 'model' && record.usage !== undefined)
  const thoughts = thoughtsIn(events)
  let isComplete = true
  const replies = ended.map((record, index): RecordedReply => {
    const { callId, reply = {}, usage, finish, from, to, startedAt, endedAt } = record
    const hasCalls = (record.calls?.length ?? 0) > 0
    if ((callId !== undefined && reply.text === undefined) || (hasCalls && !reply.requested)) isComplete = false
    const reasoning = thoughtOf(record, thoughts, callId === undefined ? undefined : calls.get(callId)?.tool)
    return {
      n: index + 1,
      parent: callId === undefined ? null : (numbers.get(callId) ?? null),
      text: reply.text ?? (callId === undefined ? writtenText(events, from, to) : ''),
      calls: requestsOf(record, calls),
      ...(reasoning && { reasoning: reasoning.log }),
      finish,
      usage,
      ...(reply.sources && { sources: reply.sources }),
      ...(reply.artifacts && { artifacts: reply.artifacts }),
      at: { from, to, startedAt: reasoning?.startedAt ?? startedAt, endedAt },
    }
  })
  return { replies, isComplete }
}

function thoughtsIn(events: readonly LoggedEvent[]): Step[] {
  const last = events.at(-1)
  return last?.type === 'end' || last?.type === 'interrupt' ? [...last.thoughts] : []
}

/** Takes the reasoning of a reply from the thoughts, which are in the order of the replies. */
function thoughtOf({ endedAt }: EndedRecord, thoughts: Step[], agent: string | undefined): Step | undefined {
  const [next] = thoughts
  if (!next || next.startedAt + next.durationMs !== endedAt) return undefined
  const name = next.subAgent === undefined ? undefined : `sub_agent:${next.subAgent}`
  return name === agent ? thoughts.shift() : undefined
}

/** The calls as the model wrote them; of a run of an earlier version, as the steps show them. */
function requestsOf({ calls: ids = [], reply }: ModelRecord, calls: ReadonlyMap<string, RecordedCall>): RecordedRequest[] {
  return ids.flatMap((id, index): RecordedRequest[] => {
    const requested = reply?.requested?.[index]
    if (requested) return [{ id, ...requested }]
    const call = calls.get(id)
    return call ? [{ id, name: fitName(call.tool), arguments: JSON.stringify(call.tool_input) }] : []
  })
}

/** The text of the last attempt, without the text that the loop repeats behind a call of the provider. */
function writtenText(events: readonly LoggedEvent[], from: number, to: number): string {
  let text = ''
  let isStale = false
  for (const event of events.slice(from, to)) {
    if (event.type === 'retrying') text = ''
    const isText = event.type === 'text' && event.label !== 'reasoning'
    if (isText && !(isStale && event.text === text)) text += event.text
    isStale = !isText
  }
  return text
}
