import type { Interrupt } from '@ag-ui/core'
import type { PendingCall } from '../../../agent/approval.ts'
import type { JsonObject } from '../../../agent/messages.ts'
import { isQuestionId, toCallId } from '../../../agent/suspension.ts'
import { isObject } from '../../../json/shape.ts'

/** Interrupts of AG-UI: calls that wait for a person. Their id is the id of the call, or of a server's question in a call. */

const maxReasonCharacters = 4000

const decisionSchema = {
  type: 'object',
  properties: {
    approved: { type: 'boolean' },
    editedArgs: { type: 'object', description: 'Replaces the whole input of the tool.' },
    reason: { type: 'string', maxLength: maxReasonCharacters, description: 'Why the call is rejected; the model receives it.' },
  },
  required: ['approved'],
}

const confirmationSchema = { type: 'object', properties: { approved: { type: 'boolean' } }, required: ['approved'] }

export function toInterrupt({ callId, tool, input, by }: PendingCall): Interrupt {
  const base = { id: callId, toolCallId: toCallId(callId), metadata: { by } }
  if (isQuestionId(callId)) return { ...base, ...toQuestion(input) }
  if (by === 'role') return { ...base, reason: 'tool_call', message: `Another person decides on the call of ${tool}.` }
  return { ...base, reason: 'tool_call', message: `Approve the call of ${tool}?`, responseSchema: decisionSchema }
}

/** A question of a server, during a call: a form, or a confirmation. */
function toQuestion(input: JsonObject): Pick<Interrupt, 'reason' | 'message' | 'responseSchema'> {
  const schema = answerSchemaOf(input)
  const { server, question, url } = input
  const message = [`${String(server)} asks: ${String(question)}`, ...(typeof url === 'string' ? [url] : [])].join(' ')
  return { reason: schema ? 'input_required' : 'confirmation', message, responseSchema: schema ?? confirmationSchema }
}

/** The schema of the answer to a question; undefined for a confirmation, and for a call that waits for approval. */
export function answerSchemaOf({ answer_schema: schema }: JsonObject): JsonObject | undefined {
  return isObject(schema) ? schema : undefined
}

/** A decision in the payload of an answer. */
export interface DecisionPayload {
  approved: boolean
  editedArgs: JsonObject | undefined
  reason: string | undefined
}

/** Reads `{approved, editedArgs?, reason?}`; returns the fault with the name of its field otherwise. */
export function parseDecision(payload: unknown): DecisionPayload | [field: string, fault: string] {
  const { approved, editedArgs, reason } = isObject(payload) ? payload : {}
  if (typeof approved !== 'boolean') return ['approved', 'must be true or false']
  if (editedArgs !== undefined && !(approved && isObject(editedArgs))) return ['editedArgs', 'must be an object, and goes with an approval']
  if (reason !== undefined && !(typeof reason === 'string' && reason.length <= maxReasonCharacters))
    return ['reason', `must be a text of at most ${maxReasonCharacters} characters`]
  return { approved, editedArgs: editedArgs as JsonObject | undefined, reason }
}
