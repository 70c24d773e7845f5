/** A keyset page of a list. `offset` is the `before` of the next page. */
export interface Page<Row> {
  rows: readonly Row[]
  offset: string
  has_more: boolean
}

/**
 * Puts the newest first page before the loaded pages. Rows that have moved up are not shown twice, removed rows disappear, and equal
 * rows keep the identity. A first page without a common row replaces everything: the rows in between are unknown.
 */
export function mergeHead<Row>(pages: readonly Page<Row>[], head: Page<Row>, idOf: (row: Row) => string): Page<Row>[] {
  const loaded = new Map(pages.flatMap(({ rows }) => rows).map((row) => [idOf(row), row]))
  const rows = head.rows.map((row) => keepEqual(loaded.get(idOf(row)), row))
  const newest = { ...head, rows }
  const inHead = new Set(head.rows.map(idOf))
  const order = [...loaded.keys()]
  // The last row of the first page that was loaded before. Rows behind it are older than the first page, and stay.
  const shared = head.rows.map(idOf).findLast((id) => loaded.has(id))
  if (!head.has_more || shared === undefined) return [newest]
  const older = new Set(order.slice(order.indexOf(shared) + 1).filter((id) => !inHead.has(id)))
  const [first, ...rest] = pages.map((page) => ({ ...page, rows: page.rows.filter((row) => older.has(idOf(row))) }))
  if (!first || first.rows.length === 0) return [rest.length > 0 && first ? { ...first, rows } : newest, ...rest]
  return [{ ...first, rows: [...rows, ...first.rows] }, ...rest]
}

function keepEqual<Row>(before: Row | undefined, after: Row): Row {
  return before !== undefined && JSON.stringify(before) === JSON.stringify(after) ? before : after
}
