import { defineTool } from '../../../../src/tool-module.ts'
import { recordCall } from './record-call.ts'

export default defineTool({
  description: 'Cancels an order that was not shipped.',
  schema: {
    type: 'object',
    properties: {
      order_id: { type: 'string', pattern: '^O-[0-9]{4}$', description: 'Such as O-3001.' },
    },
    required: ['order_id'],
  },
  effect: 'write',
  execute: (input, { session }) => recordCall('cancel_order', input, session),
})
