import type { LoopEnd, EndReason } from './events.ts'
import type { JsonSchema, Message } from './messages.ts'

/** The schema of a run's answer. */
export interface AnswerSchema {
  schema: JsonSchema
  /** Times that the model is asked to correct an answer. */
  maxRepairs: number
  /** What keeps a text from being an answer, as a clause for the model (`/price must be number`); undefined for an answer. */
  faultOf(text: string): Promise<string | undefined>
}

const heading = '# The form of the final answer'

/** Appended to the system prompt where the reply may be the answer. */
export function schemaInstructions({ schema }: AnswerSchema): string {
  return `${heading}
Your final answer is read by a program. It must be one JSON value that is valid against the JSON Schema below, and nothing else: no Markdown, no code fence, no text before or behind it. Call tools first where you need them.
${JSON.stringify(schema)}`
}

/** The instruction to answer again. */
export function askForRepair(fault: string): string {
  return `Your answer is not valid: ${fault}. Answer again with the corrected JSON value alone: no Markdown, no code fence, no other text.`
}

/** The end of a loop whose answer has a schema. A cancelled run needs no answer. */
export async function endInSchema(schema: AnswerSchema, reason: EndReason, text: string): Promise<LoopEnd> {
  if (reason === 'cancelled') return { reason }
  const fault = await schema.faultOf(text)
  if (fault === undefined) return { reason, structured: true }
  const cause = reason === 'timeout' || reason === 'content_filter' ? { cause: reason } : {}
  return { reason: 'schema_mismatch', mismatch: { text, fault, ...cause } }
}

/** True for the instruction to answer again. */
export function isRepair(message: Message | undefined): boolean {
  return message?.role === 'user' && message.instruction === 'repair'
}

/** Number of repairs since the request. */
export function countRepairs(messages: readonly Message[]): number {
  const request = messages.findLastIndex((message) => message.role === 'user' && message.instruction === undefined)
  return messages.slice(request + 1).filter(isRepair).length
}

/** A transcript without the answers that were repaired, for later turns of the session. */
export function withoutRepairs(messages: readonly Message[]): Message[] {
  return messages.filter((message, index) => !isRepair(message) && !(message.role === 'assistant' && isRepair(messages[index + 1])))
}
