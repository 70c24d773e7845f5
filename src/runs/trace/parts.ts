import type { JsonValue } from '../../agent/messages.ts'
import { errorOf, endWithoutSession } from '../log/outcome.ts'
import { isLastEvent } from '../log/event-log.ts'
import type { LoggedEvent } from '../run.ts'
import type { BudgetRecord, ModelRecord, HeldRecord, WaitRecord } from './records.ts'
import { type TraceSource, type DecidedCall, runSpanId, type SpanPart, type SpanStatus } from './span.ts'
import { toModelPart, stepsIn, toStepPart, toTurnParts, type LoggedStep } from './turn-parts.ts'

/**
 * Derives the parts of a run from the numbered events and the trace records, in order of the start; a part comes behind the parent
 * part. A log of an earlier version has no records: the steps are parts of the run itself.
 */
export function toParts(source: TraceSource): SpanPart[] {
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
  const inner = [
    ...toWaitParts(source),
    ...events.flatMap(toMessagePart),
    ...toBudgetParts(records),
    ...groups,
    ...stepParts.filter(isPlan),
    ...turnParts,
    ...[...stepsOfTurns.values()].flat(),
  ]
  return [root, ...[...inner, ...approvalParts].sort((a, b) => a.started - b.started)]
}

/** The turn of each call that a provider ran: the call is inside of the turn's model call. */
function toCallers(turns: readonly { part: SpanPart; record: ModelRecord }[], steps: ReadonlyMap<string, LoggedStep>): Map<string, string> {
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

function isPlan({ kind }: SpanPart): boolean {
  return kind === 'plan'
}

/** A turn ends with the last of its parts. While the run lasts, a turn also lasts as long as one of its calls has no part yet. */
function endTurns(
  turns: readonly { part: SpanPart; record: ModelRecord }[],
  parts: readonly SpanPart[],
  endedAt: number | undefined,
): void {
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

function endGroups(groups: readonly SpanPart[], turns: readonly { part: SpanPart }[], endedAt: number | undefined): void {
  const children = Map.groupBy(turns, ({ part }) => part.parent)
  for (const group of groups) {
    const inner = (children.get(group.id) ?? []).map(({ part }) => part)
    group.ended = inner.length === 0 ? endedAt : endOf(inner)
    if (group.status !== 'error')
      group.status = inner.length === 0 && endedAt !== undefined ? 'cancelled' : statusOf(inner, inner.length === 0)
  }
}

function endOf(parts: readonly SpanPart[]): number | undefined {
  let last = -Infinity
  for (const { ended } of parts) {
    if (ended === undefined) return undefined
    last = Math.max(last, ended)
  }
  return last
}

/** The status of a turn or of a step of a plan: failures of its tools are no failure of its own. */
function statusOf(parts: readonly SpanPart[], isOpen: boolean): SpanStatus {
  if (parts.some(({ status }) => status === 'running')) return 'running'
  if (parts.some(({ status }) => status === 'waiting')) return 'waiting'
  if (isOpen) return 'running'
  return parts.some(({ status }) => status === 'cancelled') ? 'cancelled' : 'success'
}

function toRoot({ run, events, records }: TraceSource, models: readonly SpanPart[]): SpanPart {
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

/** The spans of waits in the session queue, for decisions and for readers, and of changes of the process. */
function toWaitParts({ run, records, approvals }: TraceSource): SpanPart[] {
  const holds = records.filter((record): record is HeldRecord => record.type === 'held')
  const readerWaits = records.filter((record): record is WaitRecord => record.type === 'wait')
  return [
    ...queueWait(run, holds[0]),
    ...decisionWaits(approvals, holds, run.endedAt),
    ...readerWaits.map(({ startedAt, endedAt }, index) => wait(`reader:${index + 1}`, 'reader', startedAt, endedAt ?? run.endedAt)),
    ...holds.flatMap((hold, index) => toMove(hold, holds[index - 1])),
  ]
}

/** A message of a person that has reached the run. */
function toMessagePart(event: LoggedEvent): SpanPart[] {
  if (event.type !== 'user_message') return []
  const { id, text: message, at } = event
  const name = 'Message'
  return [
    { id: `message:${id}`, parent: runSpanId, kind: 'message', name, status: 'success', started: at, ended: at, attributes: { message } },
  ]
}

const waitNames = {
  queue: 'Waiting for the session',
  approval: 'Waiting for approval',
  budget: 'Waiting for a budget',
  client_tool: 'Waiting for the client',
  reader: 'Waiting for a reader',
}

function wait(id: string, reason: keyof typeof waitNames, started: number, ended: number | undefined): SpanPart {
  const status = ended === undefined ? 'waiting' : 'success'
  return { id: `wait:${id}`, parent: runSpanId, kind: 'wait', name: waitNames[reason], status, started, ended, attributes: { for: reason } }
}

function queueWait({ createdAt, status, endedAt }: TraceSource['run'], hold: HeldRecord | undefined): SpanPart[] {
  if (!hold) return status === 'pending' ? [wait('queue', 'queue', createdAt, endedAt)] : []
  return hold.isQueued && !hold.from ? [wait('queue', 'queue', createdAt, hold.at)] : []
}

/** Calls that were requested together wait together. */
function decisionWaits(approvals: readonly DecidedCall[], holds: readonly HeldRecord[], endedAt: number | undefined): SpanPart[] {
  const callsByTime = [...Map.groupBy(approvals, ({ requestedAt }) => requestedAt)]
  return callsByTime.map(([started, calls], index) => {
    const resumed = holds.find(({ cause, at }) => cause === 'approval' && at >= started)
    const isFor = (waited: DecidedCall['by']) => calls.every(({ by }) => by === waited)
    const reason = isFor('client') ? 'client_tool' : isFor('budget') ? 'budget' : 'approval'
    return wait(`approval:${index + 1}`, reason, started, resumed?.at ?? endedAt)
  })
}

/** The spans of refused model calls. */
function toBudgetParts(records: TraceSource['records']): SpanPart[] {
  return records
    .filter((record): record is BudgetRecord => record.type === 'budget')
    .map(({ at, callId, model, budget, needed, details }, index) => ({
      id: `budget:${index + 1}`,
      parent: callId ?? runSpanId,
      kind: 'budget',
      name: budget,
      status: 'error',
      started: at,
      ended: at,
      attributes: { model, needed: { ...needed }, ...(details as Record<string, JsonValue>) },
    }))
}

function toMove(hold: HeldRecord, before: HeldRecord | undefined): SpanPart[] {
  const from = hold.from ?? before?.holder
  if (!hold.cause || from === hold.holder) return []
  return [
    {
      id: `move:${hold.fence}`,
      parent: runSpanId,
      kind: 'move',
      name: moveNames[hold.cause],
      status: 'success',
      started: hold.at,
      ended: hold.at,
      attributes: { from: from ?? null, to: hold.holder, cause: hold.cause },
    },
  ]
}

const moveNames = {
  lost: 'Adopted from a lost process',
  handed_over: 'Handed over to another process',
  approval: 'Continued by another process',
  repeat: 'Repeated by another process',
}

/** The span of a call of a client tool that the client has not answered. An answered call has a step. */
function toUnansweredPart(call: DecidedCall, parent: string, endedAt: number | undefined): SpanPart {
  const { callId: id, tool, input, requestedAt: started } = call
  const status = callStatusOf(call, endedAt)
  return { id, parent, kind: 'tool', name: tool, status, started, ended: endedAt, attributes: { tool, tool_input: input, effect: 'write' } }
}

function callStatusOf({ decision }: DecidedCall, endedAt: number | undefined): SpanPart['status'] {
  if (decision === 'lapsed') return 'cancelled'
  if (decision) return 'success'
  return endedAt === undefined ? 'waiting' : 'cancelled'
}

/** The span of a call that waits, or has waited, for approval. */
function toApprovalPart(call: DecidedCall, parent: string, endedAt: number | undefined): SpanPart {
  const { callId, tool, input, decision, decidedBy, decidedAt, by, reason, newInput, expiresAt, requestedAt, sources } = call
  const status = callStatusOf(call, endedAt)
  const blank = decidedBy?.indexOf(' ') ?? -1
  return {
    id: `approval:${callId}`,
    parent,
    kind: 'approval',
    name: tool,
    status,
    started: requestedAt,
    ended: decidedAt ?? endedAt,
    attributes: {
      tool,
      tool_call_id: callId,
      tool_input: input,
      by,
      decision: decision ?? null,
      decided_by: decidedBy === undefined ? null : { issuer: decidedBy.slice(0, blank), sub: decidedBy.slice(blank + 1) },
      ...(sources && { tainted_by: sources.flatMap(({ callId: source }) => source ?? []) }),
      reason,
      new_input: newInput,
      expires_at: new Date(expiresAt).toISOString(),
    },
  }
}
