import { runSpanId, type Part } from './span.ts'
import type { HeldRecord, WaitRecord } from './records.ts'
import type { DecidedCall, TraceSource } from './source.ts'

/** The spans of waits in the session queue, for approvals and for readers, and of changes of the process. */
export function toWaitParts({ run, records, approvals }: TraceSource): Part[] {
  const holds = records.filter((record): record is HeldRecord => record.type === 'held')
  const readerWaits = records.filter((record): record is WaitRecord => record.type === 'wait')
  return [
    ...queueWait(run, holds[0]),
    ...approvalWaits(approvals, holds, run.endedAt),
    ...readerWaits.map(({ startedAt, endedAt }, index) => wait(`reader:${index + 1}`, 'reader', startedAt, endedAt ?? run.endedAt)),
    ...holds.flatMap((hold, index) => toMove(hold, holds[index - 1])),
  ]
}

const waitNames = { queue: 'Waiting for the session', approval: 'Waiting for approval', reader: 'Waiting for a reader' }

function wait(id: string, reason: keyof typeof waitNames, started: number, ended: number | undefined): Part {
  const status = ended === undefined ? 'waiting' : 'success'
  return { id: `wait:${id}`, parent: runSpanId, kind: 'wait', name: waitNames[reason], status, started, ended, attributes: { for: reason } }
}

function queueWait({ createdAt, status, endedAt }: TraceSource['run'], hold: HeldRecord | undefined): Part[] {
  if (!hold) return status === 'pending' ? [wait('queue', 'queue', createdAt, endedAt)] : []
  return hold.isQueued && !hold.from ? [wait('queue', 'queue', createdAt, hold.at)] : []
}

/** Calls that were requested together wait together. */
function approvalWaits(approvals: readonly DecidedCall[], holds: readonly HeldRecord[], endedAt: number | undefined): Part[] {
  const times = [...new Set(approvals.map(({ requestedAt }) => requestedAt))]
  return times.map((started, index) => {
    const resumed = holds.find(({ cause, at }) => cause === 'approval' && at >= started)
    return wait(`approval:${index + 1}`, 'approval', started, resumed?.at ?? endedAt)
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

/** The span of a call that waits, or has waited, for approval. */
export function toApprovalPart(call: DecidedCall, parent: string, endedAt: number | undefined): Part {
  const { callId, tool, input, decision, decidedBy, decidedAt, by, reason, newInput, expiresAt, requestedAt } = call
  const status = decision === 'lapsed' ? 'cancelled' : decision ? 'success' : endedAt === undefined ? 'waiting' : 'cancelled'
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
