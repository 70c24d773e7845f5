import { toWaitingFields, toWaitingText, type WaitingFields } from '../../../runs/approvals/approval-view.ts'
import type { LastEvent } from '../../../runs/run.ts'

/** The extra fields of a reply whose run is interrupted: `approval_required`, `client_tool_calls`. */
export function approvalFields(requestId: string, last: LastEvent): WaitingFields {
  return last.type === 'interrupt' ? toWaitingFields(requestId, last.calls) : {}
}

/** The output so far, plus a text about the calls that wait for approval, since OpenAI clients show only text. */
export function withApprovalText(requestId: string, output: string, last: LastEvent): string {
  const calls = last.type === 'interrupt' ? last.calls.filter(({ by }) => by !== 'client') : []
  if (calls.length === 0) return output
  const waits = toWaitingText(requestId, calls)
  return output === '' ? waits : `${output}\n\n${waits}`
}
