import { Button, Group } from '@mantine/core'
import { ChevronDownIcon, ChevronRightIcon } from '@primer/octicons-react'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useMemo, useRef, useState } from 'react'
import { CopyButton } from '../copy-button.tsx'
import { CutText } from '../cut-text.tsx'
import { saveText } from '../save-file.ts'
import { memberStep, toJsonRows, type JsonRow } from './json-rows.ts'
import styles from './json-view.module.css'

const rowHeight = 24
/** Greatest length of a text in a line, in characters; a longer text opens below the line. */
const inlineCharacters = 160

interface JsonViewProps {
  value: unknown
  /** Label of the value for screen readers; also the name of the downloaded file. */
  label: string
}

/** A JSON value of any size as a tree whose branches open. A text alone is shown as text. */
export function JsonView({ value, label }: JsonViewProps) {
  if (typeof value === 'string') return <CutText text={value} label={label} fileName={`${label}.txt`} />
  if (typeof value !== 'object' || value === null) return <CutText text={String(value)} label={label} />
  return <JsonTree value={value} label={label} />
}

function JsonTree({ value, label }: JsonViewProps & { value: object }) {
  const [open, setOpen] = useState<ReadonlySet<string>>(() => initiallyOpen(value))
  const [shown, setShown] = useState<ReadonlyMap<string, number>>(new Map())
  const rows = useMemo(() => toJsonRows(value, open, shown), [value, open, shown])
  const scroller = useRef<HTMLDivElement>(null)
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => rows[index]!.path,
    overscan: 20,
  })
  function toggle(path: string) {
    const changed = new Set(open)
    if (!changed.delete(path)) changed.add(path)
    setOpen(changed)
  }
  const showMore = (path: string) => setShown(new Map(shown).set(path, (shown.get(path) ?? memberStep) + memberStep))
  return (
    <div className={styles.view}>
      <Group gap={2} className={styles.tools}>
        <CopyButton text={() => JSON.stringify(value, null, 2)} label={`Copy ${label}`} />
        <Button size="compact-xs" variant="subtle" color="gray" onClick={() => saveText(JSON.stringify(value, null, 2), `${label}.json`)}>
          Download
        </Button>
      </Group>
      <div ref={scroller} className={styles.scroller} role="region" aria-label={label} tabIndex={0}>
        <div className={styles.rows} style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ key, index, start }) => (
            <div
              key={key}
              data-index={index}
              ref={virtualizer.measureElement}
              className={styles.place}
              style={{ transform: `translateY(${start}px)` }}
            >
              <Line row={rows[index]!} isTextOpen={open.has(rows[index]!.path)} toggle={toggle} showMore={showMore} />
            </div>
          ))}
        </div>
      </div>
    </div>
  )
}

interface LineProps {
  row: JsonRow
  isTextOpen: boolean
  toggle: (path: string) => void
  showMore: (path: string) => void
}

function Line({ row, isTextOpen, toggle, showMore }: LineProps) {
  const { path, depth, name, value, size, isOpen, more } = row
  const indent = { paddingLeft: depth * 16 }
  if (more !== undefined)
    return (
      <div className={styles.line} style={indent}>
        <button type="button" className={styles.more} onClick={() => showMore(path.slice(0, -1))}>
          Show {Math.min(more, memberStep)} of {more.toLocaleString('en')} more
        </button>
      </div>
    )
  const isLongText = typeof value === 'string' && value.length > inlineCharacters
  const isToggle = (size !== undefined && size > 0) || isLongText
  const opened = isOpen || (isLongText && isTextOpen)
  const Arrow = opened ? ChevronDownIcon : ChevronRightIcon
  const content = (
    <>
      {name !== undefined && <span className={styles.name}>{name}: </span>}
      <Value value={value} size={size} />
    </>
  )
  return (
    <div className={styles.line} style={indent}>
      {isToggle ? (
        <button type="button" className={styles.toggle} aria-expanded={opened} onClick={() => toggle(path)}>
          <Arrow size={12} />
          {content}
        </button>
      ) : (
        <span className={styles.leaf}>{content}</span>
      )}
      {isLongText && isTextOpen && <CutText text={value} label={name ?? 'Text'} />}
    </div>
  )
}

function Value({ value, size }: { value: unknown; size: number | undefined }) {
  if (Array.isArray(value)) return <span className={styles.size}>{size === 0 ? '[]' : `[ ${size} ]`}</span>
  if (size !== undefined) return <span className={styles.size}>{size === 0 ? '{}' : `{ ${size} }`}</span>
  if (typeof value !== 'string') return <span className={styles.literal}>{String(value)}</span>
  const text = value.length > inlineCharacters ? `${value.slice(0, inlineCharacters)}…` : value
  return <span className={styles.string}>{JSON.stringify(text)}</span>
}

/** A small value is open two levels deep, a large value at the root. */
function initiallyOpen(value: object): Set<string> {
  const members = Object.entries(value).slice(0, 20)
  return new Set(['$', ...(members.length < 20 ? members.map(([name]) => `$.${name}`) : [])])
}
