import { defineTool } from '../../../../src/tool-module.ts'
import { recordCall } from './record-call.ts'

export default defineTool({
  description: 'Deletes a customer and all personal data for ever.',
  schema: {
    type: 'object',
    properties: {
      customer_id: { type: 'string', pattern: '^K-[0-9]{3}$', description: 'Such as K-201.' },
    },
    required: ['customer_id'],
  },
  effect: 'write',
  execute: (input, { session }) => recordCall('delete_customer', input, session),
})
