import { maxExampleBytes, bytesOf, type Before, type Example } from './example.ts'
import { ServiceError } from '../errors.ts'
import { fromCompact } from '../runs/log/compact-log.ts'
import type { HistoryMessage, RunStore, StoredRun } from '../runs/run-store.ts'
import { isReadable, type RunKey } from '../runs/run.ts'
import type { ApprovalStore } from '../runs/approvals/approval-store.ts'
import type { HeldRecord, ShownRecord } from '../runs/trace/records.ts'
import type { DecidedCall } from '../runs/trace/span.ts'
import type { MessageData } from '../sessions/message.ts'
import { toOriginal } from './original.ts'
import { recordedCalls } from './recorded-calls.ts'
import { recordedReplies } from './recorded-replies.ts'

/** An ended run, as the store has the run. */
export interface RecordedRun {
  run: StoredRun
  /** Messages of the session from the window to the question. */
  history: readonly HistoryMessage[]
  approvals: readonly DecidedCall[]
}

interface RecordedRunReader {
  store: Pick<RunStore, 'find' | 'history'>
  approvals: Pick<ApprovalStore, 'ofRun'>
}

/** Most messages of a session that are read: as many as a run reads. */
const maxMessages = 320

/** Reads an ended run. Undefined for a run that goes on. Throws `not_found` for an unknown run, and `gone` for a removed one. */
export async function readRecordedRun(key: RunKey, { store, approvals }: RecordedRunReader): Promise<RecordedRun | undefined> {
  const run = await store.find(key)
  if (!run || !isReadable(run)) throw new ServiceError('not_found', `There is no run ${key.requestId}.`)
  if (run.endedAt === undefined) return undefined
  const { tenant, session, messageIndex } = run
  const { window = 0 } = run.log?.trace?.find((record): record is HeldRecord => record.type === 'held') ?? {}
  if (session === undefined || messageIndex === undefined) return { run, history: [], approvals: await approvals.ofRun(key) }
  const from = Math.max(window, messageIndex - maxMessages)
  const history = await store.history(tenant, session, from, messageIndex + 1 - from)
  // As a run reads its window: the first message carries the system messages of the session.
  const first = from > window ? await store.history(tenant, session, 0, 1) : []
  return { run, history: [...first, ...history], approvals: await approvals.ofRun(key) }
}

interface ExampleOptions extends Pick<Example, 'id' | 'name'> {
  configVersion: string
  tags?: readonly string[]
}

/**
 * Makes an example of an ended run, without its media. Everything is copied: the example stays when the run is removed. Throws
 * `input_too_large` for a run whose example would be longer than an example may be.
 */
export function exampleFromRun(recorded: RecordedRun, { id, name, configVersion, tags = [] }: ExampleOptions): Example {
  const { run, history, approvals } = recorded
  const { requestId, session = '', createdAt, startedAt = createdAt, log } = run
  const records = log?.trace ?? []
  const events = fromCompact(log?.events ?? [])
  const record = records.find((record): record is ShownRecord => record.type === 'shown')
  const recording = recordedCalls(events, records, approvals)
  const { replies, isComplete } = recordedReplies(events, records, recording)
  const example: Example = {
    id,
    name,
    input: toInput(recorded, record),
    before: toBefore(run, history, record),
    recording,
    model_replies: replies,
    tags: [...tags],
    source: { request_id: requestId, config_version: configVersion },
    time: startedAt,
    ...(!record || record.isCut || !isComplete ? { reduced: true } : {}),
    ...(record?.subAgents ? { sub_agents: record.subAgents } : {}),
    original: toOriginal(session, log?.events ?? [], recording),
  }
  const bytes = bytesOf(example)
  if (bytes > maxExampleBytes)
    throw new ServiceError('input_too_large', `The example has ${bytes} bytes; ${maxExampleBytes} are the most that an example may have.`)
  return example
}

function toInput({ run, history }: RecordedRun, record: ShownRecord | undefined): Example['input'] {
  const { messages = [], filters = [], continuation, instructions, responseSchema, clientTools, modelOptions } = record?.request ?? {}
  const question = record?.question ?? run.log?.input ?? ''
  const { images, files } = history.find(({ idx }) => idx === run.messageIndex)?.data ?? {}
  return {
    messages: [...messages, { role: 'user', content: question }],
    data_filter_hints: [...filters],
    ...(continuation && { continuation }),
    ...(instructions !== undefined && { instructions }),
    ...(responseSchema && { response_schema: responseSchema }),
    ...(clientTools && { client_tools: clientTools }),
    ...(modelOptions && { model_options: modelOptions }),
    ...(images && { images }),
    ...(files && { files }),
  }
}

/** Earlier turns of a run with data filters are left out: another run with the same filters must not see earlier turns. */
function toBefore({ messageIndex = 0 }: StoredRun, history: readonly HistoryMessage[], record: ShownRecord | undefined): Before[] {
  if (!record || (record.request?.filters.length ?? 0) > 0) return []
  const { summary, memories } = record
  // The first message stands before a window that begins later where the summary has not taken over its system messages.
  const isShown = ({ idx }: HistoryMessage) => idx < messageIndex && (idx > 0 || !summary || history[1]?.idx === 1 || messageIndex === 1)
  const messages = history.filter(isShown).map(({ role, content, data }): Before => {
    return { kind: 'message', role, content, ...(data && { data: withoutViews(data) }) }
  })
  return [
    ...(summary ? [{ kind: 'summary' as const, ...summary }] : []),
    ...messages,
    ...(memories ? [{ kind: 'memories' as const, ...memories }] : []),
  ]
}

/** The data of a message without the parts that only readers get. */
function withoutViews({
  usage: _usage,
  steps: _steps,
  reasoning: _reasoning,
  planning: _planning,
  citations: _citations,
  ...data
}: MessageData): MessageData {
  return data
}
