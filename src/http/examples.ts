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

/** A reply, which is shown but not executed. */
export const traceExample = {
  request_id: 'example-1',
  status: 'success',
  spans: [
    {
      id: 'run',
      parent_id: null,
      kind: 'run',
      name: 'chain',
      status: 'success',
      started_at: '2026-11-22T09:00:00.000Z',
      ended_at: '2026-11-22T09:00:01.250Z',
      attributes: {
        session_id: 'example-1',
        finish_reason: 'stop',
        model_calls: 1,
        input_tokens: 812,
        output_tokens: 64,
        cost: 0.0021,
      },
    },
    {
      id: 'turn:1',
      parent_id: 'run',
      kind: 'turn',
      name: 'Turn 1',
      status: 'success',
      started_at: '2026-11-22T09:00:00.010Z',
      ended_at: '2026-11-22T09:00:01.240Z',
      attributes: {},
    },
    {
      id: 'model:1',
      parent_id: 'turn:1',
      kind: 'model',
      name: 'gpt-5-mini',
      status: 'success',
      started_at: '2026-11-22T09:00:00.010Z',
      ended_at: '2026-11-22T09:00:01.240Z',
      attributes: {
        model: 'gpt-5-mini',
        fallback: false,
        attempts: [
          { model: 'gpt-5-mini', status: 'success', started_at: '2026-11-22T09:00:00.010Z', ended_at: '2026-11-22T09:00:01.240Z' },
        ],
        input_tokens: 812,
        output_tokens: 64,
        cached_input_tokens: 0,
        reasoning_tokens: 0,
        cost: 0.0021,
        time_to_first_token: 0.38,
        finish_reason: 'stop',
        output: 'North: 1,200. South: 840.',
      },
    },
  ],
}
