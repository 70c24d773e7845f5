import { setImmediate as pause } from 'node:timers/promises'
import { ServiceError } from '../../errors.ts'
import type { ApprovalStore } from '../approvals/approval-store.ts'
import { fromCompact } from '../log/compact-log.ts'
import type { EventLog } from '../log/event-log.ts'
import { noRun } from '../ownership/locate.ts'
import type { ObservedRun } from '../ownership/remote/remote-runs.ts'
import type { Checkpoint, RunStore, StoredRun } from '../run-store.ts'
import { runKeyText, type RunKey, type LoggedEvent } from '../run.ts'
import { isReadable } from '../unstored.ts'
import { toParts } from './parts.ts'
import type { ModelRecord } from './recorder.ts'
import { messagesBefore, transcriptOf, toSentMessages, type SessionReader } from './sent-messages.ts'
import { withOpenCall, type TraceSource } from './source.ts'
import { bound, limitFor, toSpan, type RunTraceView, type Span } from './span.ts'
import { modelId, stepsIn } from './turn-parts.ts'

interface RunTraceDependencies extends SessionReader {
  store: Pick<RunStore, 'find' | 'checkpoints' | 'history'>
  approvals: Pick<ApprovalStore, 'ofRun'>
  /** The progress of a run that this process holds; undefined for all other runs. */
  progressOf(key: RunKey): Progress | undefined
  /** The copy of the log of a run that another process executes. */
  observed: ObservedRuns
}

type Progress = Pick<TraceSource, 'events' | 'records'>

/** The traces of runs, which work for live and for ended runs. */
export interface RunTraces {
  /** The trace of a run, with long values cut. Throws `not_found` for an unknown run, and `gone` for a removed run. */
  find(key: RunKey): Promise<RunTraceView>
  /** The trace with one span alone: values are whole, and a model call has its messages. Throws `not_found` for an unknown span. */
  findSpan(key: RunKey, spanId: string): Promise<RunTraceView>
}

/** Spans that are made before other requests get their turn. */
const batchSize = 500

export function createRunTraces(deps: RunTraceDependencies): RunTraces {
  const { store, approvals, observed, progressOf } = deps

  async function read(key: RunKey): Promise<TraceSource> {
    const run = await readRun(key)
    const progress = (run.endedAt === undefined ? progressOf(key) : undefined) ?? (await storedProgress(run))
    const isAsked = progress.events.some(({ type }) => type === 'interrupt')
    return { run, ...progress, approvals: isAsked ? await approvals.ofRun(key) : [] }
  }

  /** A run whose log has its end was stored as ended before. */
  async function readRun(key: RunKey): Promise<StoredRun> {
    const hasEnded = progressOf(key)?.events.at(-1)?.type === 'end'
    const run = await store.find(key)
    if (!run || !isReadable(run)) throw noRun(key)
    const isOutdated = run.endedAt === undefined && !hasEnded && progressOf(key)?.events.at(-1)?.type === 'end'
    return isOutdated ? readRun(key) : run
  }

  /** A run that is executed has its progress in checkpoints; its log is of an earlier end or interruption. */
  async function storedProgress(run: StoredRun): Promise<Progress> {
    const { log, endedAt, status } = run
    if (endedAt !== undefined || status === 'interrupted') return { events: fromCompact(log?.events ?? []), records: log?.trace ?? [] }
    const checkpoints = await store.checkpoints(run)
    const records = checkpoints.flatMap(({ trace = [] }: Checkpoint) => trace)
    const events = checkpoints.flatMap((checkpoint) => fromCompact(checkpoint.events))
    return status === 'running' ? withOpenCall(await observed.eventsOf(run, events), records, run) : { events, records }
  }

  async function find(key: RunKey): Promise<RunTraceView> {
    const source = await read(key)
    await pause()
    const parts = toParts(source)
    const limit = limitFor(parts.length)
    const spans: Span[] = []
    for (let start = 0; start < parts.length; start += batchSize) {
      await pause()
      for (const part of parts.slice(start, start + batchSize)) spans.push(toSpan(bound(part, limit)))
    }
    return { request_id: key.requestId, status: source.run.status, spans }
  }

  async function findSpan(key: RunKey, spanId: string): Promise<RunTraceView> {
    const source = await read(key)
    const part = toParts(source).find(({ id }) => id === spanId)
    if (!part) throw new ServiceError('not_found', `The run ${key.requestId} has no span ${spanId}.`)
    const record = source.records.find((other): other is ModelRecord => other.type === 'model' && modelId(other) === spanId)
    const span = toSpan(part)
    return {
      request_id: key.requestId,
      status: source.run.status,
      spans: [record ? { ...span, messages: await messagesOf(record, source) } : span],
    }
  }

  async function messagesOf(record: ModelRecord, { run, events, records }: TraceSource) {
    const steps = stepsIn(events)
    const task = record.callId === undefined ? undefined : steps.get(record.callId)?.start.input
    const checkpoints = run.endedAt === undefined || run.continuable ? await store.checkpoints(run) : []
    const stored = record.callId === undefined ? await messagesBefore(run, records, deps) : { before: [], transcript: [] }
    const transcript = checkpoints.length > 0 ? transcriptOf(checkpoints, record.callId) : stored.transcript
    const before = record.callId === undefined ? stored.before : [{ role: 'user' as const, content: taskOf(task) }]
    return toSentMessages({ record, records, events, steps, before, transcript })
  }

  return { find, findSpan }
}

function taskOf(input: unknown): string {
  const task = (input as { task?: unknown } | undefined)?.task
  return typeof task === 'string' ? task : ''
}

interface ObservedRuns {
  /** The events so far of a run that another process executes; at least the stored events. */
  eventsOf(run: StoredRun, storedEvents: readonly LoggedEvent[]): Promise<readonly LoggedEvent[]>
}

/** A viewer asks again every few seconds: the copy of the log is kept in between. */
const idleMs = 10_000
/** How long the first answer waits for the events of the other process. */
const firstWaitMs = 300

/** Copies the logs of runs of other processes while somebody looks at their traces. */
export function createObservedRuns(observe: (run: StoredRun) => ObservedRun): ObservedRuns {
  const copies = new Map<string, { copy: ObservedRun; idle: NodeJS.Timeout }>()

  function open(name: string, run: StoredRun): ObservedRun {
    const copy = observe(run)
    copies.set(name, { copy, idle: setTimeout(() => close(name), idleMs).unref() })
    return copy
  }

  function close(name: string): void {
    const entry = copies.get(name)
    copies.delete(name)
    clearTimeout(entry?.idle)
    entry?.copy.close()
  }

  async function eventsOf(run: StoredRun, storedEvents: readonly LoggedEvent[]): Promise<readonly LoggedEvent[]> {
    const name = runKeyText(run)
    const entry = copies.get(name)
    entry?.idle.refresh()
    const { log } = entry?.copy ?? open(name, run)
    if (!entry) await firstEvents(log)
    // The run has ended in the meantime: the next look at the store finds its end.
    if (log.ended) close(name)
    return log.ended || log.events.length < storedEvents.length ? storedEvents : log.events.slice()
  }

  return { eventsOf }
}

async function firstEvents(log: EventLog): Promise<void> {
  const reading = log.follow(0, AbortSignal.timeout(firstWaitMs))
  await reading.next()
  // A reader that stays would hold back the copy.
  await reading.return()
}
