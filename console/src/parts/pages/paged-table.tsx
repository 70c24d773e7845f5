import { useState, type CSSProperties, type ReactNode } from 'react'
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
  /** Track on a phone. Where some columns have one, a phone shows these columns alone, and the table does not scroll sideways. */
  phone?: string
}

interface PagedTableProps<Row> {
  /** Label of the rows for screen readers, such as "Runs". */
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

/** A list as a table whose next pages load during scrolling. The table fills the rest of the page and scrolls itself. */
export function PagedTable<Row>({ label, pages, columns, idOf, hrefOf, empty, minWidth = 720 }: PagedTableProps<Row>) {
  const [scroller, setScroller] = useState<HTMLElement | null>(null)
  const state = stateOf(pages, label, empty)
  if (state) return <div className={styles.state}>{state}</div>
  const onPhone = columns.filter(({ phone }) => phone !== undefined)
  const hasPhone = onPhone.length > 0
  const tracks = {
    '--tracks': columns.map(({ width }) => width).join(' '),
    '--phone-tracks': (hasPhone ? onPhone : columns).map(({ phone, width }) => phone ?? width).join(' '),
    '--least-width': `${minWidth}px`,
    '--least-phone-width': hasPhone ? 0 : `${minWidth}px`,
  } as CSSProperties
  const isHiddenOnPhone = ({ phone }: Column<Row>) => hasPhone && phone === undefined
  return (
    <div ref={setScroller} className={styles.scroller} role="region" aria-label={label} tabIndex={0}>
      <div
        role="table"
        aria-label={label}
        aria-rowcount={pages.hasMore ? -1 : pages.rows.length + 1}
        className={styles.table}
        style={tracks}
      >
        <div role="rowgroup" className={styles.head}>
          <div role="row" className={styles.row}>
            {columns.map((column) => (
              <div
                role="columnheader"
                key={column.header}
                className={styles.header}
                data-align={column.align}
                data-wide={isHiddenOnPhone(column)}
              >
                {column.header}
              </div>
            ))}
          </div>
        </div>
        <VirtualRows pages={pages} scroller={scroller} rowHeight={rowHeight} idOf={idOf} role="rowgroup">
          {(row, index) => (
            <div role="row" aria-rowindex={index + 2} className={styles.row} data-linked={hrefOf !== undefined}>
              {columns.map((column, position) => (
                <div role="cell" key={column.header} className={styles.cell} data-align={column.align} data-wide={isHiddenOnPhone(column)}>
                  {position === 0 && hrefOf ? (
                    <Link href={hrefOf(row)} className={styles.link}>
                      {column.cell(row)}
                    </Link>
                  ) : (
                    column.cell(row)
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

/** A list of freely rendered rows, whose next pages load during scrolling. */
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
