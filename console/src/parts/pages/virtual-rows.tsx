import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, type ReactNode } from 'react'
import type { Pages } from './use-pages.ts'
import styles from './pages.module.css'

/** Rows before the end of the loaded ones at which the next page is requested. */
const loadAhead = 15

interface VirtualRowsProps<Row> {
  pages: Pages<Row>
  /** Null until the element is there; a state, so that the rows are shown then. */
  scroller: HTMLElement | null
  rowHeight: number
  idOf: (row: Row) => string
  role: 'rowgroup' | 'list'
  children: (row: Row, index: number) => ReactNode
}

/** The rows that are in view, of any number. Their heights are measured; `rowHeight` is the first guess. */
export function VirtualRows<Row>({ pages, scroller, rowHeight, idOf, role, children }: VirtualRowsProps<Row>) {
  const { rows, hasMore, isLoadingMore, loadMore } = pages
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller,
    estimateSize: () => rowHeight,
    getItemKey: (index) => idOf(rows[index]!),
    overscan: 12,
  })
  const items = virtualizer.getVirtualItems()
  const lastIndex = items.at(-1)?.index ?? 0
  useEffect(() => {
    if (hasMore && !isLoadingMore && lastIndex >= rows.length - loadAhead) loadMore()
  })
  return (
    <div role={role} className={styles.rows} style={{ height: virtualizer.getTotalSize() }}>
      {items.map(({ key, index, start }) => (
        <div
          key={key}
          data-index={index}
          ref={virtualizer.measureElement}
          role={role === 'list' ? 'listitem' : 'presentation'}
          className={styles.place}
          style={{ transform: `translateY(${start}px)` }}
        >
          {children(rows[index]!, index)}
        </div>
      ))}
    </div>
  )
}
