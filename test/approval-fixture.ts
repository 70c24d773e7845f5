import type { JsonObject } from '../src/agent/messages.ts'
import type { Tool } from '../src/agent/tool.ts'
import { fakeTool } from './service-tools.ts'

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
