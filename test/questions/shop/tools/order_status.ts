import { defineTool } from '../../../../src/tool-module.ts'
import { readRows } from './read-rows.ts'

export default defineTool({
  description: 'Says the status of an order: processing, shipped, delivered, returned or cancelled.',
  schema: {
    type: 'object',
    properties: { order_id: { type: 'string', pattern: '^O-[0-9]{4}$', description: 'Such as O-3001.' } },
    required: ['order_id'],
  },
  effect: 'read',
  execute({ order_id: id }) {
    const order = readRows('orders.csv').find((row) => row['order_id'] === id)
    if (!order) throw new Error(`There is no order ${id}.`)
    return { order_id: id, status: order['status'], ordered_on: order['ordered_on'], shipped_on: order['shipped_on'] || null }
  },
})
