import { defineTool } from 'agent-core'

const url = 'http://127.0.0.1:9200/refunds'

export default defineTool({
  description: 'Refunds an order.',
  schema: {
    type: 'object',
    properties: { order: { type: 'integer', description: 'The number of the order.' } },
    required: ['order'],
    additionalProperties: false,
  },
  // The tool changes something: no replay ever executes it.
  effect: 'write',
  async execute({ order }, { signal }) {
    const response = await fetch(url, { method: 'POST', body: JSON.stringify({ order }), signal })
    if (!response.ok) throw new Error(`The payment service answered ${response.status}.`)
    return response.json()
  },
})
