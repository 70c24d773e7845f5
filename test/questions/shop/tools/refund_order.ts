import { defineTool } from '../../../../src/tool-module.ts'
import { recordCall } from './record-call.ts'

export default defineTool({
  description: 'Refunds an order: pays its money back to the customer, in full or a part of it.',
  schema: {
    type: 'object',
    properties: {
      order_id: { type: 'string', pattern: '^O-[0-9]{4}$', description: 'Such as O-3001.' },
      amount: { type: 'number', exclusiveMinimum: 0, description: 'EUR. Default: the whole order.' },
    },
    required: ['order_id'],
  },
  effect: 'write',
  execute: (input, { session }) => recordCall('refund_order', input, session),
})
