import type { Principal } from '../../../access/permissions.ts'
import type { PendingCall } from '../../../agent/approval.ts'
import { type ErrorBody, invalid, ServiceError, type Fault } from '../../../errors.ts'
import type { ApprovalStore } from '../../../runs/approvals/approval-store.ts'
import { isOpen, storedEvents } from '../../../runs/parts.ts'
import type { ListedRun, SessionRuns } from '../../../runs/run-list.ts'
import type { RunStore } from '../../../runs/run-store.ts'
import type { RunStatus } from '../../../runs/run.ts'
import type { Conversations, Metadata } from '../../../sessions/conversations.ts'
import type { SessionRecord, SessionStore } from '../../../sessions/session-store.ts'
import { parseJson } from '../../../json/shape.ts'
import { type Interrupt, toInterrupts } from './interrupts.ts'
import { type LangChainMessage, toLangChainMessages } from './messages.ts'
import { RunMessages } from './run-messages.ts'

/** Threads of LangGraph are the caller's own sessions. */

export interface ThreadServices {
  sessionStore: Pick<SessionStore, 'find' | 'messages' | 'list'>
  sessionRuns: SessionRuns
  runStore: Pick<RunStore, 'find'>
  openCalls: Pick<ApprovalStore, 'ofRun'>
  conversations: Pick<Conversations, 'create' | 'append' | 'metadata' | 'setMetadata'>
}

/** The one assistant: its graph, and the id that the Agent Server derives from the name of this graph. */
export const graphId = 'agent'
export const assistantId = 'fe096781-5601-53d2-b2f6-0d3403f7e9ca'

export function isAssistant(id: unknown): boolean {
  return id === graphId || id === assistantId
}

export async function findThread(
  { sessionStore }: Pick<ThreadServices, 'sessionStore'>,
  principal: Principal,
  threadId: string,
): Promise<SessionRecord> {
  const session = await sessionStore.find(principal, threadId, { anyOwner: false })
  if (!session) throw new ServiceError('not_found', `There is no thread ${threadId}.`)
  return session
}

/** The messages of a thread, and what its waiting run waits for. */
export interface ThreadContent {
  messages: LangChainMessage[]
  interrupts: Interrupt[]
  /** The newest run; undefined for none. */
  run: ListedRun | undefined
}

export async function contentOf(services: ThreadServices, { tenant, owner, sessionId, key }: SessionRecord): Promise<ThreadContent> {
  const messages = toLangChainMessages(await services.sessionStore.messages(tenant, key))
  const caller = { tenant, owner }
  const run =
    (await services.sessionRuns.newest(caller, sessionId, 'interrupted')) ?? (await services.sessionRuns.newest(caller, sessionId))
  if (run?.status !== 'interrupted') return { messages, interrupts: [], run }
  const stored = await services.runStore.find(run)
  if (!stored) return { messages, interrupts: [], run }
  const progress = new RunMessages(run.requestId, new Set(messages.map(({ id }) => id)))
  for (const event of storedEvents(stored)) progress.take(event)
  const open: PendingCall[] = (await services.openCalls.ofRun(stored)).filter(isOpen)
  return { messages: [...messages, ...progress.messages], interrupts: toInterrupts(open), run }
}

const threadStates: Record<RunStatus, string> = {
  pending: 'busy',
  running: 'busy',
  interrupted: 'interrupted',
  success: 'idle',
  cancelled: 'idle',
  error: 'error',
  timeout: 'error',
}

export function toThread(session: SessionRecord, metadata: object, content: ThreadContent | undefined): object {
  const { sessionId, createdAt, updatedAt } = session
  const interrupts = content?.interrupts ?? []
  return {
    thread_id: sessionId,
    created_at: new Date(createdAt).toISOString(),
    updated_at: new Date(updatedAt).toISOString(),
    state_updated_at: new Date(updatedAt).toISOString(),
    metadata: { graph_id: graphId, assistant_id: assistantId, ...metadata },
    status: content?.run ? threadStates[content.run.status] : 'idle',
    config: {},
    values: content ? { messages: content.messages } : null,
    interrupts: interrupts.length > 0 ? { tools: interrupts } : {},
    error: null,
  }
}

/** The state of a thread with its first messages: the checkpoint is named by their number. */
export function toState(session: SessionRecord, content: ThreadContent, count: number, before: number | undefined): object {
  const { sessionId, updatedAt } = session
  const isHead = count === content.messages.length
  const interrupts = isHead ? content.interrupts : []
  const isWaiting = interrupts.length > 0
  return {
    values: { messages: content.messages.slice(0, count), ...(isWaiting && { __interrupt__: interrupts }) },
    next: isWaiting ? ['tools'] : [],
    tasks: isWaiting
      ? [{ id: interrupts[0]!.id, name: 'tools', error: null, interrupts, checkpoint: null, state: null, result: null }]
      : [],
    interrupts,
    checkpoint: toCheckpoint(sessionId, count),
    parent_checkpoint: before === undefined ? null : toCheckpoint(sessionId, before),
    metadata: { graph_id: graphId, assistant_id: assistantId, ...(content.run && { run_id: content.run.requestId }), step: count },
    created_at: new Date(updatedAt).toISOString(),
  }
}

function toCheckpoint(threadId: string, count: number): object {
  return { thread_id: threadId, checkpoint_ns: '', checkpoint_id: String(count), checkpoint_map: null }
}

/** The numbers of messages at the ends of turns, newest first. */
export function turnEnds({ messages }: Pick<ThreadContent, 'messages'>): number[] {
  const ends = messages.flatMap((message, index) => (messages[index + 1]?.type === 'human' && message.type !== 'human' ? [index + 1] : []))
  return [...(messages.length > 0 ? [messages.length] : []), ...ends.toReversed()]
}

const runStates: Record<RunStatus, string> = {
  pending: 'pending',
  running: 'running',
  interrupted: 'interrupted',
  success: 'success',
  error: 'error',
  timeout: 'timeout',
  cancelled: 'interrupted',
}

interface ShownRun {
  requestId: string
  sessionId: string
  status: RunStatus
  createdAt: number
  endedAt?: number | undefined
}

export function toRun({ requestId, sessionId, status, createdAt, endedAt }: ShownRun): object {
  return {
    run_id: requestId,
    thread_id: sessionId,
    assistant_id: assistantId,
    created_at: new Date(createdAt).toISOString(),
    updated_at: new Date(endedAt ?? createdAt).toISOString(),
    status: runStates[status],
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
  const entries = Object.entries(requested ?? {}).filter(([name]) => name !== 'graph_id' && name !== 'assistant_id')
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
