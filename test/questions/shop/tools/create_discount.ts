import { defineTool } from '../../../../src/tool-module.ts'
import { recordCall } from './record-call.ts'

export default defineTool({
  description: 'Creates a discount code for customers.',
  schema: {
    type: 'object',
    properties: {
      code: { type: 'string', pattern: '^[A-Z0-9]{4,12}$', description: 'Capital letters and digits.' },
      percent: { type: 'number', minimum: 1, maximum: 90 },
    },
    required: ['code', 'percent'],
  },
  effect: 'write',
  execute: (input, { session }) => recordCall('create_discount', input, session),
})
