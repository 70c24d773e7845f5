import type { JsonObject } from '../src/agent/messages.ts'
import type { Tool } from '../src/agent/tool.ts'
import type { Client, Reply } from './service-client.ts'
import { callOf, fakeTool } from './service-tools.ts'

const schema = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'], additionalProperties: false }

/** A `send` that needs approval, and notes what it was called with. */
export function sending(traits: Partial<Tool> = {}) {
  const sent: JsonObject[] = []
  const execute = async (input: JsonObject) => {
    sent.push(input)
    return `sent to ${String(input['to'])}`
  }
  return { sent, tool: fakeTool('send', execute, { schema, effect: 'write', approval: { by: 'caller' }, ...traits }) }
}

/** What a scripted model says to call `send` for each. */
export function sendTo(...names: string[]) {
  return { calls: names.flatMap((to) => callOf('send', { to }).calls) }
}

export function decide(client: Client, requestId: string, callId: string, body: object = { decision: 'approve' }): Promise<Reply> {
  return client.request('POST', `/core/v1/runs/${requestId}/approvals`, { body: { tool_call_id: callId, ...body } })
}

export function cancel(client: Client, requestId: string): Promise<Reply> {
  return client.request('DELETE', `/core/v1/runs/${requestId}`)
}

/** Ids of the calls that an answer, or a run, waits for. */
export function callsIn(reply: Pick<Reply, 'body'>): string[] {
  return reply.body.approval_required.calls.map((call: { tool_call_id: string }) => call.tool_call_id)
}
