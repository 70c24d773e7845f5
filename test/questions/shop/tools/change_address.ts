import { defineTool } from '../../../../src/tool-module.ts'
import { recordCall } from './record-call.ts'

export default defineTool({
  description: "Changes a customer's address.",
  schema: {
    type: 'object',
    properties: {
      customer_id: { type: 'string', pattern: '^K-[0-9]{3}$', description: 'Such as K-201.' },
      street: { type: 'string', description: 'Street and number.' },
      city: { type: 'string' },
    },
    required: ['customer_id', 'street', 'city'],
  },
  effect: 'write',
  execute: (input, { session }) => recordCall('change_address', input, session),
})
