import { toApprovalRequired, toWaitingText, type ApprovalRequired } from '../../runs/approvals/approval-view.ts'
import type { LastEvent } from '../../runs/run.ts'

/** The extra field `approval_required` of a reply whose run waits for approval. */
export function approvalFields(requestId: string, last: LastEvent): { approval_required?: ApprovalRequired } {
  return last.type === 'interrupt' ? { approval_required: toApprovalRequired(requestId, last.calls) } : {}
}

/** The output so far, plus a text about the pending calls, since OpenAI clients show only text. */
export function withApprovalText(requestId: string, output: string, last: LastEvent): string {
  if (last.type !== 'interrupt') return output
  const waits = toWaitingText(requestId, last.calls)
  return output === '' ? waits : `${output}\n\n${waits}`
}
