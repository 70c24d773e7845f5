import { defineTool } from 'agent-core'

export default defineTool({
  description: 'Tells how many days are left until the end of a year.',
  schema: {
    type: 'object',
    properties: { date: { type: 'string', format: 'date', description: 'Such as 2026-12-24.' } },
    required: ['date'],
    additionalProperties: false,
  },
  effect: 'read',
  execute({ date }) {
    const year = date.slice(0, 4)
    return { days_left: (Date.parse(`${year}-12-31`) - Date.parse(date)) / 86_400_000 }
  },
})
