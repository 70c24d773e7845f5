import { defineTool } from '../../../../src/tool-module.ts'
import { recordCall } from './record-call.ts'

export default defineTool({
  description: 'Restocks a product: adds pieces to its stock.',
  schema: {
    type: 'object',
    properties: {
      product: { type: 'string', description: 'Name of the product.' },
      pieces: { type: 'integer', minimum: 1 },
    },
    required: ['product', 'pieces'],
  },
  effect: 'write',
  execute: (input, { session }) => recordCall('restock_product', input, session),
})
