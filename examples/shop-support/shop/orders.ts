import { readFileSync } from 'node:fs'

export interface Order {
  number: number
  customer: string
  item: string
  /** EUR. */
  price: number
  status: string
}

export interface Refund {
  order: number
  amount: number
  reason: string
}

/** Rows of the file that the agent queries too; a shop has a database here. */
const orders = readFileSync(new URL('../files/data/orders.csv', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .slice(1)
  .map((line): Order => {
    const [number, customer, , item, price, status] = line.split(',') as [string, string, string, string, string, string]
    return { number: Number(number), customer, item, price: Number(price), status }
  })

/** Refunds by order, each with the key of the call that made it. */
const refunds = new Map<number, { key: string; refund: Refund }>()

/** An order of this customer. */
export function findOrder(number: number, customer: string): Order | undefined {
  return orders.find((order) => order.number === number && order.customer === customer)
}

/** Pays the price back; undefined if another call has done so. */
export function refund({ number: order, price }: Order, reason: string, key: string): Refund | undefined {
  const before = refunds.get(order)
  if (before) return before.key === key ? before.refund : undefined
  const made = { order, amount: price, reason }
  refunds.set(order, { key, refund: made })
  return made
}
