import { useState, type ReactNode } from 'react'
import { Link } from 'wouter'
import { RowsSkeleton } from '../skeletons.tsx'
import { FailedState } from '../states.tsx'
import type { Pages } from './use-pages.ts'
import { VirtualRows } from './virtual-rows.tsx'
import styles from './pages.module.css'

export interface Column<Row> {
  header: string
  /** Track of the CSS grid: `120px`, `minmax(160px, 2fr)`. */
  width: string
  cell: (row: Row) => ReactNode
  align?: 'end'
}

interface PagedTableProps<Row> {
  /** What the table lists, for screen readers: "Runs". */
  label: string
  pages: Pages<Row>
  columns: readonly Column<Row>[]
  idOf: (row: Row) => string
  /** Address of a row. The whole row leads there; the first cell is the link. */
  hrefOf?: (row: Row) => string
  /** In place of the table without rows. */
  empty: ReactNode
  /** Least width of the rows; a narrower screen scrolls sideways. */
  minWidth?: number
}

const rowHeight = 41

/** A list as a table whose next pages load as it scrolls. It fills the rest of the page and scrolls itself. */
export function PagedTable<Row>({ label, pages, columns, idOf, hrefOf, empty, minWidth = 720 }: PagedTableProps<Row>) {
  const [scroller, setScroller] = useState<HTMLElement | null>(null)
  const state = stateOf(pages, label, empty)
  if (state) return <div className={styles.state}>{state}</div>
  const tracks = { gridTemplateColumns: columns.map(({ width }) => width).join(' ') }
  return (
    <div ref={setScroller} className={styles.scroller} role="region" aria-label={label} tabIndex={0}>
      <div role="table" aria-label={label} aria-rowcount={pages.hasMore ? -1 : pages.rows.length + 1} style={{ minWidth }}>
        <div role="rowgroup" className={styles.head}>
          <div role="row" className={styles.row} style={tracks}>
            {columns.map(({ header, align }) => (
              <div role="columnheader" key={header} className={styles.header} data-align={align}>
                {header}
              </div>
            ))}
          </div>
        </div>
        <VirtualRows pages={pages} scroller={scroller} rowHeight={rowHeight} idOf={idOf} role="rowgroup">
          {(row, index) => (
            <div role="row" aria-rowindex={index + 2} className={styles.row} data-linked={hrefOf !== undefined} style={tracks}>
              {columns.map(({ header, cell, align }, column) => (
                <div role="cell" key={header} className={styles.cell} data-align={align}>
                  {column === 0 && hrefOf ? (
                    <Link href={hrefOf(row)} className={styles.link}>
                      {cell(row)}
                    </Link>
                  ) : (
                    cell(row)
                  )}
                </div>
              ))}
            </div>
          )}
        </VirtualRows>
      </div>
      <Tail pages={pages} />
    </div>
  )
}

interface PagedListProps<Row> {
  label: string
  pages: Pages<Row>
  idOf: (row: Row) => string
  empty: ReactNode
  rowHeight: number
  children: (row: Row) => ReactNode
}

/** A list of rows of any look, whose next pages load as it scrolls. */
export function PagedList<Row>({ label, pages, idOf, empty, rowHeight, children }: PagedListProps<Row>) {
  const [scroller, setScroller] = useState<HTMLElement | null>(null)
  const state = stateOf(pages, label, empty)
  if (state) return <div className={styles.state}>{state}</div>
  return (
    <div ref={setScroller} className={styles.scroller} role="region" aria-label={label} tabIndex={0}>
      <VirtualRows pages={pages} scroller={scroller} rowHeight={rowHeight} idOf={idOf} role="list">
        {children}
      </VirtualRows>
      <Tail pages={pages} />
    </div>
  )
}

function stateOf<Row>(pages: Pages<Row>, label: string, empty: ReactNode): ReactNode {
  if (pages.isPending) return <RowsSkeleton />
  if (pages.error) return <FailedState title={`${label}: the list could not be loaded`} error={pages.error} retry={pages.retry} />
  return pages.rows.length === 0 ? empty : undefined
}

function Tail<Row>({ pages }: { pages: Pages<Row> }) {
  return (
    <div role="status" className={styles.tail}>
      {pages.isLoadingMore ? 'Loading more…' : ''}
    </div>
  )
}
