import type { Decision } from '../agent/approval.ts'
import type { Image, ToolImage } from '../agent/messages.ts'
import type { Owner } from '../access/owner.ts'
import { firstQuestionFile, imageKey } from './attachments/result-images.ts'
import { append, jobId, MemoryRunRows, toKey, toRow, toStored } from './memory-run-rows-fixture.ts'
import type { RunKey } from './run.ts'
import { runKeyText } from './ownership/run-registry.ts'
import { ServiceError } from '../errors.ts'
import { messageLimits, type NewRunMessage, type SentMessage, type WaitingMessage } from './steering/run-messages.ts'
import {
  FenceLost,
  SessionMoved,
  runGone,
  sessionBusy,
  sessionInterrupted,
  type Accepted,
  type Begun,
  type Checkpoint,
  type CheckpointParts,
  type EndedRun,
  type HeldRun,
  type HistoryMessage,
  type Interruption,
  type MediaPlace,
  type QueueEnd,
  type OrphanedRun,
  type NewMessage,
  type NewRun,
  type NextRun,
  type RunActs,
  type RunStore,
  type RunVersion,
  type ResumableRun,
  type StoredRun,
  type TakenOver,
  type ClaimedRun,
  type TakeOver,
  type Turn,
} from './run-store.ts'

/** Fake of the `RunStore` port: the rules of the real store, in memory. The processes of a test may share a store. */
export class MemoryRunStore extends MemoryRunRows implements RunStore {
  /** Decisions on calls, by the text of the run's key. */
  readonly decided = new Map<string, Map<string, Decision>>()
  private readonly events = new Map<string, Accepted>()
  private readonly questionImages = new Map<string, readonly Image[]>()
  private readonly returnedImages = new Map<string, string>()

  begin = async (run: NewRun, onCommitted?: (turn: Turn) => void): Promise<Begun> => {
    const { event, messages } = run
    const eventKey = event && JSON.stringify([run.tenant, run.owner, event.key])
    const accepted = eventKey && this.events.get(eventKey)
    if (accepted) return { kind: 'accepted', as: accepted }
    const earlier = this.rows.get(runKeyText(run))
    if (earlier) return { kind: 'known', run: toStored(earlier) }
    const session = this.sessionOf(run)
    if (session.activeRun !== undefined && this.activeOf(session, run)?.status === 'interrupted')
      throw sessionInterrupted(run.sessionId, session.activeRun)
    if (run.afterMessages !== undefined && (session.activeRun !== undefined || session.messages.length !== run.afterMessages))
      throw new SessionMoved(run.sessionId)
    if (run.rejectsBusy && session.activeRun !== undefined) throw sessionBusy(run.sessionId)
    if (eventKey) this.events.set(eventKey, { requestId: run.requestId, sessionId: run.sessionId })
    const isFree = session.activeRun === undefined
    if (isFree) session.activeRun = run.requestId
    const row = toRow(run, session.key)
    this.rows.set(runKeyText(run), row)
    if (run.images) this.questionImages.set(runKeyText(run), run.images)
    for (const [index, { data }] of (run.files ?? []).entries()) {
      const { requestId } = run
      this.returnedImages.set(`${session.key} ${imageKey({ requestId, n: firstQuestionFile + index })}`, data)
    }
    if (event && isFree) this.addJob(row)
    if (event || !isFree) return { kind: 'waiting', fence: 1 }
    const turn = this.enter(row, session, messages, run.now)
    await Promise.resolve()
    onCommitted?.(turn)
    return { kind: 'running', fence: 1, turn }
  }

  findEvent = async ({ tenant, owner }: Owner, event: string): Promise<Accepted | undefined> =>
    this.events.get(JSON.stringify([tenant, owner, event]))

  takeTurn = async (run: HeldRun, messages: readonly NewMessage[], now: number): Promise<Turn | undefined> => {
    const row = this.rows.get(runKeyText(run))
    if (row?.status !== 'pending') return undefined
    if (row.fence !== run.fence) throw new FenceLost(run)
    const session = this.sessionOf(row)
    const active = this.activeOf(session, row)
    if (active?.status === 'interrupted') throw sessionInterrupted(row.sessionId, active.requestId)
    return session.activeRun === run.requestId ? this.enter(row, session, messages, now) : undefined
  }

  leaveQueue = async (run: HeldRun, now: number, end?: QueueEnd): Promise<NextRun | undefined> => {
    const row = this.rows.get(runKeyText(run))
    if (row?.status !== 'pending' || row.fence !== run.fence) return undefined
    const { request = { messages: [], filters: [], headers: {} } } = row
    if (end) {
      const { status, continuable, error, log } = end
      Object.assign(row, { status, continuable, error, log, endedAt: now, request: continuable ? row.request : undefined })
      this.jobs.push(...end.jobs)
    } else if (row.messageIndex !== undefined || (await this.messagesTo(row)).length > 0)
      Object.assign(row, { status: 'error', continuable: true, endedAt: now })
    else this.rows.delete(runKeyText(run))
    this.continueWith(row, request, now)
    return this.handOver(row)
  }

  claim = async (run: HeldRun, toTakeOver: (run: ResumableRun) => TakeOver): Promise<ClaimedRun | undefined> => {
    const row = this.findSeen(run, { fence: run.fence, status: 'pending' })
    if (row?.holder !== '' || !row.request || this.sessionOf(row).activeRun !== row.requestId) return undefined
    const before = { ...toStored(row), request: row.request }
    const takenOver = this.take(row, toTakeOver(before))
    return takenOver.kind === 'running' ? { run: before, takenOver } : undefined
  }

  release = async (key: RunKey, expected: RunVersion): Promise<boolean> => {
    const row = this.findSeen(key, expected)
    if (!row) return false
    Object.assign(row, { fence: row.fence + 1, holder: '', status: 'pending', losses: expected.losses ?? row.losses })
    const session = this.sessionOf(row)
    session.activeRun ??= row.requestId
    if (session.activeRun === row.requestId) this.addJob(row)
    return true
  }

  addMissingJobs = async (): Promise<void> => {
    const unclaimed = this.unended().filter((row) => row.holder === '' && this.sessionOf(row).activeRun === row.requestId)
    for (const row of unclaimed) if (!this.jobs.some(({ id }) => id === jobId(row))) this.addJob(row)
  }

  countUnclaimed = async (): Promise<number> => this.unended().filter(({ status, holder }) => status === 'pending' && holder === '').length

  history = async (_tenant: string, session: string, firstIndex: number, limit = Infinity): Promise<HistoryMessage[]> => {
    return this.messagesOf(session, firstIndex, limit)
  }

  historyOfRun: RunStore['historyOfRun'] = async (_run, { session }, firstIndex, limit = Infinity) => {
    return frozen(this.messagesOf(session, firstIndex, limit))
  }

  images = async (tenant: string, session: string, requestIds: readonly string[]): Promise<Map<string, Image[]>> => {
    const rows = [...this.rows.values()].filter((row) => row.tenant === tenant && row.session === session)
    const selected = rows.filter(({ requestId }) => requestIds.includes(requestId))
    return new Map(selected.map((row) => [row.requestId, [...(this.questionImages.get(runKeyText(row)) ?? [])]]))
  }

  mediaBytes = async (_tenant: string, session: string, places: readonly MediaPlace[]) =>
    new Map(
      places.flatMap((place) =>
        this.returnedImages.has(`${session} ${imageKey(place)}`)
          ? [[imageKey(place), this.returnedImages.get(`${session} ${imageKey(place)}`)!] as const]
          : [],
      ),
    )

  keepResultImages = async (key: RunKey, fence: number, session: string, images: readonly ToolImage[]): Promise<void> => {
    this.requireHeld(key, fence)
    for (const image of images) this.returnedImages.set(`${session} ${imageKey(image)}`, image.data)
  }

  checkpoint = async (
    key: RunKey,
    fence: number,
    step: number,
    data: Checkpoint,
    { delivery, acts }: CheckpointParts = {},
  ): Promise<void> => {
    const row = this.requireHeld(key, fence)
    this.keepStep(key, step, data)
    if (delivery) this.deliver(row, delivery)
    this.record(key, acts)
  }

  addMessage = async (key: RunKey, { id, mode, text, now }: NewRunMessage): Promise<{ position: number } | undefined> => {
    const row = this.rows.get(runKeyText(key))
    if (!row) return undefined
    const known = this.messages.find((message) => message.owner === key.owner && message.id === id)
    if (known) return { position: known.position }
    if (row.endedAt !== undefined) throw new ServiceError('run_ended', 'The run has ended.')
    if (this.openOf(key).length >= messageLimits.open) throw new ServiceError('rate_limited', 'Too many messages wait.')
    const position = 1 + this.messages.filter(({ requestId }) => requestId === key.requestId).length
    const rank = 1 + this.messages.filter(({ deliveredTo }) => deliveredTo === key.requestId).length
    const sent = { id, mode, text, position, rank, createdAt: now, deliveredAt: undefined, deliveredTo: key.requestId }
    this.messages.push({ ...toKey(key), ...sent })
    return { position }
  }

  openMessages = async (key: RunKey): Promise<WaitingMessage[]> => structuredClone(this.openOf(key))

  findMessage = async ({ tenant, owner }: Owner, id: string) =>
    structuredClone(this.messages.find((sent) => sent.tenant === tenant && sent.owner === owner && sent.id === id))

  activeRun = async ({ tenant, owner }: Owner, sessionId: string): Promise<RunKey | undefined> => {
    const requestId = this.sessionOf({ tenant, owner, sessionId }).activeRun
    return requestId === undefined ? undefined : { tenant, owner, requestId }
  }

  messagesTo = async ({ tenant, owner, requestId }: RunKey): Promise<SentMessage[]> =>
    structuredClone(this.messages.filter((sent) => sent.tenant === tenant && sent.owner === owner && sent.requestId === requestId))

  checkpoints = async (key: RunKey): Promise<Checkpoint[]> => {
    const steps = [...(this.steps.get(runKeyText(key)) ?? [])].sort(([a], [b]) => a - b)
    return structuredClone(steps.map(([, data]) => data))
  }

  interrupt = async (key: RunKey, fence: number, interruption: Interruption): Promise<void> => {
    const row = this.requireHeld(key, fence)
    const { step, data, log, ranMs, jobs, acts } = interruption
    Object.assign(row, { status: 'interrupted', onDisconnect: 'continue', log: structuredClone(log), ranMs })
    this.keepStep(key, step, data)
    this.jobs.push(...jobs)
    this.record(key, acts)
  }

  decisions = async (key: RunKey): Promise<Map<string, Decision>> => new Map(this.decided.get(runKeyText(key)))

  startApproved = async (key: RunKey, fence: number, callId: string, _now: number, acts?: RunActs): Promise<void> => {
    this.requireHeld(key, fence)
    this.record(key, acts)
    const decision = this.decided.get(runKeyText(key))?.get(callId)
    if (decision?.decision === 'approve') this.decided.get(runKeyText(key))!.set(callId, { ...decision, isStarted: true })
  }

  finish = async (key: RunKey, fence: number, ended: EndedRun): Promise<NextRun | undefined> => {
    const row = this.requireHeld(key, fence)
    const { status, continuable, endedAt, error, log, message, jobs, acts, configVersion } = ended
    Object.assign(row, {
      status,
      continuable,
      endedAt,
      error,
      configVersion,
      log: structuredClone(log),
      request: continuable ? ended.request : undefined,
    })
    if (!continuable) this.steps.delete(runKeyText(key))
    if (message) append(this.sessionOf(row), message)
    this.jobs.push(...jobs)
    this.record(key, acts)
    this.continueWith(row, ended.request, endedAt)
    return this.handOver(row)
  }

  find = async (key: RunKey): Promise<StoredRun | undefined> => {
    const run = await this.findRequest(key)
    return run?.operation === 'tool_execute' ? undefined : run
  }

  findRequest = async (key: RunKey): Promise<StoredRun | undefined> => {
    const row = this.rows.get(runKeyText(key))
    if (row?.isGone) throw runGone(key)
    return row && toStored(row)
  }

  ownersOf = async (
    { tenant, owner, requestId }: RunKey,
    { issuer, sub }: { issuer: string | undefined; sub: string | undefined },
  ): Promise<string[]> => {
    const matches = (name: string) =>
      (issuer === undefined || name.startsWith(`${issuer} `)) && (sub === undefined || name.endsWith(` ${sub}`))
    const rows = this.chats().filter((row) => row.tenant === tenant && row.requestId === requestId && matches(row.owner))
    const rank = (name: string) => (name === owner ? `0${name}` : `1${name}`)
    return rows
      .map((row) => row.owner)
      .sort((a, b) => (rank(a) < rank(b) ? -1 : 1))
      .slice(0, 2)
  }

  takeOver = async (key: RunKey, expected: RunVersion, takeOver: TakeOver): Promise<TakenOver | undefined> => {
    const row = this.findSeen(key, expected)
    return row && this.take(row, takeOver)
  }

  orphans = async (holder: string): Promise<{ runs: OrphanedRun[]; takers: number }> => {
    const orphanedRuns = this.unended().filter((row) => row.holder !== '' && row.holder !== holder && !this.alive.has(row.holder))
    return {
      runs: orphanedRuns.sort((a, b) => a.place - b.place).map((row) => ({ ...toStored(row), losses: row.losses })),
      takers: Math.max(1, this.alive.size),
    }
  }

  unendedIn = async ({ tenant, owner }: Owner, sessionId: string): Promise<RunKey[]> =>
    this.unended()
      .filter((row) => row.tenant === tenant && row.owner === owner && row.sessionId === sessionId && this.alive.has(row.holder))
      .map(toKey)

  ownUnended = async (holder: string): Promise<RunKey[]> =>
    this.unended()
      .filter((row) => row.holder === holder)
      .map(toKey)

  /** Turns a run into a tombstone, as the deletion of the session does. */
  markGone(key: RunKey): void {
    this.rows.get(runKeyText(key))!.isGone = true
  }
}

/** A store may give the same messages to several runs. */
function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const part of Object.values(Object.freeze(value))) frozen(part)
  return value
}
