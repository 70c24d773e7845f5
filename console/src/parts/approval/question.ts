import type { PendingCall } from './call-decision.tsx'

/** A question of an MCP server to the caller, which waits as a call does. */
export interface Question {
  server: string
  text: string
  /** JSON Schema of the answer; absent for a page to visit. */
  schema?: Record<string, unknown>
  /** Address of a page to visit. */
  url?: string
}

/** The question in a waiting call; undefined for a call that waits for approval. Ids of questions have a colon. */
export function toQuestion({
  tool_call_id: id,
  tool_input: input,
}: Pick<PendingCall, 'tool_call_id' | 'tool_input'>): Question | undefined {
  if (!id.includes(':') || typeof input !== 'object' || input === null) return undefined
  const { server, question, answer_schema: schema, url } = input as Record<string, unknown>
  if (typeof question !== 'string') return undefined
  return {
    server: String(server),
    text: question,
    ...(typeof schema === 'object' && schema !== null && { schema: schema as Record<string, unknown> }),
    ...(typeof url === 'string' && { url }),
  }
}
