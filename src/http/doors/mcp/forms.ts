import type { ElicitRequestFormParams } from '@modelcontextprotocol/server'
import type { PendingCall } from '../../../agent/approval.ts'
import type { JsonObject } from '../../../agent/messages.ts'
import { isQuestionId } from '../../../agent/suspension.ts'
import type { RequestedDecision } from '../../../runs/approvals/decisions.ts'
import { fieldsOf, isObject } from '../../../json/shape.ts'

/** Most characters of a call's input in the message of its form. */
const maxInputCharacters = 4000
const maxReasonCharacters = 4000

/** The form in which the user of a client decides a call, or answers the question of a server behind a tool. */
export function toForm({ callId, tool, input }: PendingCall): ElicitRequestFormParams {
  if (isQuestionId(callId) && isObject(input['answer_schema'])) return toQuestionForm(input)
  const text = JSON.stringify(input)
  const inputText = text.length > maxInputCharacters ? `${text.slice(0, maxInputCharacters).toWellFormed()} [cut]` : text
  return {
    mode: 'form',
    message: `The agent asks for approval to call ${tool} with ${inputText}`,
    requestedSchema: {
      type: 'object',
      properties: {
        decision: { type: 'string', title: 'Decision', description: 'Whether the call may run.', enum: ['approve', 'reject'] },
        reason: {
          type: 'string',
          title: 'Reason',
          description: 'The reason of a rejection, which the agent reads.',
          maxLength: maxReasonCharacters,
        },
      },
      required: ['decision'],
    },
  }
}

/** The question as the server asked it. The schema came as that of a form. */
function toQuestionForm({ server, question, answer_schema: schema }: JsonObject): ElicitRequestFormParams {
  const requestedSchema = schema as ElicitRequestFormParams['requestedSchema']
  return { mode: 'form', message: `The server ${String(server)} asks: ${String(question)}`, requestedSchema }
}

/** The decision of an answered form. A declined form is a rejection. Undefined for a dismissed form and for one that cannot be read. */
export function toDecision(callId: string, answer: unknown): RequestedDecision | undefined {
  const { action, content } = fieldsOf(answer)
  if (action === 'decline') return { callId, decision: 'reject', input: undefined, reason: undefined }
  const { decision, reason } = fieldsOf(content)
  // A page to visit is confirmed with the form of an approval.
  if (action === 'accept' && isQuestionId(callId) && isObject(content) && decision !== 'approve' && decision !== 'reject')
    return { callId, decision: 'approve', input: content as JsonObject, reason: undefined }
  if (action !== 'accept' || (decision !== 'approve' && decision !== 'reject')) return undefined
  const reasonText = typeof reason === 'string' ? reason.slice(0, maxReasonCharacters).trim() : ''
  return { callId, decision, input: undefined, reason: reasonText || undefined }
}

/** Separates the parts of the id of a form. Ids of runs have no spaces. */
const formPrefix = 'approval'

/**
 * The message id of a form on a legacy stream. The id names the call, so that every process can take the answer, which the client sends as a
 * request of its own.
 */
export function toFormId(requestId: string, callId: string): string {
  return `${formPrefix} ${requestId} ${callId}`
}

/** The call that an answer with this message id decides; undefined for other ids. */
export function parseFormId(id: unknown): { requestId: string; callId: string } | undefined {
  if (typeof id !== 'string') return undefined
  const [prefix, requestId, ...rest] = id.split(' ')
  return prefix === formPrefix && requestId && rest.length > 0 ? { requestId, callId: rest.join(' ') } : undefined
}
