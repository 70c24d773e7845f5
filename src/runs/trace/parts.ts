import type { JsonValue } from '../../agent/messages.ts'
import { errorOf, endWithoutSession } from '../log/outcome.ts'
import { isLastEvent } from '../run.ts'
import { toModelPart } from './model-parts.ts'
import type { ModelRecord } from './records.ts'
import { runSpanId, type Part, type SpanStatus } from './span.ts'
import type { TraceSource } from './source.ts'
import { stepsIn, toStepPart, type LoggedStep } from './step-parts.ts'
import { toTurnParts } from './turn-parts.ts'
import { toApprovalPart, toUnansweredPart, toWaitParts } from './wait-parts.ts'

/**
 * Derives the parts of a run from its numbered events and its trace records, ordered by their start; a part comes behind its parent. A log of
 * an earlier version has no records: its steps are parts of the run itself.
 */
export function toParts(source: TraceSource): Part[] {
  const { run, events, records, approvals } = source
  const { endedAt } = run
  const steps = stepsIn(events)
  const { turns, groups, parentOfPlan } = toTurnParts(records, steps)
  const turnOfCall = new Map(turns.flatMap(({ part, record }) => (record.calls ?? []).map((callId) => [callId, part.id] as const)))
  const subAgents = new Map<string, string>()
  const cutOff = new Set(records.flatMap((record) => (record.type === 'cut_off' ? [record.callId] : [])))
  const parentOf = (id: string, subAgent?: string) =>
    turnOfCall.get(id) ?? parentOfPlan.get(id) ?? subAgents.get(`sub_agent:${subAgent ?? ''}`) ?? runSpanId
  const callers = toCallers(turns, steps)
  const stepParts = [...steps.values()].map((step) => {
    const { id, type, tool, subAgent } = step.start
    const states = { isWaiting: run.status === 'interrupted', isCutOff: cutOff.has(id), hasEffect: records.length > 0 }
    const part = toStepPart(step, { parent: callers.get(id) ?? parentOf(id, subAgent), endedAt, ...states })
    if (type === 'sub_agent_call') subAgents.set(tool, id)
    return part
  })
  const modelParts = turns.map(({ record }) => toModelPart(record, events, endedAt))
  const approvalParts = approvals.flatMap((call) => {
    if (call.by !== 'client') return [toApprovalPart(call, parentOf(call.callId), endedAt)]
    return steps.has(call.callId) ? [] : [toUnansweredPart(call, parentOf(call.callId), endedAt)]
  })
  endTurns(turns, [...modelParts, ...stepParts, ...approvalParts], endedAt)
  endGroups(groups, turns, endedAt)
  const root = toRoot(source, modelParts)
  // Parts that start in the same millisecond keep this order: the steps of a turn stand before the next turn.
  const stepsOfTurns = Map.groupBy(
    stepParts.filter((part) => !isPlan(part)),
    ({ parent }) => parent,
  )
  const turnParts = turns.flatMap(({ part }, index) => {
    const stepsOfTurn = stepsOfTurns.get(part.id) ?? []
    stepsOfTurns.delete(part.id)
    return [part, modelParts[index]!, ...stepsOfTurn]
  })
  const inner = [...toWaitParts(source), ...groups, ...stepParts.filter(isPlan), ...turnParts, ...[...stepsOfTurns.values()].flat()]
  return [root, ...[...inner, ...approvalParts].sort((a, b) => a.started - b.started)]
}

/** The turn of each call that a provider ran: the call is inside of the turn's model call. */
function toCallers(turns: readonly { part: Part; record: ModelRecord }[], steps: ReadonlyMap<string, LoggedStep>): Map<string, string> {
  const callers = new Map<string, string>()
  for (const { at, start } of steps.values()) {
    if (!start.isOfProvider) continue
    const agent = start.subAgent === undefined ? undefined : `sub_agent:${start.subAgent}`
    const isOfAgent = ({ callId }: ModelRecord) => (callId === undefined ? undefined : steps.get(callId)?.start.tool) === agent
    const turn = turns.findLast(({ record }) => isOfAgent(record) && record.from <= at && at < (record.to ?? Infinity))
    if (turn) callers.set(start.id, turn.part.id)
  }
  return callers
}

function isPlan({ kind }: Part): boolean {
  return kind === 'plan'
}

/** A turn ends with the last of its parts. While the run lasts, a turn also lasts as long as one of its calls has no part yet. */
function endTurns(turns: readonly { part: Part; record: ModelRecord }[], parts: readonly Part[], endedAt: number | undefined): void {
  const children = Map.groupBy(parts, ({ parent }) => parent)
  const callIds = new Set(parts.map(({ id }) => id.replace(/^approval:/, '')))
  const newest = new Map(turns.map(({ part, record }) => [record.callId, part]))
  for (const { part, record } of turns) {
    const inner = children.get(part.id) ?? []
    const isNewest = newest.get(record.callId) === part
    const isOpen = endedAt === undefined && isNewest && (record.calls ?? []).some((callId) => !callIds.has(callId))
    part.ended = isOpen ? undefined : endOf(inner)
    const model = inner.find(({ kind }) => kind === 'model')
    part.status = model && model.status !== 'success' ? model.status : statusOf(inner, isOpen)
  }
}

function endGroups(groups: readonly Part[], turns: readonly { part: Part }[], endedAt: number | undefined): void {
  const children = Map.groupBy(turns, ({ part }) => part.parent)
  for (const group of groups) {
    const inner = (children.get(group.id) ?? []).map(({ part }) => part)
    group.ended = inner.length === 0 ? endedAt : endOf(inner)
    if (group.status !== 'error')
      group.status = inner.length === 0 && endedAt !== undefined ? 'cancelled' : statusOf(inner, inner.length === 0)
  }
}

function endOf(parts: readonly Part[]): number | undefined {
  let last = -Infinity
  for (const { ended } of parts) {
    if (ended === undefined) return undefined
    last = Math.max(last, ended)
  }
  return last
}

/** The status of a turn or of a step of a plan: failures of its tools are no failure of its own. */
function statusOf(parts: readonly Part[], isOpen: boolean): SpanStatus {
  if (parts.some(({ status }) => status === 'running')) return 'running'
  if (parts.some(({ status }) => status === 'waiting')) return 'waiting'
  if (isOpen) return 'running'
  return parts.some(({ status }) => status === 'cancelled') ? 'cancelled' : 'success'
}

function toRoot({ run, events, records }: TraceSource, models: readonly Part[]): Part {
  const { status, operation, sessionId, createdAt, endedAt } = run
  const last = events.at(-1)
  const end = endedAt === undefined ? undefined : isLastEvent(last) ? last : endWithoutSession
  const error = run.error ?? (end && errorOf(end))
  const sum = (name: string): JsonValue => models.reduce((total, { attributes }) => total + Number(attributes[name] ?? 0), 0)
  const hasCost = models.some(({ attributes }) => attributes['cost'] !== null)
  return {
    id: runSpanId,
    parent: undefined,
    kind: 'run',
    name: operation,
    status: status === 'pending' || status === 'interrupted' ? 'waiting' : status,
    started: createdAt,
    ended: endedAt,
    attributes: {
      session_id: sessionId,
      finish_reason: end?.type === 'end' ? end.reason : undefined,
      model_calls: models.length,
      input_tokens: sum('input_tokens'),
      output_tokens: sum('output_tokens'),
      cached_input_tokens: sum('cached_input_tokens'),
      cost: hasCost ? sum('cost') : null,
      timing: toTiming(records),
      error_type: error?.details?.error_type,
      error: error?.body,
    },
  }
}

/** Seconds in each phase; undefined for a run that has not stopped, and for one of an earlier version. */
function toTiming(records: TraceSource['records']): JsonValue | undefined {
  const times = records.findLast((record) => record.type === 'times')
  if (!times) return undefined
  const { queue, store, model, tools, own } = times
  const seconds = (ms: number) => Math.round(ms * 100) / 100_000
  return { queue: seconds(queue), store: seconds(store), model: seconds(model), tools: seconds(tools), own: seconds(own) }
}
