import { runSpanId, type Part } from './span.ts'
import type { HeldRecord, WaitRecord } from './records.ts'
import type { DecidedCall, TraceSource } from './source.ts'

/** The spans of waits in the session queue, for decisions and for readers, and of changes of the process. */
export function toWaitParts({ run, records, approvals }: TraceSource): Part[] {
  const holds = records.filter((record): record is HeldRecord => record.type === 'held')
  const readerWaits = records.filter((record): record is WaitRecord => record.type === 'wait')
  return [
    ...queueWait(run, holds[0]),
    ...decisionWaits(approvals, holds, run.endedAt),
    ...readerWaits.map(({ startedAt, endedAt }, index) => wait(`reader:${index + 1}`, 'reader', startedAt, endedAt ?? run.endedAt)),
    ...holds.flatMap((hold, index) => toMove(hold, holds[index - 1])),
  ]
}

const waitNames = {
  queue: 'Waiting for the session',
  approval: 'Waiting for approval',
  client_tool: 'Waiting for the client',
  reader: 'Waiting for a reader',
}

function wait(id: string, reason: keyof typeof waitNames, started: number, ended: number | undefined): Part {
  const status = ended === undefined ? 'waiting' : 'success'
  return { id: `wait:${id}`, parent: runSpanId, kind: 'wait', name: waitNames[reason], status, started, ended, attributes: { for: reason } }
}

function queueWait({ createdAt, status, endedAt }: TraceSource['run'], hold: HeldRecord | undefined): Part[] {
  if (!hold) return status === 'pending' ? [wait('queue', 'queue', createdAt, endedAt)] : []
  return hold.isQueued && !hold.from ? [wait('queue', 'queue', createdAt, hold.at)] : []
}

/** Calls that were requested together wait together. */
function decisionWaits(approvals: readonly DecidedCall[], holds: readonly HeldRecord[], endedAt: number | undefined): Part[] {
  const callsByTime = [...Map.groupBy(approvals, ({ requestedAt }) => requestedAt)]
  return callsByTime.map(([started, calls], index) => {
    const resumed = holds.find(({ cause, at }) => cause === 'approval' && at >= started)
    const reason = calls.every(({ by }) => by === 'client') ? 'client_tool' : 'approval'
    return wait(`approval:${index + 1}`, reason, started, resumed?.at ?? endedAt)
  })
}

function toMove(hold: HeldRecord, before: HeldRecord | undefined): Part[] {
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
export function toUnansweredPart(call: DecidedCall, parent: string, endedAt: number | undefined): Part {
  const { callId: id, tool, input, requestedAt: started } = call
  const status = statusOf(call, endedAt)
  return { id, parent, kind: 'tool', name: tool, status, started, ended: endedAt, attributes: { tool, tool_input: input, effect: 'write' } }
}

function statusOf({ decision }: DecidedCall, endedAt: number | undefined): Part['status'] {
  if (decision === 'lapsed') return 'cancelled'
  if (decision) return 'success'
  return endedAt === undefined ? 'waiting' : 'cancelled'
}

/** The span of a call that waits, or has waited, for approval. */
export function toApprovalPart(call: DecidedCall, parent: string, endedAt: number | undefined): Part {
  const { callId, tool, input, decision, decidedBy, decidedAt, by, reason, newInput, expiresAt, requestedAt } = call
  const status = statusOf(call, endedAt)
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
      reason,
      new_input: newInput,
      expires_at: new Date(expiresAt).toISOString(),
    },
  }
}
