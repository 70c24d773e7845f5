import { defineTool } from '../../../../src/tool-module.ts'
import { readRows } from './read-rows.ts'

export default defineTool({
  description: 'Says how many pieces of a product are in stock.',
  schema: {
    type: 'object',
    properties: { product: { type: 'string', description: 'Name of the product.' } },
    required: ['product'],
  },
  effect: 'read',
  execute({ product }) {
    const row = readRows('products.csv').find((each) => each['product']?.toLowerCase() === product.toLowerCase())
    if (!row) throw new Error(`There is no product "${product}".`)
    return { product: row['product'], in_stock: Number(row['stock']) }
  },
})
