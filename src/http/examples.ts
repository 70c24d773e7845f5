/** Example bodies in the OpenAPI document. The sample agent answers each unchanged, for users who try a route in `/docs`. */

const question = 'What were the total sales by region?'
const messages = [{ role: 'user', content: question }]

export const chatExample = { messages }

export const eventExample = {
  specversion: '1.0',
  type: 'ai.service.agent.chain',
  source: 'urn:example:docs',
  id: 'example-1',
  data: { messages },
}

export const executeExample = { tool_name: 'calculator', tool_input: { expression: '2340 * 0.17' } }

export const completionExample = { model: 'agent-core', messages }

export const responseExample = { model: 'agent-core', input: question }

export const subAgentExample = { name: 'Analyst', objective: 'Answer questions about the sales figures.', tools: ['sales'] }

/** The example only validates a change, so that trying the route changes nothing. */
export const configurationExample = { configuration: { description: 'Answers questions about sales.' }, validate_only: true }

export const feedbackExample = { score: 1, comment: 'A short answer with its source, as it should be.' }

export const mcpExample = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

export const a2aExample = {
  jsonrpc: '2.0',
  id: 1,
  method: 'SendMessage',
  params: { message: { messageId: 'example-1', role: 'ROLE_USER', parts: [{ text: question }] } },
}
