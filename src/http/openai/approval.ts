import { toApprovalRequired, toWaitingText, type ApprovalRequired } from '../../runs/approvals/approval-view.ts'
import type { LastEvent } from '../../runs/run.ts'

/** What stands beside OpenAI's own fields where calls wait for approval. */
export function approvalFields(requestId: string, last: LastEvent): { approval_required?: ApprovalRequired } {
  return last.type === 'interrupt' ? { approval_required: toApprovalRequired(requestId, last.calls) } : {}
}

/** What is said so far, and that calls wait: these clients show nothing but text. */
export function withApprovalText(requestId: string, output: string, last: LastEvent): string {
  if (last.type !== 'interrupt') return output
  const waits = toWaitingText(requestId, last.calls)
  return output === '' ? waits : `${output}\n\n${waits}`
}
