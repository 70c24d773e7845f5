import { defineTool } from '../../../../src/tool-module.ts'
import { recordCall } from './record-call.ts'

export default defineTool({
  description: 'Adds a note to an order.',
  schema: {
    type: 'object',
    properties: {
      order_id: { type: 'string', pattern: '^O-[0-9]{4}$', description: 'Such as O-3001.' },
      text: { type: 'string', description: 'Text of the note.' },
    },
    required: ['order_id', 'text'],
  },
  effect: 'write',
  execute: (input, { session }) => recordCall('add_note', input, session),
})
