import type { Owner } from '../access/owner.ts'
import type { AuditEvent } from '../audit/event.ts'
import type { NewJob } from './jobs.ts'
import type { ChatRequest, RunKey } from './run.ts'
import { nextRequest, type SentMessage, type WaitingMessage } from './steering/run-messages.ts'
import { runKeyText } from './ownership/run-registry.ts'
import {
  FenceLost,
  type Checkpoint,
  type Delivery,
  type OpenCall,
  type RunActs,
  type HistoryMessage,
  type OrphanedRun,
  type NewMessage,
  type NewRun,
  type NextRun,
  type RunVersion,
  type StoredRun,
  type TakenOver,
  type TakeOver,
  type Turn,
} from './run-store.ts'

export type Row = StoredRun & { session: string; place: number; losses?: OrphanedRun['losses']; isGone?: boolean }

export interface SessionRow {
  key: string
  /** Request id of the run in the session. */
  activeRun: string | undefined
  messages: HistoryMessage[]
}

/** Rows of runs and sessions in memory, and moves of a run between the session queue, the session and processes. */
export class MemoryRunRows {
  /** Added jobs, in order. */
  readonly jobs: NewJob[] = []
  /** Processes with a valid lease. */
  readonly alive = new Set<string>()
  /** What the ledger has, in order. */
  readonly ledger: AuditEvent[] = []
  protected readonly rows = new Map<string, Row>()
  protected readonly sessions = new Map<string, SessionRow>()
  /** Messages to runs that went on. */
  protected readonly messages: (RunKey & SentMessage & WaitingMessage)[] = []
  protected readonly steps = new Map<string, Map<number, Checkpoint>>()

  protected chats(): Row[] {
    return [...this.rows.values()].filter(({ operation }) => operation !== 'tool_execute')
  }

  protected unended(): Row[] {
    return this.chats().filter(({ status }) => status === 'pending' || status === 'running')
  }

  protected sessionOf({ tenant, owner, sessionId, ...run }: Owner & { sessionId: string; sessionKey?: string }): SessionRow {
    const name = JSON.stringify([tenant, owner, sessionId])
    const session = this.sessions.get(name) ?? { key: run.sessionKey ?? name, activeRun: undefined, messages: [] }
    this.sessions.set(name, session)
    return session
  }

  /** Copies of messages of a session. */
  protected messagesOf(sessionKey: string, firstIndex: number, limit: number): HistoryMessage[] {
    const session = [...this.sessions.values()].find(({ key }) => key === sessionKey)
    return structuredClone(session?.messages.slice(firstIndex, firstIndex + limit) ?? [])
  }

  protected activeOf({ activeRun }: SessionRow, { tenant, owner }: Owner): Row | undefined {
    return activeRun === undefined ? undefined : this.rows.get(runKeyText({ tenant, owner, requestId: activeRun }))
  }

  /** Starts a waiting run in its session. */
  protected enter(row: Row, session: SessionRow, messages: readonly NewMessage[], now: number): Turn {
    if (row.messageIndex === undefined) {
      for (const message of session.messages.length === 0 ? messages : messages.slice(-1)) append(session, message)
      row.messageIndex = session.messages.length - 1
    } else {
      // Drop the partial answer of the failed attempt.
      const last = session.messages.at(-1)
      if (last?.role === 'ai' && last.data?.requestId === row.requestId) session.messages.pop()
    }
    Object.assign(row, { status: 'running', startedAt: row.ranMs > 0 ? row.startedAt : now })
    return { session: session.key, messageIndex: row.messageIndex, messageCount: session.messages.length, windowStart: 0 }
  }

  protected take(row: Row, { holder, queueOrder, messages, now }: TakeOver): TakenOver {
    const isRepeat = row.endedAt !== undefined
    const fence = row.fence + 1
    Object.assign(row, { fence, holder, status: 'pending', endedAt: undefined, continuable: false })
    if (isRepeat) Object.assign(row, { place: queueOrder, ranMs: 0, losses: undefined })
    const session = this.sessionOf(row)
    session.activeRun ??= row.requestId
    if (session.activeRun !== row.requestId) return { kind: 'waiting', fence }
    return { kind: 'running', fence, turn: this.enter(row, session, messages, now) }
  }

  protected handOver(row: Row): NextRun | undefined {
    const session = this.sessionOf(row)
    if (session.activeRun !== row.requestId) return undefined
    const waiting = this.unended().filter((run) => run.status === 'pending' && run.session === session.key)
    const next = waiting.sort((a, b) => a.place - b.place)[0]
    session.activeRun = next?.requestId
    if (next?.holder === '') this.addJob(next)
    return next && { ...toKey(next), holder: next.holder }
  }

  protected findSeen(key: RunKey, { fence, status, graceMs, losses }: RunVersion): Row | undefined {
    const row = this.rows.get(runKeyText(key))
    if (row?.fence !== fence || row.status !== status || row.operation === 'tool_execute') return undefined
    if (graceMs !== undefined && this.alive.has(row.holder)) return undefined
    if (losses) row.losses = losses
    return row
  }

  protected requireHeld(key: RunKey, fence: number): Row {
    const row = this.rows.get(runKeyText(key))
    if (row?.status !== 'running' || row.fence !== fence || row.operation === 'tool_execute') throw new FenceLost(key)
    return row
  }

  /** Calls of a run with a start in the ledger, and without an end. */
  openCalls({ owner, requestId }: RunKey): OpenCall[] {
    const ofRun = this.ledger.filter(({ run }) => run?.owner === owner && run.requestId === requestId)
    const calls = ofRun.map(({ action, target, data }) => ({ action, call: { callId: String(data?.['call_id']), target } }))
    const ended = calls.flatMap(({ action, call }) => (action === 'tool.ended' || action === 'tool.unknown' ? [call.callId] : []))
    return calls.flatMap(({ action, call }) => (action === 'tool.started' && !ended.includes(call.callId) ? [call] : []))
  }

  protected record(key: RunKey, acts: RunActs = []): void {
    this.ledger.push(...(typeof acts === 'function' ? acts(this.openCalls(key)) : acts))
  }

  protected keepStep(key: RunKey, step: number, data: Checkpoint): void {
    const steps = this.steps.get(runKeyText(key)) ?? new Map<number, Checkpoint>()
    this.steps.set(runKeyText(key), steps.set(step, structuredClone(data)))
  }

  /** The messages that a run is to deliver, in order. */
  protected openOf({ tenant, owner, requestId }: RunKey) {
    const isOpen = (sent: RunKey & SentMessage) =>
      sent.tenant === tenant && sent.owner === owner && sent.deliveredTo === requestId && sent.deliveredAt === undefined
    return this.messages.filter(isOpen).sort((a, b) => a.rank - b.rank)
  }

  protected deliver(row: Row, { rank, messages, now }: Delivery): void {
    for (const message of messages) append(this.sessionOf(row), message)
    const sent = this.openOf(row).find((message) => message.rank === rank)
    if (sent) sent.deliveredAt = now
  }

  /** Adds the run that answers the undelivered messages of an ended run. */
  protected continueWith(ended: Row, request: ChatRequest, now: number): void {
    const [first, ...others] = this.openOf(ended)
    if (!first) return
    Object.assign(first, { deliveredAt: now, deliveredTo: first.id, rank: 0 })
    for (const [index, message] of others.entries()) Object.assign(message, { deliveredTo: first.id, rank: index + 1 })
    const next: Row = {
      ...ended,
      requestId: first.id,
      operation: 'chain_async',
      request: nextRequest(request, first.text),
      status: 'pending',
      holder: '',
      fence: 1,
      messageIndex: undefined,
      ranMs: 0,
      createdAt: now,
      endedAt: undefined,
      continuable: false,
      error: undefined,
      log: undefined,
      losses: undefined,
      continues: ended.requestId,
    }
    this.rows.set(runKeyText(next), next)
  }

  protected addJob(row: Row): void {
    const { tenant, owner, requestId, fence } = row
    this.jobs.push({ id: jobId(row), kind: 'run', tenant, data: { owner, requestId, fence }, dueAt: row.createdAt })
  }
}

export function toRow(run: NewRun, session: string): Row {
  const { tenant, owner, requestId, sessionId, operation, bodyHash, request, onDisconnect, event, now, queueOrder } = run
  return {
    tenant,
    owner,
    requestId,
    session,
    sessionId,
    operation,
    bodyHash,
    request: structuredClone(request),
    status: 'pending',
    onDisconnect,
    holder: event ? '' : run.holder,
    fence: 1,
    messageIndex: undefined,
    ranMs: 0,
    createdAt: now,
    startedAt: now,
    endedAt: undefined,
    continuable: false,
    isUnstored: run.unstored !== undefined,
    configVersion: run.configVersion,
    error: undefined,
    log: undefined,
    place: queueOrder,
  }
}

export function toStored({ place: _place, losses: _losses, isGone: _isGone, ...run }: Row): StoredRun {
  return structuredClone(run)
}

export function toKey({ tenant, owner, requestId }: RunKey): RunKey {
  return { tenant, owner, requestId }
}

export function append({ messages }: SessionRow, { role, content, data }: NewMessage): void {
  messages.push({ idx: messages.length, role, content, data: structuredClone(data) })
}

export function jobId(row: Row): string {
  return `run ${runKeyText(row)} ${row.fence}`
}
