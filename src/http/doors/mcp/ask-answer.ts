import type { CallToolResult } from '@modelcontextprotocol/server'
import { accessTo, permits } from '../../../access/operations.ts'
import type { Principal } from '../../../access/principal.ts'
import type { PendingCall } from '../../../agent/approval.ts'
import type { Artifacts } from '../../../artifacts/artifacts.ts'
import type { KeptFiles } from '../../../artifacts/answer-files.ts'
import { toApprovalRequired, toWaitingFields, toWaitingText } from '../../../runs/approvals/approval-view.ts'
import { collect, errorOf } from '../../../runs/log/outcome.ts'
import type { OpenRun } from '../../../runs/open-run.ts'
import { toFailure, toLinks, toPictures } from './results.ts'

type AnswerArtifacts = Pick<Artifacts, 'toAnswerFiles' | 'read'>

/** The answer of a run that has ended, or waits for approval, as the result of `ask`. */
export async function toAskResult(artifacts: AnswerArtifacts, principal: Principal, run: OpenRun): Promise<CallToolResult> {
  const { answer, end } = collect(run.input, run.log.eventsAndFault)
  const error = errorOf(end)
  if (error) return toFailure(error)
  const mayRead = permits(principal, accessTo.linkArtifact)
  const kept: KeptFiles = end.files ?? { folder: '', made: [] }
  const files = await artifacts.toAnswerFiles(kept, mayRead)
  const pictures = mayRead ? await toPictures(kept.made, (file) => artifacts.read(kept.folder, file)) : []
  const ids = { session_id: run.sessionId, request_id: run.requestId }
  const { output, structured_output: value } = answer
  const structuredContent = {
    output,
    ...(value === undefined ? {} : { structured_output: value }),
    ...ids,
    ...(files.length > 0 ? { generated_artifacts: files } : {}),
  }
  const more = [...pictures, ...toLinks(files)]
  if (end.type === 'end') return { content: [{ type: 'text', text: output }, ...more], structuredContent }
  return {
    content: [{ type: 'text', text: toApprovalText(run.requestId, output, end.calls) }, ...more],
    structuredContent: { ...structuredContent, ...toWaitingFields(run.requestId, end.calls) },
  }
}

/** The pending calls as text, for models that read only text. */
function toApprovalText(requestId: string, output: string, calls: readonly PendingCall[]): string {
  const callTexts = (toApprovalRequired(requestId, calls)?.calls ?? []).map((call) => JSON.stringify(call))
  const outputLines = output === '' ? [] : [output, '']
  const instructions = `For each call: {"tool_call_id": ..., "decision": "approve" or "reject"}. Then the answer is at GET /core/v1/runs/${requestId}.`
  return [...outputLines, toWaitingText(requestId, calls), ...callTexts, instructions].join('\n')
}
