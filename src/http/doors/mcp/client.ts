import { randomUUIDv7 } from 'node:crypto'
import { CLIENT_CAPABILITIES_META_KEY, type McpRequestContext, type ServerContext } from '@modelcontextprotocol/server'
import type { FastifyRequest } from 'fastify'
import { fieldsOf, isObject } from '../../../json/shape.ts'

/** The revisions of MCP in two groups: `legacy` begins with `initialize`, `modern` (2026-07-28) states everything in each request. */
export type Era = McpRequestContext['era']

/** The abilities of a client that an answer depends on. */
export interface McpClient {
  era: Era
  /** The client shows forms to its user (elicitation in form mode). */
  takesForms: boolean
  /** Modern only: the client takes a task as the answer to a call. Legacy clients ask for a task in the call itself. */
  takesTasks: boolean
}

/** The tasks extension of revision 2026-07-28 (SEP-2663). */
export const tasksExtension = 'io.modelcontextprotocol/tasks'

/** End of the session ids of clients that show forms. */
const formsMark = '-forms'

/**
 * The id of a new MCP session. Only `initialize` states what a legacy client can do, and its next request may reach another process; so the id
 * itself carries the ability that matters. A client that changes its id changes only its own answers.
 */
export function createSessionId(initialize: unknown): string {
  const { capabilities } = fieldsOf(fieldsOf(initialize)['params'])
  return randomUUIDv7() + (takesForms(capabilities) ? formsMark : '')
}

export function clientOf(era: Era, { headers }: Pick<FastifyRequest, 'headers'>, { mcpReq }: ServerContext): McpClient {
  if (era === 'legacy') {
    const sessionId = headers['mcp-session-id']
    return { era, takesForms: typeof sessionId === 'string' && sessionId.endsWith(formsMark), takesTasks: false }
  }
  const capabilities = fieldsOf(mcpReq.envelope)[CLIENT_CAPABILITIES_META_KEY]
  const { extensions } = fieldsOf(capabilities)
  return { era, takesForms: takesForms(capabilities), takesTasks: isObject(fieldsOf(extensions)[tasksExtension]) }
}

/** An elicitation capability without modes means forms (MCP 2025-11-25, elicitation). */
function takesForms(capabilities: unknown): boolean {
  const { elicitation } = fieldsOf(capabilities)
  return isObject(elicitation) && (isObject(elicitation['form']) || Object.keys(elicitation).length === 0)
}
