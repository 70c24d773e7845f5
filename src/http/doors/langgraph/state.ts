import { Type } from 'typebox'
import { type ErrorBody, invalid, type Fault } from '../../../errors.ts'
import { parseJson } from '../../../json/shape.ts'
import type { RunStatus } from '../../../runs/run.ts'
import type { Metadata } from '../../../sessions/conversations.ts'
import type { SessionRecord } from '../../../sessions/session-store.ts'
import { namedObject, orNull, toIso } from '../../schemas/shared.ts'
import type { State } from './branches.ts'
import type { Content } from './content.ts'

/** Threads, states and runs as the Agent Server answers them. */

const Json = Type.Record(Type.String(), Type.Unknown())
const time = Type.String({ format: 'date-time' })

export const ThreadReply = namedObject('LangGraphThread', 'A thread: a session of the caller.', {
  thread_id: Type.String({ description: 'The id of the session.' }),
  created_at: time,
  updated_at: time,
  state_updated_at: time,
  metadata: Json,
  status: Type.Enum(['idle', 'busy', 'interrupted', 'error']),
  config: Json,
  values: orNull(Json, '`{messages}`; null where an answer would have too many messages.'),
  interrupts: Type.Record(Type.String(), Type.Array(Json), { description: 'What the run of the thread waits for.' }),
  error: Type.Null(),
})

export const StateReply = namedObject('LangGraphState', 'The state of a thread at a checkpoint.', {
  values: Json,
  next: Type.Array(Type.String()),
  tasks: Type.Array(Json),
  interrupts: Type.Array(Json),
  checkpoint: Json,
  parent_checkpoint: orNull(Json),
  metadata: Json,
  created_at: time,
})

export const RunReply = namedObject('LangGraphRun', 'A run of a thread. `run_id` is its request id.', {
  run_id: Type.String(),
  thread_id: Type.String(),
  assistant_id: Type.String(),
  created_at: time,
  updated_at: time,
  status: Type.Enum(['pending', 'running', 'interrupted', 'success', 'error', 'timeout']),
  metadata: Json,
  kwargs: Json,
  multitask_strategy: Type.String(),
})

/** The one assistant: its graph, and the id that the Agent Server derives from the name of this graph. */
export const graphId = 'agent'
export const assistantId = 'fe096781-5601-53d2-b2f6-0d3403f7e9ca'
const ofAssistant = { graph_id: graphId, assistant_id: assistantId }

export function isAssistant(id: unknown): boolean {
  return id === graphId || id === assistantId
}

const threadStates = {
  pending: 'busy',
  running: 'busy',
  interrupted: 'interrupted',
  success: 'idle',
  cancelled: 'idle',
  error: 'error',
  timeout: 'error',
} as const satisfies Record<RunStatus, string>

type ThreadBody = Type.Static<typeof ThreadReply>

export function statusOf({ run }: Pick<Content, 'run'>): ThreadBody['status'] {
  return run ? threadStates[run.status] : 'idle'
}

/** `root` has the id of the thread; the thread goes on in `head`. */
export function toThread(root: SessionRecord, head: SessionRecord, metadata: object, content: Content): ThreadBody {
  const updatedAt = toIso(head.updatedAt)
  return {
    thread_id: root.sessionId,
    created_at: toIso(root.createdAt),
    updated_at: updatedAt,
    state_updated_at: updatedAt,
    metadata: { ...ofAssistant, ...metadata },
    status: statusOf(content),
    config: {},
    values: { messages: content.messages },
    interrupts: content.interrupts.length > 0 ? { tools: content.interrupts as unknown as Record<string, unknown>[] } : {},
    error: null,
  }
}

export function toState(threadId: string, { id, parent, session, content, index, count }: State): Type.Static<typeof StateReply> {
  const isLast = count === content.messages.length
  const interrupts = isLast ? (content.interrupts as unknown as Record<string, unknown>[]) : []
  const isWaiting = interrupts.length > 0
  const goesOn = isLast ? [] : index === 0 ? ['__start__'] : content.stored[index - 1]?.role === 'human' ? ['agent'] : []
  return {
    values: { messages: content.messages.slice(0, count), ...(isWaiting && { __interrupt__: interrupts }) },
    next: isWaiting ? ['tools'] : goesOn,
    tasks: isWaiting
      ? [{ id: interrupts[0]!['id'], name: 'tools', error: null, interrupts, checkpoint: null, state: null, result: null }]
      : [],
    interrupts,
    checkpoint: toCheckpoint(threadId, id),
    parent_checkpoint: parent === undefined ? null : toCheckpoint(threadId, parent),
    metadata: { ...ofAssistant, ...(content.run && { run_id: content.run.requestId }), step: count },
    created_at: toIso(content.stored[index - 1]?.createdAt ?? session.createdAt),
  }
}

function toCheckpoint(threadId: string, id: string): Record<string, unknown> {
  return { thread_id: threadId, checkpoint_ns: '', checkpoint_id: id, checkpoint_map: null }
}

interface ShownRun {
  requestId: string
  status: RunStatus
  createdAt: number
  endedAt?: number | undefined
}

export function toRun(threadId: string, { requestId, status, createdAt, endedAt }: ShownRun): Type.Static<typeof RunReply> {
  return {
    run_id: requestId,
    thread_id: threadId,
    assistant_id: assistantId,
    created_at: toIso(createdAt),
    updated_at: toIso(endedAt ?? createdAt),
    status: status === 'cancelled' ? 'interrupted' : status,
    metadata: {},
    kwargs: {},
    multitask_strategy: 'enqueue',
  }
}

export function toErrorData({ body, details }: ErrorBody): { error: string; message: string } {
  return { error: details?.error_type ?? 'Error', message: body }
}

/** Values that are no text are kept as JSON, under a name that says so. */
const jsonMark = 'json:'
const maxMetadata = { entries: 64, characters: 16_384 }

/** Metadata of LangGraph, which has any JSON, as metadata of sessions, which has texts. */
export function toMetadata(requested: Record<string, unknown> | null | undefined, at: Fault['loc'] = ['body', 'metadata']): Metadata {
  const entries = Object.entries(requested ?? {}).filter(([name]) => !Object.hasOwn(ofAssistant, name))
  const metadata = Object.fromEntries(
    entries.map(([name, value]) =>
      typeof value === 'string' && !name.startsWith(jsonMark) ? [name, value] : [jsonMark + name, JSON.stringify(value)],
    ),
  )
  const text = JSON.stringify(metadata)
  if (entries.length > maxMetadata.entries || text.length > maxMetadata.characters)
    throw invalid(at, `may have at most ${maxMetadata.entries} entries, and ${maxMetadata.characters} characters as JSON`)
  if (text.includes('\\u0000') || !text.isWellFormed()) throw invalid(at, 'must not have NUL or half characters')
  return metadata
}

export function fromMetadata(metadata: Metadata): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(metadata).map(([name, value]) =>
      name.startsWith(jsonMark) ? [name.slice(jsonMark.length), parseJson(value)] : [name, value],
    ),
  )
}

/** Every thread is of the one assistant. */
export function hasMetadata(metadata: Record<string, unknown>, filter: Record<string, unknown>): boolean {
  return Object.entries(filter).every(([name, value]) =>
    Object.hasOwn(ofAssistant, name) ? isAssistant(value) : JSON.stringify(metadata[name]) === JSON.stringify(value),
  )
}
