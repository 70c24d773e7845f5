import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server'
import type { PendingCall } from '../../../agent/approval.ts'
import type { AnswerFile } from '../../../artifacts/answer-files.ts'
import { toApprovalRequired, toWaitingFields, toWaitingText } from '../../../runs/approvals/approval-view.ts'
import { collect, errorOf } from '../../../runs/log/outcome.ts'
import type { OpenRun } from '../../../runs/open-run.ts'
import type { LoggedEvent } from '../../../runs/run.ts'
import { stepText } from '../protocols.ts'
import { toFailure, toLinks } from './results.ts'

/** A run as MCP has it: sentences of progress, then the result of `ask`. */

/** The progress that events are. */
export function toProgress(events: readonly LoggedEvent[]): string[] {
  return events.flatMap((event) => stepText(event) ?? [])
}

interface AnswerContents {
  /** The files of the answer, for the client. */
  files: readonly AnswerFile[]
  /** Small pictures among the files. */
  pictures: readonly ContentBlock[]
}

/** The result of `ask`: the answer of a run that has ended, or waits for approval. */
export function toAskResult(
  { requestId, sessionId, input, log }: Pick<OpenRun, 'requestId' | 'sessionId' | 'input' | 'log'>,
  { files, pictures }: AnswerContents,
): CallToolResult {
  const { answer, end } = collect(input, log.eventsAndFault)
  const error = errorOf(end)
  if (error) return toFailure(error)
  const { output, structured_output: value } = answer
  const structuredContent = {
    output,
    ...(value === undefined ? {} : { structured_output: value }),
    session_id: sessionId,
    request_id: requestId,
    ...(files.length > 0 ? { generated_artifacts: files } : {}),
  }
  const more = [...pictures, ...toLinks(files)]
  if (end.type === 'end') return { content: [{ type: 'text', text: output }, ...more], structuredContent }
  return {
    content: [{ type: 'text', text: toApprovalText(requestId, output, end.calls) }, ...more],
    structuredContent: { ...structuredContent, ...toWaitingFields(requestId, end.calls) },
  }
}

/** The pending calls as text, for models that read only text. */
function toApprovalText(requestId: string, output: string, calls: readonly PendingCall[]): string {
  const callTexts = (toApprovalRequired(requestId, calls)?.calls ?? []).map((call) => JSON.stringify(call))
  const outputLines = output === '' ? [] : [output, '']
  const decisions = callTexts.length > 0 ? ['For each call: {"tool_call_id": ..., "decision": "approve" or "reject"}.'] : []
  const extension = calls.some(({ by }) => by === 'budget')
    ? ['For the budget: {"decision": "extend", "limit": {"usd": ...}} or {"decision": "reject"}.']
    : []
  const instructions = [...decisions, ...extension, `Then the answer is at GET /core/v1/runs/${requestId}.`].join(' ')
  return [...outputLines, toWaitingText(requestId, calls), ...callTexts, instructions].join('\n')
}
